/* looped_bfs.c - LoopedBFS (Lamy-Poirier 2022): chunk after chunk, each for all microbatches.
 *
 * Microbatches go back in the order in which they went forward, not from the last to the first as
 * in the paper: time and memory are the same, and gradients are added up in the same order as by
 * every other schedule. */
#include "exec/schedules/schedule_def.h"

static void generate(ActionList *l, const PipelineShape *s, int rank)
{
    (void)rank;
    for (int c = 0; c < s->per_rank; c++)
        for (int64_t m = 0; m < s->microbatches; m++) add_forward(l, c, m);
    for (int c = s->per_rank - 1; c >= 0; c--)
        for (int64_t m = 0; m < s->microbatches; m++) add_backward(l, c, m);
}

static int64_t live(const PipelineShape *s, int rank)
{
    (void)rank;
    return s->microbatches * s->per_rank;
}

const ScheduleDef schedule_looped_bfs = {
    .name = "LoopedBFS",
    .doc = "each stage of a rank for all microbatches: its parameters are gathered once",
    .generate = generate,
    .live = live,
};
