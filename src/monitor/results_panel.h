/* results_panel.h - results in a box, as the original's rich console prints them. */
#ifndef MONITOR_RESULTS_PANEL_H
#define MONITOR_RESULTS_PANEL_H
#include "base/str.h"
#include "monitor/event.h"

/* Nothing when there are neither losses nor metrics. `width` in columns, at least 20. */
void results_panel(const Results *r, int64_t num_ranks, int width, bool is_utf8, Text *out);
#endif
