/* profile.c - `modalities profile distributed` and `profile single_process`: measure a component.
 */
#include "base/file.h"
#include "base/signal.h"
#include "comm/mesh.h"
#include "command.h"
#include "components.h"
#include "config/builder.h"
#include "config/yaml_emit.h"
#include "monitor/experiment.h"
#include "train/crew.h"
#include "train/steppable.h"
#include <string.h>

typedef struct Options {
    const char *config_file_path, *experiment_root_path, *experiment_id;
    int64_t threads, ranks;
    StringList set;
} Options;

static Error *keep_copy(Arena *a, const Options *o, const char *folder)
{
    Str text;
    const char *to = path_join(a, folder, path_name(o->config_file_path));
    TRY(make_directories(folder));
    if (!strcmp(path_absolute(a, o->config_file_path), path_absolute(a, to))) return NULL;
    TRY(file_read(a, o->config_file_path, &text));
    return file_write_unsynced(to, text.ptr, text.len);
}

/* The mesh that the configuration builds, or NULL. */
static const Mesh *mesh_of(const Builder *b)
{
    for (int64_t i = 0; i < builder_count(b); i++)
        if (!strcmp(builder_at(b, i)->kind, "device_mesh")) return builder_at(b, i)->object;
    return NULL;
}

static Error *check_mesh(const Mesh *mesh, const Rank *rank)
{
    if (rank->world_size == 1) return NULL;
    if (!mesh)
        return error_new("%lld ranks need a device_mesh in the configuration, which its model uses",
                         (long long)rank->world_size);
    if (mesh->size[MESH_PP] > 1)
        return error_new(
            "the mesh has %lld pipeline ranks; profile measures whole models: run with a "
            "profiler in the training's YAML measures pipelines",
            (long long)mesh->size[MESH_PP]);
    return NULL;
}

static Error *build(Arena *a, const Options *o, const Crew *crew, const char *id,
                    ProfilingConfig *c, const Mesh **mesh)
{
    const char *folder = path_join(a, o->experiment_root_path, id);
    const ResolverContext context = { .rank = crew->rank,
                                      .config_file_path = o->config_file_path,
                                      .experiments_root_path = folder,
                                      .experiment_id = id };
    Yaml *root;
    Registry *r;
    TRY(config_load(a, o->config_file_path, o->set, &context, &root));
    TRY(components_registry(a, &r));
    TRY(builder_validate(builder_new(a, r, root, crew->rank), profiling_config_fields, c));
    if (consensus_leads(crew->consensus)) TRY(keep_copy(a, o, folder));
    Builder *b = builder_new(a, r, root, crew->rank);
    TRY(builder_build(b, profiling_config_fields, c));
    *mesh = mesh_of(b);
    return check_mesh(*mesh, crew->rank);
}

/* What each rank does; the work lies in an arena that ends before the rank. */
static Error *profile_in(Arena *a, const Options *o, const Crew *crew)
{
    Consensus *together = crew->consensus;
    const char *id = o->experiment_id;
    ProfilingConfig c;
    const Mesh *mesh = NULL;
    if (!id && consensus_leads(together)) id = experiment_id_new(a, o->config_file_path);
    TRY(consensus_text(together, a, &id));
    TRY(consensus_error(together, experiment_id_check(id)));
    TRY(consensus_error(together, build(a, o, crew, id, &c, &mesh)));
    Groups *groups = together ? groups_new(a, mesh, together->world) : NULL;
    signal_catch_in_steps("");
    int n_threads = o->threads ? (int)o->threads : crew->n_threads;
    return consensus_error(
        together, consensus_break(together, profile_steps(&c, crew->rank, groups, n_threads)));
}

static Error *profile(Arena *a, const void *options, const Crew *crew)
{
    (void)a;
    Arena *own = arena_new();
    Error *e = profile_in(own, options, crew);
    arena_free(own);
    return e;
}

static Error *run(Arena *a, const void *options)
{
    const Options *o = options;
    Rank rank;
    TRY(rank_of_process(&rank));
    const CrewSettings crew = { .process = &rank,
                                .n_ranks = o->ranks,
                                .n_threads = o->threads,
                                .work = profile,
                                .context = options };
    return crew_run(a, &crew);
}

static Error *run_alone(Arena *a, const void *options)
{
    return profile(a, options, &(Crew){ .rank = &rank_alone });
}

/* clang-format off */
#define OPTIONS \
    FIELD_PATH(Options, config_file_path, NULL, "the profiling YAML: steppable_component and profiler", .flags = FIELD_EXISTS), \
    FIELD_PATH(Options, experiment_root_path, NULL, "folder in which the profile gets its own", .role = PATH_BEGINNING), \
    FIELD_STRING(Options, experiment_id, "null", "name of that folder; by default time and hash"), \
    FIELD_INT(Options, threads, "0", 0, 512, "0: one per core, or MODALITIES_THREADS"), \
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override a setting: --set profiler.config.num_active_steps=3"),
static const Field options[] = { OPTIONS { 0 } };
static const Field distributed_options[] = {
    OPTIONS
    FIELD_INT(Options, ranks, "0", 0, 256, "run so many ranks, as threads of this process, for the device_mesh of the YAML; 0: one, or what a launcher has started"),
    { 0 },
};
/* clang-format on */

#define DETAILS                                                                                    \
    "Steps the component as often as the profiler needs: it rests for num_wait_steps, looks on "   \
    "for num_warmup_steps and keeps num_active_steps. Traces open in Perfetto or "                 \
    "chrome://tracing, pages of memory in any browser. A profiler measures the ranks in its "      \
    "tracked_ranks; without them it measures none."

const Command command_profile_distributed = {
    .group = "profile",
    .name = "distributed",
    .doc = "Measures a component as all ranks of a job run it.",
    .details = DETAILS,
    .examples = "modalities profile distributed --config_file_path profile.yaml "
                "--experiment_root_path profiles\n"
                "modalities profile distributed --ranks 2 --config_file_path profile.yaml "
                "--experiment_root_path profiles",
    .options = distributed_options,
    .options_size = sizeof(Options),
    .run = run,
};

const Command command_profile_single_process = {
    .group = "profile",
    .name = "single_process",
    .doc = "Measures a component in one process, whatever launched it.",
    .details = DETAILS,
    .examples = "modalities profile single_process --config_file_path norm.yaml "
                "--experiment_root_path profiles",
    .options = options,
    .options_size = sizeof(Options),
    .run = run_alone,
};
