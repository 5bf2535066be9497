/* gemm_fast.c - matrix products over packed panels, in blocks that stay in the caches.
 *
 * A task computes one rectangle of C (or of one piece of k): for each pass over k it packs its
 * columns of B, then takes A block by block and multiplies the block with one panel after the
 * other. Tasks are claimed from the pool; no result depends on who runs what. See README.md. */
#include "base/thread.h"
#include "ops/contract.h"
#include "ops/contract_pieces.h"
#include "ops/gemm/few_rows.h"
#include "ops/gemm/pack.h"
#include "ops/gemm/plan.h"
#include "ops/gemm/tiles.h"
#include "ops/grouped_linear.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

static const Machine machine = {
    .tile_rows = MR,
    .tile_columns = NR,
    .lanes = LANES,
    .pairs = DOT_PAIRS,
    .block_bytes = LANES == 8 ? 224 << 10 : 448 << 10,
};

typedef struct Gemm {
    Product p;
    Plan plan;
    char *threads, *pieces; /* scratch */
} Gemm;

/* The part of a thread's scratch that one task uses. */
typedef struct Room {
    Word *panels, *block, *edge;
    float *sums;
} Room;

/* Where a task writes. */
typedef struct Target {
    void *c;        /* element (0, 0) of the rectangle */
    int64_t stride; /* in elements */
    Dtype dtype;
} Target;

static Room room_of(const Gemm *g, int thread)
{
    const Plan *plan = &g->plan;
    size_t bytes = plan->panel_bytes + plan->block_bytes + plan->edge_bytes + plan->sum_bytes;
    char *at = g->threads + bytes * (size_t)thread;
    Room r = { .panels = (Word *)at };
    r.block = (Word *)(at += plan->panel_bytes);
    r.edge = (Word *)(at += plan->block_bytes);
    r.sums = (float *)(at + plan->edge_bytes);
    return r;
}

/* Asks for a rectangle of memory little by little, while something else is computed. */
typedef struct Ahead {
    const char *row;
    int64_t stride, row_bytes, rows_left, at, per_call;
} Ahead;

static Ahead ahead_of(const void *from, int64_t stride, int64_t row_bytes, int64_t rows,
                      int64_t n_calls)
{
    int64_t lines = (row_bytes + 63) / 64 * rows;
    return (Ahead){ from, stride, row_bytes, rows, 0, (lines + n_calls - 1) / n_calls };
}

INLINE void ahead_step(Ahead *h)
{
    for (int64_t i = h->per_call; i > 0 && h->rows_left > 0; i--) {
        __builtin_prefetch(h->row + h->at, 0, 2);
        h->at += 64;
        if (h->at < h->row_bytes) continue;
        h->at = 0;
        h->row += h->stride;
        h->rows_left--;
    }
}

/* One block of A as the innermost product reads it. */
typedef struct GemmBlock {
    const char *rows;      /* of whole tiles */
    const char *last_rows; /* of the tile at the end that has fewer rows, if there is one */
    int64_t row_bytes, tile_bytes, last_row_bytes;
} GemmBlock;

static GemmBlock prepare_block(const Gemm *g, const Room *room, int64_t row, int64_t n_rows,
                               int64_t step, int64_t steps)
{
    const Factor *a = &g->p.a;
    const PackFrom from = { *a, g->p.m, g->p.k, g->plan.pairs };
    int64_t whole = n_rows / MR * MR, word = sizeof(Word);
    if (g->plan.rows_of_a == A_PACKED) {
        pack_rows(&from, row, n_rows, step, steps, room->block, pack_rows_words(steps));
        int64_t bytes = word * pack_rows_words(steps);
        const char *at = (const char *)room->block;
        return (GemmBlock){ at, at + whole / MR * bytes, 0, bytes, 0 };
    }
    if (g->plan.rows_of_a == A_COPIED) {
        pack_copy(&from, row, n_rows, step, steps, room->block);
        const char *at = (const char *)room->block;
        return (GemmBlock){ at, at + whole * steps * word, steps * word, MR * steps * word,
                            steps * word };
    }
    int64_t bytes = a->stride * (int64_t)dtype_size(a->dtype);
    const char *at = (const char *)a->data + row * bytes + step * word;
    for (int64_t i = whole; i < n_rows; i++)
        memcpy(room->edge + (i - whole) * steps, at + i * bytes, (size_t)(steps * word));
    return (GemmBlock){ at, (const char *)room->edge, bytes, MR * bytes, steps * word };
}

/* What the next block will read of A. */
static Ahead next_block(const Gemm *g, int64_t row, int64_t n_rows, int64_t step, int64_t steps,
                        int64_t n_calls)
{
    const Factor *a = &g->p.a;
    int64_t size = (int64_t)dtype_size(a->dtype), k = step, n_k = steps;
    if (n_rows <= 0) return (Ahead){ 0 };
    if (g->plan.pairs) k *= 2, n_k *= 2;
    if (a->k_inner)
        return ahead_of((const char *)a->data + (row * a->stride + k) * size, a->stride * size,
                        n_k * size, n_rows, n_calls);
    return ahead_of((const char *)a->data + (k * a->stride + row) * size, a->stride * size,
                    n_rows * size, n_k, n_calls);
}

static void multiply_block(const Gemm *g, const Room *room, const GemmBlock *block, int64_t n_rows,
                           int64_t n_columns, int64_t steps, TileEnd end, const Target *t,
                           int64_t row, Ahead ahead)
{
    TileKernel *kernel =
        tile_kernels[g->plan.pairs][g->plan.rows_of_a == A_PACKED ? ROWS_PACKED : ROWS_APART];
    int64_t size = (int64_t)dtype_size(t->dtype);
    for (int64_t j = 0; j < n_columns; j += NR) {
        const Word *panel = room->panels + j * steps;
        int64_t columns = n_columns - j < NR ? n_columns - j : NR;
        for (int64_t i = 0; i < n_rows; i += MR) {
            char *c = (char *)t->c + ((row + i) * t->stride + j) * size;
            ahead_step(&ahead);
            if (n_rows - i < MR) {
                edge_tile(kernel, n_rows - i, columns, steps, block->last_rows,
                          block->last_row_bytes, panel, end, c, t->stride);
                continue;
            }
            const char *a = block->rows + i / MR * block->tile_bytes;
            if (columns < NR) {
                edge_tile(kernel, MR, columns, steps, a, block->row_bytes, panel, end, c,
                          t->stride);
                continue;
            }
            tile_prefetch(c, t->stride * size);
            kernel(steps, a, block->row_bytes, panel, end, c, t->stride);
        }
    }
}

static void round_rows(const float *from, int64_t rows, int64_t columns, const Target *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j += LANES) {
            int64_t n = columns - j < LANES ? columns - j : LANES;
            vec_put(BF16, to->c, i * to->stride + j, n, vec_get(F32, from, i * columns + j, n));
        }
}

/* The steps [from, to) of the rectangle of C that starts at (row, column). */
static void multiply_rectangle(const Gemm *g, int thread, int64_t row, int64_t n_rows,
                               int64_t column, int64_t n_columns, int64_t from, int64_t to,
                               bool add, Target t)
{
    const Plan *plan = &g->plan;
    const Room room = room_of(g, thread);
    const PackFrom b = { g->p.b, g->p.n, g->p.k, plan->pairs };
    const Target result = t;
    if (plan->through_f32) t = (Target){ room.sums, n_columns, F32 };
    for (int64_t step = from; step < to; step += plan->pass) {
        int64_t steps = to - step < plan->pass ? to - step : plan->pass;
        for (int64_t j = 0; j < n_columns; j += NR)
            pack_panel(&b, column + j, n_columns - j < NR ? n_columns - j : NR, step, steps,
                       room.panels + j * steps);
        TileEnd end = t.dtype == BF16 ? TILE_ROUND : add || step > from ? TILE_ADD : TILE_STORE;
        for (int64_t i = 0; i < n_rows; i += plan->block) {
            int64_t rows = n_rows - i < plan->block ? n_rows - i : plan->block;
            int64_t after = n_rows - i - rows < plan->block ? n_rows - i - rows : plan->block;
            int64_t calls = (rows + MR - 1) / MR * ((n_columns + NR - 1) / NR);
            GemmBlock block = prepare_block(g, &room, row + i, rows, step, steps);
            multiply_block(g, &room, &block, rows, n_columns, steps, end, &t, i,
                           next_block(g, row + i + rows, after, step, steps, calls));
        }
    }
    if (plan->through_f32) round_rows(room.sums, n_rows, n_columns, &result);
}

static void run_task(void *arg, int64_t i, int thread)
{
    const Gemm *g = arg;
    const Plan *plan = &g->plan;
    int64_t row = i % plan->n_rows * plan->rows;
    int64_t column = i / plan->n_rows % plan->n_columns * plan->columns;
    int64_t piece = i / plan->n_rows / plan->n_columns, from, to;
    int64_t n_rows = g->p.m - row < plan->rows ? g->p.m - row : plan->rows;
    int64_t n_columns = g->p.n - column < plan->columns ? g->p.n - column : plan->columns;
    split_range(plan->steps, plan->n_pieces, piece, &from, &to);
    Target t = { g->p.c, g->p.c_stride, g->p.c_dtype };
    if (plan->n_pieces > 1)
        t = (Target){ g->pieces + plan->piece_bytes * (size_t)piece, g->p.n, F32 };
    t.c = (char *)t.c + (row * t.stride + column) * (int64_t)dtype_size(t.dtype);
    multiply_rectangle(g, thread, row, n_rows, column, n_columns, from, to,
                       g->p.add && plan->n_pieces == 1, t);
}

enum { ADD_AT_ONCE = 4096 };

/* Adds the pieces of some elements of C, first to last. */
static void add_pieces(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Gemm *g = arg;
    int64_t n = g->p.m * g->p.n, from = i * ADD_AT_ONCE;
    int64_t to = from + ADD_AT_ONCE < n ? from + ADD_AT_ONCE : n;
    for (int64_t j = from; j < to; j += LANES) {
        int64_t width = to - j < LANES ? to - j : LANES;
        Vec sum = g->p.add ? vec_get(F32, g->p.c, j, width) : vec_set(0);
        for (int64_t q = 0; q < g->plan.n_pieces; q++)
            sum += vec_get(F32, g->pieces + g->plan.piece_bytes * (size_t)q, j, width);
        vec_put(F32, g->p.c, j, width, sum);
    }
}

static void multiply(const Product *p, void *scratch, struct Pool *pool)
{
    if (few_rows_serves(p)) {
        few_rows_multiply(p, scratch, pool);
        return;
    }
    Gemm g = { .p = *p, .plan = plan_product(p, &machine, pool_size(pool)) };
    size_t pieces = g.plan.piece_bytes * (size_t)g.plan.n_pieces;
    g.pieces = scratch;
    g.threads = (char *)scratch + pieces;
    pool_run(pool, g.plan.n_rows * g.plan.n_columns * g.plan.n_pieces, run_task, &g);
    if (pieces) pool_run(pool, (p->m * p->n + ADD_AT_ONCE - 1) / ADD_AT_ONCE, add_pieces, &g);
}

static size_t multiply_scratch(const Product *p, int n_threads)
{
    if (few_rows_serves(p)) return few_rows_scratch(p, n_threads);
    const Plan plan = plan_product(p, &machine, n_threads);
    return plan_scratch(&plan, n_threads);
}

static int run_contract(const Launch *l)
{
    Product p;
    if (!product_of(l, &p)) return 1;
    for (int64_t i = 0; i < p.n_batches; i++) {
        Product one = product_in_batch(&p, i);
        multiply(&one, l->scratch, l->stream->pool);
    }
    return 0;
}

static size_t contract_scratch(const Launch *l, int n_threads)
{
    Product p;
    return product_of(l, &p) ? multiply_scratch(&p, n_threads) : 0;
}

static bool contract_serves(const Launch *l)
{
    Product p;
    bool empty = tensor_count(&l->in[0]) == 0 || tensor_count(&l->in[1]) == 0;
    return !empty && floats_fit(l) && product_of(l, &p) && !(p.add && p.c_dtype != F32);
}

/* ---- products in pieces that travel between ranks (ops/contract_pieces.h) ---- */

static const PieceKernel alone = { &op_contract, run_contract, contract_scratch };

static int run_gather_contract(const Launch *l)
{
    return gather_contract(l, &alone);
}

static int run_contract_scatter(const Launch *l)
{
    return contract_scatter(l, &alone);
}

static size_t pieces_scratch(const Launch *l, int n_threads)
{
    return contract_pieces_scratch(l, &alone, n_threads);
}

static bool pieces_serve(const Launch *l)
{
    return contract_pieces_serve(l, &op_contract, contract_serves);
}

/* ---- products over groups of rows (ops/grouped_linear.h) ---- */

/* The product of all rows with the first expert. */
static Product of_all_rows(const Launch *l, bool is_outer)
{
    const Tensor *x = &l->in[0], *second = &l->in[1], *out = &l->out[0];
    const int64_t rows = tensor_count(&l->in[2]);
    if (is_outer)
        return (Product){ .m = x->size[2],
                          .n = second->size[2],
                          .k = rows,
                          .a = { x->data, x->size[2], x->dtype, false },
                          .b = { second->data, second->size[2], second->dtype, false },
                          .c = out->data,
                          .c_stride = second->size[2],
                          .c_dtype = out->dtype,
                          .add = launch_adds(l, 0),
                          .n_batches = 1 };
    const bool transposed = ((const GroupedLinear *)l->attrs)->transposed;
    return (Product){ .m = rows,
                      .n = out->size[2],
                      .k = x->size[2],
                      .a = { x->data, x->size[2], x->dtype, true },
                      .b = { second->data, second->size[2], second->dtype, !transposed },
                      .c = out->data,
                      .c_stride = out->size[2],
                      .c_dtype = out->dtype,
                      .n_batches = 1 };
}

static void *moved(const void *data, Dtype t, int64_t elements)
{
    return (char *)data + elements * (int64_t)dtype_size(t);
}

/* Rows that no expert has. */
static void clear_rows(const Tensor *t, int64_t from, int64_t n)
{
    const int64_t each = t->size[2] * (int64_t)dtype_size(t->dtype);
    memset((char *)t->data + from * each, 0, (size_t)((n - from) * each));
}

/* How many rows of a group are multiplied at a time: plans, and their scratch, are known for each
 * number up to here. */
enum { GROUP_ROWS = 1024 };

static int run_grouped_linear(const Launch *l)
{
    const Tensor *weight = &l->in[1], *of = &l->in[2];
    const Product all = of_all_rows(l, false);
    int64_t from = 0;
    for (int64_t e = 0; e < weight->size[0]; e++)
        for (int64_t end = grouped_end(of, e, from); from < end;) {
            Product p = all;
            p.m = end - from < GROUP_ROWS ? end - from : GROUP_ROWS;
            p.a.data = moved(p.a.data, p.a.dtype, from * p.k);
            p.b.data = moved(p.b.data, p.b.dtype, e * p.n * p.k);
            p.c = moved(p.c, p.c_dtype, from * p.n);
            multiply(&p, l->scratch, l->stream->pool);
            from += p.m;
        }
    clear_rows(&l->out[0], from, all.m);
    return 0;
}

static int run_grouped_outer(const Launch *l)
{
    const Tensor *of = &l->in[2], *out = &l->out[0];
    const Product all = of_all_rows(l, true);
    int64_t from = 0;
    for (int64_t e = 0; e < out->size[0]; e++) {
        void *c = moved(all.c, F32, e * all.m * all.n);
        if (!all.add) memset(c, 0, sizeof(float) * (size_t)(all.m * all.n));
        for (int64_t end = grouped_end(of, e, from); from < end;) {
            Product p = all;
            p.k = end - from < GROUP_ROWS ? end - from : GROUP_ROWS;
            p.a.data = moved(p.a.data, p.a.dtype, from * p.m);
            p.b.data = moved(p.b.data, p.b.dtype, from * p.n);
            p.c = c;
            p.add = true;
            multiply(&p, l->scratch, l->stream->pool);
            from += p.k;
        }
    }
    return 0;
}

static size_t grouped_scratch(const Launch *l, int n_threads)
{
    const bool is_outer = l->dims->in[1].dim[0].n == 1;
    Product p = of_all_rows(l, is_outer);
    const int64_t n_rows = tensor_count(&l->in[2]);
    const int64_t rows = n_rows < GROUP_ROWS ? n_rows : GROUP_ROWS;
    size_t most = 0;
    for (int64_t n = 1; n <= rows; n++) {
        *(is_outer ? &p.k : &p.m) = n;
        const size_t bytes = multiply_scratch(&p, n_threads);
        if (bytes > most) most = bytes;
    }
    return most;
}

static bool grouped_serves(const Launch *l)
{
    const bool is_outer = l->dims->in[1].dim[0].n == 1;
    return floats_fit(l) && tensor_count(&l->in[0]) > 0 && tensor_count(&l->in[1]) > 0 &&
           !(is_outer && l->out[0].dtype != F32);
}

const KernelDef TABLE[] = {
    { "grouped_linear", "cpu", "any any i32>any", LEVEL, run_grouped_linear, grouped_scratch,
      grouped_serves },
    { "grouped_outer", "cpu", "any any i32>any", LEVEL, run_grouped_outer, grouped_scratch,
      grouped_serves },
    { "contract", "cpu", "any any>any", LEVEL, run_contract, contract_scratch, contract_serves },
    { "gather_contract", "cpu", "*", LEVEL, run_gather_contract, pieces_scratch, pieces_serve },
    { "contract_scatter", "cpu", "*", LEVEL, run_contract_scatter, pieces_scratch, pieces_serve },
    { 0 },
};
