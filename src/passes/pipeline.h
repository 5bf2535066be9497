/* pipeline.h - a graph of all stages (stages.h) cut down to those of one rank of the pipeline.
 *
 * Values that other ranks make are received in front of their first use, and sent right after what
 * makes them. A parameter that stages of several ranks use (tied embeddings) has a copy on each of
 * them: their gradients are summed before the norm, which counts them once, and all copies make the
 * same update. So has a cache of keys or values, whose new rows alone are sent. */
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H
#include "passes/stages.h"

struct Model;

typedef struct PipelineCut {
    const int *rank_of; /* by stage: its rank along the pipeline's axis of the mesh */
} PipelineCut;
extern const PassDef pass_pipeline;

/* A model as a pipeline: pipeline.staged makes it, pipeline.scheduled completes it. */
typedef struct Pipeline {
    struct Model *model;
    int64_t ranks; /* of the mesh's axis pp; 1: nothing is cut */
    int per_rank;  /* stages on each of them */
    Stages stages;
    PipelineCut cut;
    const struct Loss *loss; /* that its schedule names */
    const char *schedule;    /* its name in full */
    int64_t per_batch;  /* microbatches into which a batch of the loader is cut; 0: not scheduled
                           yet */
    int64_t batch_size; /* that its schedule names; 0: that of the training */
} Pipeline;
#endif
