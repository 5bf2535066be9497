/* head_loss_fast.c - the loss of every token from its features and the head's weight. */
#include "ops/head_sums.h"
#include "ops/kernels.h"
#include "tensor/target.h"

static const float least_sum = 1e-30f, most_sum = 1e30f;

static Sums sums_of(const Launch *l)
{
    Sums f = { .h = head_of(l) };
    head_place_rows(&f.h);
    f.found = (float *)f.h.shared;
    f.h.threads = f.h.shared + sums_found_bytes(&f.h);
    f.thread_bytes = sums_thread_bytes(&f.h);
    return f;
}

/* Copies MR tokens and computes the logits of their targets; without one, that of row 0 will do. */
static void prepare_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Head *h = &((Sums *)arg)->h;
    head_copy_rows(h, i * MR);
    for (int64_t t = i * MR; t < (i + 1) * MR; t++) {
        int64_t target = head_target(h, t);
        h->shift[t] = t < h->n_rows ? head_logit(h, t, target < 0 ? 0 : target) * log2_e : 0;
    }
}

/* Loss and lse of some tokens; those out of range will come again. */
static void finish_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    Sums *f = arg;
    const Head *h = &f->h;
    Range r = chunk(h->n_rows, ROWS_PER_TASK, task);
    for (int64_t i = r.from; i < r.to; i++) {
        int64_t target = head_target(h, i);
        double sum = sums_total(f, i), lse = (h->shift[i] + log2(sum)) / log2_e, loss = 0;
        if (sum < least_sum || sum > most_sum) f->out_of_range = true; /* NaN is final */
        if (target >= 0)
            loss = lse - head_logit(h, i, target);
        else if (((const int32_t *)h->l->in[2].data)[h->first + i] != IGNORED_TARGET)
            f->bad_index = true;
        ((float *)h->l->out[0].data)[h->first + i] = (float)loss;
        ((double *)h->l->out[1].data)[h->first + i] = lse;
    }
}

static void gather_losses(Sums *f)
{
    f->out_of_range = false;
    gather(f, GATHER_SUM);
    pool_run(f->h.l->stream->pool, chunk_count(f->h.n_rows, ROWS_PER_TASK), finish_task, f);
}

static int loss_per_token(const Launch *l)
{
    Sums f = sums_of(l);
    Head *h = &f.h;
    for (h->first = 0; h->first < h->n; h->first += h->chunk) {
        h->n_rows = h->n - h->first < h->chunk ? h->n - h->first : h->chunk;
        pool_run(l->stream->pool, (h->n_rows + MR - 1) / MR, prepare_task, &f);
        f.is_to_largest = false;
        gather_losses(&f);
        if (!f.out_of_range) continue;
        shift_to_largest(&f);
        gather_losses(&f);
    }
    return f.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    Head h = head_of(l);
    return head_rows_bytes(&h) + sums_found_bytes(&h) + sums_thread_bytes(&h) * (size_t)n_threads;
}

const KernelDef TABLE[] = {
    { "head_loss", "cpu", "f32 f32 i32>f32 f64", LEVEL, loss_per_token, scratch, NULL },
    { "head_loss", "cpu", "bf16 bf16 i32>f32 f64", LEVEL, loss_per_token, scratch, NULL },
    { 0 },
};
