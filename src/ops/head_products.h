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
    Word *x_panels;    /* x of the chunk, [width / NR][steps][NR]; of AMX its tiles, turned */
    float *dx;         /* [segment][chunk][width] */
} Products;

/* Scratch of one thread. */
typedef struct Room {
    Word *columns; /* panels of the weight for the logits, [HEAD_COLUMNS / NR][depth][NR] */
    Word *rows;    /* panels of the weight for dx, [width / NR][block steps][NR] */
    void *slopes;  /* [HEAD_ROWS][HEAD_COLUMNS] */
    float *sums;   /* of AMX: logits of two panels, tile by tile */
} Room;

/* A block of the vocabulary: its first column, and how many. */
typedef struct ProductBlock {
    int64_t column, n, steps; /* steps: words along the columns */
} ProductBlock;

enum {
    HALF = 2, /* tokens or columns in a word of a pair */
    SUM_WORDS = TILES ? 2 * HEAD_ROWS * NR : 0,
};

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

/* Of the slopes of a block that are kept: [steps][HEAD_COLUMNS]; for AMX they are panels. */
INLINE int64_t kept_words(const Head *h)
{
    return HEAD_COLUMNS * head_steps(h, head_up(h->chunk, MR));
}

/* Those of a token (even where two share a word) and column j, and words to the next of them. */
INLINE Word *kept_at(const Head *h, Word *kept, int64_t row, int64_t j)
{
    const int64_t step = head_steps(h, row);
    return TILES ? kept + j * head_steps(h, h->chunk) + step * NR : kept + step * HEAD_COLUMNS + j;
}

enum { KEPT_STEP = TILES ? NR : HEAD_COLUMNS };

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
    return HEAD_COLUMNS * (p->h->depth + p->width + HEAD_ROWS) + SUM_WORDS;
}

INLINE Room room_at(const Products *p, Word *at)
{
    Room r = { .columns = at };
    r.rows = r.columns + HEAD_COLUMNS * p->h->depth;
    r.slopes = r.rows + p->width * HEAD_COLUMNS;
    r.sums = (float *)r.slopes + HEAD_ROWS * HEAD_COLUMNS;
    return r;
}

/* One panel of x, the operand of dW. */
INLINE void pack_x_panel(const Products *p, const PackFrom *x, int64_t i)
{
    int64_t n = p->h->d - i * NR < NR ? p->h->d - i * NR : NR;
    Word *to = p->x_panels + i * NR * p->steps;
    if (TILES)
        pack_amx_rows(x, i * NR, n, 0, head_steps(p->h, p->h->n_rows), to);
    else
        pack_panel(x, i * NR, n, 0, p->steps, to);
}

INLINE ProductBlock block_at(const Head *h, int64_t number)
{
    ProductBlock b = { .column = number * HEAD_COLUMNS };
    b.n = h->v - b.column < HEAD_COLUMNS ? h->v - b.column : HEAD_COLUMNS;
    b.steps = h->pairs ? (b.n + 1) / HALF : b.n;
    if (TILES) b.steps = amx_up(b.steps);
    return b;
}

INLINE void pack_block(const Products *p, const Room *room, const ProductBlock *b)
{
    const Head *h = p->h;
    const PackFrom by_column = head_weight(h, b->column, b->n, false);
    head_pack_columns(h, b->column, b->n, room->columns);
    for (int64_t j = 0; j < h->d; j += NR) {
        const int64_t n = h->d - j < NR ? h->d - j : NR;
        Word *to = room->rows + j * b->steps;
        if (TILES)
            pack_amx_panel(&by_column, j, n, 0, (b->n + 1) / HALF, to);
        else
            pack_panel(&by_column, j, n, 0, b->steps, to);
    }
}

/* What the slopes of the tokens [first, first + n) add to the segment's dx. */
INLINE void slopes_to_dx(const Products *p, const Room *room, const ProductBlock *b, int64_t first,
                         int64_t n, float *dx, TileEnd end)
{
    int64_t row_bytes = HEAD_COLUMNS * (int64_t)dtype_size(p->slope_dtype);
    if (TILES) {
        for (int64_t j = 0; j < p->width; j += NR)
            for (int64_t i = 0; i < n; i += MR) {
                float *to = dx + (first + i) * p->width + j;
                amx_tile(b->steps, (const char *)room->slopes + i * row_bytes, row_bytes,
                         room->rows + j * b->steps, end, to, p->width);
            }
        return;
    }
    TileKernel *kernel = tile_kernels[p->h->pairs][0];
    for (int64_t j = 0; j < p->width; j += NR)
        for (int64_t i = 0; i < n; i += MR)
            kernel(b->steps, (const char *)room->slopes + i * row_bytes, row_bytes,
                   room->rows + j * b->steps, end, dx + (first + i) * p->width + j, p->width);
}

/* Writes the slopes of some tokens and NR columns: for dx, and to be kept for dW; `stream`: past
 * the caches. */
INLINE void slopes_finish(Vec (*c)[NV], int rows, bool pairs, bool stream, void *slopes, Word *kept)
{
    tile_finish(c, rows, pairs ? TILE_ROUND : TILE_STORE, slopes, HEAD_COLUMNS);
#pragma GCC unroll 6
    for (int i = 0; i < rows; i += pairs ? HALF : 1)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) {
            const bf16 *even = (const bf16 *)slopes + i * HEAD_COLUMNS + j * LANES;
            Word *to = kept + (pairs ? i / HALF : i) * KEPT_STEP + j * LANES;
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

/* Adds a tile of the transposed gradient, [16 of x][NR of the vocabulary], to dW. */
INLINE void add_turned(const float *sums, int64_t columns, int64_t rows, TileEnd end, float *to,
                       int64_t stride)
{
    for (int64_t j = 0; j < rows; j += LANES) {
        Vec square[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) square[i] = vec_load(sums + i * NR + j);
        vec_transpose(square);
        for (int64_t i = 0; i < LANES && j + i < rows; i++) {
            const int64_t at = (j + i) * stride;
            if (end == TILE_ADD) square[i] += vec_get(F32, to, at, columns);
            vec_put(F32, to, at, columns, square[i]);
        }
    }
}

/* The same in tiles: kept slopes are panels, so the product is the transposed one, x^T s. `sums`:
 * [d / MR] tiles. */
INLINE void tiles_to_dweight(const Products *p, const Word *kept, const ProductBlock *b,
                             float *sums)
{
    const Head *h = p->h;
    float *dweight = (float *)h->l->out[p->dweight].data + b->column * h->d;
    TileEnd end = h->first > 0 || launch_adds(h->l, p->dweight) ? TILE_ADD : TILE_STORE;
    const int64_t tile = AMX_TILE_WORDS * (int64_t)sizeof(Word);
    for (int64_t j = 0; j < b->n; j += NR)
        for (int64_t k = 0; k < p->steps; k += AMX_SLICE_STEPS) {
            const int64_t left = p->steps - k,
                          steps = left < AMX_SLICE_STEPS ? left : AMX_SLICE_STEPS;
            const Word *panel = kept + j * head_steps(h, h->chunk) + k * NR;
            for (int64_t i = 0; i < h->d; i += MR) {
                const AmxRows x = { (const char *)(p->x_panels + i * p->steps + k * MR), tile / MR,
                                    tile };
                float *sum = sums + i * NR;
                if (k)
                    amx_load(sum, AMX_SUM_BYTES);
                else
                    amx_clear();
                amx_product(steps, x, panel);
                amx_store(sum, AMX_SUM_BYTES);
                if (steps == left)
                    add_turned(sum, h->d - i < MR ? h->d - i : MR, b->n - j < NR ? b->n - j : NR,
                               end, dweight + j * h->d + i, h->d);
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
