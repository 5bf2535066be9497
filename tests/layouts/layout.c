/* layout.c - ranks as threads, each with its own device, store and program. */
#include "layout.h"
#include "../passes/tiny_model.h"
#include "comm/groups.h"
#include "comm/transports.h"
#include "exec/pipeline_schedule.h"
#include "graph/split.h"
#include "models/decoder.h"
#include "ops/adam.h"
#include "optim/optim.h"
#include "passes/all_passes.h"
#include "passes/halves.h"
#include "passes/optimize.h"
#include "passes/pipeline.h"
#include "passes/precision.h"
#include "passes/recompute.h"
#include "passes/stages.h"
#include "test.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

typedef struct World {
    const LayoutCase *layout;
    int64_t n_ranks, n_data; /* ranks; those of them that have data of their own */
    LayoutResult *result;
    Arena *arena; /* of the result */
    pthread_mutex_t lock;
    Error *error; /* the first */
} World;

typedef struct RankRun {
    World *world;
    Comm *comm;
    Mesh mesh;
    Arena *arena;
    Device *device;
    ParamStore *store;
    Graph *graph;
    Program *program;
    int64_t data_rank;
    PipelineSchedule *pipeline; /* NULL: all ranks run all layers */
    pthread_t thread;
} RankRun;

static int64_t batch_of(const LayoutCase *l)
{
    return l->batch ? l->batch : 2;
}

static int64_t sequence_of(const LayoutCase *l)
{
    return l->sequence ? l->sequence : 8;
}

static int64_t vocabulary_of(const LayoutCase *l)
{
    return l->vocabulary ? l->vocabulary : 13;
}

static int64_t accumulation_of(const LayoutCase *l)
{
    return l->accumulation ? l->accumulation : 1;
}

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group)
{
    static const AdamSettings attrs = { 0.9, 0.95, 1e-3, 0.1, true, 0 };
    Value *moment[2];
    (void)self, (void)group;
    for (int i = 0; i < 2; i++)
        moment[i] = graph_state(g, arena_printf(g->arena, "moment%d.%s", i, param->name),
                                param->dtype, param->n_dims, param->dim);
    adam(g, param, grad, moment[0], moment[1], factor, &attrs);
}

static void cut_into_stages(const RankRun *r, Model *m)
{
    Stages *s = NEW(r->arena, Stages);
    PipelineCut *cut = NEW(r->arena, PipelineCut);
    *s = (Stages){ .n = r->pipeline->n_stages, .by_cost = true };
    *cut = (PipelineCut){ .rank_of = r->pipeline->rank_of };
    passes_add(&m->passes, &pass_stages, s);
    passes_add(&m->passes, &pass_pipeline, cut);
}

/* All layers but the first have experts. */
static Model *with_experts(Arena *a, const Model *m, const Moe *moe)
{
    Decoder *d = NEW(a, Decoder);
    *d = *decoder_of(m);
    DecoderLayer *layer = NEW_N(a, DecoderLayer, d->n_layer);
    for (int64_t i = 0; i < d->n_layer; i++) {
        layer[i] = d->layer[i];
        layer[i].is_sparse = i > 0;
    }
    d->layer = layer;
    d->moe = moe;
    return decoder_new(a, d);
}

static Gpt2Settings settings_of(const LayoutCase *l)
{
    Gpt2Settings s = tiny_settings(l->llama_like);
    s.use_weight_tying = l->tied;
    s.sequence_length = sequence_of(l);
    s.vocab_size = vocabulary_of(l);
    if (l->layers) s.n_layer = l->layers;
    if (l->heads) {
        s.n_head_q = l->heads;
        s.n_head_kv = l->kv_heads;
        tiny_set_width(&s, 4 * (int64_t)l->heads);
    }
    if (l->width) tiny_set_width(&s, l->width);
    return s;
}

/* Ranks draw other elements than one rank does. */
static bool has_dropout(const Decoder *d)
{
    return d && (d->dropout > 0 || d->embedding_dropout > 0 || d->attention_dropout > 0);
}

static Error *build_graph(RankRun *r)
{
    const Optimizer adam_w = { .update = update, .keeps_whole = r->world->layout->keeps_whole };
    const LayoutCase *l = r->world->layout;
    Graph *g = r->graph = graph_new(r->arena);
    const Gpt2Settings s = settings_of(l);
    Model *m = l->decoder ? decoder_new(r->arena, l->decoder) : gpt2_new(r->arena, &s);
    if (l->moe) m = with_experts(r->arena, m, l->moe);
    ModelOutput out = { 0 };
    g->mesh = r->world->n_ranks > 1 ? &r->mesh : NULL;
    m->data_parallel = &l->data_parallel;
    m->sharding = &l->sharding;
    if (l->edit) l->edit(m);
    if (r->pipeline) cut_into_stages(r, m);
    const ForwardSettings f = { .batch = batch_of(l),
                                .sequence = sequence_of(l),
                                .training = !has_dropout(l->decoder) };
    TRY(m->forward(m, g, &f, &out));
    Dim tokens[] = { { .size = f.batch, .axis = "batch" }, { .size = f.sequence, .axis = "seq" } };
    Precision precision = { .compute = l->compute };
    Recompute recompute = { .every = l->recompute_every };
    Optimize optimize = { .optimizer = l->optimizer ? l->optimizer : &adam_w,
                          .norm_type = 2,
                          .max_norm = l->max_norm };
    model_loss(g, &out, graph_input(g, "target_ids", I32, 2, tokens), l->global_tokens);
    if (recompute.every) passes_add(&m->passes, &pass_recompute, &recompute);
    Purpose purpose = { .model = m,
                        .precision = &precision,
                        .mesh = g->mesh,
                        .optimize = &optimize,
                        .halves = &(const Halves){ map_new(r->arena) },
                        .gradients = true,
                        .epilogues = r->device->has_epilogues };
    PassList list = passes_for(r->arena, &purpose);
    TRY(passes_run(g, g->mesh, &list, NULL));
    if (l->inspect && r->mesh.rank == 0) l->inspect(g, l->inspect_to);
    return NULL;
}

/* Whether token i of a microbatch has no target. */
static bool is_masked(const LayoutCase *l, int64_t i, int64_t microbatch)
{
    int64_t shift = l->global_tokens ? i + microbatch * microbatch : i;
    return shift % (l->global_tokens ? 5 : 11) == (l->global_tokens ? 3 : 5);
}

/* Of all microbatches of the step, on all ranks. */
static double count_targets(const World *w)
{
    const LayoutCase *l = w->layout;
    int64_t n = 0;
    for (int64_t m = 0; m < accumulation_of(l) * w->n_data; m++)
        for (int64_t i = 0; i < batch_of(l) * sequence_of(l); i++) n += !is_masked(l, i, m);
    return n ? (double)n : 1;
}

/* What each microbatch's loss counts in the step's. */
static double weight_of_loss(const World *w)
{
    const LayoutCase *l = w->layout;
    return 1 / (l->global_tokens ? count_targets(w) : (double)(accumulation_of(l) * w->n_data));
}

/* Microbatch i of all: ids by a fixed rule, some targets masked. */
static Error *feed(RankRun *r, int64_t microbatch, int64_t of_all)
{
    const LayoutCase *l = r->world->layout;
    int64_t n = batch_of(l) * sequence_of(l), v = vocabulary_of(l);
    int32_t *ids = NEW_N(r->arena, int32_t, n), *targets = NEW_N(r->arena, int32_t, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i + 5 * of_all;
        ids[i] = (int32_t)(at * 7919 % v);
        targets[i] = is_masked(l, i, of_all) ? -100 : (int32_t)((at + 1) * 7919 % v);
    }
    TRY(program_write(r->program, "input_ids", microbatch, ids));
    TRY(program_write(r->program, "target_ids", microbatch, targets));
    return program_wait(r->program);
}

enum { MOST_PARAMS = 256 };

static LayoutParam *param_of(World *w, const char *name, int64_t n, int64_t rows)
{
    LayoutResult *x = w->result;
    for (int64_t i = 0; i < x->n_params; i++)
        if (!strcmp(x->param[i].name, name)) return &x->param[i];
    CHECK(x->n_params < MOST_PARAMS);
    LayoutParam *p = &x->param[x->n_params++];
    *p = (LayoutParam){ .name = arena_string(w->arena, name), .n = n, .rows = rows };
    p->gradient = NEW_N(w->arena, double, n);
    p->after = NEW_N(w->arena, double, n);
    p->is_set = NEW_N(w->arena, bool, 2 * n);
    return p;
}

/* Puts a rank's part into the whole. */
static Error *join(RankRun *r, const Value *of, const Value *param, bool is_gradient)
{
    Tensor t;
    const Stored *s = store_find(r->store, of->name);
    TRY(store_numbers(r->store, s, true, r->arena, &t));
    LayoutParam *p = param_of(r->world, param->name, value_count(param), param->dim[0].size);
    double *whole = is_gradient ? p->gradient : p->after;
    bool *is_set = p->is_set + (is_gradient ? 0 : p->n);
    for (int64_t i = 0; i < tensor_count(&t); i++) {
        int64_t e = global_element(&t, i);
        double x = dtype_get(t.dtype, t.data, i);
        if (e < 0) {
            if (x != 0) return error_new("%s: padding is %g", of->name, x);
            continue;
        }
        if (is_set[e] && memcmp(&whole[e], &x, sizeof x) != 0)
            return error_new("%s: element %lld is %.17g on rank %lld, %.17g on another", of->name,
                             (long long)e, x, (long long)r->mesh.rank, whole[e]);
        whole[e] = x;
        is_set[e] = true;
        if (!param->grad) p->is_set[e] = true; /* it has none */
    }
    return NULL;
}

static Error *join_all(RankRun *r, bool is_gradient)
{
    Error *e = NULL;
    pthread_mutex_lock(&r->world->lock);
    for (int64_t i = 0; !e && i < r->graph->n_values; i++) {
        const Value *v = r->graph->value[i];
        if (v->kind == VALUE_PARAM && (v->grad || !is_gradient))
            e = join(r, is_gradient ? v->grad : v, v, is_gradient);
    }
    pthread_mutex_unlock(&r->world->lock);
    return e;
}

static void add_loss(RankRun *r, int64_t n)
{
    World *w = r->world;
    pthread_mutex_lock(&w->lock);
    /* cp and tp ranks have the same loss */
    double share = (double)w->n_data / (double)w->n_ranks * (double)r->mesh.size[MESH_PP];
    for (int64_t m = 0; m < n && program_has_scalar(r->program, "loss"); m++)
        w->result->loss += program_scalar(r->program, "loss", m) * share * weight_of_loss(w);
    w->result->grad_norm = program_scalar(r->program, "grad_norm", 0);
    pthread_mutex_unlock(&w->lock);
}

static void count_bytes(const RankRun *r)
{
    int64_t *bytes = r->world->result->bytes;
    if (r->mesh.rank) return;
    for (int64_t i = 0; i < store_count(r->store); i++) {
        const Stored *s = store_at(r->store, i);
        const ValueKind kind = stored_accounted(s);
        int at = kind == VALUE_PARAM ? 0 : kind == VALUE_ACCUMULATOR ? 1 : 2;
        if (kind == VALUE_PARAM || kind == VALUE_ACCUMULATOR || kind == VALUE_STATE)
            bytes[at] += (int64_t)tensor_bytes(&s->tensor);
    }
    bytes[3] = (int64_t)program_bytes(r->program);
}

static Error *run_step(RankRun *r, const Schedule *s)
{
    World *w = r->world;
    int64_t n = accumulation_of(w->layout);
    RunTime now = { .loss_scale = weight_of_loss(w), .seed = 3 };
    for (int i = 0; i < MAX_RATES; i++) now.rate[i].lr = 0.01;
    for (int64_t i = 0; i < s->n; i++) {
        const Action *x = &s->action[i];
        if (x->phases & RUN_UPDATE) {
            TRY(program_wait(r->program));
            add_loss(r, n);
            TRY(join_all(r, true));
        }
        if (x->phases & RUN_FORWARD)
            TRY(feed(r, x->microbatch, x->microbatch * w->n_data + r->data_rank));
        TRY(program_run(r->program, x, &now));
    }
    TRY(program_wait(r->program));
    TRY(store_settle(r->store, NULL)); /* other ranks may be needed for it: without the lock */
    count_bytes(r);
    return join_all(r, false);
}

/* Who finds ranks that wait looks where the node was asked for. */
static Error *check_sources(const Graph *g)
{
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        if (n->axes && (!n->source.file || strncmp(n->source.file, "src/", 4) != 0))
            return error_new("%s does not say where it was asked for", n->op->name);
    }
    return NULL;
}

static Error *make_program(RankRun *r, bool is_plan, Schedule *schedule)
{
    const LayoutCase *l = r->world->layout;
    TRY(device_open(NULL, (int)r->mesh.rank, 1, &r->device));
    r->store = store_new(r->device);
    Schedule s = schedule_accumulate(r->arena, accumulation_of(l));
    if (r->mesh.size[MESH_PP] > 1) {
        const PipelineShape shape = { (int)r->mesh.size[MESH_PP], l->per_rank ? l->per_rank : 1,
                                      accumulation_of(l) };
        const char *name = l->schedule ? l->schedule : "1F1B";
        TRY(pipeline_schedule_new(r->arena, name, &shape, &r->pipeline));
        s = r->pipeline->rank[mesh_coordinate(&r->mesh, MESH_PP, r->mesh.rank)];
    }
    TRY(build_graph(r));
    TRY(check_sources(r->graph));
    ProgramSettings settings = { .device = r->device,
                                 .store = r->store,
                                 .level = cpu_level_available(),
                                 .reference_only = l->reference_only,
                                 .schedule = &s,
                                 .name = "test" };
    if (r->comm) settings.groups = groups_new(r->arena, &r->mesh, r->comm);
    if (is_plan) settings.groups = groups_planned(r->arena, &r->mesh);
    settings.is_plan = is_plan;
    *schedule = s;
    return program_new(r->graph, &settings, &r->program);
}

static Error *run_rank(RankRun *r)
{
    Schedule s;
    TRY(make_program(r, false, &s));
    TRY(store_initialize(r->store, 1));
    return run_step(r, &s);
}

static void free_program(RankRun *r)
{
    program_free(r->program);
    if (r->store) store_free(r->store);
    if (r->device) r->device->free(r->device);
    arena_free(r->arena);
}

static void *run_thread(void *arg)
{
    RankRun *r = arg;
    World *w = r->world;
    r->arena = arena_new();
    Error *e = run_rank(r);
    pthread_mutex_lock(&w->lock);
    if (e && w->error) {
        error_free(e);
        e = NULL;
    }
    if (e) {
        w->error = error_wrap(e, "rank %lld", (long long)r->mesh.rank);
        if (r->comm) r->comm->abort(r->comm, "another rank failed");
    }
    pthread_mutex_unlock(&w->lock);
    free_program(r);
    return NULL;
}

static Mesh mesh_of(const LayoutCase *l)
{
    Mesh m = { .world_size = 1, .device_type = "cpu" };
    for (int i = MESH_PP; i < MESH_N_AXES; i++) {
        m.size[i] = l->size[i] ? l->size[i] : 1;
        m.world_size *= m.size[i];
    }
    return m;
}

RankPlan layout_plan(Arena *a, const LayoutCase *l, int64_t rank)
{
    Schedule s;
    Mesh mesh = mesh_of(l);
    World w = { .layout = l, .n_ranks = mesh.world_size };
    RankRun r = { .world = &w, .mesh = mesh, .arena = arena_new() };
    r.mesh.rank = rank;
    assert_no_error(make_program(&r, true, &s));
    RankPlan plan = program_rank_plan(r.program, a);
    for (int64_t i = 0; i < plan.n_traffic; i++)
        plan.traffic[i].op = arena_string(a, plan.traffic[i].op);
    free_program(&r);
    return plan;
}

Error *layout_try(Arena *a, const LayoutCase *l, LayoutResult *out)
{
    LayoutResult result = { .param = NEW_N(a, LayoutParam, MOST_PARAMS) };
    Mesh mesh = mesh_of(l);
    World w = { .layout = l,
                .n_ranks = mesh.world_size,
                .n_data = mesh_dp_degree(&mesh),
                .result = &result,
                .arena = a,
                .lock = PTHREAD_MUTEX_INITIALIZER };
    Comm **comm = NEW_N(a, Comm *, w.n_ranks);
    RankRun *rank = NEW_N(a, RankRun, w.n_ranks);
    if (w.n_ranks > 1) comm_threads_new((int)w.n_ranks, comm);
    for (int64_t i = 0; i < w.n_ranks; i++) {
        rank[i] = (RankRun){ .world = &w, .comm = comm[i], .mesh = mesh };
        rank[i].mesh.rank = i;
        rank[i].data_rank = mesh_dp_place(&mesh, i);
        assert_int_equal(pthread_create(&rank[i].thread, NULL, run_thread, &rank[i]), 0);
    }
    for (int64_t i = 0; i < w.n_ranks; i++) pthread_join(rank[i].thread, NULL);
    for (int64_t i = 0; i < w.n_ranks && comm[i]; i++) comm[i]->free(comm[i]);
    *out = result;
    for (int64_t i = 0; !w.error && i < result.n_params; i++)
        for (int64_t k = 0; k < 2 * result.param[i].n; k++) assert_true(result.param[i].is_set[k]);
    return w.error;
}

LayoutResult layout_run(Arena *a, const LayoutCase *l)
{
    LayoutResult result;
    Error *e = layout_try(a, l, &result);
    if (e) fail_msg("%s", error_text(e));
    return result;
}

LayoutResult layout_run_alone(Arena *a, const LayoutCase *l)
{
    LayoutCase alone = *l;
    const Mesh m = mesh_of(l);
    alone.accumulation = accumulation_of(l) * mesh_dp_degree(&m);
    memset(alone.size, 0, sizeof alone.size);
    return layout_run(a, &alone);
}

static double most_of(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabs(x[i]) > most) most = fabs(x[i]);
    return most;
}

/* Relative, but by `floor` where a number is next to nothing. */
static double distance(const double *x, const double *y, int64_t n, double floor)
{
    double worst = 0, size = most_of(x, n) + floor;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(x[i] - y[i]) / size;
        if (!(d <= worst)) worst = d; /* a NaN stays */
    }
    return worst;
}

static void take(double *worst, double d)
{
    if (!(d <= *worst)) *worst = d;
}

static const LayoutParam *same_param(const LayoutResult *in, const LayoutParam *p)
{
    const LayoutParam *q = NULL;
    for (int64_t k = 0; k < in->n_params; k++)
        if (!strcmp(in->param[k].name, p->name)) q = &in->param[k];
    assert_non_null(q);
    assert_int_equal(p->n, q->n);
    return q;
}

bool layout_same_bits(const LayoutResult *x, const LayoutResult *y)
{
    for (int64_t i = 0; i < x->n_params; i++) {
        const LayoutParam *p = &x->param[i], *q = same_param(y, p);
        const size_t bytes = sizeof(double) * (size_t)p->n;
        if (memcmp(p->gradient, q->gradient, bytes) || memcmp(p->after, q->after, bytes))
            return false;
    }
    return true;
}

static double largest_gradient(const LayoutResult *x)
{
    double most = 0;
    for (int64_t i = 0; i < x->n_params; i++)
        take(&most, most_of(x->param[i].gradient, x->param[i].n));
    return most;
}

double layout_gradient_difference(const LayoutResult *x, const LayoutResult *y)
{
    double worst = 0, most = largest_gradient(x);
    assert_true(x->n_params > 0 && most > 0);
    assert_int_equal(x->n_params, y->n_params);
    for (int64_t i = 0; i < x->n_params; i++) {
        const LayoutParam *p = &x->param[i], *q = same_param(y, p);
        take(&worst, distance(p->gradient, q->gradient, p->n, 0.01 * most));
    }
    return worst;
}

double layout_difference(const LayoutResult *x, const LayoutResult *y)
{
    double worst = layout_gradient_difference(x, y);
    assert_true(x->loss > 0 && x->grad_norm > 0);
    for (int64_t i = 0; i < x->n_params; i++) {
        const LayoutParam *p = &x->param[i], *q = same_param(y, p);
        take(&worst, distance(p->after, q->after, p->n, 0.01));
    }
    take(&worst, distance(&x->loss, &y->loss, 1, 0));
    take(&worst, distance(&x->grad_norm, &y->grad_norm, 1, 0));
    return worst;
}

void layout_equals_one_rank(LayoutCase l, double most)
{
    Arena *a = arena_new();
    if (!l.data_parallel.blocks_per_unit) l.data_parallel.blocks_per_unit = 1;
    LayoutResult one = layout_run_alone(a, &l), many = layout_run(a, &l);
    double d = layout_difference(&one, &many);
    if (!(d <= most)) fail_msg("the ranks are %.3g away from one rank; allowed is %.3g", d, most);
    arena_free(a);
}
