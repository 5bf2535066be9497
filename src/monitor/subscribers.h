/* subscribers.h - subscribers that are made in C; those of a YAML are components. */
#ifndef MONITOR_SUBSCRIBERS_H
#define MONITOR_SUBSCRIBERS_H
#include "base/arena.h"
#include "monitor/event.h"
#include "monitor/run_record.h"
#include <stdio.h>

/* Ignores everything. */
Subscriber *dummy_subscriber(Arena *a);
/* The subscriber on the rank that tells the user and writes results, rank 0; a dummy on others. */
Subscriber *subscriber_of_rank(Arena *a, Subscriber *s, int64_t global_rank);

/* The line per log interval on stdout, "2026-01-31T12:00:00 | step: 1 | ... | "; evaluation
 * results, checkpoints, notices and the end as lines on stderr. On a terminal results are rows of
 * its width. Every run of rank 0 has one. */
Subscriber *console_subscriber(Arena *a);

/* Keeps record->steps and folder/run.json current: at checkpoints, and every few seconds. */
Subscriber *record_steps_subscriber(Arena *a, const char *folder, RunRecord *record);

/* A live display or plain lines. */
typedef struct ProgressSettings {
    const char *train_tag;
    int64_t n_seen_steps, n_target_steps;
    int n_evaluations; /* loaders */
    const char *const *evaluation_tag;
} ProgressSettings;

typedef struct ProgressOutput {
    FILE *to;
    bool is_live; /* two redrawn lines; else a plain line now and then */
    bool is_utf8;
    bool beside_results; /* the lines of the console go there too: no plain line where one is due
                            anyway */
    int width;           /* columns; 0: asks the terminal each time */
} ProgressOutput;

Subscriber *progress_display(Arena *a, const ProgressSettings *settings,
                             const ProgressOutput *output);
#endif
