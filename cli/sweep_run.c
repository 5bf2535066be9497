/* sweep_run.c - `modalities sweep run`: runs what remains of a sweep. */
#include "base/file.h"
#include "base/log.h"
#include "command.h"
#include "sweep/sweep_configs.h"
#include "sweep/sweep_queue.h"
#include "sweep/sweep_slurm.h"
#include <unistd.h>

typedef struct Options {
    const char *sweep, *output_dir;
    int64_t ranks, parallel, threads, retries, first_rung;
    double halving;
    bool slurm;
} Options;

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, sweep, NULL, "folder of a prepared sweep, or a sweep file, which is prepared first", .flags = FIELD_ARGUMENT | FIELD_EXISTS_ANY),
    FIELD_PATH(Options, output_dir, "sweeps", "where a sweep file's tree goes", .role = PATH_BEGINNING),
    FIELD_INT(Options, ranks, "1", 1, 256, "ranks of each run, as threads of one process: the configurations of this world size are run"),
    FIELD_INT(Options, parallel, "0", 0, 4096, "runs at a time; 0: one per processor"),
    FIELD_INT(Options, threads, "0", 0, 512, "threads of each rank; 0: the processors are shared out"),
    FIELD_INT(Options, retries, "1", 0, 1000, "how often a run that failed is tried again"),
    FIELD_FLOAT(Options, halving, "0", 0, 1000, "successive halving: at each rung only the best of so many goes on, 3 for a third; 0: all run to their end"),
    FIELD_INT(Options, first_rung, "0", 0, INFINITY, "step of the first rung; 0: the target divided by halving twice"),
    FIELD_BOOL(Options, slurm, "false", "run nothing, but write job arrays for Slurm"),
    { 0 },
};
/* clang-format on */

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    const char *folder = o->sweep;
    if (o->halving > 0 && o->halving <= 1)
        return error_usage("--halving %g: allowed are 0 and numbers above 1", o->halving);
    if (!is_directory(o->sweep)) {
        SweepTree tree;
        int64_t ranks = o->ranks;
        TRY(sweep_configs_write(a, o->sweep, o->output_dir, &(IntList){ &ranks, 1 }, &tree));
        log_info("%lld combinations in %s", (long long)tree.n_combinations, tree.folder);
        folder = tree.folder;
    }
    if (o->slurm) return sweep_slurm_write(a, folder);
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0) return error_new("cannot tell the program's own path");
    program[n] = 0;
    const QueueSettings s = { .program = program,
                              .n_ranks = o->ranks,
                              .n_parallel = (int)o->parallel,
                              .n_threads = (int)o->threads,
                              .retries = o->retries,
                              .halving = o->halving,
                              .first_rung = o->first_rung };
    return sweep_queue_run(a, folder, &s);
}

const Command command_sweep_run = {
    .group = "sweep",
    .name = "run",
    .doc = "Runs what remains of a sweep on this machine.",
    .details =
        "Each run lies beside its configuration; what it says goes to run.log there. Runs that "
        "were interrupted go on from their last checkpoint, those that failed are tried again. "
        "Ctrl-C or SIGTERM lets all runs save; the same command goes on. With --halving a run "
        "that comes by a rung (--first_rung, then that times halving, ...) goes on only if its "
        "loss is among the best there so far.",
    .examples = "modalities sweep run sweep.yaml --output_dir sweeps\n"
                "modalities sweep run sweeps/TIME_HASH --parallel 4 --halving 3\n"
                "modalities sweep run sweep.yaml --ranks 4 --parallel 1\n"
                "modalities sweep run sweeps/TIME_HASH --slurm",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
