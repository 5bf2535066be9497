/* head_loss_fast.c - the loss of every token from its features and the head's weight.
 *
 * exp is taken relative to the logit of the target: loss = log(sum(exp(logit - target's))) without
 * a pass for the maximum. Where that overflows or vanishes (a loss above 69, or an ignored token)
 * the chunk is done again relative to the true maximum. */
#include "ops/head_tiles.h"
#include "ops/kernels.h"
#include <math.h>
#include <stdatomic.h>

/* What is gathered over the vocabulary, per token: a vector, since columns are lanes. */
typedef enum Gather { GATHER_SUM, GATHER_LARGEST } Gather;

typedef struct Forward {
    Head h;
    float *found; /* scratch: [segment][chunk] */
    Gather gather;
    bool is_to_largest; /* shifts are the largest logits */
    _Atomic bool bad_index, out_of_range;
} Forward;

enum { ROWS_PER_TASK = 32 };
static const float least_sum = 1e-30f, most_sum = 1e30f;

static size_t thread_bytes(const Head *h)
{
    return sizeof(Word) * (size_t)(HEAD_COLUMNS * h->depth + h->chunk * LANES);
}

static size_t found_bytes(const Head *h)
{
    return (size_t)head_up((int64_t)sizeof(float) * h->n_segments * h->chunk, 64);
}

static Forward forward_of(const Launch *l)
{
    Forward f = { .h = head_of(l) };
    head_place_rows(&f.h);
    f.found = (float *)f.h.shared;
    f.h.threads = f.h.shared + found_bytes(&f.h);
    return f;
}

/* Copies MR tokens and computes the logits of their targets; without one, that of row 0 will do. */
static void prepare_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Head *h = &((Forward *)arg)->h;
    const int32_t *target = (const int32_t *)h->l->in[2].data + h->first;
    head_copy_rows(h, i * MR);
    for (int64_t t = i * MR; t < (i + 1) * MR; t++) {
        bool has = t < h->n_rows && target[t] >= 0 && target[t] < h->v;
        h->shift[t] = t < h->n_rows ? head_logit(h, t, has ? target[t] : 0) * log2_e : 0;
    }
}

INLINE void gather_tile(const Head *h, bool pairs, Gather gather, int64_t row, const Word *panel,
                        int64_t n_columns, float *found)
{
    Vec c[MR][NV];
    head_tile(h, pairs, row, panel, c);
    if (n_columns < NR) head_cut(c, n_columns);
    if (gather == GATHER_SUM) head_exp(c, h->shift + row, 126);
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++) {
        Vec v = vec_load(found + i * LANES);
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) v = gather == GATHER_SUM ? v + c[i][j] : vec_max(c[i][j], v);
        vec_store(found + i * LANES, v);
    }
}

NOINLINE void sum_tile(const Head *h, int64_t row, const Word *panel, int64_t n, float *found)
{
    gather_tile(h, false, GATHER_SUM, row, panel, n, found);
}

NOINLINE void sum_pairs_tile(const Head *h, int64_t row, const Word *panel, int64_t n, float *found)
{
    gather_tile(h, true, GATHER_SUM, row, panel, n, found);
}

NOINLINE void largest_tile(const Head *h, int64_t row, const Word *panel, int64_t n, float *found)
{
    gather_tile(h, h->pairs, GATHER_LARGEST, row, panel, n, found);
}

/* One segment of the vocabulary for all tokens of the chunk. */
static void segment_task(void *arg, int64_t s, int thread)
{
    const Forward *f = arg;
    const Head *h = &f->h;
    char *room = h->threads + thread_bytes(h) * (size_t)thread;
    Word *panels = (Word *)room;
    float *found = (float *)(panels + HEAD_COLUMNS * h->depth);
    int64_t from, to, n_rows = head_up(h->n_rows, MR);
    split_range(h->n_blocks, h->n_segments, s, &from, &to);
    Vec start = vec_set(f->gather == GATHER_SUM ? 0 : -INFINITY);
    for (int64_t i = 0; i < n_rows; i++) vec_store(found + i * LANES, start);
    for (int64_t b = from; b < to; b++) {
        int64_t column = b * HEAD_COLUMNS;
        int64_t n = h->v - column < HEAD_COLUMNS ? h->v - column : HEAD_COLUMNS;
        head_pack_columns(h, column, n, panels);
        for (int64_t g = 0; g < n_rows; g += HEAD_ROWS)
            for (int64_t j = 0; j < n; j += NR)
                for (int64_t i = g; i < n_rows && i < g + HEAD_ROWS; i += MR) {
                    const Word *panel = panels + j * h->depth;
                    if (f->gather == GATHER_LARGEST)
                        largest_tile(h, i, panel, n - j, found + i * LANES);
                    else if (h->pairs)
                        sum_pairs_tile(h, i, panel, n - j, found + i * LANES);
                    else
                        sum_tile(h, i, panel, n - j, found + i * LANES);
                }
    }
    for (int64_t i = 0; i < n_rows; i++) {
        Vec v = vec_load(found + i * LANES);
        f->found[s * h->chunk + i] = f->gather == GATHER_SUM ? vec_sum(v) : vec_largest(v);
    }
}

static void gather(Forward *f, Gather what)
{
    f->gather = what;
    pool_run(f->h.l->stream->pool, f->h.n_segments, segment_task, f);
}

/* The segments' sums of a token together. */
static double total(const Forward *f, int64_t row)
{
    double sum = 0;
    for (int64_t s = 0; s < f->h.n_segments; s++) sum += f->found[s * f->h.chunk + row];
    return sum;
}

/* Takes the largest logit of each token for the shift. */
static void shift_to_largest(Forward *f)
{
    f->is_to_largest = true;
    gather(f, GATHER_LARGEST);
    for (int64_t i = 0; i < f->h.n_rows; i++) {
        float largest = f->found[i];
        for (int64_t s = 1; s < f->h.n_segments; s++)
            largest = fmaxf(largest, f->found[s * f->h.chunk + i]);
        f->h.shift[i] = largest * log2_e;
    }
}

/* Loss and lse of some tokens; those out of range will come again. */
static void finish_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    Forward *f = arg;
    const Head *h = &f->h;
    Range r = chunk(h->n_rows, ROWS_PER_TASK, task);
    for (int64_t i = r.from; i < r.to; i++) {
        int32_t target = ((const int32_t *)h->l->in[2].data)[h->first + i];
        double sum = total(f, i);
        if (f->is_to_largest && sum < 0.5) sum = 1; /* the largest itself, lost by rounding 1e20 */
        double lse = (h->shift[i] + log2(sum)) / log2_e, loss = 0;
        if (sum < least_sum || sum > most_sum) f->out_of_range = true; /* NaN is final */
        if (target >= 0 && target < h->v)
            loss = lse - head_logit(h, i, target);
        else if (target != IGNORED)
            f->bad_index = true;
        ((float *)h->l->out[0].data)[h->first + i] = (float)loss;
        ((double *)h->l->out[1].data)[h->first + i] = lse;
    }
}

static void gather_losses(Forward *f)
{
    f->out_of_range = false;
    gather(f, GATHER_SUM);
    pool_run(f->h.l->stream->pool, chunk_count(f->h.n_rows, ROWS_PER_TASK), finish_task, f);
}

static int loss_per_token(const Launch *l)
{
    Forward f = forward_of(l);
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
    return head_rows_bytes(&h) + found_bytes(&h) + thread_bytes(&h) * (size_t)n_threads;
}

const KernelDef TABLE[] = {
    { "head_loss", "cpu", "f32 f32 i32>f32 f64", LEVEL, loss_per_token, scratch, NULL },
    { "head_loss", "cpu", "bf16 bf16 i32>f32 f64", LEVEL, loss_per_token, scratch, NULL },
    { 0 },
};
