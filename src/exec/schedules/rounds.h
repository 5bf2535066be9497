/* rounds.h - the order in which a rank of several chunks goes through them: microbatches in rounds
 * of about as many as there are ranks, and in each round chunk after chunk. */
#ifndef EXEC_SCHEDULES_ROUNDS_H
#define EXEC_SCHEDULES_ROUNDS_H
#include "exec/pipeline_schedule.h"

typedef struct Turn {
    int chunk;
    int64_t microbatch;
} Turn;

/* Microbatches of the first round, which is one of the largest. */
int64_t round_size(const PipelineShape *s);
/* How many turns a rank has in each direction. */
int64_t round_turns(const PipelineShape *s);
/* Turn k going forward; going backward the chunks come from the last to the first. */
Turn round_forward(const PipelineShape *s, int64_t k);
Turn round_backward(const PipelineShape *s, int64_t k);
#endif
