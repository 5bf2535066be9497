/* detector_hook.c - model_debugging_hook.detector: parameters that learn nothing, and values that
 * leave the range of the steps before. */
#include "base/block_sum.h"
#include "base/log.h"
#include "base/map.h"
#include "config/builder.h"
#include "models/model.h"
#include "watch/tensor_stats.h"
#include "watch/watch.h"
#include <inttypes.h>
#include <string.h>

typedef struct Settings {
    Model *model;
    int64_t num_steps;
    double range_factor;
} Settings;

/* What is known of one parameter's gradient. */
typedef struct Gradient {
    uint64_t sum;           /* of its bytes, in the last step */
    int64_t n_zero, n_same; /* steps in a row */
} Gradient;

/* Of what one node makes: the largest absolute value of each of the last steps. */
typedef struct Range {
    double *past; /* of num_steps steps; the oldest is overwritten */
    int64_t n;    /* steps that are done */
    int64_t step; /* that is at hand; its largest so far: */
    double most;
    bool is_told; /* of this step */
} Range;

typedef struct Detector {
    Watch base;
    const Settings *settings;
    Arena *arena;
    Map *gradient; /* Gradient by name of the parameter */
    Map *range;    /* Range by node */
} Detector;

/* ---- gradients ---- */

static bool is_zero(const Tensor *t)
{
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
        if (dtype_get(t->dtype, t->data, i) != 0) return false;
    return true;
}

static void look_at_gradient(Detector *d, const NodeRun *x, const char *parameter, const Tensor *t)
{
    Gradient *g = map_get(d->gradient, str_of(parameter));
    const uint64_t sum = block_sum(t->data, tensor_bytes(t));
    const int64_t n = d->settings->num_steps;
    if (!g) {
        g = NEW(d->arena, Gradient);
        map_set(d->gradient, str_of(parameter), g);
        g->sum = ~sum;
    }
    const bool zero = is_zero(t);
    g->n_same = g->sum == sum ? g->n_same + 1 : 0;
    g->n_zero = zero ? g->n_zero + 1 : 0;
    g->sum = sum;
    if (g->n_zero == n)
        log_warning("step %" PRId64 ", rank %" PRId64
                    ": the gradient of %s is exactly zero, for %" PRId64 " step%s now",
                    x->now->step + 1, x->rank, parameter, n, n == 1 ? "" : "s");
    else if (g->n_same == n && !zero)
        log_warning("step %" PRId64 ", rank %" PRId64
                    ": the gradient of %s has not changed for %" PRId64 " step%s",
                    x->now->step + 1, x->rank, parameter, n, n == 1 ? "" : "s");
}

/* The norm reads each gradient once, when it is whole. */
static Error *look_at_gradients(Detector *d, const NodeRun *x, Arena *a)
{
    for (int k = 0; k < x->node->n_in; k++) {
        const Value *v = x->node->in[k];
        Tensor host;
        if (v->kind != VALUE_ACCUMULATOR || strncmp(v->name, "grad.", 5) != 0) continue;
        TRY(node_tensor(x, &x->launch->in[k], a, &host));
        look_at_gradient(d, x, v->name + 5, &host);
    }
    return NULL;
}

/* ---- values ---- */

static Range *range_of(Detector *d, const Node *n)
{
    const Str key = { (const char *)&n, sizeof n };
    Range *r = map_get(d->range, key);
    if (r) return r;
    r = NEW(d->arena, Range);
    *r = (Range){ .past = NEW_N(d->arena, double, d->settings->num_steps), .step = -1 };
    map_set(d->range, key, r);
    return r;
}

static void begin_step(const Detector *d, Range *r, int64_t step)
{
    if (r->step == step) return;
    if (r->step >= 0) r->past[r->n++ % d->settings->num_steps] = r->most;
    r->step = step;
    r->most = 0;
    r->is_told = false;
}

/* The largest of the steps before. */
static double bound_of(const Detector *d, const Range *r)
{
    double most = 0;
    for (int64_t i = 0; i < d->settings->num_steps; i++) most = fmax(most, r->past[i]);
    return most;
}

static Error *look_at_values(Detector *d, const NodeRun *x, Arena *a)
{
    Range *r = range_of(d, x->node);
    begin_step(d, r, x->now->step);
    for (int k = 0; k < x->launch->n_out; k++) {
        Tensor host;
        if (!dtype_is_float(x->launch->out[k].dtype)) continue;
        TRY(node_tensor(x, &x->launch->out[k], a, &host));
        const TensorStats s = tensor_stats(&host);
        r->most = fmax(r->most, fmax(fabs(s.min), fabs(s.max)));
    }
    if (r->is_told || r->n < d->settings->num_steps) return NULL;
    const double bound = bound_of(d, r);
    if (r->most <= bound * d->settings->range_factor) return NULL;
    r->is_told = true;
    log_warning("step %" PRId64 ", microbatch %" PRId64 ", rank %" PRId64
                ": %s gives %g, and at most %g in the %" PRId64 " step%s before",
                x->now->step + 1, x->now->microbatch, x->rank, node_place(a, x->node), r->most,
                bound, d->settings->num_steps, d->settings->num_steps == 1 ? "" : "s");
    return NULL;
}

static Error *on_node(Watch *self, const NodeRun *x)
{
    Detector *d = (Detector *)self;
    Arena *a = arena_new();
    Error *e = NULL;
    if (x->node->phase == REDUCE) e = look_at_gradients(d, x, a);
    if (x->node->phase == FORWARD) e = look_at_values(d, x, a);
    arena_free(a);
    return e;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    Detector *d = NEW(a, Detector);
    *d = (Detector){ .base = { .node = on_node },
                     .settings = s,
                     .arena = a,
                     .gradient = map_new(a),
                     .range = map_new(a) };
    watch_add(&s->model->watches, &d->base);
    *out = d;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_INT(Settings, num_steps, "10", 1, 100000, "a gradient that is zero, or the same, for so many steps is told; values are compared with those of so many steps before"),
    FIELD_FLOAT(Settings, range_factor, "10.0", 1, INFINITY, "values larger than so many times the largest of the steps before are told"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_debugging_hook_detector = {
    .kind = "model_debugging_hook",
    .variant = "detector",
    .doc =
        "warns of parameters whose gradient is exactly zero or unchanged over some steps, and of "
        "values that leave the range of the steps before",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
