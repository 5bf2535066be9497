/* zero_bubble_v.c - ZBVZeroBubble (ZB-V of Qi et al. 2024): two chunks per rank, the second from
 * the last rank back to the first, so that every rank holds the same memory.
 *
 * The rule is that of torch. It is made for at least 2 * ranks - 1 microbatches; with fewer it is
 * followed for those that there would be, and they are left out. */
#include "exec/schedules/schedule_def.h"

/* Where a rank stands: the next microbatch of each kind, by chunk. */
typedef struct Next {
    ActionList *list;
    int64_t f[2], i[2], w[2];
} Next;

static void forward(Next *n, int chunk)
{
    add_forward(n->list, chunk, n->f[chunk]++);
}

static void input(Next *n, int chunk)
{
    add_input(n->list, chunk, n->i[chunk]++);
}

static void weight(Next *n, int chunk)
{
    add_weight(n->list, chunk, n->w[chunk]++);
}

static void generate(ActionList *l, const PipelineShape *s, int rank)
{
    Next n = { .list = l };
    int64_t all = s->microbatches > 2 * s->ranks - 1 ? s->microbatches : 2 * s->ranks - 1;
    for (int k = 0; k < 2 * (s->ranks - rank) - 1; k++) forward(&n, 0);
    for (int k = 0; k < rank; k++) forward(&n, 1), forward(&n, 0);
    for (int k = 0; k < s->ranks - rank; k++) forward(&n, 1), input(&n, 1), weight(&n, 1);
    while (n.f[1] < n.f[0] || n.f[0] < all) {
        if (n.f[0] < all) forward(&n, 0);
        input(&n, 0), weight(&n, 0);
        forward(&n, 1), input(&n, 1), weight(&n, 1);
    }
    for (int k = 0; k < rank; k++) input(&n, 0), input(&n, 1);
    for (int k = 0; k < s->ranks - rank; k++) input(&n, 0), weight(&n, 0);
    while (n.w[1] < n.i[1]) weight(&n, 1);
    while (n.w[0] < n.i[0]) weight(&n, 0);
}

static int64_t live(const PipelineShape *s, int rank)
{
    (void)rank;
    int64_t most = 2 * (int64_t)s->ranks, all = 2 * s->microbatches;
    return most < all ? most : all;
}

const ScheduleDef schedule_zero_bubble_v = {
    .name = "ZBVZeroBubble",
    .doc = "almost no bubble, and the same memory on every rank",
    .turns = true,
    .per_rank = 2,
    .generate = generate,
    .live = live,
};
