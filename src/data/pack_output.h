/* pack_output.h - the packed file in the making: jobs take their places in order, are written by
 * any thread, and become finished parts. */
#ifndef DATA_PACK_OUTPUT_H
#define DATA_PACK_OUTPUT_H
#include "data/bad_lines.h"
#include "data/pack_source.h"
#include "data/pbin.h"

typedef struct PackOutput {
    const PackSettings *settings;
    BadLines *bad;
    PbinWriter writer;
    PackSummary summary;
    int64_t n_source; /* sources that are done */
    /* What is done of the next one; zeros again when it is. */
    int64_t n_source_lines, source_offset;
} PackOutput;

/* Opens the output after the parts that an earlier run of the same work has finished. `index` is
 * the index of the inputs or NULL; the fields settings, bad and summary.token_bytes are set. */
Error *pack_output_open(PackOutput *o, const PathList *inputs, const char *index);
/* Places a job after all others, and reports the lines that are left out; after an error the
 * output can only be abandoned. */
Error *pack_output_place(PackOutput *o, PackSource *s, Job *job);
/* Writes a job that has its place; for any thread. */
Error *pack_output_write(const PackOutput *o, const Job *job);
/* Whether enough is there for a part. */
bool pack_output_is_due(PackOutput *o);
/* All that was placed is written, so the work can be continued from here. */
Error *pack_output_reach(PackOutput *o);
/* The source at hand is done. */
Error *pack_output_end_source(PackOutput *o);
#endif
