/* summary.h - a track of numbers in a few. */
#ifndef MONITOR_SUMMARY_H
#define MONITOR_SUMMARY_H
#include "monitor/history.h"

typedef struct Summary {
    double first, last, least, least_step, greatest, greatest_step, last_step;
} Summary;

/* Of the finite values; false when there is none, or no track (NULL). */
bool summarise(const Track *t, Summary *s);
/* Of the finite values; NaN when there is none. */
double median(Arena *a, const Track *t);
/* The loss of an evaluation loader; its name for people, "validation loss". */
bool is_evaluation_loss(const History *h, const Track *t);
const char *loss_name(Arena *a, const History *h, const Track *t);
/* The value at the last point not after `step`; NaN when there is none. */
double track_at(const Track *t, double step);
#endif
