/* kill_case.h - a command that is killed goes on after its finished parts, and its outputs have
 * the same bytes. */
#ifndef TESTS_KILL_CASE_H
#define TESTS_KILL_CASE_H
#include "end_to_end/kill_inputs.h"
#include <stdint.h>

enum { MOST_OUTPUTS = 5 };

/* A command and the files that it makes in the test's folder. */
typedef struct KillCase {
    const char *name, *args;
    const char *output[MOST_OUTPUTS];
    int n_parts; /* at least, in an uninterrupted run */
} KillCase;

typedef struct KillOutputs {
    Str file[MOST_OUTPUTS];
} KillOutputs;

/* Every place to go on from becomes a part. */
#define KILL_SMALL_PARTS "MODALITIES_PART_BYTES=1 MODALITIES_THREADS=1"

void kill_remove_outputs(Arena *a, const KillCase *c);
KillOutputs kill_read_outputs(Arena *a, const KillCase *c);
/* Files in the folder whose name matches; how often a text is in another one; whole lines
 * "part ..." of all records. */
int64_t kill_count_files(Arena *a, const char *pattern);
int kill_count_text(const char *text, const char *part);
int kill_count_parts(Arena *a);

/* What an uninterrupted run does to files, a line each; how many of them write to files in the
 * making. */
const char *kill_log_events(Arena *a, const KillCase *c);
int kill_count_writes(const char *events);
/* Kills at event `number` of a kind, runs again, and compares; the run without a kill made `whole`
 * with n_writes. */
void kill_case_at(const KillCase *c, const char *kind, int number, const KillOutputs *whole,
                  int n_writes);
/* The same at points of all kinds (kill_points.h). */
void kill_cases(const KillCase *cases, int n);
#endif
