/* program.c - the one place that joins graph, kernels, memory and device. */
#include "exec/program.h"
#include "base/clock.h"
#include "base/thread.h"
#include "exec/cost.h"
#include "ops/kernels.h"
#include "ops/reference.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One node, ready to run. `kernel` NULL: the reference. */
typedef struct Step {
    const Node *node;
    const KernelDef *kernel;
    Launch launch;
    Stored *derived; /* PREPARE: what it makes */
} Step;

struct Program {
    Arena *arena;
    ProgramSettings settings;
    Graph *graph;
    Tensor *tensor; /* by value id */
    Step *step;
    int64_t n_steps;
    RunTime now;
    Stream *stream;
    MemoryPlan *plan;
    char *block;
    NodeHook *hook;
    void *hook_ctx;
};

/* Launches with shapes and attributes; memory comes later. */
static void make_steps(Program *p)
{
    const Graph *g = p->graph;
    p->step = NEW_N(p->arena, Step, g->n_nodes);
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        Tensor *in = NEW_N(p->arena, Tensor, n->n_in), *out = NEW_N(p->arena, Tensor, n->n_out);
        unsigned adds = 0;
        for (int k = 0; k < n->n_in; k++) in[k] = p->tensor[n->in[k]->id];
        for (int k = 0; k < n->n_out; k++) {
            out[k] = p->tensor[n->out[k]->id];
            if (n->out[k]->kind == VALUE_ACCUMULATOR && n->phase != UPDATE) adds |= 1u << k;
        }
        p->step[i] = (Step){
            .node = n,
            .launch = { .attrs = n->attrs,
                        .dims = n->dims,
                        .in = in,
                        .out = out,
                        .n_in = n->n_in,
                        .n_out = n->n_out,
                        .add = adds,
                        .now = &p->now,
                        .stream = p->stream },
        };
        if (!p->settings.reference_only)
            p->step[i].kernel = kernel_find(n->op->name, p->settings.device->name,
                                            p->settings.level, &p->step[i].launch);
    }
    p->n_steps = g->n_nodes;
}

static size_t bytes_of(void *ctx, const Value *v)
{
    const Program *p = ctx;
    return tensor_bytes(&p->tensor[v->id]);
}

static size_t scratch_of(void *ctx, int64_t i)
{
    const Program *p = ctx;
    const Step *s = &p->step[i];
    if (s->node->op->flags & OP_VIEW) return 0;
    if (!s->kernel) return reference_scratch(s->node->op, &s->launch);
    return s->kernel->scratch ? s->kernel->scratch(&s->launch, pool_size(p->stream->pool)) : 0;
}

static Error *check_kernels(const Program *p)
{
    for (int64_t i = 0; i < p->n_steps; i++) {
        const OpDef *op = p->step[i].node->op;
        if (!p->step[i].kernel && !op->reference && !(op->flags & OP_VIEW))
            return error_new("no kernel for op %s on %s", op->name, p->settings.device->name);
    }
    return NULL;
}

static Error *check_memory(const Program *p)
{
    size_t available = p->settings.device->free_bytes(p->settings.device), shared;
    store_workspace(p->settings.store, &shared);
    size_t stored = store_missing(p->settings.store), planned = p->plan->bytes;
    size_t more = planned > shared ? planned - shared : 0;
    if (!available || stored + more <= available) return NULL;
    char need[32], of_store[32], of_plan[32], have[32];
    format_bytes((double)(stored + planned), need);
    format_bytes((double)stored, of_store);
    format_bytes((double)planned, of_plan);
    format_bytes((double)(available + shared), have);
    char *map = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&map, &size);
    CHECK(f != NULL);
    memory_print(p->plan, 8, f);
    fclose(f);
    Error *e = error_new(
        "the %s program needs %s, but only %s are free: %s for parameters, optimizer states and "
        "gradients, and %s for activations and scratch; of these at the peak:\n%s"
        "Cheapest remedies: a smaller local_train_micro_batch_size with more "
        "gradient_accumulation_steps; model.activation_checkpointed (recomputation); "
        "a shorter sequence_length",
        p->settings.name, need, have, of_store, of_plan, map);
    free(map);
    return e;
}

static void place(Program *p)
{
    const Graph *g = p->graph;
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = value_storage(g->value[i]);
        if (store_holds(v)) {
            Stored *s = store_find(p->settings.store, store_derived_name(p->arena, v));
            p->tensor[i].data = s ? s->tensor.data : NULL;
        } else if (p->plan->offset[v->id] != NOT_PLANNED) {
            p->tensor[i].data = p->block + p->plan->offset[v->id];
        }
    }
    for (int64_t i = 0; i < p->n_steps; i++) {
        Step *s = &p->step[i];
        for (int k = 0; k < s->node->n_in; k++)
            ((Tensor *)s->launch.in)[k].data = p->tensor[s->node->in[k]->id].data;
        for (int k = 0; k < s->node->n_out; k++)
            s->launch.out[k].data = p->tensor[s->node->out[k]->id].data;
        if (p->plan->scratch[i] != NOT_PLANNED) s->launch.scratch = p->block + p->plan->scratch[i];
        if (s->node->phase == PREPARE)
            s->derived = store_find(p->settings.store,
                                    store_derived_name(p->arena, value_storage(s->node->out[0])));
    }
}

/* Another program may have made the workspace larger, and so moved it. */
static void settle(Program *p)
{
    size_t bytes;
    char *block = store_workspace(p->settings.store, &bytes);
    CHECK(block != NULL && bytes >= p->plan->bytes);
    if (block == p->block) return;
    p->block = block;
    place(p);
}

static Error *prepare(Program *p)
{
    TRY(p->settings.device->stream_new(p->settings.device, &p->stream));
    TRY(store_add(p->settings.store, p->graph));
    p->tensor = NEW_N(p->arena, Tensor, p->graph->n_values);
    for (int64_t i = 0; i < p->graph->n_values; i++)
        p->tensor[i] = value_tensor(p->graph->value[i]);
    make_steps(p);
    TRY(check_kernels(p));
    p->plan = plan_memory(p->arena, p->graph, bytes_of, scratch_of, p);
    TRY(check_memory(p));
    TRY(store_allocate(p->settings.store));
    TRY(store_reserve(p->settings.store, p->plan->bytes));
    settle(p);
    return NULL;
}

Error *program_new(Graph *g, const ProgramSettings *settings, Program **out)
{
    Arena *a = arena_new();
    Program *p = NEW(a, Program);
    *p = (Program){ .arena = a, .settings = *settings, .graph = g };
    Error *e = prepare(p);
    if (e)
        program_free(p);
    else
        *out = p;
    return e;
}

void program_free(Program *p)
{
    if (!p) return;
    Device *d = p->settings.device;
    if (p->stream) d->stream_free(d, p->stream);
    arena_free(p->arena);
}

Tensor *program_input(Program *p, const char *name)
{
    settle(p);
    const Value *v = graph_find(p->graph, name);
    return v && v->kind == VALUE_INPUT ? &p->tensor[v->id] : NULL;
}

const Tensor *program_output(Program *p, const char *name)
{
    settle(p);
    const Value *v = graph_find_output(p->graph, name);
    return v ? &p->tensor[v->id] : NULL;
}

double program_scalar(Program *p, const char *name)
{
    const Tensor *t = program_output(p, name);
    CHECK(t != NULL && t->n_dims == 0);
    return dtype_get(t->dtype, t->data, 0);
}

static const char *place_name(Arena *a, const Node *n)
{
    if (n->block < 0) return arena_printf(a, "%s (%s)", n->op->name, phase_name(n->phase));
    return arena_printf(a, "%s in block %d (%s)", n->op->name, n->block, phase_name(n->phase));
}

static Error *kernel_error(const Program *p, const Step *s, int status)
{
    Arena *a = arena_new();
    const char *reason = status == KERNEL_BAD_INDEX
                             ? "an id or target lies outside of its table"
                             : arena_printf(a, "the kernel failed with status %d", status);
    Error *e = error_new("step %lld, microbatch %lld: %s: %s", (long long)p->now.step + 1,
                         (long long)p->now.microbatch, place_name(a, s->node), reason);
    arena_free(a);
    return e;
}

static Error *run_step(Program *p, const Step *s)
{
    double start = p->hook ? clock_seconds() : 0;
    int status = s->kernel ? s->kernel->run(&s->launch) : reference_run(s->node->op, &s->launch);
    if (status) return kernel_error(p, s, status);
    if (p->hook) p->hook(p->hook_ctx, s->node, &s->launch, clock_seconds() - start);
    return NULL;
}

static bool is_due(const Program *p, const Step *s, unsigned phases)
{
    if (s->node->op->flags & OP_VIEW) return false;
    if (s->node->phase == PREPARE) {
        const Stored *d = s->derived;
        return d->is_constant ? d->made_at == 0 : d->made_at != p->settings.store->version;
    }
    return phases >> s->node->phase & 1;
}

/* Derived values count as made when all their nodes ran: marked after the loop, since one value may
 * be the work of several nodes. */
static Error *run_prepare(Program *p)
{
    for (int64_t i = 0; i < p->n_steps; i++)
        if (p->step[i].node->phase == PREPARE && is_due(p, &p->step[i], 0))
            TRY(run_step(p, &p->step[i]));
    for (int64_t i = 0; i < p->n_steps; i++)
        if (p->step[i].derived)
            p->step[i].derived->made_at = p->settings.store->version; /* of all its nodes */
    return NULL;
}

Error *program_run(Program *p, unsigned phases, const RunTime *now)
{
    settle(p);
    p->now = *now;
    if (phases & ~(1u << UPDATE)) TRY(run_prepare(p));
    for (int64_t i = 0; i < p->n_steps; i++)
        if (p->step[i].node->phase != PREPARE && is_due(p, &p->step[i], phases))
            TRY(run_step(p, &p->step[i]));
    if (phases >> UPDATE & 1) store_changed(p->settings.store);
    return p->settings.device->synchronize(p->stream);
}

static bool all_finite(const Tensor *t)
{
    if (!dtype_is_float(t->dtype)) return true;
    int64_t n = tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(dtype_get(t->dtype, t->data, i))) return false;
    return true;
}

/* The parameter that a node works with, itself or as a copy made from it; NULL: none. */
static const char *param_of(const Node *n)
{
    for (int k = 0; k < n->n_in; k++) {
        const Value *v = value_storage(n->in[k]);
        while (v->from && v->from->phase == PREPARE && v->from->n_in)
            v = value_storage(v->from->in[0]);
        if (v->kind == VALUE_PARAM) return v->name;
    }
    return NULL;
}

static const char *find_in_leaves(const Program *p, Arena *a)
{
    for (int64_t i = 0; i < p->graph->n_values; i++) {
        const Value *v = p->graph->value[i];
        if ((v->kind != VALUE_PARAM && v->kind != VALUE_INPUT) || all_finite(&p->tensor[i]))
            continue;
        return arena_printf(a, "%s %s", v->kind == VALUE_PARAM ? "the parameter" : "the input",
                            v->name);
    }
    return NULL;
}

static const char *find_in_results(const Step *s, Arena *a)
{
    for (int k = 0; k < s->node->n_out; k++) {
        if (all_finite(&s->launch.out[k])) continue;
        const Value *v = s->node->out[k];
        const char *place = place_name(a, s->node), *param = param_of(s->node);
        if (v->kind == VALUE_ACCUMULATOR) return arena_printf(a, "%s, writing %s", place, v->name);
        return param ? arena_printf(a, "%s with %s", place, param) : place;
    }
    return NULL;
}

Error *program_find_nonfinite(Program *p, unsigned phases, const RunTime *now, const char **found,
                              Arena *a)
{
    p->now = *now;
    TRY(run_prepare(p));
    *found = find_in_leaves(p, a);
    for (int64_t i = 0; i < p->n_steps && !*found; i++)
        if (p->step[i].node->phase == PREPARE) *found = find_in_results(&p->step[i], a);
    for (int64_t i = 0; i < p->n_steps && !*found; i++) {
        if (p->step[i].node->phase == PREPARE || !is_due(p, &p->step[i], phases)) continue;
        TRY(run_step(p, &p->step[i]));
        *found = find_in_results(&p->step[i], a);
    }
    return NULL;
}

void program_set_hook(Program *p, NodeHook *hook, void *ctx)
{
    p->hook = hook;
    p->hook_ctx = ctx;
}

size_t program_bytes(const Program *p)
{
    return p->plan->bytes;
}
const Graph *program_graph(const Program *p)
{
    return p->graph;
}

static void print_bytes(const char *what, size_t bytes, FILE *to)
{
    char text[32];
    format_bytes((double)bytes, text);
    fprintf(to, "%12s  %s\n", text, what);
}

void program_print_memory(const Program *p, FILE *to)
{
    static const char *const what[] = { [VALUE_PARAM] = "parameters",
                                        [VALUE_STATE] = "optimizer states and caches",
                                        [VALUE_RESULT] = "copies and tables made from parameters",
                                        [VALUE_ACCUMULATOR] = "gradients" };
    size_t sum[VALUE_ACCUMULATOR + 1] = { 0 };
    for (int64_t i = 0; i < store_count(p->settings.store); i++) {
        const Stored *s = store_at(p->settings.store, i);
        sum[s->kind] += tensor_bytes(&s->tensor);
    }
    for (int k = VALUE_PARAM; k <= VALUE_ACCUMULATOR; k++)
        if (sum[k]) print_bytes(what[k], sum[k], to);
    print_bytes("activations and scratch; at the peak:", p->plan->bytes, to);
    memory_print(p->plan, 8, to);
}

/* By plan; what is made from no parameter is made once, and costs no step anything. */
static double step_seconds(const Program *p, const Step *s, int64_t microbatches)
{
    if (s->derived && s->derived->is_constant) return 0;
    bool is_once = s->node->phase == PREPARE || s->node->phase >= REDUCE;
    double seconds = node_seconds(s->node, &s->launch, !s->kernel, pool_size(p->stream->pool));
    return is_once ? seconds : seconds * (double)microbatches;
}

/* The part of a step that the reference kernel of this op takes; 0 when it is too small to name. */
static double slow_share(const Program *p, const OpDef *op, int64_t microbatches)
{
    static const double WORTH_NAMING = 0.02;
    double of_op = 0, all = 0;
    for (int64_t i = 0; i < p->n_steps; i++) {
        const Step *s = &p->step[i];
        double seconds = step_seconds(p, s, microbatches);
        all += seconds;
        if (!s->kernel && s->node->op == op) of_op += seconds;
    }
    return of_op > WORTH_NAMING * all ? of_op / all : 0;
}

const char *program_slow_ops(const Program *p, int64_t microbatches, Arena *a)
{
    Text t = { 0 };
    for (int64_t i = 0; i < p->n_steps; i++) {
        const OpDef *op = p->step[i].node->op;
        bool is_known = p->step[i].kernel != NULL;
        for (int64_t j = 0; j < i && !is_known; j++)
            is_known = !p->step[j].kernel && p->step[j].node->op == op;
        double share = is_known ? 0 : slow_share(p, op, microbatches);
        if (share > 0)
            text_printf(&t, "%s%s (reference kernel, about %.0f %% of a step)", t.len ? ", " : "",
                        op->name, 100 * share);
    }
    const char *said = t.len ? arena_string(a, t.ptr) : NULL;
    text_free(&t);
    return said;
}

void program_print_kernels(const Program *p, FILE *to)
{
    for (int64_t i = 0; i < p->n_steps; i++) {
        const Step *s = &p->step[i];
        const char *kernel = s->node->op->flags & OP_VIEW ? "view"
                             : s->kernel                  ? cpu_level_name(s->kernel->level)
                                                          : "reference";
        double share = s->kernel ? 0 : slow_share(p, s->node->op, 1);
        fprintf(to, "%-10s %-20s %s", kernel, s->node->op->name, s->node->dims->text);
        if (share > 0)
            fprintf(to, "  <- slow: all %s about %.0f %% of a step", s->node->op->name,
                    100 * share);
        fputc('\n', to);
    }
}
