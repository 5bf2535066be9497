/* one_at_a_time.c - a pipeline schedule that lets only one microbatch in at a time: the least
 * memory, and the largest bubble. */
#include "exec/schedules/schedule_def.h"

static void generate(ActionList *l, const PipelineShape *s, int rank)
{
    (void)rank;
    for (int64_t m = 0; m < s->microbatches; m++) {
        for (int chunk = 0; chunk < s->per_rank; chunk++) add_forward(l, chunk, m);
        for (int chunk = s->per_rank - 1; chunk >= 0; chunk--) add_backward(l, chunk, m);
    }
}

static int64_t live(const PipelineShape *s, int rank)
{
    (void)rank;
    return s->per_rank;
}

const ScheduleDef schedule_one_at_a_time = {
    .name = "OneAtATime",
    .doc = "one microbatch after the other",
    .generate = generate,
    .live = live,
};
