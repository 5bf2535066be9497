/* report.h - a run, or several, on one screen: loss curves, losses, throughput. */
#ifndef MONITOR_REPORT_H
#define MONITOR_REPORT_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>

typedef struct ReportStyle {
    int width, plot_height;
    bool is_utf8, is_coloured;
} ReportStyle;

/* `path` is an experiment folder or a JSONL file of results. Tokens per second need the sequence
 * length, which is taken from the resolved YAML beside the file, where there is one. */
Error *report_write(Arena *a, const char *path, const ReportStyle *style, Text *out);
/* The same of several runs: curves over each other, a table, settings that differ. */
Error *report_compare(Arena *a, const char *const *path, int64_t n, const ReportStyle *style,
                      Text *out);
#endif
