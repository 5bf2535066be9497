/* head_sums.h - sums of exponentials of the fused head's logits, and their maximum, per token.
 *
 * exp is taken relative to the logit of the target: loss = log(sum(exp(logit - target's))) without
 * a pass for the maximum. Where that overflows or vanishes the chunk is done again relative to the
 * true maximum. */
#ifndef OPS_HEAD_SUMS_H
#define OPS_HEAD_SUMS_H
#include "ops/head_tiles.h"
#include "tensor/target.h"
#include <math.h>
#include <stdatomic.h>

/* What is gathered over the vocabulary, per token: a vector, since columns are lanes. */
typedef enum Gather { GATHER_SUM, GATHER_LARGEST } Gather;

typedef struct Sums {
    Head h;
    size_t thread_bytes; /* of scratch, at least sums_thread_bytes */
    float *found;        /* scratch: [segment][chunk] */
    Gather gather;
    bool is_to_largest; /* shifts are the largest logits */
    _Atomic bool bad_index, out_of_range;
} Sums;

enum { ROWS_PER_TASK = 32 };

/* Panels of a block of the weight, then a vector per token. */
INLINE size_t sums_thread_bytes(const Head *h)
{
    return sizeof(Word) * (size_t)(HEAD_COLUMNS * h->depth + h->chunk * LANES);
}

INLINE size_t sums_found_bytes(const Head *h)
{
    return (size_t)head_up((int64_t)sizeof(float) * h->n_segments * h->chunk, 64);
}

/* Whether token i of the chunk has a target in the vocabulary, and its row on this rank, or -1. */
INLINE int32_t head_token(const Head *h, int64_t i)
{
    return i < h->n_rows ? ((const int32_t *)h->l->in[2].data)[h->first + i] : IGNORED_TARGET;
}

INLINE bool head_counts(const Head *h, int64_t i)
{
    return vocabulary_has(&h->vocabulary, head_token(h, i));
}

INLINE int64_t head_target(const Head *h, int64_t i)
{
    return vocabulary_row(&h->vocabulary, head_token(h, i));
}

/* Sums start as 0, maxima as minus infinity; one vector per token. */
INLINE void found_start(const Head *h, Gather gather, float *found)
{
    Vec start = vec_set(gather == GATHER_SUM ? 0 : -INFINITY);
    for (int64_t i = 0; i < head_all_rows(h); i++) vec_store(found + i * LANES, start);
}

INLINE void found_add(Gather gather, Vec (*c)[NV], int rows, float *found)
{
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        Vec v = vec_load(found + i * LANES);
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) v = gather == GATHER_SUM ? v + c[i][j] : vec_max(c[i][j], v);
        vec_store(found + i * LANES, v);
    }
}

/* Keeps what a segment found, one number per token. */
INLINE void found_finish(const Sums *f, Gather gather, const float *found, int64_t segment)
{
    for (int64_t i = 0; i < head_all_rows(&f->h); i++) {
        Vec v = vec_load(found + i * LANES);
        f->found[segment * f->h.chunk + i] = gather == GATHER_SUM ? vec_sum(v) : vec_largest(v);
    }
}

INLINE void gather_tile(const Head *h, bool pairs, Gather gather, int64_t row, const Word *panel,
                        int64_t n_columns, float *found)
{
    Vec c[MR][NV];
    head_tile(h, pairs, row, panel, c);
    if (n_columns < NR) head_cut(c, MR, n_columns);
    if (gather == GATHER_SUM) head_exp(c, MR, h->shift + row, 126);
    found_add(gather, c, MR, found);
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
NOINLINE void gather_task(void *arg, int64_t s, int thread)
{
    const Sums *f = arg;
    const Head *h = &f->h;
    Word *panels = (Word *)(h->threads + f->thread_bytes * (size_t)thread);
    float *found = (float *)(panels + HEAD_COLUMNS * h->depth);
    int64_t from, to, n_rows = head_all_rows(h);
    split_range(h->n_blocks, h->n_segments, s, &from, &to);
    found_start(h, f->gather, found);
    if (TILES) amx_begin();
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
    if (TILES) amx_end();
    found_finish(f, f->gather, found, s);
}

NOINLINE void gather(Sums *f, Gather what)
{
    f->gather = what;
    pool_run(f->h.l->stream->pool, f->h.n_segments, gather_task, f);
}

/* By token of the chunk, over all ranks: the sum, and from [n_rows] on the logit of the target. */
NOINLINE int sums_total(const Sums *f, double *total)
{
    const Head *h = &f->h;
    for (int64_t i = 0; i < h->n_rows; i++) {
        const int64_t target = head_target(h, i);
        total[i] = 0;
        for (int64_t s = 0; s < h->n_segments; s++) total[i] += f->found[s * h->chunk + i];
        total[h->n_rows + i] = target < 0 ? 0 : head_logit(h, i, target);
    }
    int status = vocabulary_reduce(h->l, total, 2 * h->n_rows, F64, REDUCE_SUM);
    for (int64_t i = 0; i < h->n_rows; i++) /* the largest itself, lost by rounding 1e20 */
        if (f->is_to_largest && total[i] < 0.5) total[i] = 1;
    return status;
}

/* Takes the largest logit of each token for the shift. */
NOINLINE int shift_to_largest(Sums *f)
{
    f->is_to_largest = true;
    gather(f, GATHER_LARGEST);
    for (int64_t i = 0; i < f->h.n_rows; i++) {
        float largest = -INFINITY;
        for (int64_t s = 0; s < f->h.n_segments; s++)
            largest = fmaxf(largest, f->found[s * f->h.chunk + i]);
        f->h.shift[i] = largest * log2_e;
    }
    return vocabulary_reduce(f->h.l, f->h.shift, f->h.n_rows, F32, REDUCE_MAX);
}

#endif
