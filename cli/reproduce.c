/* reproduce.c - `modalities reproduce`: an experiment's first steps again, bit for bit. */
#include "train/reproduce.h"
#include "command.h"
#include "components.h"
#include "train/resume.h"

typedef struct Options {
    const char *folder, *error_log_folder;
    int64_t steps, ranks, threads;
} Options;

static Error *repeat(Arena *a, const void *options, const Crew *crew)
{
    const Options *o = options;
    Registry *r;
    Crew known = *crew;
    if (!known.rank) known.rank = &rank_alone;
    const ReproduceSettings s = { .folder = o->folder, .n_steps = o->steps, .crew = &known };
    TRY(components_registry(a, &r));
    return training_reproduce(r, &s);
}

static Error *run(Arena *a, const void *options)
{
    const Options *o = options;
    Rank rank;
    TRY(rank_of_process(&rank));
    int64_t n_ranks = o->ranks;
    if (!n_ranks && rank.launcher == LAUNCHER_NONE) n_ranks = training_ranks(a, o->folder);
    const CrewSettings crew = { .process = &rank,
                                .n_ranks = n_ranks,
                                .n_threads = o->threads,
                                .error_log_folder = o->error_log_folder,
                                .work = repeat,
                                .context = options };
    return crew_run(a, &crew);
}

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, folder, NULL, "the experiment's folder", .flags = FIELD_ARGUMENT | FIELD_EXISTS_ANY),
    FIELD_INT(Options, steps, "0", 0, INFINITY, "how many of the first steps; 0: all that were kept, at most 1000"),
    FIELD_PATH(Options, error_log_folder, "null", "a failing rank leaves a JSON file here", .role = PATH_BEGINNING),
    FIELD_INT(Options, ranks, "0", 0, 256, "run so many ranks, as threads of this process; 0: as many as then, or what a launcher has started"),
    FIELD_INT(Options, threads, "0", 0, 512, "of each rank; 0: MODALITIES_THREADS, or the cores shared by the ranks; results do not depend on it"),
    { 0 },
};
/* clang-format on */

const Command command_top_reproduce = {
    .name = "reproduce",
    .doc = "Runs the first steps of an experiment again and compares every loss bit for bit.",
    .details =
        "Every training keeps, in its folder, the first 1000 losses and gradient norms to the last "
        "bit, and what they were made of: the resolved configuration, version and build of the "
        "program, instruction set, device, number of ranks, and size and checksum of every file "
        "that the configuration names. This command repeats those steps, writes nothing, and where "
        "they part names the step and what is not as it was. Exit status 0: the same bits; 1: not.",
    .examples = "modalities reproduce experiments/2026-01-31__12-00-00_0123456789abcdef\n"
                "modalities reproduce experiments/baseline --steps 10",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
