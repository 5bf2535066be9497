/* head_products.h - the products that make the fused head's gradients.
 *
 * Slopes are what the logits of a block turned into: their gradients up to a factor per token.
 * While those of some tokens are in the cache they give dx += s W, and are kept as words along the
 * tokens, so that after all tokens of the chunk dW += s^T x runs over the chunk in one pass.
 * Segments have a dx of their own, added in order at the end of a chunk; rows of dW belong to one
 * segment. */
#ifndef OPS_HEAD_PRODUCTS_H
#define OPS_HEAD_PRODUCTS_H
#include "ops/head_tiles.h"

typedef struct Products {
    const Head *h;
    int64_t steps;     /* words along the tokens of this chunk, for dW */
    int64_t width;     /* of dx sums: d rounded up to whole panels */
    Dtype slope_dtype; /* BF16 where pairs are multiplied */
    int dweight;       /* which result */
    Word *x_panels;    /* x of the chunk, [width / NR][steps][NR] */
    float *dx;         /* [segment][chunk][width] */
} Products;

/* Scratch of one thread. */
typedef struct Room {
    Word *columns; /* panels of the weight for the logits, [HEAD_COLUMNS / NR][depth][NR] */
    Word *rows;    /* panels of the weight for dx, [width / NR][block steps][NR] */
    void *slopes;  /* [HEAD_ROWS][HEAD_COLUMNS] */
} Room;

/* A block of the vocabulary: its first column, and how many. */
typedef struct ProductBlock {
    int64_t column, n, steps; /* steps: words along the columns */
} ProductBlock;

enum { HALF = 2 }; /* tokens or columns in a word of a pair */

INLINE Products products_of(const Head *h, int dweight)
{
    return (Products){
        .h = h, .width = head_up(h->d, NR), .slope_dtype = h->pairs ? BF16 : F32, .dweight = dweight
    };
}

INLINE int64_t head_steps(const Head *h, int64_t n_rows)
{
    return h->pairs ? (n_rows + 1) / HALF : n_rows;
}

/* Of the slopes of a block that are kept: [steps][HEAD_COLUMNS]. */
INLINE int64_t kept_words(const Head *h)
{
    return HEAD_COLUMNS * head_steps(h, head_up(h->chunk, MR));
}

INLINE int64_t x_panel_words(const Products *p)
{
    return p->width * head_steps(p->h, p->h->chunk);
}

INLINE int64_t dx_floats(const Products *p)
{
    return p->h->n_segments * p->h->chunk * p->width;
}

INLINE int64_t room_words(const Products *p)
{
    return HEAD_COLUMNS * (p->h->depth + p->width + HEAD_ROWS);
}

INLINE Room room_at(const Products *p, Word *at)
{
    Room r = { .columns = at };
    r.rows = r.columns + HEAD_COLUMNS * p->h->depth;
    r.slopes = r.rows + p->width * HEAD_COLUMNS;
    return r;
}

/* One panel of x, the operand of dW. */
INLINE void pack_x_panel(const Products *p, const PackFrom *x, int64_t i)
{
    int64_t n = p->h->d - i * NR < NR ? p->h->d - i * NR : NR;
    pack_panel(x, i * NR, n, 0, p->steps, p->x_panels + i * NR * p->steps);
}

INLINE ProductBlock block_at(const Head *h, int64_t number)
{
    ProductBlock b = { .column = number * HEAD_COLUMNS };
    b.n = h->v - b.column < HEAD_COLUMNS ? h->v - b.column : HEAD_COLUMNS;
    b.steps = h->pairs ? (b.n + 1) / HALF : b.n;
    return b;
}

INLINE void pack_block(const Products *p, const Room *room, const ProductBlock *b)
{
    const Head *h = p->h;
    const PackFrom by_column = head_weight(h, b->column, b->n, false);
    head_pack_columns(h, b->column, b->n, room->columns);
    for (int64_t j = 0; j < h->d; j += NR)
        pack_panel(&by_column, j, h->d - j < NR ? h->d - j : NR, 0, b->steps,
                   room->rows + j * b->steps);
}

/* What the slopes of the tokens [first, first + n) add to the segment's dx. */
INLINE void slopes_to_dx(const Products *p, const Room *room, const ProductBlock *b, int64_t first,
                         int64_t n, float *dx, TileEnd end)
{
    int64_t row_bytes = HEAD_COLUMNS * (int64_t)dtype_size(p->slope_dtype);
    TileKernel *kernel = tile_kernels[p->h->pairs][0];
    for (int64_t j = 0; j < p->width; j += NR)
        for (int64_t i = 0; i < n; i += MR)
            kernel(b->steps, (const char *)room->slopes + i * row_bytes, row_bytes,
                   room->rows + j * b->steps, end, dx + (first + i) * p->width + j, p->width);
}

/* Writes the slopes of MR tokens and NR columns: for dx, and to be kept for dW; `stream`: past the
 * caches. */
INLINE void slopes_finish(Vec c[MR][NV], bool pairs, bool stream, void *slopes, Word *kept)
{
    tile_finish(c, pairs ? TILE_ROUND : TILE_STORE, slopes, HEAD_COLUMNS);
#pragma GCC unroll 6
    for (int i = 0; i < MR; i += pairs ? HALF : 1)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) {
            const bf16 *even = (const bf16 *)slopes + i * HEAD_COLUMNS + j * LANES;
            Word *to = kept + (pairs ? i / HALF : i) * HEAD_COLUMNS + j * LANES;
            Vec v = pairs ? vec_pairs(even, even + HEAD_COLUMNS) : c[i][j];
            if (stream)
                vec_stream(to, v);
            else
                vec_store(to, v);
        }
}

/* dW of one block from the slopes of all tokens of the chunk. */
INLINE void slopes_to_dweight(const Products *p, const Word *kept, const ProductBlock *b)
{
    const Head *h = p->h;
    float *dweight = (float *)h->l->out[p->dweight].data + b->column * h->d;
    TileKernel *kernel = tile_kernels[h->pairs][STEPS_APART];
    const int64_t step_bytes = HEAD_COLUMNS * (int64_t)sizeof(Word);
    TileEnd end = h->first > 0 || launch_adds(h->l, p->dweight) ? TILE_ADD : TILE_STORE;
    for (int64_t j = 0; j < h->d; j += NR)
        for (int64_t i = 0; i < b->n; i += MR) {
            const Word *a = kept + i;
            const Word *x = p->x_panels + j * p->steps;
            float *to = dweight + i * h->d + j;
            int64_t rows = b->n - i, columns = h->d - j;
            if (rows >= MR && columns >= NR) {
                tile_prefetch(to, (int64_t)sizeof(float) * h->d);
                kernel(p->steps, a, step_bytes, x, end, to, h->d);
            } else {
                edge_tile(kernel, rows < MR ? rows : MR, columns < NR ? columns : NR, p->steps, a,
                          step_bytes, x, end, to, h->d);
            }
        }
}

/* The segments' sums for a vector of dx of token i of the chunk. */
INLINE Vec dx_total(const Products *p, int64_t i, int64_t j)
{
    Vec sum = vec_set(0);
    for (int64_t s = 0; s < p->h->n_segments; s++)
        sum += vec_load(p->dx + (s * p->h->chunk + i) * p->width + j);
    return sum;
}

#endif
