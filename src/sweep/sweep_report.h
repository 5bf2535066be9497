/* sweep_report.h - what a sweep shows, as text, CSV and an HTML page. */
#ifndef SWEEP_SWEEP_REPORT_H
#define SWEEP_SWEEP_REPORT_H
#include "monitor/report.h"
#include "sweep/sweep_table.h"

/* Tables and the curves of the best groups for a terminal. */
void sweep_report_text(Arena *a, const SweepTable *t, double confidence, const ReportStyle *style,
                       Text *out);
/* A row per run: settings, state, steps, loss. */
void sweep_report_csv(const SweepTable *t, Text *out);
/* Whether a file holds such rows, which may be replaced unasked. */
bool sweep_is_csv(Str content);
/* The page of `board` with the tables above its curves. */
Error *sweep_report_html(Arena *a, const SweepTable *t, const char *title, double confidence,
                         const char *path);
#endif
