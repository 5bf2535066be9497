/* pipeline.h - a graph of all stages (stages.h) cut down to those of one rank of the pipeline.
 *
 * Values that other ranks make are received in front of their first use, and sent right behind what
 * makes them. A parameter that stages of several ranks use (tied embeddings) has a copy on each of
 * them: their gradients are summed before the norm, which counts them once, and all copies make the
 * same update. */
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H
#include "graph/pass.h"

typedef struct PipelineCut {
    const int *rank_of; /* by stage: its rank along the pipeline's axis of the mesh */
} PipelineCut;
extern const PassDef pass_pipeline;
#endif
