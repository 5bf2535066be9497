/* provenance.h - what a run was made of, and its first steps to the last bit: what `modalities
 * reproduce` compares with.
 *
 * provenance.json has the program, the machine's instruction set, the ranks, a digest of the
 * configuration, and size and sum of every file that it names; first_steps.jsonl has a line per
 * step. */
#ifndef MONITOR_PROVENANCE_H
#define MONITOR_PROVENANCE_H
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

#define PROVENANCE "provenance.json"
#define FIRST_STEPS "first_steps.jsonl"

enum { MOST_FIRST_STEPS = 1000 };

typedef struct FileSum {
    const char *path;
    int64_t bytes;   /* -1: it is not there */
    const char *sum; /* "": likewise */
} FileSum;

typedef struct Provenance {
    const char *version, *program; /* the program's own sum */
    const char *instruction_set, *device;
    const char *config; /* digest */
    int64_t ranks;
    FileSum *file;
    int64_t n_files;
} Provenance;

/* The sum of a file, of all its bytes up to 256 MiB; of a larger one, of 256 blocks of 1 MiB that
 * lie evenly in it, the first and the last among them. What cannot be read has none. */
FileSum file_sum(Arena *a, const char *path);
/* What is known of this process and these files; of folders, the files below. */
Provenance provenance_of_process(Arena *a, const PathList *files);
Error *provenance_write(const char *folder, const Provenance *p);
Error *provenance_read(Arena *a, const char *folder, Provenance *out);
/* A line for each thing that differs; their number. */
int64_t provenance_differences(const Provenance *then, const Provenance *now, Text *out);

/* What a step showed, over all ranks. */
typedef struct StepRecord {
    int64_t step;
    double grad_norm;
    const double *loss; /* of each microbatch, the sum over the ranks */
    int64_t n;
} StepRecord;

/* Makes the list anew, with the steps up to `last` of the old one. */
Error *first_steps_begin(const char *folder, int64_t last);
Error *first_steps_add(const char *folder, const StepRecord *r);
/* Those that are there, in order. */
Error *first_steps_read(Arena *a, const char *folder, StepRecord **out, int64_t *n);
/* Whether two steps have the same bits. */
bool step_records_equal(const StepRecord *x, const StepRecord *y);
#endif
