/* head_loss_grad_fast.c - gradients of the features and of the head's weight.
 *
 * Slopes of logits, s = dloss (exp(logit - lse) - [is target]), are computed again block by block.
 * While those of some tokens are in the cache they give dx += s W, and are laid down as panels, so
 * that after all tokens of the chunk dW += s^T x runs over the chunk in one pass. Segments have a
 * dx of their own, added in order at the end of a chunk; rows of dW belong to one segment. */
#include "ops/head_tiles.h"
#include "ops/kernels.h"
#include <math.h>

typedef struct Backward {
    Head h;
    int64_t steps;     /* words along the tokens of this chunk, for dW */
    int64_t width;     /* of dx sums: d rounded up to whole panels */
    Dtype slope_dtype; /* BF16 where pairs are multiplied */
    float *dloss;      /* shared scratch: gradient of the loss of a token, [chunk] */
    float *factor;     /* the same, corrected for the rounding of h.shift */
    Word *x_panels;    /* x of the chunk, [width / NR][steps][NR] */
    float *dx;         /* [segment][chunk][width] */
} Backward;

/* Scratch of one thread, in words of panels and bytes of slopes. */
typedef struct Room {
    Word *columns;      /* panels of the weight for the logits, [HEAD_COLUMNS / NR][depth][NR] */
    Word *rows;         /* panels of the weight for dx, [width / NR][block steps][NR] */
    void *slopes;       /* [HEAD_ROWS][HEAD_COLUMNS] */
    Word *slope_panels; /* [HEAD_COLUMNS / MR][steps][MR], padded */
} Room;

enum { HALF = 2 }; /* tokens or columns in a word of a pair */

static int64_t chunk_steps(const Backward *w, int64_t n_rows)
{
    return w->h.pairs ? (n_rows + 1) / HALF : n_rows;
}

static int64_t slope_panel_words(const Backward *w)
{
    return pack_rows_words(chunk_steps(w, head_up(w->h.chunk, MR)));
}

static int64_t shared_bytes(const Backward *w, int64_t *x_panels, int64_t *dx)
{
    const Head *h = &w->h;
    int64_t at = 2 * head_up((int64_t)sizeof(float) * h->chunk, 64);
    *x_panels = at;
    at += (int64_t)sizeof(Word) * w->width * chunk_steps(w, h->chunk);
    *dx = at;
    return at + (int64_t)sizeof(float) * h->n_segments * h->chunk * w->width;
}

static int64_t thread_words(const Backward *w)
{
    return HEAD_COLUMNS * w->h.depth + w->width * HEAD_COLUMNS + HEAD_ROWS * HEAD_COLUMNS +
           HEAD_COLUMNS / MR * slope_panel_words(w);
}

static Backward backward_of(const Launch *l)
{
    Backward w = { .h = head_of(l) };
    w.width = head_up(w.h.d, NR);
    w.slope_dtype = w.h.pairs ? BF16 : F32;
    return w;
}

static void place(Backward *w)
{
    int64_t x_panels, dx;
    head_place_rows(&w->h);
    int64_t bytes = shared_bytes(w, &x_panels, &dx);
    w->dloss = (float *)w->h.shared;
    w->factor = w->dloss + head_up(w->h.chunk, 64 / (int64_t)sizeof(float));
    w->x_panels = (Word *)(w->h.shared + x_panels);
    w->dx = (float *)(w->h.shared + dx);
    w->h.threads = w->h.shared + bytes;
}

static Room room_of(const Backward *w, int thread)
{
    Room r = { .columns = (Word *)w->h.threads + thread_words(w) * thread };
    r.rows = r.columns + HEAD_COLUMNS * w->h.depth;
    r.slopes = r.rows + w->width * HEAD_COLUMNS;
    r.slope_panels = (Word *)r.slopes + HEAD_ROWS * HEAD_COLUMNS;
    return r;
}

/* Copies MR tokens; fetches their lse and gradient. Padding and ignored tokens have gradient 0. */
static void prepare_rows_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Backward *w = arg;
    const Head *h = &w->h;
    const int32_t *target = h->l->in[2].data;
    head_copy_rows(h, i * MR);
    for (int64_t t = i * MR; t < (i + 1) * MR; t++) {
        bool counts = t < h->n_rows && target[h->first + t] != IGNORED;
        double lse = t < h->n_rows ? ((const double *)h->l->in[3].data)[h->first + t] : 0;
        h->shift[t] = (float)(lse * log2_e);
        w->dloss[t] = counts ? ((const float *)h->l->in[4].data)[h->first + t] : 0;
        double rounded_off = fmax(-1, fmin(h->shift[t] - lse * log2_e, 1)); /* more at 1e7 only */
        w->factor[t] = counts ? (float)(w->dloss[t] * exp2(rounded_off)) : 0;
    }
}

/* One panel of x, the operand of dW. */
static void prepare_panel_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Backward *w = arg;
    const PackFrom x = head_x(&w->h, false);
    int64_t n = w->h.d - i * NR < NR ? w->h.d - i * NR : NR;
    pack_panel(&x, i * NR, n, 0, w->steps, w->x_panels + i * NR * w->steps);
}

/* Takes the gradient off where a token's target is among the columns [column, column + NR). */
INLINE void subtract_targets(const Backward *w, int64_t row, int64_t column, Vec c[MR][NV])
{
    const int32_t *target = (const int32_t *)w->h.l->in[2].data + w->h.first + row;
    int32_t at[MR];
    bool any = false;
    for (int i = 0; i < MR; i++) {
        at[i] = row + i < w->h.n_rows ? target[i] - (int32_t)column : -1;
        any |= at[i] >= 0 && at[i] < NR;
    }
    if (!any) return;
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) {
            VecInt is_target = vec_lanes() == vec_int_set(at[i] - j * LANES);
            c[i][j] -= vec_keep(is_target, vec_set(w->dloss[row + i]));
        }
}

/* Slopes of MR tokens and NR columns, into rows of HEAD_COLUMNS. */
INLINE void slope_tile(const Backward *w, bool pairs, int64_t row, int64_t column,
                       int64_t n_columns, const Word *panel, void *slopes)
{
    Vec c[MR][NV];
    head_tile(&w->h, pairs, row, panel, c);
    if (n_columns < NR) head_cut(c, n_columns);
    head_exp(c, w->h.shift + row, 1);
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) c[i][j] *= vec_set(w->factor[row + i]);
    subtract_targets(w, row, column, c);
    tile_finish(c, pairs ? TILE_ROUND : TILE_STORE, slopes, HEAD_COLUMNS);
}

NOINLINE void f32_tile(const Backward *w, int64_t row, int64_t column, int64_t n, const Word *panel,
                       void *slopes)
{
    slope_tile(w, false, row, column, n, panel, slopes);
}

NOINLINE void pairs_tile(const Backward *w, int64_t row, int64_t column, int64_t n,
                         const Word *panel, void *slopes)
{
    slope_tile(w, true, row, column, n, panel, slopes);
}

/* A block of the vocabulary: its first column, and how many. */
typedef struct Block {
    int64_t column, n, steps; /* steps: words along the columns */
} Block;

static void pack_block(const Backward *w, const Room *room, const Block *b)
{
    const PackFrom by_column = head_weight(&w->h, b->column, b->n, false);
    head_pack_columns(&w->h, b->column, b->n, room->columns);
    for (int64_t j = 0; j < w->h.d; j += NR)
        pack_panel(&by_column, j, w->h.d - j < NR ? w->h.d - j : NR, 0, b->steps,
                   room->rows + j * b->steps);
}

/* Slopes of the tokens [first, first + n) for one block, and what they add to dx. */
static void slopes_to_dx(const Backward *w, const Room *room, const Block *b, int64_t first,
                         int64_t n, float *dx, TileEnd end)
{
    int64_t size = (int64_t)dtype_size(w->slope_dtype), row_bytes = HEAD_COLUMNS * size;
    char *slopes = room->slopes;
    for (int64_t j = 0; j < b->n; j += NR)
        for (int64_t i = 0; i < n; i += MR) {
            const Word *panel = room->columns + j * w->h.depth;
            void *to = slopes + i * row_bytes + j * size;
            if (w->h.pairs)
                pairs_tile(w, first + i, b->column + j, b->n - j, panel, to);
            else
                f32_tile(w, first + i, b->column + j, b->n - j, panel, to);
        }
    TileKernel *kernel = tile_kernels[w->h.pairs][0];
    for (int64_t j = 0; j < w->width; j += NR)
        for (int64_t i = 0; i < n; i += MR)
            kernel(b->steps, slopes + i * row_bytes, row_bytes, room->rows + j * b->steps, end,
                   dx + (first + i) * w->width + j, w->width);
}

/* dW of one block from the slopes of all tokens of the chunk. */
static void slopes_to_dweight(const Backward *w, const Room *room, const Block *b)
{
    const Head *h = &w->h;
    float *dweight = (float *)h->l->out[1].data + b->column * h->d;
    TileKernel *kernel = tile_kernels[h->pairs][1];
    TileEnd end = h->first > 0 || (h->l->add >> 1 & 1) ? TILE_ADD : TILE_STORE;
    for (int64_t j = 0; j < h->d; j += NR)
        for (int64_t i = 0; i < b->n; i += MR) {
            const Word *a = room->slope_panels + i / MR * slope_panel_words(w);
            const Word *x = w->x_panels + j * w->steps;
            float *to = dweight + i * h->d + j;
            int64_t rows = b->n - i, columns = h->d - j;
            if (rows >= MR && columns >= NR) {
                tile_prefetch(to, (int64_t)sizeof(float) * h->d);
                kernel(w->steps, a, 0, x, end, to, h->d);
            } else {
                edge_tile(kernel, rows < MR ? rows : MR, columns < NR ? columns : NR, w->steps, a,
                          0, x, end, to, h->d);
            }
        }
}

static void segment_task(void *arg, int64_t s, int thread)
{
    const Backward *w = arg;
    const Head *h = &w->h;
    const Room room = room_of(w, thread);
    float *dx = w->dx + s * h->chunk * w->width;
    int64_t from, to, n_rows = head_up(h->n_rows, MR);
    split_range(h->n_blocks, h->n_segments, s, &from, &to);
    for (int64_t q = from; q < to; q++) {
        Block b = { .column = q * HEAD_COLUMNS };
        b.n = h->v - b.column < HEAD_COLUMNS ? h->v - b.column : HEAD_COLUMNS;
        b.steps = h->pairs ? (b.n + 1) / HALF : b.n;
        pack_block(w, &room, &b);
        for (int64_t g = 0; g < n_rows; g += HEAD_ROWS) {
            int64_t n = n_rows - g < HEAD_ROWS ? n_rows - g : HEAD_ROWS;
            slopes_to_dx(w, &room, &b, g, n, dx, q > from ? TILE_ADD : TILE_STORE);
            const PackFrom slopes = {
                { room.slopes, HEAD_COLUMNS, w->slope_dtype, false }, HEAD_COLUMNS, n, h->pairs
            };
            pack_rows(&slopes, 0, b.n, 0, chunk_steps(w, n),
                      room.slope_panels + chunk_steps(w, g) * MR, slope_panel_words(w));
        }
        slopes_to_dweight(w, &room, &b);
    }
}

/* dx of one token: the segments' sums. */
static void add_segments_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Backward *w = arg;
    const Head *h = &w->h;
    const Tensor *out = &h->l->out[0];
    for (int64_t j = 0; j < h->d; j += LANES) {
        int64_t n = h->d - j < LANES ? h->d - j : LANES, at = (h->first + i) * h->d + j;
        Vec sum = vec_set(0);
        for (int64_t s = 0; s < h->n_segments; s++)
            sum += vec_load(w->dx + (s * h->chunk + i) * w->width + j);
        vec_put(out->dtype, out->data, at, n, sum + vec_before(h->l, 0, at, n));
    }
}

static int gradients(const Launch *l)
{
    Backward w = backward_of(l);
    struct Pool *pool = l->stream->pool;
    Head *h = &w.h;
    place(&w);
    for (h->first = 0; h->first < h->n; h->first += h->chunk) {
        h->n_rows = h->n - h->first < h->chunk ? h->n - h->first : h->chunk;
        w.steps = chunk_steps(&w, h->n_rows);
        pool_run(pool, (h->n_rows + MR - 1) / MR, prepare_rows_task, &w);
        pool_run(pool, w.width / NR, prepare_panel_task, &w);
        pool_run(pool, h->n_segments, segment_task, &w);
        pool_run(pool, h->n_rows, add_segments_task, &w);
    }
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    Backward w = backward_of(l);
    int64_t x_panels, dx;
    return head_rows_bytes(&w.h) + (size_t)shared_bytes(&w, &x_panels, &dx) +
           sizeof(Word) * (size_t)(thread_words(&w) * n_threads);
}

static bool serves(const Launch *l)
{
    Dtype t = l->out[0].dtype;
    return (t == F32 || t == BF16) && tensor_count(&l->in[2]) > 0;
}

const KernelDef TABLE[] = {
    { "head_loss_grad", "cpu", "f32 f32 i32 f64 f32>any f32", LEVEL, gradients, scratch, serves },
    { "head_loss_grad", "cpu", "bf16 bf16 i32 f64 f32>any f32", LEVEL, gradients, scratch, serves },
    { 0 },
};
