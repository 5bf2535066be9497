/* benchmark_prepare_sweep_configs.c - `modalities benchmark prepare_sweep_configs`. */
#include "base/log.h"
#include "command.h"
#include "sweep/sweep_configs.h"
#include <stdlib.h>
#include <string.h>

typedef struct Options {
    const char *sweep_config_path, *output_dir, *world_sizes;
} Options;

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, sweep_config_path, NULL, "a configuration with a mapping `sweep`", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, output_dir, NULL, "folder in which the tree gets its own", .role = PATH_BEGINNING),
    FIELD_STRING(Options, world_sizes, "\"2\"", "numbers of ranks, with commas between: 1,2,4"),
    { 0 },
};
/* clang-format on */

static Error *read_sizes(Arena *a, const char *text, IntList *out)
{
    out->item = NEW_N(a, int64_t, strlen(text) + 1);
    for (const char *at = text;; at++) {
        char *end;
        long long size = strtoll(at, &end, 10);
        if (end == at || size < 1 || (*end && *end != ','))
            return error_usage("--world_sizes %s: allowed are numbers from 1 with commas between",
                               text);
        out->item[out->n++] = size;
        if (!*end) return NULL;
        at = end;
    }
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    IntList sizes = { 0 };
    SweepTree tree;
    TRY(read_sizes(a, o->world_sizes, &sizes));
    TRY(sweep_configs_write(a, o->sweep_config_path, o->output_dir, &sizes, &tree));
    log_info("%lld combinations for each of the world sizes %s: %s", (long long)tree.n_combinations,
             o->world_sizes, tree.folder);
    return NULL;
}

const Command command_benchmark_prepare_sweep_configs = {
    .group = "benchmark",
    .name = "prepare_sweep_configs",
    .doc = "Writes a configuration for every combination of a sweep.",
    .details = "The sweep file is a configuration with a mapping `sweep` on top: lists are "
               "alternatives, mappings are expanded, and the rest refers to them by "
               "${sweep.name}. The tree is OUTPUT/TIME_HASH/WORLD_SIZE/HASH_TIME/FILE, as the "
               "original names it.",
    .examples = "modalities benchmark prepare_sweep_configs --sweep_config_path sweep.yaml "
                "--output_dir sweeps --world_sizes 1",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
