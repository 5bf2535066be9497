/* mesh.c - device_mesh.default: degrees of parallelism that multiply to the number of ranks. */
#include "comm/mesh.h"
#include "config/builder.h"
#include <string.h>

const char *const mesh_axis_names[] = { "pp", "dp_replicate", "dp_shard", "ep", "cp", "tp", NULL };

/* How to run, and how to check, a mesh of so many ranks. */
static Error *with_hint(Error *e, int64_t n_ranks)
{
    if (n_ranks == 1)
        return error_join(e, error_new("for one rank: modalities run without --ranks and without a "
                                       "launcher"));
    return error_join(e,
                      error_new("for %lld ranks: modalities run --ranks %lld, or mpirun -n %lld; "
                                "to check it: WORLD_SIZE=%lld modalities config check ...",
                                (long long)n_ranks, (long long)n_ranks, (long long)n_ranks,
                                (long long)n_ranks));
}

/* The degree left for the axis that is -1. Ranks along ep are counted along dp_shard. */
static Error *infer(Mesh *m, MeshAxis axis)
{
    int64_t others = 1;
    for (int i = MESH_PP; i < MESH_N_AXES; i++)
        if (i != (int)axis && i != MESH_EP && __builtin_mul_overflow(others, m->size[i], &others))
            return error_new("the product of the degrees is beyond 64 bits");
    m->size[axis] = m->world_size / others;
    if (m->size[axis] > 0) return NULL;
    Error *e = error_new(
        "nothing is left for %s: the other degrees multiply to %lld, the world size is %lld",
        mesh_axis_names[axis - 1], (long long)others, (long long)m->world_size);
    return with_hint(e, others);
}

static Error *check_product(const Mesh *m)
{
    int64_t product = 1;
    for (int i = MESH_PP; i < MESH_N_AXES; i++)
        if (i != MESH_EP && __builtin_mul_overflow(product, m->size[i], &product))
            return error_new("the product of the degrees is beyond 64 bits, but the world size is "
                             "%lld",
                             (long long)m->world_size);
    if (product == m->world_size) return NULL;
    Text degrees = { 0 };
    for (int i = MESH_PP; i < MESH_N_AXES; i++)
        if (i != MESH_EP)
            text_printf(&degrees, "%s%s %lld", i == MESH_PP ? "" : ", ", mesh_axis_names[i - 1],
                        (long long)m->size[i]);
    Error *e = error_new("the degrees (%s) multiply to %lld, but the world size is %lld",
                         degrees.ptr, (long long)product, (long long)m->world_size);
    text_free(&degrees);
    return with_hint(e, product);
}

/* Takes the ranks along ep out of dp_shard. */
static Error *divide_by_experts(Mesh *m)
{
    int64_t *shard = &m->size[MESH_DP_SHARD], n = m->size[MESH_EP];
    if (*shard % n) {
        Error *e =
            error_new("expert_parallel_degree is %lld, but the %lld ranks of dp_shard, among "
                      "which experts are divided, do not divide by it",
                      (long long)n, (long long)*shard);
        return with_hint(e, m->world_size / *shard * n);
    }
    *shard /= n;
    return NULL;
}

Error *mesh_make(Mesh *m)
{
    int64_t *replicate = &m->size[MESH_DP_REPLICATE], *shard = &m->size[MESH_DP_SHARD];
    if (*replicate == -1 && *shard == -1)
        return error_new(
            "only one of data_parallel_replicate_degree and data_parallel_shard_degree can be -1");
    for (int i = MESH_PP; i < MESH_N_AXES; i++)
        if (m->size[i] < 1 && m->size[i] != -1)
            return error_new(
                "the degree of %s is %lld; allowed: at least 1, or -1 for a data-parallel one",
                mesh_axis_names[i - 1], (long long)m->size[i]);
    if (*replicate == -1) TRY(infer(m, MESH_DP_REPLICATE));
    if (*shard == -1) TRY(infer(m, MESH_DP_SHARD));
    TRY(check_product(m));
    return divide_by_experts(m);
}

int64_t mesh_degree(const Mesh *m, MeshAxis axis)
{
    return m->size[axis] * (axis == MESH_DP_SHARD ? m->size[MESH_EP] : 1);
}

bool mesh_has(const Mesh *m, MeshAxis axis)
{
    return axis == MESH_DP_SHARD || m->size[axis] > 1;
}

int64_t mesh_coordinate(const Mesh *m, MeshAxis axis, int64_t rank)
{
    CHECK(axis > MESH_NONE && axis < MESH_N_AXES && rank >= 0 && rank < m->world_size);
    for (int i = MESH_TP; i > (int)axis; i--) rank /= m->size[i];
    return rank % m->size[axis];
}

Mesh mesh_of_rank(const Rank *rank)
{
    Mesh m = { .world_size = rank->world_size, .rank = rank->rank, .device_type = "cpu" };
    for (int i = MESH_PP; i < MESH_N_AXES; i++) m.size[i] = 1;
    m.size[MESH_DP_SHARD] = m.world_size;
    return m;
}

int64_t mesh_dp_degree(const Mesh *m)
{
    return m->size[MESH_DP_REPLICATE] * m->size[MESH_DP_SHARD] * m->size[MESH_EP];
}

int64_t mesh_dp_place(const Mesh *m, int64_t rank)
{
    int64_t place = mesh_coordinate(m, MESH_DP_REPLICATE, rank);
    place = place * m->size[MESH_DP_SHARD] + mesh_coordinate(m, MESH_DP_SHARD, rank);
    return place * m->size[MESH_EP] + mesh_coordinate(m, MESH_EP, rank);
}

typedef struct Settings {
    const char *device_type;
    int64_t data_parallel_replicate_degree, data_parallel_shard_degree;
    int64_t tensor_parallel_degree, pipeline_parallel_degree, context_parallel_degree;
    int64_t expert_parallel_degree;
    const bool *enable_loss_parallel;
    int64_t world_size;
} Settings;

/* clang-format off */
static const Field fields[] = {
    FIELD_STRING(Settings, device_type, "cuda", "where the ranks compute"),
    FIELD_INT(Settings, data_parallel_replicate_degree, "1", -1, INFINITY, "copies of the sharded model; -1: what is left", .flags = FIELD_STRICT),
    FIELD_INT(Settings, data_parallel_shard_degree, NULL, -1, INFINITY, "ranks that share one copy of parameters and optimizer state; -1: what is left", .flags = FIELD_STRICT),
    FIELD_INT(Settings, tensor_parallel_degree, "1", 1, INFINITY, "ranks that share each matrix", .flags = FIELD_STRICT),
    FIELD_INT(Settings, pipeline_parallel_degree, "1", 1, INFINITY, "ranks that share the layers", .flags = FIELD_STRICT),
    FIELD_INT(Settings, context_parallel_degree, "1", 1, INFINITY, "ranks that share each sequence", .flags = FIELD_STRICT),
    FIELD_INT(Settings, expert_parallel_degree, "1", 1, INFINITY, "ranks, of those along dp_shard, that share the experts of a mixture", .flags = FIELD_STRICT),
    FIELD_BOOL(Settings, enable_loss_parallel, "false", "the vocabulary of the loss is split, too", .no_effect = "always so where ranks divide the vocabulary: logits are never gathered for a loss"),
    FIELD_INT(Settings, world_size, NULL, 1, INFINITY, "number of ranks", .flags = FIELD_STRICT),
    { 0 },
};
/* clang-format on */

static Error *take_rank(Mesh *m, int64_t rank)
{
    m->rank = rank;
    if (rank < m->world_size) return NULL;
    return error_new("RANK is \"%lld\"; with a world size of %lld it must be 0 to %lld",
                     (long long)rank, (long long)m->world_size, (long long)m->world_size - 1);
}

static Error *check(const void *settings)
{
    const char *type = ((const Settings *)settings)->device_type;
    if (!strcmp(type, "cpu") || !strcmp(type, "cuda")) return NULL;
    return error_new("device_type \"%s\"; allowed are cuda and cpu", type);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Mesh *m = NEW(builder_arena(b), Mesh);
    *m = (Mesh){ .world_size = s->world_size, .device_type = s->device_type };
    m->size[MESH_PP] = s->pipeline_parallel_degree;
    m->size[MESH_DP_REPLICATE] = s->data_parallel_replicate_degree;
    m->size[MESH_DP_SHARD] = s->data_parallel_shard_degree;
    m->size[MESH_EP] = s->expert_parallel_degree;
    m->size[MESH_CP] = s->context_parallel_degree;
    m->size[MESH_TP] = s->tensor_parallel_degree;
    *out = m;
    TRY(mesh_make(m));
    if (s->enable_loss_parallel && *s->enable_loss_parallel && m->size[MESH_TP] < 2)
        return error_new("enable_loss_parallel needs a tensor_parallel_degree above 1");
    return take_rank(m, builder_rank(b)->rank);
}

const ComponentDef device_mesh_default = {
    .kind = "device_mesh",
    .variant = "default",
    .doc = "the ranks as a grid of pipeline, data, expert, context and tensor parallelism",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
    .is_light = true,
};
