/* interleaved.c - Interleaved1F1B (Megatron-LM, Narayanan et al. 2021): ranks with several chunks
 * of layers fill the pipeline in smaller steps. */
#include "exec/schedules/rounds.h"
#include "exec/schedules/schedule_def.h"

/* How many turns a rank is ahead: until the first microbatch comes back to it. */
static int64_t turns_ahead(const PipelineShape *s, int rank)
{
    int64_t later = s->ranks - 1 - rank, all = round_turns(s);
    int64_t ahead = (s->per_rank - 1) * round_size(s) + (s->per_rank > 1 ? 2 : 1) * later;
    return ahead < all ? ahead : all;
}

static void generate(ActionList *l, const PipelineShape *s, int rank)
{
    int64_t ahead = turns_ahead(s, rank), n = round_turns(s);
    for (int64_t k = 0; k < n + ahead; k++) {
        Turn f = round_forward(s, k), b = round_backward(s, k - ahead);
        if (k < n) add_forward(l, f.chunk, f.microbatch);
        if (k >= ahead) add_backward(l, b.chunk, b.microbatch);
    }
}

static int64_t live(const PipelineShape *s, int rank)
{
    int64_t most = turns_ahead(s, rank) + 1, all = round_turns(s);
    return most < all ? most : all;
}

const ScheduleDef schedule_interleaved = {
    .name = "Interleaved1F1B",
    .doc = "1F1B with several stages on each rank: a bubble as many times smaller",
    .generate = generate,
    .live = live,
};
