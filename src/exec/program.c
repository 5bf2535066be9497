/* program.c - the one place that joins graph, kernels, memory and device. */
#include "exec/program.h"
#include "base/thread.h"
#include "exec/program_times.h"
#include "ops/reference.h"
#include "ops/transfer.h"
#include <stdlib.h>
#include <string.h>

bool node_is_of_microbatch(const Node *n)
{
    return n->phase >= FORWARD && n->phase <= BACKWARD_LAST;
}

Launch *step_launch(const Step *s, int slot)
{
    return &s->launch[node_is_of_microbatch(s->node) ? slot : 0];
}

Tensor *program_tensor(const Program *p, int slot, const Value *v)
{
    return &p->tensor[slot * p->graph->n_values + v->id];
}

static int run_reference(const Launch *l)
{
    return reference_run(l->op, l);
}

/* On the host; other devices copy by themselves. */
static int run_copy(const Launch *l)
{
    memcpy(l->out[0].data, l->in[0].data, tensor_bytes(&l->out[0]));
    return KERNEL_OK;
}

/* One group of ranks on one stream, with those to whom this rank sends messages. */
static Error *make_group(const Program *p, unsigned axes, int stream)
{
    Comm *comm;
    TRY(groups_get(p->settings.groups, axes, stream, &comm));
    bool *sends = NEW_N(p->arena, bool, comm->size);
    for (int64_t i = 0; i < p->graph->n_nodes; i++) {
        const Node *n = p->graph->node[i];
        if (n->axes == axes && n->stream == stream)
            transfer_add_receivers(n, comm->rank, comm->size, sends);
    }
    return groups_on_device(p->settings.groups, p->settings.device, axes, stream, sends);
}

/* Ranks of other stages have other nodes: in an order that all of them share, nobody waits for
 * somebody who waits for another group. */
static Error *make_groups(Program *p)
{
    for (unsigned axes = 1; axes < 1u << MESH_N_AXES; axes++)
        for (int stream = 0; stream < p->n_streams; stream++) {
            bool any = false;
            for (int64_t i = 0; i < p->graph->n_nodes; i++) {
                const Node *n = p->graph->node[i];
                any |= n->axes == axes && n->stream == stream;
            }
            if (any) TRY(make_group(p, axes, stream));
        }
    return NULL;
}

static Error *find_comm(const Program *p, const Node *n, Comm **out)
{
    *out = NULL;
    if (!n->axes || !p->settings.groups) return NULL;
    return groups_get(p->settings.groups, n->axes, n->stream, out);
}

/* "gather_unit in transformer.h.3 (forward), src/passes/data_parallel.c:143" */
static const char *origin_of(const Program *p, const Node *n)
{
    const Graph *g = p->graph;
    const char *part = n->module, *source = "";
    if (!*part && n->block >= 0)
        part = arena_printf(p->arena, "%s.%d", g->place[n->block].stack, g->place[n->block].index);
    if (n->source.file) source = arena_printf(p->arena, ", %s:%d", n->source.file, n->source.line);
    return groups_text(p->settings.groups,
                       arena_printf(p->arena, "%s%s%s (%s)%s", n->op->name, *part ? " in " : "",
                                    part, phase_name(n->phase), source));
}

/* Launches with shapes and attributes; memory comes later. */
static Error *make_step(Program *p, Step *s, const Node *n)
{
    Arena *a = p->arena;
    Comm *comm;
    TRY(find_comm(p, n, &comm));
    int first = node_is_of_microbatch(n) ? 0 : p->timeline->n_slots;
    int end = node_is_of_microbatch(n) ? p->timeline->n_slots : first + 1;
    bool *adds = NEW_N(a, bool, n->n_out);
    for (int k = 0; k < n->n_out; k++)
        adds[k] = n->out[k]->kind == VALUE_ACCUMULATOR && n->phase != UPDATE;
    *s = (Step){ .node = n, .launch = NEW_N(a, Launch, end - first) };
    const char *origin = comm ? origin_of(p, n) : NULL;
    for (int slot = first; slot < end; slot++) {
        Tensor *in = NEW_N(a, Tensor, n->n_in), *out = NEW_N(a, Tensor, n->n_out);
        for (int k = 0; k < n->n_in; k++) in[k] = *program_tensor(p, slot, n->in[k]);
        for (int k = 0; k < n->n_out; k++) out[k] = *program_tensor(p, slot, n->out[k]);
        s->launch[slot - first] = (Launch){ .op = n->op,
                                            .attrs = n->attrs,
                                            .dims = n->dims,
                                            .in = in,
                                            .out = out,
                                            .n_in = n->n_in,
                                            .n_out = n->n_out,
                                            .add = adds,
                                            .stream = p->stream[n->stream],
                                            .comm = comm,
                                            .block = n->block,
                                            .origin = origin };
    }
    const Device *d = p->settings.device;
    if (n->op->flags & OP_COPY) {
        s->kernel = run_copy;
        return NULL;
    }
    if (!p->settings.reference_only)
        s->tuned = kernel_of_device(n->op->name, d, p->settings.level, s->launch);
    s->kernel = s->tuned ? s->tuned->run : run_reference;
    return NULL;
}

static Error *check_kernel(const Program *p, const Step *s)
{
    const Device *d = p->settings.device;
    const OpDef *op = s->node->op;
    const bool is_moved = op->flags & OP_COMM && !op->flops && d->comm_new;
    bool has_reference = op->reference && (is_moved || !strcmp(d->kernels, "cpu"));
    if (s->tuned || has_reference || op->flags & (OP_VIEW | OP_COPY)) return NULL;
    return error_new("no kernel for op %s on %s", op->name, p->settings.device->name);
}

/* A step of a further stream begins when the computation has come to its place in the list; the
 * computation waits where it touches the same storage, and so do streams among each other. */
static void find_waits(Program *p)
{
    for (int64_t i = 0; i < p->n_steps; i++) {
        Step *s = &p->step[i];
        int64_t cap = 0;
        for (int64_t j = 0; j < i; j++) {
            Step *earlier = &p->step[j];
            if (earlier->node->stream == s->node->stream || earlier->node->stream == 0 ||
                !nodes_conflict(s->node, earlier->node))
                continue;
            s->wait = arena_grow(p->arena, s->wait, s->n_waits, &cap, sizeof *s->wait);
            s->wait[s->n_waits++] = j;
            earlier->is_awaited = true;
        }
    }
}

static Error *make_steps(Program *p)
{
    const Graph *g = p->graph;
    p->step = NEW_N(p->arena, Step, g->n_nodes);
    for (; p->n_steps < g->n_nodes; p->n_steps++) {
        TRY(make_step(p, &p->step[p->n_steps], g->node[p->n_steps]));
        TRY(check_kernel(p, &p->step[p->n_steps]));
    }
    if (p->n_streams > 1) find_waits(p);
    ahead_find(p);
    return NULL;
}

static size_t bytes_of(void *ctx, const Value *v)
{
    return tensor_bytes(program_tensor(ctx, 0, v));
}

static size_t scratch_of(void *ctx, int64_t i)
{
    const Program *p = ctx;
    const Step *s = &p->step[i];
    if (s->node->op->flags & (OP_VIEW | OP_COPY)) return 0;
    if (!s->tuned) return reference_scratch(s->node->op, s->launch);
    struct Pool *pool = p->stream[0]->pool;
    return s->tuned->scratch ? s->tuned->scratch(s->launch, pool ? pool_size(pool) : 1) : 0;
}

static void find_readings(Program *p)
{
    const Graph *g = p->graph;
    p->reading = NEW_N(p->arena, Reading, g->n_outputs);
    for (int64_t i = 0; i < g->n_outputs; i++) {
        const Value *v = g->output[i].value;
        if (v->kind == VALUE_RESULT && v->n_dims == 0 && v->from->phase != PREPARE)
            p->reading[p->n_readings++] = (Reading){ g->output[i].name, v };
    }
}

int64_t program_cells(const Program *p)
{
    return p->n_readings * p->n_microbatches + program_can_gate(p);
}

static size_t cell_bytes(const Program *p)
{
    return sizeof(double) * (size_t)program_cells(p);
}

static void plan(Program *p)
{
    const size_t extra[] = { sizeof(RunTime) * (size_t)(p->timeline->n_slots + 1), cell_bytes(p) };
    static const char *const name[] = { "run time", "readings" };
    const MemoryNeeds needs = { .bytes_of = bytes_of,
                                .scratch_of = scratch_of,
                                .ctx = p,
                                .extra = extra,
                                .extra_name = name,
                                .n_extra = 2 };
    p->plan = plan_memory(p->arena, p->graph, p->timeline, &needs);
}

/* Beside what the store and its workspace have. */
static size_t available_bytes(const Program *p, size_t workspace)
{
    const ProgramSettings *s = &p->settings;
    if (!s->memory) return s->device->free_bytes(s->device);
    size_t taken = s->store->bytes + workspace;
    return s->memory > taken ? s->memory - taken : 1;
}

static Error *check_memory(const Program *p)
{
    size_t shared;
    store_workspace(p->settings.store, &shared);
    size_t available = available_bytes(p, shared);
    size_t stored = store_missing(p->settings.store), planned = p->plan->bytes;
    if (p->settings.device->is_host) planned += p->plan->host_bytes;
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
    if (p->settings.device->own_bytes) fputs("what is not free:\n", f);
    program_print_own(p, f);
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

static void *place_of(const Program *p, const char *stored, int slot, const Value *v)
{
    int64_t first;
    const Value *storage = value_storage(v, &first);
    char *at = (char *)stored;
    if (!stored) {
        int64_t offset = p->plan->offset[slot * p->graph->n_values + storage->id];
        if (offset == NOT_PLANNED) return NULL;
        at = (storage->on_host ? p->host_block : p->block) + offset;
    }
    return at + (size_t)first * dtype_size(storage->dtype);
}

static void place_values(Program *p)
{
    const Graph *g = p->graph;
    for (int64_t i = 0; i < g->n_values; i++) {
        int64_t first;
        const Value *storage = value_storage(g->value[i], &first);
        const char *stored = NULL;
        if (store_holds(storage)) {
            Stored *s = store_find(p->settings.store, store_derived_name(p->arena, storage));
            if (!s) continue; /* dead */
            stored = s->tensor.data;
        }
        for (int slot = 0; slot <= p->timeline->n_slots; slot++)
            program_tensor(p, slot, g->value[i])->data = place_of(p, stored, slot, g->value[i]);
    }
}

static void place_step(Program *p, int64_t i)
{
    Step *s = &p->step[i];
    int first = node_is_of_microbatch(s->node) ? 0 : p->timeline->n_slots;
    int end = node_is_of_microbatch(s->node) ? p->timeline->n_slots : first + 1;
    for (int slot = first; slot < end; slot++) {
        Launch *l = &s->launch[slot - first];
        for (int k = 0; k < l->n_in; k++)
            ((Tensor *)l->in)[k].data = program_tensor(p, slot, s->node->in[k])->data;
        for (int k = 0; k < l->n_out; k++)
            l->out[k].data = program_tensor(p, slot, s->node->out[k])->data;
        if (p->plan->scratch[i] != NOT_PLANNED) l->scratch = p->block + p->plan->scratch[i];
        l->now = &p->slot_now[slot];
    }
    if (s->node->phase != PREPARE) return;
    int64_t first_element;
    const Value *made = value_storage(s->node->out[0], &first_element);
    s->derived = store_find(p->settings.store, store_derived_name(p->arena, made));
}

/* Another program may have made the workspace larger, and so moved it. */
void program_settle(Program *p)
{
    size_t bytes;
    char *block = store_workspace(p->settings.store, &bytes);
    CHECK(block != NULL && bytes >= p->plan->bytes);
    if (block == p->block) return;
    program_forget_step(p);
    p->block = block;
    p->slot_now = (RunTime *)(block + p->plan->extra[0]);
    p->cell = p->n_readings ? (double *)(block + p->plan->extra[1]) : NULL;
    place_values(p);
    for (int64_t i = 0; i < p->n_steps; i++) place_step(p, i);
}

static Error *make_streams(Program *p)
{
    Device *d = p->settings.device;
    int n = 1;
    for (int64_t i = 0; i < p->graph->n_nodes; i++)
        if (p->graph->node[i]->stream >= n) n = p->graph->node[i]->stream + 1;
    p->stream = NEW_N(p->arena, Stream *, n);
    for (; p->n_streams < n; p->n_streams++)
        TRY(d->stream_new(d, p->n_streams > 0, &p->stream[p->n_streams]));
    return NULL;
}

/* What no action runs would be left out without a word, or waited for by other ranks. */
static Error *check_stages(const Program *p, const Schedule *s, int n_stages)
{
    unsigned *run = NEW_N(p->arena, unsigned, n_stages);
    for (int64_t i = 0; i < s->n; i++) run[s->action[i].stage] |= s->action[i].phases;
    for (int64_t i = 0; i < p->graph->n_nodes; i++) {
        const Node *n = p->graph->node[i];
        if (node_is_of_microbatch(n) && n->phase <= BACKWARD_WEIGHT &&
            !(run[n->stage] >> n->phase & 1))
            return error_new("the %s program has work of pipeline stage %d (%s), but its schedule "
                             "has none of that stage",
                             p->settings.name, n->stage, phase_name(n->phase));
    }
    return NULL;
}

static Error *make_timeline(Program *p)
{
    const Schedule *s = p->settings.schedule;
    int n_stages = graph_stages(p->graph);
    if (s && schedule_stages(s) > n_stages) n_stages = schedule_stages(s);
    const Schedule given = s ? *s : schedule_once(p->arena, n_stages);
    TRY(check_stages(p, &given, n_stages));
    const Schedule whole = schedule_with_last(p->arena, &given, &p->last);
    p->n_last = schedule_stages(&whole);
    p->n_microbatches = schedule_microbatches(&whole);
    p->timeline = timeline_new(p->arena, &whole, n_stages);
    p->settings.schedule = NULL;
    return NULL;
}

/* What copies between device and host need on this side. */
static Error *allocate_on_host(Program *p)
{
    const size_t bytes = p->plan->host_bytes;
    Device *d = p->settings.device;
    for (int turn = 0; turn < 2; turn++) {
        const size_t n = (size_t)p->n_microbatches + 1;
        TRY(device_host_alloc(d, cell_bytes(p), (void **)&p->read[turn]));
        TRY(device_host_alloc(d, sizeof(RunTime) * n, (void **)&p->now[turn]));
    }
    if (!bytes) return NULL;
    char text[32];
    format_bytes((double)bytes, text);
    return error_wrap(device_host_alloc(d, bytes, (void **)&p->host_block),
                      "%s for the activations that wait in host memory", text);
}

static Error *prepare(Program *p)
{
    int64_t n = p->graph->n_values;
    TRY(make_streams(p));
    if (p->settings.groups) TRY(make_groups(p));
    TRY(make_timeline(p));
    TRY(store_add(p->settings.store, p->graph));
    p->tensor = NEW_N(p->arena, Tensor, (p->timeline->n_slots + 1) * n);
    for (int slot = 0; slot <= p->timeline->n_slots; slot++)
        for (int64_t i = 0; i < n; i++)
            p->tensor[slot * n + i] = value_tensor(p->arena, p->graph, p->graph->value[i]);
    TRY(make_steps(p));
    find_readings(p);
    plan(p);
    if (p->settings.is_plan) return NULL;
    TRY(check_memory(p));
    TRY(store_allocate(p->settings.store));
    TRY(allocate_on_host(p));
    TRY(store_reserve(p->settings.store, p->plan->bytes));
    program_settle(p);
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
    ahead_joined(p); /* by the end of its streams */
    times_free(p);
    program_forget_step(p);
    for (int64_t i = 0; i < p->n_steps; i++) d->mark_free(d, &p->step[i].done);
    for (int i = 0; i < p->n_streams; i++) d->stream_free(d, p->stream[i]);
    for (int turn = 0; turn < 2; turn++) {
        const int64_t n = p->sent[turn] ? p->n_microbatches * p->graph->n_values : 0;
        for (int64_t i = 0; i < n; i++) device_host_release(d, p->sent[turn][i]);
        d->mark_free(d, &p->end[turn]);
        device_host_release(d, p->read[turn]);
        device_host_release(d, p->now[turn]);
    }
    device_host_release(d, p->host_block);
    arena_free(p->arena);
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
