/* gpipe.c - GPipe (Huang et al. 2019): all microbatches forward, then all of them backward. */
#include "exec/schedules/schedule_def.h"

static void generate(ActionList *l, const PipelineShape *s, int rank)
{
    (void)rank;
    for (int64_t m = 0; m < s->microbatches; m++) add_forward(l, 0, m);
    for (int64_t m = 0; m < s->microbatches; m++) add_backward(l, 0, m);
}

static int64_t live(const PipelineShape *s, int rank)
{
    (void)rank;
    return s->microbatches;
}

const ScheduleDef schedule_gpipe = {
    .name = "GPipe",
    .doc = "all microbatches forward, then all backward",
    .per_rank = 1,
    .generate = generate,
    .live = live,
};
