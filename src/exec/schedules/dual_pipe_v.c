/* dual_pipe_v.c - DualPipeV (DeepSeek-V3, cut in half by Sea AI Lab): like ZB-V two chunks that
 * turn at the last rank; a forward and a backward of different chunks stand side by side, so that
 * the communication of one can hide behind the computation of the other.
 *
 * The rule is that of torch, step by step. */
#include "exec/schedules/schedule_def.h"

/* Where a rank stands: the next microbatch by chunk, and weights whose turn has not come. */
typedef struct Next {
    ActionList *list;
    int64_t f[2], b[2];
    int *chunk; /* of each waiting weight */
    int64_t *microbatch, n, done;
} Next;

static void forward(Next *n, int chunk)
{
    add_forward(n->list, chunk, n->f[chunk]++);
}

static void backward(Next *n, int chunk, bool input_only)
{
    int64_t m = n->b[chunk]++;
    if (!input_only) {
        add_backward(n->list, chunk, m);
        return;
    }
    add_input(n->list, chunk, m);
    n->chunk[n->n] = chunk;
    n->microbatch[n->n++] = m;
}

static void side_by_side(Next *n, int chunk)
{
    add_side_by_side(n->list, chunk, n->f[chunk]++, 1 - chunk, n->b[1 - chunk]++);
}

static void weight(Next *n)
{
    if (n->done == n->n) return;
    add_weight(n->list, n->chunk[n->done], n->microbatch[n->done]);
    n->done++;
}

/* From the middle on gradients of weights wait; where the middle is depends on the rank. */
static void drain(Next *n, int rank)
{
    for (int k = 0; k < rank + 1; k++) {
        int half = (rank + 1) / 2;
        backward(n, 1, k > half || (k == half && rank % 2 == 1));
        backward(n, 0, k >= half);
    }
}

static void generate(ActionList *l, const PipelineShape *s, int rank)
{
    Next n = { .list = l,
               .chunk = NEW_N(l->arena, int, 2 * s->microbatches),
               .microbatch = NEW_N(l->arena, int64_t, 2 * s->microbatches) };
    int later = s->ranks - 1 - rank;
    for (int k = 0; k < 2 * later; k++) forward(&n, 0);
    for (int k = 0; k < rank + 1; k++) forward(&n, 0), forward(&n, 1);
    for (int k = 0; k < later; k++) backward(&n, 1, true), weight(&n), forward(&n, 1);
    for (int64_t k = 0; k < s->microbatches - 2 * s->ranks + rank + 1; k++) {
        if (k == 0 && !later) /* apart, the bubble is smaller */
            forward(&n, 0), backward(&n, 1, false);
        else
            side_by_side(&n, 0);
        side_by_side(&n, 1);
    }
    for (int k = 0; k < later; k++) {
        backward(&n, 1, false);
        side_by_side(&n, 1);
    }
    drain(&n, rank);
    for (int k = 0; k < later; k++) weight(&n), backward(&n, 0, true);
    while (n.done < n.n) weight(&n);
}

static int64_t live(const PipelineShape *s, int rank)
{
    (void)rank;
    return 2 * (int64_t)s->ranks + 1;
}

const ScheduleDef schedule_dual_pipe_v = {
    .name = "DualPipeV",
    .doc = "forward and backward side by side: for models whose layers communicate a lot",
    .turns = true,
    .per_rank = 2,
    .microbatches_per_rank = 2,
    .generate = generate,
    .live = live,
};
