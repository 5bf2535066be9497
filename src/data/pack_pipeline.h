/* pack_pipeline.h - the threads that make packed tokens of the lines of a source. */
#ifndef DATA_PACK_PIPELINE_H
#define DATA_PACK_PIPELINE_H
#include "data/pack_output.h"
#include "data/progress.h"

typedef struct PackPipeline {
    const PackSettings *settings;
    PackOutput *output;
    JobEncoder *encoder; /* one per thread, opened */
    int64_t n_threads;   /* with the caller */
    CommandProgress *progress;
    int64_t progress_before; /* what is done without this source */
} PackPipeline;

/* Packs what is left of the source; all threads have ended when it returns. */
Error *pack_pipeline_run(const PackPipeline *settings, PackSource *source);
#endif
