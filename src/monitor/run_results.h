/* run_results.h - the results of a run and its configuration, from the folder of its experiment. */
#ifndef MONITOR_RUN_RESULTS_H
#define MONITOR_RUN_RESULTS_H
#include "config/yaml.h"
#include "monitor/history.h"

typedef struct RunResults {
    const char *name; /* of the folder, or of a file that was named */
    const char *file; /* of results */
    History history;
    const Yaml *config;      /* <config>.yaml.resolved beside the results; NULL: there is none */
    int64_t sequence_length; /* tokens of a sample; 0: not known */
} RunResults;

/* The file of results in a folder, NULL when there is none; of a file itself. */
const char *results_file(Arena *a, const char *path);
/* `path` is an experiment's folder or a JSONL file of results; no result in it is an error. */
Error *run_results_read(Arena *a, const char *path, RunResults *out);
#endif
