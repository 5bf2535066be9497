/* sweep_loss.h - what a run of a sweep is judged by, and what it is called. */
#ifndef SWEEP_SWEEP_LOSS_H
#define SWEEP_SWEEP_LOSS_H
#include "config/yaml.h"
#include "monitor/history.h"
#include "sweep/sweep_runs.h"

/* The loss that counts: of the first evaluation loader, else of training. NULL: none yet. */
const Track *sweep_loss(const History *h);
/* Its value at this step, or at the first one after; NaN while the run has not come there, infinity
 * where it is no number. */
double sweep_loss_at(const History *h, double step);

/* A setting of the sweep in one run. */
typedef struct SweepSetting {
    const char *name, *value; /* "model.width", "64" */
} SweepSetting;

typedef struct SweepSettings {
    SweepSetting *item;
    int64_t n, cap;
} SweepSettings;

/* The mapping `sweep` of a run's configuration, flattened. */
Error *sweep_settings_read(Arena *a, const SweepRun *r, SweepSettings *out);
/* "lr=0.001 seed=2" of a combination of alternatives. */
const char *sweep_combination_label(Arena *a, const Yaml *combination);
/* The same; the hash where the configuration cannot be read. */
const char *sweep_label(Arena *a, const SweepRun *r);
#endif
