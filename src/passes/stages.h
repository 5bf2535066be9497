/* stages.h - the layers of a model cut into the stages of a pipeline.
 *
 * What can be cut apart are the parts of the model: what comes before its blocks (the embedding),
 * each block, and what comes after them (the head and the loss). */
#ifndef PASSES_STAGES_H
#define PASSES_STAGES_H
#include "graph/pass.h"

typedef struct Stages {
    int n;
    bool by_cost; /* the slowest stage as fast as can be, by FLOPs and bytes; else by weights */
    int64_t input, output; /* how many blocks the first and the last part count for */
    /* The cut of the first graph, which holds for all others of the model, whatever they cost: a
     * rank has the parameters of its stages. NULL: each graph is cut for itself. */
    struct StagesKept *kept;
} Stages;

typedef struct StagesKept {
    int room;      /* for parts */
    int n;         /* parts; 0: nothing was cut yet */
    int *stage_of; /* by part */
} StagesKept;

/* How many stages: component stages_generator. */
typedef struct StagesGenerator {
    int64_t blocks; /* of the model */
    int64_t input, output;
    bool by_cost;
} StagesGenerator;
extern const PassDef pass_stages;

/* The parts of a model, in order: before the blocks, each block, after them. */
typedef struct StageParts {
    int n;
    int *stage_of;
    double *cost; /* of the forward pass, in FLOPs */
} StageParts;

/* What the pass would do with a graph of the forward pass. */
Error *stages_find(Graph *g, const Stages *s, StageParts *out);
/* Gives n parts, of whole weights, to n_stages: each takes parts until the next would make it
 * heavier than its share, rounded up. As the original. Errors: a part alone is heavier than that;
 * there is nothing left for a stage. */
Error *stages_by_weight(const int64_t *weight, int n, int n_stages, int *stage_of);
/* The same for costs: the most expensive stage becomes as cheap as can be. There must be as many
 * parts as stages. */
Error *stages_by_cost(const double *cost, int n, int n_stages, int *stage_of);
#endif
