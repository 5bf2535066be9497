/* rounds.c - see rounds.h. Where the rounds cannot be equal, the first ones have one microbatch
 * more. */
#include "exec/schedules/rounds.h"

static int64_t n_rounds(const PipelineShape *s)
{
    int64_t n = s->microbatches / s->ranks;
    return n ? n : 1;
}

int64_t round_size(const PipelineShape *s)
{
    return (s->microbatches + n_rounds(s) - 1) / n_rounds(s);
}

int64_t round_turns(const PipelineShape *s)
{
    return s->microbatches * s->per_rank;
}

Turn round_forward(const PipelineShape *s, int64_t k)
{
    int64_t small = s->microbatches / n_rounds(s), n_large = s->microbatches % n_rounds(s);
    int64_t of_large = n_large * (small + 1) * s->per_rank;
    int64_t size = k < of_large ? small + 1 : small;
    int64_t first = k < of_large ? 0 : n_large * (small + 1);
    int64_t at = k < of_large ? k : k - of_large;
    int64_t round = at / (size * s->per_rank), place = at % (size * s->per_rank);
    return (Turn){ (int)(place / size), first + round * size + place % size };
}

Turn round_backward(const PipelineShape *s, int64_t k)
{
    Turn t = round_forward(s, k);
    t.chunk = s->per_rank - 1 - t.chunk;
    return t;
}
