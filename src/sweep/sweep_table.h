/* sweep_table.h - what a sweep shows: its runs, groups of runs that differ in the seed alone,
 * differences between groups, and which settings matter. */
#ifndef SWEEP_SWEEP_TABLE_H
#define SWEEP_SWEEP_TABLE_H
#include "sweep/student.h"
#include "sweep/sweep_loss.h"
#include "sweep/sweep_store.h"

typedef struct TableRun {
    const SweepRun *run;
    const char *label;
    const char **value; /* by setting of the table; "" where it has none */
    History history;
    SweepStatus status;
    double loss, steps; /* the last; NaN: none */
    int64_t group;
    bool counts; /* it is done and has a loss */
} TableRun;

/* Runs with the same settings but for the seeds. */
typedef struct TableGroup {
    const char *label;
    Estimate loss;
    Estimate difference; /* to the baseline, over the seeds that both have */
} TableGroup;

typedef struct TableSetting {
    const char *name;
    bool is_seed;
    double share;     /* of the variance of the loss that its values explain; NaN: not known */
    const char *only; /* the one value that the runs which count have; NULL: several, or no run */
} TableSetting;

typedef struct SweepTable {
    TableSetting *setting;
    int64_t n_settings;
    TableRun *run;
    int64_t n_runs, n_counted;
    TableGroup *group; /* the best first */
    int64_t n_groups, baseline;
    const char *loss_name; /* "val CLMCrossEntropyLoss"; "" without any result */
    double rest;           /* share of the variance that no setting alone explains */
} SweepTable;

typedef struct TableQuestion {
    const char *baseline; /* label of a group, "lr=0.001"; NULL: the best one */
    StringList seeds;     /* settings that only repeat; none: those called seed */
    double confidence;    /* 0.95 */
} TableQuestion;

Error *sweep_table_make(Arena *a, SweepStore *store, const SweepRuns *runs,
                        const TableQuestion *question, SweepTable *out);
#endif
