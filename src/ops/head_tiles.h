/* head_tiles.h - pieces of the fused head: logits of some tokens and some of the vocabulary.
 *
 * Tokens are taken a chunk at a time, the vocabulary in blocks of HEAD_COLUMNS, several of which
 * make a segment. A task computes one segment for one chunk: the number of segments depends on the
 * vocabulary alone, so sums over it come out the same for any number of threads. Logits exist for
 * one tile only, in registers. Words and panels are those of gemm/ (see its README). */
#ifndef OPS_HEAD_TILES_H
#define OPS_HEAD_TILES_H
#include "ops/gemm/pack_amx.h"
#include "ops/gemm/tiles.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"
#include "ops/vocabulary.h"
#include <math.h>

enum {
    HEAD_COLUMNS = TILES ? 2 * AMX_SLICE_STEPS : 192, /* of a block; a multiple of NR and MR */
    HEAD_SEGMENTS = 32,                               /* at most */
    HEAD_ROWS = TILES ? 192 : 96,         /* tokens whose probabilities are kept at a time */
    HEAD_UNIT = TILES ? 2 * MR : MR,      /* tokens are filled up to; of two in a word, a tile */
    HEAD_MAX_CHUNK = TILES ? 1024 : 1008, /* tokens; a multiple of 2 MR */
    HEAD_MIN_CHUNK = TILES ? 256 : 252,
    HEAD_CHUNK_FLOATS = 384 << 10, /* of x in a chunk, between those bounds */
};

typedef struct Head {
    const Launch *l;
    int64_t n, d, v; /* tokens, width, rows of the vocabulary that this rank has */
    Vocabulary vocabulary;
    bool pairs;    /* bf16 in pairs, see gemm/ */
    int64_t depth; /* words of a row of x */
    int64_t chunk; /* tokens at a time */
    int64_t n_blocks, n_segments;
    Word *rows;   /* scratch: x of this chunk, [chunk][depth], padded with zero rows */
    float *shift; /* scratch: what is subtracted from log2_e times the logits of a token */
    char *shared, *threads; /* scratch of the op: for all, and for each thread */
    int64_t first, n_rows;  /* tokens of this chunk */
} Head;

INLINE int64_t head_up(int64_t x, int64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

INLINE Head head_of(const Launch *l)
{
    Head h = { .l = l, .n = tensor_count(&l->in[2]), .d = l->in[1].size[1] };
    h.vocabulary = vocabulary_of(&l->in[1], 0);
    h.v = h.vocabulary.n;
    h.pairs = DOT_PAIRS && l->in[0].dtype == BF16;
    h.depth = TILES ? amx_up((h.d + 1) / 2) : h.pairs ? (h.d + 1) / 2 : h.d;
    int64_t chunk = HEAD_CHUNK_FLOATS / (h.d > 0 ? h.d : 1) / (2 * MR) * (2 * MR);
    if (chunk < HEAD_MIN_CHUNK) chunk = HEAD_MIN_CHUNK;
    if (chunk > HEAD_MAX_CHUNK) chunk = HEAD_MAX_CHUNK;
    h.chunk = chunk < head_up(h.n, HEAD_UNIT) ? chunk : head_up(h.n, HEAD_UNIT);
    h.n_blocks = (h.v + HEAD_COLUMNS - 1) / HEAD_COLUMNS;
    h.n_segments = h.n_blocks < HEAD_SEGMENTS ? h.n_blocks : HEAD_SEGMENTS;
    return h;
}

/* Tokens of this chunk with those that fill it up. */
INLINE int64_t head_all_rows(const Head *h)
{
    return head_up(h->n_rows, HEAD_UNIT);
}

/* Rows of the weight's gradient beyond the vocabulary become zero, unless sums go on there. */
INLINE void head_clear_padding(const Head *h, int result)
{
    const Tensor *dweight = &h->l->out[result];
    const int64_t n = (dweight->size[0] - h->v) * h->d, size = (int64_t)dtype_size(dweight->dtype);
    if (n > 0 && !launch_adds(h->l, result))
        memset((char *)dweight->data + size * h->v * h->d, 0, (size_t)(size * n));
}

/* Bytes of scratch for `rows` and `shift`, and where to put what follows. */
INLINE size_t head_rows_bytes(const Head *h)
{
    size_t rows = sizeof(Word) * (size_t)(h->chunk * h->depth);
    return (size_t)head_up((int64_t)rows, 64) +
           (size_t)head_up((int64_t)sizeof(float) * h->chunk, 64);
}

INLINE void head_place_rows(Head *h)
{
    h->rows = h->l->scratch;
    h->shift =
        (float *)((char *)h->l->scratch + head_up((int64_t)sizeof(Word) * h->chunk * h->depth, 64));
    h->shared = (char *)h->l->scratch + head_rows_bytes(h);
}

/* x and the weight as the packing functions see them; rows counted from `first`. */
INLINE PackFrom head_x(const Head *h, bool k_inner)
{
    const Tensor *x = &h->l->in[0];
    const char *data = (const char *)x->data + (int64_t)dtype_size(x->dtype) * h->first * h->d;
    PackFrom from = { { data, h->d, x->dtype, .k_inner = k_inner }, h->n_rows, h->d, h->pairs };
    if (!k_inner) from.rows = h->d, from.k = h->n_rows;
    return from;
}

INLINE PackFrom head_weight(const Head *h, int64_t column, int64_t n_columns, bool k_inner)
{
    const Tensor *w = &h->l->in[1];
    const char *data = (const char *)w->data + (int64_t)dtype_size(w->dtype) * column * h->d;
    PackFrom from = { { data, h->d, w->dtype, .k_inner = k_inner }, n_columns, h->d, h->pairs };
    if (!k_inner) from.rows = h->d, from.k = n_columns;
    return from;
}

/* The product of token i of the chunk with row `column` of the weight. */
INLINE float head_logit(const Head *h, int64_t i, int64_t column)
{
    const Tensor *x = &h->l->in[0], *w = &h->l->in[1];
    Vec sum = vec_set(0);
    for (int64_t j = 0; j < h->d; j += LANES) {
        int64_t n = h->d - j < LANES ? h->d - j : LANES;
        sum = vec_fma(vec_get(x->dtype, x->data, (h->first + i) * h->d + j, n),
                      vec_get(w->dtype, w->data, column * h->d + j, n), sum);
    }
    return vec_sum(sum);
}

/* Tokens [row, row + MR) of the chunk as words. */
INLINE void head_copy_rows(const Head *h, int64_t row)
{
    const PackFrom x = head_x(h, true);
    int64_t n = h->n_rows - row < MR ? h->n_rows - row : MR;
    if (n < 0) n = 0;
    Word *to = h->rows + row * h->depth;
    pack_copy(&x, row, n, 0, h->depth, to);
    memset(to + n * h->depth, 0, sizeof(Word) * (size_t)((MR - n) * h->depth));
}

/* The weight's rows of a block as panels for the logits: [columns / NR][depth][NR]. */
INLINE void head_pack_columns(const Head *h, int64_t column, int64_t n_columns, Word *to)
{
    const PackFrom w = head_weight(h, column, n_columns, true);
    for (int64_t j = 0; j < n_columns; j += NR)
        pack_panel(&w, j, n_columns - j < NR ? n_columns - j : NR, 0, h->depth, to + j * h->depth);
}

/* Logits of MR tokens and NR columns. */
INLINE void head_tile(const Head *h, bool pairs, int64_t row, const Word *panel, Vec c[MR][NV])
{
    if (TILES) {
        amx_tile(h->depth, h->rows + row * h->depth, h->depth * (int64_t)sizeof(Word), panel,
                 TILE_STORE, (float *)c, NR);
        return;
    }
    tile_product(c, pairs, ROWS_APART, h->depth, h->rows + row * h->depth,
                 h->depth * (int64_t)sizeof(Word), panel);
}

/* Puts minus infinity into the columns of a tile from n on: those beyond the vocabulary. */
INLINE void head_cut(Vec (*c)[NV], int rows, int64_t n)
{
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) {
        VecInt exists = vec_lanes() < vec_int_set((int32_t)n - j * LANES);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) c[i][j] = vec_select(exists, c[i][j], vec_set(-INFINITY));
    }
}

/* c = 2^(log2_e c - shift), four vectors at a time; exponents above `limit` count as that: 126
 * where only a sum too large to use matters, 0 where the result is a probability. */
INLINE void head_exp(Vec (*c)[NV], int rows, const float *shift, float limit)
{
    enum { ROWS = NV >= 4 ? 1 : 2 };
    const Vec per_log_2 = vec_set(log2_e), most = vec_set(limit);
#pragma GCC unroll 6
    for (int i = 0; i < rows; i += ROWS) {
#pragma GCC unroll 2
        for (int r = i; r < i + ROWS; r++)
#pragma GCC unroll 4
            for (int j = 0; j < NV; j++)
                c[r][j] = vec_min(most, vec_fma(c[r][j], per_log_2, vec_set(-shift[r])));
        vec_exp2_each(c[i], ROWS * NV);
    }
}

#endif
