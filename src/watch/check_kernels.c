/* check_kernels.c - runs the reference kernel on what a tuned kernel has read, and compares.
 *
 * Results that a node adds to, or writes over what it read, cannot be made again afterwards: they
 * are left out. */
#include "watch/check_kernels.h"
#include "base/map.h"
#include "ops/kernels.h"
#include "ops/reference.h"
#include <math.h>
#include <string.h>

typedef struct Worst {
    const char *op, *where;
    double difference; /* relative to the largest number of the result */
    int64_t n;
} Worst;

typedef struct CheckKernels {
    Profiler base;
    Watch watch;
    ProfilerWindow window;
    Arena *arena;
    Map *by_op; /* Worst */
    FILE *to;
    bool is_printed;
} CheckKernels;

static CheckKernels *of_watch(Watch *w)
{
    return (CheckKernels *)((char *)w - offsetof(CheckKernels, watch));
}

/* What roundings alone may do, with sums of a thousand terms. */
static double allowed(Dtype t)
{
    static const double OF_F32 = 1e-3, OF_BF16 = 4e-2;
    return t == BF16 ? OF_BF16 : OF_F32;
}

static bool can_be_made_again(const NodeRun *x, int k)
{
    return x->node->out[k]->kind == VALUE_RESULT && !launch_adds(x->launch, k) &&
           dtype_is_float(x->launch->out[k].dtype);
}

static double difference(const Tensor *x, const Tensor *y)
{
    double most = 0, largest = 0;
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        double a = dtype_get(x->dtype, x->data, i), b = dtype_get(y->dtype, y->data, i);
        if (isnan(a) && isnan(b)) continue;
        if (a == b) continue; /* infinities, too */
        double d = fabs(a - b);
        if (!(d <= most)) most = d;
        if (fabs(b) > largest) largest = fabs(b);
    }
    return most == 0 ? 0 : largest > 0 ? most / largest : INFINITY;
}

static Error *keep(CheckKernels *c, const NodeRun *x, int k, double d)
{
    const char *op = x->node->op->name;
    Worst *w = map_get(c->by_op, str_of(op));
    if (!w) {
        w = NEW(c->arena, Worst);
        w->op = op;
        w->where = "";
        map_set(c->by_op, str_of(op), w);
    }
    w->n++;
    if (d > w->difference || isnan(d)) {
        w->difference = d;
        w->where = node_place(c->arena, x->node);
    }
    if (d <= allowed(x->launch->out[k].dtype)) return NULL;
    return error_new("--check: result %d of %s is off by %.3g of its largest number, step %lld, "
                     "microbatch %lld: the tuned kernel and the reference disagree (%s)",
                     k, node_place(c->arena, x->node), d, (long long)x->now->step + 1,
                     (long long)x->now->microbatch, node_attrs(c->arena, x->node));
}

static Error *run_reference(CheckKernels *c, const NodeRun *x, Arena *a)
{
    Launch l = *x->launch;
    Tensor *in = NEW_N(a, Tensor, l.n_in), *out = NEW_N(a, Tensor, l.n_out);
    for (int k = 0; k < l.n_in; k++) TRY(node_tensor(x, &l.in[k], a, &in[k]));
    for (int k = 0; k < l.n_out; k++) {
        out[k] = l.out[k];
        out[k].data = arena_alloc(a, tensor_bytes(&l.out[k]));
    }
    l.in = in;
    l.out = out;
    l.now = x->now;
    l.scratch = arena_alloc(a, reference_scratch(x->node->op, &l));
    int status = reference_run(x->node->op, &l);
    if (status)
        return error_new("the reference kernel of %s failed with status %d", l.op->name, status);
    for (int k = 0; k < l.n_out; k++) {
        Tensor made;
        if (!can_be_made_again(x, k)) continue;
        TRY(node_tensor(x, &x->launch->out[k], a, &made));
        TRY(keep(c, x, k, difference(&made, &out[k])));
    }
    return NULL;
}

/* Nodes whose results lie where an input lay have nothing left to compare with. */
static bool is_in_place(const Launch *l)
{
    for (int i = 0; i < l->n_in; i++)
        for (int k = 0; k < l->n_out; k++)
            if (l->in[i].data == l->out[k].data) return true;
    return false;
}

static Error *on_node(Watch *self, const NodeRun *x)
{
    const OpDef *op = x->node->op;
    bool is_tuned = kernel_of_device(op->name, x->device, cpu_level_in_use(), x->launch);
    if (!is_tuned || !op->reference || is_in_place(x->launch)) return NULL;
    Arena *a = arena_new();
    Error *e = run_reference(of_watch(self), x, a);
    arena_free(a);
    return e;
}

static void print(CheckKernels *c)
{
    if (c->is_printed) return;
    c->is_printed = true;
    fprintf(c->to,
            "Tuned kernels against their references, %lld microbatches:\n%-24s %8s %12s  %s\n",
            (long long)c->window.done, "op", "results", "off at most", "where");
    for (int64_t i = 0; i < c->by_op->n; i++) {
        const Worst *w = c->by_op->entry[i].value;
        fprintf(c->to, "%-24s %8lld %12.2e  %s\n", w->op, (long long)w->n, w->difference, w->where);
    }
    fflush(c->to);
}

static Error *step(Profiler *self)
{
    CheckKernels *c = (CheckKernels *)self;
    if (window_is_over(&c->window)) return NULL;
    c->window.done++;
    c->watch.is_off = window_is_over(&c->window);
    if (c->watch.is_off) print(c);
    return NULL;
}

static Error *end(Profiler *self)
{
    print((CheckKernels *)self);
    return NULL;
}

Profiler *check_kernels_new(Arena *a, int64_t n, FILE *to)
{
    CheckKernels *c = NEW(a, CheckKernels);
    *c = (CheckKernels){ .base = { .n_steps = -1, .step = step, .end = end },
                         .watch = { .node = on_node },
                         .window = { .num_active_steps = n },
                         .arena = a,
                         .by_op = map_new(a),
                         .to = to };
    c->base.watches = &c->watch;
    return &c->base;
}
