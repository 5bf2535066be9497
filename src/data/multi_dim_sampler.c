/* multi_dim_sampler.c - sampler.resumable_distributed_multi_dim_sampler: shares samples along one
 * axis of the device mesh, so that ranks that differ in others (tp, pp, cp) see the same ones. */
#include "comm/mesh.h"
#include "config/builder.h"
#include "data/sampler.h"

typedef struct Settings {
    Dataset *dataset;
    Mesh *device_mesh;
    int data_parallel_key; /* MeshAxis less one */
    int64_t epoch, skip_num_global_samples;
    const bool *shuffle; /* NULL: null, as false */
    const int64_t *seed; /* NULL: null, as 0 */
    bool drop_last;
    int shuffle_method; /* OrderKind less one */
} Settings;

static const char *const only_true[] = { "true", NULL };

static const Field fields[] = {
    FIELD_COMPONENT(Settings, dataset, Dataset, "dataset", NULL, "the samples"),
    FIELD_COMPONENT(Settings, device_mesh, Mesh, "device_mesh", NULL, "the ranks"),
    FIELD_CHOICE(Settings, data_parallel_key, NULL, mesh_axis_names,
                 "the axis whose ranks share the samples",
                 .no_effect = "there is one rank along each"),
    FIELD_INT(Settings, epoch, "0", 0, INFINITY, "added to the seed", .flags = FIELD_STRICT),
    FIELD_BOOL(Settings, shuffle, "false", "random order"),
    FIELD_INT(Settings, seed, "0", 0, 0, "of the random order"),
    FIELD_BOOL(Settings, drop_last, "true", "a rest that does not go round is left out",
               .choices = only_true),
    FIELD_INT(Settings, skip_num_global_samples, "0", 0, INFINITY,
              "samples already seen, on all ranks together", .flags = FIELD_STRICT),
    FIELD_CHOICE(Settings, shuffle_method, "torch", shuffle_methods,
                 "the random order: torch.randperm, or one that needs no memory"),
    { 0 },
};

/* Place of this rank and number of ranks along the axis. Ranks along the other data-parallel axes
 * count, too: copies of the sharded model must not learn from the same samples. */
static void place(const Mesh *m, MeshAxis axis, int64_t *rank, int64_t *n)
{
    *rank = mesh_coordinate(m, axis, m->rank);
    *n = m->size[axis];
    if (axis != MESH_DP_SHARD && axis != MESH_DP_REPLICATE && axis != MESH_EP) return;
    *rank = mesh_dp_place(m, m->rank);
    *n = mesh_dp_degree(m);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    TRY(sampler_check_shuffle(s->dataset, s->shuffle && *s->shuffle));
    DistributedOrder order = { .n = s->dataset->count(s->dataset),
                               .kind = order_kind(s->shuffle && *s->shuffle, s->shuffle_method),
                               .seed = (s->seed ? *s->seed : 0) + s->epoch,
                               .drop_last = s->drop_last,
                               .skip_num_global_samples = s->skip_num_global_samples,
                               .is_shared = s->device_mesh->world_size > 1 };
    place(s->device_mesh, (MeshAxis)(s->data_parallel_key + 1), &order.rank, &order.num_replicas);
    return distributed_sampler_new(builder_arena(b), &order, (Sampler **)out);
}

const ComponentDef sampler_resumable_distributed_multi_dim_sampler = {
    .kind = "sampler",
    .variant = "resumable_distributed_multi_dim_sampler",
    .doc = "deals the samples out along one axis of the device mesh, after those already seen",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
