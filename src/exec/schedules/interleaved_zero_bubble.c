/* interleaved_zero_bubble.c - InterleavedZeroBubble (ZB-H1 of Qi et al. 2023, with chunks): weights
 * get their gradients later, where a rank would wait otherwise. */
#include "exec/schedules/rounds.h"
#include "exec/schedules/schedule_def.h"

static int64_t turns_ahead(const PipelineShape *s, int rank)
{
    int64_t ahead = (s->per_rank - 1) * round_size(s) + s->ranks - 1 - rank, all = round_turns(s);
    return ahead < all ? ahead : all;
}

/* The later a rank, the fewer microbatches it is ahead; it keeps as many more until their weights
 * have their turn. */
static void generate(ActionList *l, const PipelineShape *s, int rank)
{
    int64_t ahead = turns_ahead(s, rank), n = round_turns(s);
    for (int64_t k = 0; k < n + ahead + rank; k++) {
        Turn f = round_forward(s, k), i = round_backward(s, k - ahead),
             w = round_backward(s, k - ahead - rank);
        if (k < n) add_forward(l, f.chunk, f.microbatch);
        if (k >= ahead && k - ahead < n) add_input(l, i.chunk, i.microbatch);
        if (k >= ahead + rank) add_weight(l, w.chunk, w.microbatch);
    }
}

static int64_t live(const PipelineShape *s, int rank)
{
    int64_t most = turns_ahead(s, rank) + 1 + rank, all = round_turns(s);
    return most < all ? most : all;
}

const ScheduleDef schedule_interleaved_zero_bubble = {
    .name = "InterleavedZeroBubble",
    .doc = "gradients of weights fill the bubble, with the memory of 1F1B",
    .generate = generate,
    .live = live,
};
