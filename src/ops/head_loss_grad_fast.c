/* head_loss_grad_fast.c - gradients of the features and of the head's weight.
 *
 * Slopes of logits, s = dloss (exp(logit - lse) - [is target]), are computed again block by block.
 */
#include "ops/head_products.h"
#include "ops/kernels.h"
#include "tensor/target.h"
#include <math.h>

typedef struct Backward {
    Head h;
    Products p;
    float *dloss;  /* shared scratch: gradient of the loss of a token, [chunk] */
    float *factor; /* the same, corrected for the rounding of h.shift */
} Backward;

static int64_t shared_bytes(const Backward *w, int64_t *x_panels, int64_t *dx)
{
    const Head *h = &w->h;
    int64_t at = 2 * head_up((int64_t)sizeof(float) * h->chunk, 64);
    *x_panels = at;
    at += (int64_t)sizeof(Word) * x_panel_words(&w->p);
    *dx = at;
    return at + (int64_t)sizeof(float) * dx_floats(&w->p);
}

static int64_t thread_words(const Backward *w)
{
    return room_words(&w->p) + kept_words(&w->h);
}

static void backward_of(const Launch *l, Backward *w)
{
    *w = (Backward){ .h = head_of(l) };
    w->p = products_of(&w->h, 1);
}

static void place(Backward *w)
{
    int64_t x_panels, dx;
    head_place_rows(&w->h);
    int64_t bytes = shared_bytes(w, &x_panels, &dx);
    w->dloss = (float *)w->h.shared;
    w->factor = w->dloss + head_up(w->h.chunk, 64 / (int64_t)sizeof(float));
    w->p.x_panels = (Word *)(w->h.shared + x_panels);
    w->p.dx = (float *)(w->h.shared + dx);
    w->h.threads = w->h.shared + bytes;
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
        bool counts = t < h->n_rows && target[h->first + t] != IGNORED_TARGET;
        double lse = t < h->n_rows ? ((const double *)h->l->in[3].data)[h->first + t] : 0;
        h->shift[t] = (float)(lse * log2_e);
        w->dloss[t] = counts ? ((const float *)h->l->in[4].data)[h->first + t] : 0;
        double rounded_off = fmax(-1, fmin(h->shift[t] - lse * log2_e, 1)); /* more at 1e7 only */
        w->factor[t] = counts ? (float)(w->dloss[t] * exp2(rounded_off)) : 0;
    }
}

static void prepare_panel_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Backward *w = arg;
    const PackFrom x = head_x(&w->h, false);
    pack_x_panel(&w->p, &x, i);
}

/* Takes the gradient off where a token's target is among the columns [column, column + NR). */
INLINE void subtract_targets(const Backward *w, int64_t row, int64_t column, Vec c[MR][NV])
{
    const int32_t *target = (const int32_t *)w->h.l->in[2].data + w->h.first + row;
    int32_t at[MR];
    bool any = false;
    for (int i = 0; i < MR; i++) {
        at[i] = row + i < w->h.n_rows ? target[i] - (int32_t)(w->h.vocabulary.first + column) : -1;
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
                       int64_t n_columns, const Word *panel, void *slopes, Word *kept)
{
    Vec c[MR][NV];
    head_tile(&w->h, pairs, row, panel, c);
    if (n_columns < NR) head_cut(c, MR, n_columns);
    head_exp(c, MR, w->h.shift + row, 1);
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int j = 0; j < NV; j++) c[i][j] *= vec_set(w->factor[row + i]);
    subtract_targets(w, row, column, c);
    slopes_finish(c, MR, pairs, false, slopes, kept);
}

NOINLINE void f32_tile(const Backward *w, int64_t row, int64_t column, int64_t n, const Word *panel,
                       void *slopes, Word *kept)
{
    slope_tile(w, false, row, column, n, panel, slopes, kept);
}

NOINLINE void pairs_tile(const Backward *w, int64_t row, int64_t column, int64_t n,
                         const Word *panel, void *slopes, Word *kept)
{
    slope_tile(w, true, row, column, n, panel, slopes, kept);
}

/* Slopes of the tokens [first, first + n) for one block. */
static void make_slopes(const Backward *w, const Room *room, const ProductBlock *b, int64_t first,
                        int64_t n, Word *kept)
{
    int64_t size = (int64_t)dtype_size(w->p.slope_dtype);
    for (int64_t j = 0; j < b->n; j += NR)
        for (int64_t i = 0; i < n; i += MR) {
            const Word *panel = room->columns + j * w->h.depth;
            void *to = (char *)room->slopes + (i * HEAD_COLUMNS + j) * size;
            Word *kept_to = kept_at(&w->h, kept, first + i, j);
            if (w->h.pairs)
                pairs_tile(w, first + i, b->column + j, b->n - j, panel, to, kept_to);
            else
                f32_tile(w, first + i, b->column + j, b->n - j, panel, to, kept_to);
        }
}

static void segment_task(void *arg, int64_t s, int thread)
{
    const Backward *w = arg;
    const Head *h = &w->h;
    const Room room = room_at(&w->p, (Word *)h->threads + thread_words(w) * thread);
    Word *kept = (Word *)h->threads + thread_words(w) * thread + room_words(&w->p);
    float *dx = w->p.dx + s * h->chunk * w->p.width;
    int64_t from, to, n_rows = head_all_rows(h);
    split_range(h->n_blocks, h->n_segments, s, &from, &to);
    for (int64_t q = from; q < to; q++) {
        const ProductBlock b = block_at(h, q);
        pack_block(&w->p, &room, &b);
        for (int64_t g = 0; g < n_rows; g += HEAD_ROWS) {
            int64_t n = n_rows - g < HEAD_ROWS ? n_rows - g : HEAD_ROWS;
            make_slopes(w, &room, &b, g, n, kept);
            slopes_to_dx(&w->p, &room, &b, g, n, dx, q > from ? TILE_ADD : TILE_STORE);
        }
        slopes_to_dweight(&w->p, kept, &b);
    }
}

static void finish_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Backward *w = arg;
    const Head *h = &w->h;
    const Tensor *out = &h->l->out[0];
    for (int64_t j = 0; j < h->d; j += LANES) {
        int64_t n = h->d - j < LANES ? h->d - j : LANES, at = (h->first + i) * h->d + j;
        vec_put(out->dtype, out->data, at, n, dx_total(&w->p, i, j) + vec_before(h->l, 0, at, n));
    }
}

static int gradients(const Launch *l)
{
    Backward w;
    struct Pool *pool = l->stream->pool;
    Head *h = &w.h;
    backward_of(l, &w);
    place(&w);
    head_clear_padding(h, 1);
    for (h->first = 0; h->first < h->n; h->first += h->chunk) {
        h->n_rows = h->n - h->first < h->chunk ? h->n - h->first : h->chunk;
        w.p.steps = head_steps(h, h->n_rows);
        pool_run(pool, head_all_rows(h) / MR, prepare_rows_task, &w);
        pool_run(pool, w.p.width / NR, prepare_panel_task, &w);
        pool_run(pool, h->n_segments, segment_task, &w);
        pool_run(pool, h->n_rows, finish_task, &w);
    }
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    Backward w;
    int64_t x_panels, dx;
    backward_of(l, &w);
    return head_rows_bytes(&w.h) + (size_t)shared_bytes(&w, &x_panels, &dx) +
           sizeof(Word) * (size_t)(thread_words(&w) * n_threads);
}

static bool serves(const Launch *l)
{
    Dtype t = l->out[0].dtype;
    return (t == F32 || t == BF16) && tensor_count(&l->in[2]) > 0;
}

const KernelDef TABLE[] = {
    { "head_loss_grad", "cpu", "f32 f32 i32 f64 f32>any f32", PRODUCT_LEVEL, gradients, scratch,
      serves },
    { "head_loss_grad", "cpu", "bf16 bf16 i32 f64 f32>any f32", PRODUCT_LEVEL, gradients, scratch,
      serves },
    { 0 },
};
