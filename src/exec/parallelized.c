/* parallelized.c - model.parallelized: how ranks share a model, in one block. */
#include "config/builder.h"
#include "exec/pipeline_cut.h"
#include "models/model.h"
#include "passes/data_parallel.h"
#include "passes/offload.h"
#include "passes/recompute.h"
#include "passes/shard.h"

typedef struct Settings {
    Model *model;
    Mesh *device_mesh;
    int64_t zero_stage, blocks_per_unit;
    int param_dtype, reduce_dtype;
    bool sequence_parallel, async_tensor_parallel;
    int context_layout, context_method;
    const char *pipeline_schedule;
    int64_t stages_per_rank, microbatches;
    int64_t recompute_every, offload_every;
    const double *memory_budget;
} Settings;

static const Dtype compute[] = { F32, BF16, F16 };
static const char *const dtypes[] = { "FP_32", "BF_16", "FP_16", NULL };
static const char *const layouts[] = { "contiguous", "zig_zag", NULL };
static const char *const methods[] = { "gather", "ring", "ulysses", NULL };

static void ask_for_recomputation(Arena *a, Model *m, int64_t every)
{
    Recompute *r = NEW(a, Recompute);
    r->every = every;
    passes_add(&m->passes, &pass_recompute, r);
}

static void ask_for_offloading(Arena *a, Model *m, int64_t every)
{
    Offload *o = NEW(a, Offload);
    o->every = every;
    passes_add(&m->passes, &pass_offload, o);
}

static void keep_to_budget(Arena *a, Model *m, double gigabytes)
{
    MemoryBudget *budget = NEW(a, MemoryBudget);
    budget->bytes = gigabytes * 1e9;
    budget->recompute = NEW(a, Recompute);
    budget->recompute->of = m->n_layer;
    passes_add(&m->passes, &pass_recompute, budget->recompute);
    m->budget = budget;
}

static Error *cut_into_stages(Arena *a, const Settings *s)
{
    const PipelineWish wish = { .model = s->model,
                                .schedule = s->pipeline_schedule ? s->pipeline_schedule : "1F1B",
                                .ranks = s->device_mesh->size[MESH_PP],
                                .per_rank = s->stages_per_rank,
                                .stages = { .by_cost = true } };
    Pipeline *p;
    if (s->model->pipeline && (s->pipeline_schedule || s->stages_per_rank || s->microbatches))
        return error_new("model: pipeline.staged has cut it into stages, so pipeline_schedule, "
                         "stages_per_rank and microbatches are not for model.parallelized to say");
    if (s->model->pipeline || wish.ranks == 1) return NULL;
    TRY(pipeline_cut(a, &wish, &p));
    if (p->stages.n > s->model->n_layer + 2)
        return error_new("stages_per_rank %d: a model of %lld blocks, an embedding and a head "
                         "cannot be cut into %d stages",
                         p->per_rank, (long long)s->model->n_layer, p->stages.n);
    p->per_batch = s->microbatches ? s->microbatches : 1;
    return NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    Model *m = s->model;
    const Mesh *mesh = s->device_mesh;
    if (m->sharding || m->data_parallel)
        return error_new("model: it was parallelized before; model.parallelized stands for "
                         "model.gpt2_tp, model.fsdp2_wrapped and model.activation_checkpointed");
    if (s->async_tensor_parallel && !s->sequence_parallel)
        return error_new("async_tensor_parallel hides the transfers of sequence_parallel, which is "
                         "false: set it to true");
    if (s->async_tensor_parallel && s->param_dtype == 2)
        return error_new("async_tensor_parallel goes with a param_dtype of BF_16 or FP_32, not "
                         "FP_16");
    TRY(cut_into_stages(a, s));
    Sharding *sharding = NEW(a, Sharding);
    *sharding = (Sharding){ .tensor = mesh_has(mesh, MESH_TP),
                            .sequence = mesh_has(mesh, MESH_TP) && s->sequence_parallel,
                            .async = mesh_has(mesh, MESH_TP) && s->async_tensor_parallel,
                            .context = mesh_has(mesh, MESH_CP),
                            .layout = s->context_layout == 0 ? CONTIGUOUS : ZIGZAG,
                            .method = (ContextMethod)s->context_method };
    DataParallel *data = NEW(a, DataParallel);
    *data = (DataParallel){ .stage = (ZeroStage)s->zero_stage,
                            .blocks_per_unit = s->blocks_per_unit,
                            .reduce_dtype = compute[s->reduce_dtype] };
    m->sharding = sharding;
    m->data_parallel = data;
    m->compute = compute[s->param_dtype];
    if (s->recompute_every && s->memory_budget)
        return error_new("recompute_every says which blocks are computed again, and memory_budget "
                         "finds out: give one of them");
    if (s->recompute_every) ask_for_recomputation(a, m, s->recompute_every);
    if (s->memory_budget) keep_to_budget(a, m, *s->memory_budget);
    if (s->offload_every) ask_for_offloading(a, m, s->offload_every);
    *out = m;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_COMPONENT(Settings, device_mesh, Mesh, "device_mesh", NULL, "the ranks; its degrees above 1 are what the model is shared over"),
    FIELD_INT(Settings, zero_stage, "3", 0, 3, "what is divided over dp_shard and cp: 0 nothing (DDP), 1 optimizer states, 2 and gradients, 3 and parameters (FSDP)", .no_effect_alone = "it holds everything"),
    FIELD_INT(Settings, blocks_per_unit, "1", 1, INFINITY, "blocks that are gathered and reduced together", .no_effect_alone = "nothing is gathered"),
    FIELD_CHOICE(Settings, param_dtype, "BF_16", dtypes, "dtype of weights and activations in matrix products"),
    FIELD_CHOICE(Settings, reduce_dtype, "FP_32", dtypes, "dtype in which gradients are sent", .no_effect_alone = "nothing is sent"),
    FIELD_BOOL(Settings, sequence_parallel, "true", "between the products that tp shares, tokens are split over it, too", .no_effect_alone = "it has all tokens"),
    FIELD_BOOL(Settings, async_tensor_parallel, "false", "with sequence_parallel: matrix products are made in pieces, while tokens of other pieces travel over tp", .no_effect_alone = "it has all tokens"),
    FIELD_CHOICE(Settings, context_layout, "zig_zag", layouts, "which tokens the ranks along cp have: zig_zag gives all of them the same work in causal attention", .no_effect_alone = "it has all tokens"),
    FIELD_CHOICE(Settings, context_method, "ring", methods, "how the ranks along cp attend to each other's tokens: ring passes keys and values round, gather collects them, ulysses exchanges tokens for heads", .no_effect_alone = "it has all tokens"),
    FIELD_STRING(Settings, pipeline_schedule, "null", "in which order ranks along pp run their stages: GPipe, 1F1B, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, ZBVZeroBubble or DualPipeV, in whatever case; null: 1F1B; `config check --print_schedule` shows it", .no_effect_alone = "it has all layers"),
    FIELD_INT(Settings, stages_per_rank, "0", 0, INFINITY, "stages on each rank along pp, about equally long; 0: as many as the schedule runs, 2 where it runs any number", .no_effect_alone = "it has all layers"),
    FIELD_INT(Settings, microbatches, "0", 0, INFINITY, "into how many a batch of the loader is cut on its way through the stages, 0: one; those of all gradient_accumulation_steps follow each other", .no_effect_alone = "it has all layers"),
    FIELD_INT(Settings, recompute_every, "0", 0, INFINITY, "every how many blocks one keeps its input only and computes the rest again (activation checkpointing); 0: none, 1: all"),
    FIELD_FLOAT(Settings, memory_budget, "null", 0, INFINITY, "GB that the training step of a rank may take, as `plan` shows it: as few blocks are computed again as let it fit", .flags = FIELD_OPEN_MIN),
    FIELD_INT(Settings, offload_every, "0", 0, INFINITY, "every how many blocks one keeps its activations in host memory until the backward pass, where the device has memory of its own; 0: none, 1: all"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_parallelized = {
    .kind = "model",
    .variant = "parallelized",
    .doc = "shares a model among the ranks of a mesh: data, tensor, sequence, context and pipeline "
           "parallelism, precision and activation checkpointing in one block",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
