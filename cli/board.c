/* board.c - `modalities board`: all runs below a folder as one HTML page. */
#include "board/board.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/existing_file.h"
#include <unistd.h>

typedef struct Options {
    const char *folder, *output_path;
    bool watch;
    int64_t every;
} Options;

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, folder, NULL, "folder with experiments below it", .flags = FIELD_ARGUMENT | FIELD_EXISTS_ANY),
    FIELD_PATH(Options, output_path, "null", "the page; by default FOLDER/board.html", .role = PATH_WRITTEN),
    FIELD_BOOL(Options, watch, "false", "write it again while runs go on, until Ctrl-C; the page in a browser follows"),
    FIELD_INT(Options, every, "10", 1, 86400, "seconds between two pages with --watch"),
    { 0 },
};
/* clang-format on */

static Error *write_once(const Options *o, const char *path, int64_t *n)
{
    Arena *a = arena_new();
    Board b;
    Error *e = board_collect(a, o->folder, &b);
    if (!e) {
        b.refreshes = o->watch;
        *n = b.n_runs;
        e = board_write(&b, path);
    }
    arena_free(a);
    return e;
}

static Error *watch(const Options *o, const char *path)
{
    enum { PARTS = 10, MICROSECONDS = 1000000 };
    int64_t n;
    signal_catch();
    while (!signal_stop_requested()) {
        for (int64_t i = 0; i < o->every * PARTS && !signal_stop_requested(); i++)
            usleep(MICROSECONDS / PARTS);
        if (!signal_stop_requested()) TRY(write_once(o, path, &n));
    }
    return NULL;
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    const char *path = o->output_path ? o->output_path : path_join(a, o->folder, "board.html");
    int64_t n;
    if (!is_directory(o->folder)) return error_usage("%s is no folder", o->folder);
    TRY(existing_report(path, board_is_page, "a page of a board or of a sweep"));
    TRY(write_once(o, path, &n));
    log_info("%lld runs: %s", (long long)n, path);
    return o->watch ? watch(o, path) : NULL;
}

const Command command_top_board = {
    .name = "board",
    .doc = "Writes one HTML page over all runs below a folder.",
    .details =
        "Loss curves of many runs with smoothing and logarithmic axes, over steps or tokens; runs "
        "that differ in their seed alone as their mean in a band; a table of runs with the "
        "settings in which they differ, filters, and two runs compared; for each run memory "
        "over the time of a step, the schedule of its pipeline, and the texts that it made at "
        "checkpoints. The page holds "
        "all it needs: it opens without a network and can be sent to others. Of longer curves "
        "2,000 points are shown: in each stretch the value that stands out most.",
    .examples = "modalities board experiments\n"
                "modalities board experiments --watch",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
