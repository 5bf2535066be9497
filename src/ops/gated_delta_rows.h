/* gated_delta_rows.h - pairs of a chunk's tokens where each row of S fades by itself (Kimi Team
 * 2025, Kimi Linear).
 *
 * A pair's product is the sum over features f of q(i,f) k(j,f) exp(y(i,f) - y(j,f)). To be a
 * product of matrices it needs a token r between both, so that no exponent is above 0:
 *
 *     exp(y(i) - y(j)) = exp(y(i) - y(r)) exp(y(r) - y(j))
 *
 * Tokens stand in blocks of BLOCK. That between a token and those of earlier blocks is the last one
 * in front of its block: keys of all earlier blocks fade from block to block, and are multiplied
 * with the block's queries. Pairs within a block are made one by one. All that fades is a product
 * of what single tokens leave, exp(decay), so that sums of decays need not be exact. */
#ifndef OPS_GATED_DELTA_ROWS_H
#define OPS_GATED_DELTA_ROWS_H
#include "ops/gated_delta_parts.h"

enum { BLOCK = 8 };

/* What is hardly there is 0: numbers below the smallest normal one are slow. */
INLINE Vec faded(Vec x, Vec keep)
{
    const Vec y = x * keep;
    return vec_keep(~(vec_max(y, -y) < vec_set(1e-30f)), y); /* so that NaN stays */
}

INLINE void fade_row(float *row, const float *keep, int64_t width)
{
    for (int64_t f = 0; f < width; f += LANES)
        vec_store(row + f, faded(vec_load(row + f), vec_load(keep + f)));
}

INLINE void fill_row(float *row, float x, int64_t width)
{
    for (int64_t f = 0; f < width; f += LANES) vec_store(row + f, vec_set(x));
}

INLINE int64_t block_end(const Chunk *c, int64_t first)
{
    return first + BLOCK < c->n ? first + BLOCK : c->n;
}

NOINLINE void load_keep(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    for (int64_t i = 0; i < c->n; i++) {
        float *keep = c->keep + i * x->wide_d;
        load_row(x->decay, head_at(x, b, c->first + i, h), x->d, 1, keep);
        for (int64_t f = 0; f < x->wide_d; f += LANES)
            vec_store(keep + f, vec_exp(vec_load(keep + f)));
    }
}

/* Of a block from `first` on: begin_q and begin_k as if the chunk began there, and what the block
 * leaves of each row. */
NOINLINE void enter_block(const Delta *x, Chunk *c, int64_t first)
{
    const int64_t d = x->wide_d, end = block_end(c, first);
    for (int64_t f = 0; f < d; f += LANES) {
        Vec left = vec_set(1);
        for (int64_t i = first * d + f; i < end * d; i += d) {
            left = faded(left, vec_load(c->keep + i));
            vec_store(c->begin_q + i, vec_load(c->q + i) * left);
            vec_store(c->begin_k + i, vec_load(c->k + i) * left);
        }
        vec_store(c->block + f, left);
    }
}

/* Keys up to the block's last token, as they are behind that. */
NOINLINE void leave_block(const Delta *x, Chunk *c, int64_t first)
{
    const int64_t d = x->wide_d, end = block_end(c, first);
    for (int64_t j = 0; j < first; j++) fade_row(c->end_k + j * d, c->block, d);
    for (int64_t f = 0; f < d; f += LANES) {
        Vec left = vec_set(1);
        for (int64_t j = (end - 1) * d + f; j >= first * d; j -= d) {
            vec_store(c->end_k + j, vec_load(c->k + j) * left);
            left = faded(left, vec_load(c->keep + j));
        }
    }
}

NOINLINE void pairs_of_block(const Delta *x, Chunk *c, int64_t first)
{
    const int64_t d = x->wide_d, end = block_end(c, first);
    for (int64_t j = first; j < end; j++) {
        memcpy(c->row, c->k + j * d, sizeof(float) * (size_t)d);
        c->read[j * TOKENS + j] = vec_sum(dot_rows(c->q + j * d, c->row, d));
        for (int64_t i = j + 1; i < end; i++) {
            fade_row(c->row, c->keep + i * d, d);
            c->read[i * TOKENS + j] = vec_sum(dot_rows(c->q + i * d, c->row, d));
            if (!x->adds)
                c->corrected[i * TOKENS + j] = -vec_sum(dot_rows(c->k + i * d, c->row, d));
        }
    }
}

/* `read` and `corrected`, and all that fades over the chunk. */
NOINLINE void pairs_by_row(const Delta *x, Chunk *c)
{
    const int64_t d = x->wide_d;
    fill_row(c->whole, 1, d);
    for (int64_t first = 0; first < c->n; first += BLOCK) {
        const int64_t rows = block_end(c, first) - first, columns = whole_vectors(first);
        float *read = c->read + first * TOKENS, *corrected = c->corrected + first * TOKENS;
        const Factors reads = { c->begin_q + first * d, d, 1, c->turned_k, TOKENS },
                      corrections = { c->begin_k + first * d, d, 1, c->turned_k, TOKENS };
        enter_block(x, c, first);
        turn(c->end_k, first, d, c->turned_k, TOKENS);
        product(rows, columns, d, &reads, false, read, TOKENS);
        if (!x->adds) product(rows, columns, d, &corrections, false, corrected, TOKENS);
        for (int64_t i = 0; i < rows; i++) {
            const size_t later = sizeof(float) * (size_t)(TOKENS - first);
            memset(read + i * TOKENS + first, 0, later);
            memset(corrected + i * TOKENS + first, 0, later);
            if (!x->adds) scale_row(corrected + i * TOKENS, -1, columns, corrected + i * TOKENS);
            fade_row(c->begin_q + (first + i) * d, c->whole, d);
            fade_row(c->begin_k + (first + i) * d, c->whole, d);
        }
        pairs_of_block(x, c, first);
        leave_block(x, c, first);
        fade_row(c->whole, c->block, d);
    }
}
#endif
