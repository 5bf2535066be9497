/* plan.c - `modalities plan`: memory, FLOPs and traffic of every rank of a training, before any
 * run.
 */
#include "base/terminal.h"
#include "command.h"
#include "components.h"
#include "train/job_plan.h"
#include "train/session.h"
#include <stdio.h>

typedef struct Options {
    const char *config_file_path, *experiments_root_path, *print_graph;
    int64_t ranks, largest;
    bool print_schedule;
    StringList set;
} Options;

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "YAML of a training", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, experiments_root_path, "experiments", "value of ${modalities_env:experiments_root_path}; nothing is written", .role = PATH_BEGINNING),
    FIELD_INT(Options, ranks, "0", 0, INFINITY, "of the job that is planned, on however many machines; 0: as a launcher's variables say, or 1"),
    FIELD_INT(Options, largest, "0", 0, 1000, "how many of the largest activations to show that exist together at the peak"),
    FIELD_BOOL(Options, print_schedule, "false", "show what each rank of the pipeline holds and does in a step"),
    FIELD_STRING(Options, print_graph, "null", "print the first rank's graph around a pass: before:fuse, after:shard, after:all"),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override: key.path=value"),
    { 0 },
};
/* clang-format on */

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    Rank rank;
    JobPlan plan;
    Registry *registry;
    TRY(rank_of_process(&rank));
    const PlanSettings settings = { .config_file_path = o->config_file_path,
                                    .experiments_root_path = o->experiments_root_path,
                                    .overrides = o->set,
                                    .n_ranks = o->ranks,
                                    .n_largest = o->largest,
                                    .schedule_width =
                                        o->print_schedule ? terminal_picture_width() : 0,
                                    .trace = { .print = o->print_graph, .to = stdout },
                                    .process = &rank };
    TRY(session_check_trace(o->print_graph));
    TRY(components_registry(a, &registry));
    TRY(job_plan(a, registry, &settings, &plan));
    job_plan_print(&plan, stdout);
    return NULL;
}

const Command command_top_plan = {
    .name = "plan",
    .doc = "Prints what each rank of a training takes and sends, without running it.",
    .examples = "modalities plan --config_file_path train.yaml --ranks 8\n"
                "modalities plan --config_file_path train.yaml --ranks 8 --set "
                "settings.step_profile.local_train_micro_batch_size=4\n"
                "modalities plan --config_file_path train.yaml --ranks 512 --largest 10",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
