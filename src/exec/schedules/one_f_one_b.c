/* one_f_one_b.c - 1F1B (PipeDream-Flush, Narayanan et al. 2021): as few microbatches in flight as
 * keep the later ranks busy. */
#include "exec/schedules/schedule_def.h"

static int64_t live(const PipelineShape *s, int rank)
{
    int64_t most = s->ranks - rank;
    return most < s->microbatches ? most : s->microbatches;
}

/* A rank goes forward until the first gradient can come back, then one back for one forward. */
static void generate(ActionList *l, const PipelineShape *s, int rank)
{
    int64_t ahead = live(s, rank) - 1;
    for (int64_t m = 0; m < ahead; m++) add_forward(l, 0, m);
    for (int64_t m = 0; m < s->microbatches; m++) {
        add_forward(l, 0, m + ahead);
        add_backward(l, 0, m);
    }
}

const ScheduleDef schedule_one_f_one_b = {
    .name = "1F1B",
    .doc = "one microbatch backward for one forward: GPipe's bubble with less memory",
    .per_rank = 1,
    .generate = generate,
    .live = live,
};
