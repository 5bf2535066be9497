/* shown_rates.h - the learning rates that results have beside their mean: one per optimizer of a
 * combined one, or per group where those of one optimizer differ. */
#ifndef TRAIN_SHOWN_RATES_H
#define TRAIN_SHOWN_RATES_H
#include "train/job.h"

typedef struct ShownRates {
    const char *name[MAX_RATES + 1]; /* "lr/muon"; ends with NULL: a single rate is the mean */
    int group[MAX_RATES];            /* whose it is */
    double rate[MAX_RATES];
} ShownRates;

void shown_rates_find(Arena *a, const AppState *s, ShownRates *out);
/* Those that are shown, in the order of the names; valid until the next call. */
const double *shown_rates_take(ShownRates *s, const Rate *all);
#endif
