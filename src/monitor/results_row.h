/* results_row.h - results as one row of a terminal. */
#ifndef MONITOR_RESULTS_ROW_H
#define MONITOR_RESULTS_ROW_H
#include "base/str.h"
#include "monitor/event.h"

/* "23:10:05  step    120  loss  4.2345  norm  0.81 ...", in columns; what does not fit into `width`
 * is left out from the right. */
void results_row(const Results *r, const char *time_of_day, int width, Text *out);
#endif
