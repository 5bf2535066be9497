/* head_loss_fast.c - the loss of every token from its features and the head's weight. */
#include "ops/head_sums.h"
#include "ops/kernels.h"
#include "tensor/target.h"

static const float least_sum = 1e-30f, most_sum = 1e30f;

typedef struct Losses {
    Sums s;
    double *total; /* shared scratch: see sums_total */
} Losses;

static size_t total_bytes(const Head *h)
{
    return (size_t)head_up(2 * (int64_t)sizeof(double) * h->chunk, 64);
}

static Losses losses_of(const Launch *l)
{
    Losses w = { .s.h = head_of(l) };
    Head *h = &w.s.h;
    head_place_rows(h);
    w.s.found = (float *)h->shared;
    w.total = (double *)(h->shared + sums_found_bytes(h));
    h->threads = (char *)w.total + total_bytes(h);
    w.s.thread_bytes = sums_thread_bytes(h);
    return w;
}

/* Copies MR tokens and computes the logits of their targets, where this rank has them; without one,
 * that of row 0 will do. */
static void prepare_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Head *h = &((Losses *)arg)->s.h;
    head_copy_rows(h, i * MR);
    for (int64_t t = i * MR; t < (i + 1) * MR; t++) {
        int64_t target = head_target(h, t);
        bool is_mine = target >= 0 || (!head_counts(h, t) && h->vocabulary.first == 0);
        h->shift[t] = is_mine && t < h->n_rows && h->v > 0
                          ? head_logit(h, t, target < 0 ? 0 : target) * log2_e
                          : 0;
    }
}

/* Loss and lse of some tokens; those out of range will come again. */
static void finish_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    Losses *w = arg;
    const Head *h = &w->s.h;
    Range r = chunk(h->n_rows, ROWS_PER_TASK, task);
    for (int64_t i = r.from; i < r.to; i++) {
        double sum = w->total[i], lse = (h->shift[i] + log2(sum)) / log2_e, loss = 0;
        if (sum < least_sum || sum > most_sum) w->s.out_of_range = true; /* NaN is final */
        if (head_counts(h, i))
            loss = lse - w->total[h->n_rows + i];
        else if (head_token(h, i) != IGNORED_TARGET)
            w->s.bad_index = true;
        ((float *)h->l->out[0].data)[h->first + i] = (float)loss;
        ((double *)h->l->out[1].data)[h->first + i] = lse;
    }
}

static int gather_losses(Losses *w)
{
    const Head *h = &w->s.h;
    w->s.out_of_range = false;
    gather(&w->s, GATHER_SUM);
    int status = sums_total(&w->s, w->total);
    if (status == KERNEL_OK)
        pool_run(h->l->stream->pool, chunk_count(h->n_rows, ROWS_PER_TASK), finish_task, w);
    return status;
}

static int losses_of_chunk(Losses *w)
{
    const Head *h = &w->s.h;
    pool_run(h->l->stream->pool, head_all_rows(h) / MR, prepare_task, w);
    int status = vocabulary_reduce(h->l, h->shift, h->n_rows, F32, REDUCE_SUM);
    w->s.is_to_largest = false;
    if (status == KERNEL_OK) status = gather_losses(w);
    if (status != KERNEL_OK || !w->s.out_of_range) return status;
    status = shift_to_largest(&w->s);
    return status == KERNEL_OK ? gather_losses(w) : status;
}

static int loss_per_token(const Launch *l)
{
    Losses w = losses_of(l);
    Head *h = &w.s.h;
    for (h->first = 0; h->first < h->n; h->first += h->chunk) {
        h->n_rows = h->n - h->first < h->chunk ? h->n - h->first : h->chunk;
        int status = losses_of_chunk(&w);
        if (status != KERNEL_OK) return status;
    }
    return w.s.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    Head h = head_of(l);
    return head_rows_bytes(&h) + sums_found_bytes(&h) + total_bytes(&h) +
           sums_thread_bytes(&h) * (size_t)n_threads;
}

/* A row without an op ends the table: tiles are for bf16 alone. */
const KernelDef TABLE[] = {
    { "head_loss", "cpu", "bf16 bf16 i32>f32 f64", PRODUCT_LEVEL, loss_per_token, scratch, NULL },
    { TILES ? NULL : "head_loss", "cpu", "f32 f32 i32>f32 f64", PRODUCT_LEVEL, loss_per_token,
      scratch, NULL },
    { 0 },
};
