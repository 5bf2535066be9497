/* expert_load.h - how evenly the experts of a mixture were chosen in a step, over all ranks. */
#ifndef TRAIN_EXPERT_LOAD_H
#define TRAIN_EXPERT_LOAD_H
#include "exec/program.h"
#include "models/model.h"
#include "train/consensus.h"

/* What results have of them: one number per expert up to so many, beside the extremes. */
enum {
    MAX_SHOWN_EXPERTS = 64,
    N_LOAD_SUMMARIES = 3,
    MAX_LOAD_NAMES = MAX_SHOWN_EXPERTS + N_LOAD_SUMMARIES
};

typedef struct ExpertLoad {
    int64_t n;                            /* experts; 0: the model has none */
    const char **output;                  /* by expert, its name in programs */
    const char *name[MAX_LOAD_NAMES + 1]; /* in results; ends with NULL */
    double value[MAX_LOAD_NAMES];
} ExpertLoad;

void expert_load_new(Arena *a, const Model *m, ExpertLoad *out);
/* Those of the last step, whose microbatches the program has just run: how often an expert was
 * chosen, as a multiple of its fair share; the largest and the smallest of these; and the share of
 * all pairs of token and expert that a capacity dropped. All ranks call it. */
Error *expert_load_take(ExpertLoad *l, const Program *p, int64_t n_microbatches,
                        Consensus *together);
#endif
