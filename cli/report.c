/* report.c - `modalities report`: a run on one screen. */
#include "monitor/report.h"
#include "base/terminal.h"
#include "command.h"
#include <stdio.h>

typedef struct Options {
    const char *experiment;
    int64_t plot_height;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, experiment, NULL, "folder of the experiment, or a JSONL file of results",
               .flags = FIELD_ARGUMENT | FIELD_EXISTS_ANY),
    FIELD_INT(Options, plot_height, "12", 5, 200, "lines of the loss curve"),
    { 0 },
};

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    int width = terminal_width(1);
    const ReportStyle style = { .width = width < 40    ? 40
                                         : width > 120 ? 120
                                                       : width,
                                .plot_height = (int)o->plot_height,
                                .is_utf8 = terminal_is_utf8() };
    Text t = { 0 };
    Error *e = report_write(a, o->experiment, &style, &t);
    if (!e) fwrite(t.ptr, 1, t.len, stdout);
    text_free(&t);
    return e;
}

const Command command_report = {
    .name = "report",
    .doc = "Shows a run on one screen: loss curve, losses, throughput.",
    .details = "Reads evaluation_results.jsonl (results_subscriber.to_disc) or history.jsonl "
               "(wandb) of the "
               "folder, or the file given. Tokens per second need the resolved YAML beside it.",
    .examples = "modalities report runs/2026-01-31__12-00-00_0123456789abcdef\n"
                "modalities report evaluation_results.jsonl --plot_height 20",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
