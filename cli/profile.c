/* profile.c - `modalities profile distributed` and `profile single_process`: measure a component.
 */
#include "base/file.h"
#include "base/signal.h"
#include "command.h"
#include "components.h"
#include "config/builder.h"
#include "config/yaml_emit.h"
#include "monitor/experiment.h"
#include "train/steppable.h"
#include <string.h>

typedef struct Options {
    const char *config_file_path, *experiment_root_path, *experiment_id;
    int64_t threads;
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

static Error *profile(Arena *a, const Options *o, const Rank *rank)
{
    const char *id =
        o->experiment_id ? o->experiment_id : experiment_id_new(a, o->config_file_path);
    TRY(experiment_id_check(id));
    const char *folder = path_join(a, o->experiment_root_path, id);
    const ResolverContext context = { .rank = rank,
                                      .config_file_path = o->config_file_path,
                                      .experiments_root_path = folder,
                                      .experiment_id = id };
    Yaml *root;
    Registry *r;
    ProfilingConfig c;
    TRY(config_load(a, o->config_file_path, o->set, &context, &root));
    TRY(components_registry(a, &r));
    TRY(builder_validate(builder_new(a, r, root, rank), profiling_config_fields, &c));
    TRY(keep_copy(a, o, folder));
    TRY(builder_build(builder_new(a, r, root, rank), profiling_config_fields, &c));
    signal_catch_in_steps();
    return profile_steps(&c, rank->rank, (int)o->threads);
}

static Error *run(Arena *a, const void *options)
{
    Rank rank;
    TRY(rank_of_process(&rank));
    if (rank.world_size > 1)
        return error_new("profile distributed with %lld ranks is not built yet; profile "
                         "single_process measures one",
                         (long long)rank.world_size);
    return profile(a, options, &rank);
}

static Error *run_alone(Arena *a, const void *options)
{
    return profile(a, options, &rank_alone);
}

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "the profiling YAML: steppable_component and profiler", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, experiment_root_path, NULL, "folder in which the profile gets its own", .role = PATH_BEGINNING),
    FIELD_STRING(Options, experiment_id, "null", "name of that folder; by default time and hash"),
    FIELD_INT(Options, threads, "0", 0, 512, "0: one per core, or MODALITIES_THREADS"),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override a setting: --set profiler.config.num_active_steps=3"),
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
                "--experiment_root_path profiles",
    .options = options,
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
