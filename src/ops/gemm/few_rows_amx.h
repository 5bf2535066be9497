/* few_rows_amx.h - products in tiles of AMX whose rows of A are so few that packing B would cost
 * more than it saves.
 *
 * A tile of the left factor is any 16 rows as they lie in memory, one of the right factor is
 * packed. So the roles change: C is made turned, as B times the rows of A, which are packed once. B
 * passes by once, 32 of its rows at a time, while those after them are asked for, and finished
 * tiles are turned back while the next ones are multiplied. Each element of C is summed along k in
 * the same order however many rows there are, so texts that are continued together get the numbers
 * of one alone. */
#ifndef OPS_GEMM_FEW_ROWS_AMX_H
#define OPS_GEMM_FEW_ROWS_AMX_H
#include "base/thread.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/pack.h"

enum {
    FEW_ROWS = 48,              /* of any length */
    LONG_ROW = 512,             /* of rows as long as this, which hide how long C is turned, */
    MORE_ROWS = 128,            /* so many, */
    MORE_ELEMENTS = 256 * 3072, /* if they stay in the second level cache */
    FEW_STRIP = 2 * MR,         /* rows of B, which are columns of C */
    FEW_GROUP = 2 * LANES,      /* rows of A */
    FEW_STRIPS_PER_TASK = 4,
    FEW_SUMS = FEW_STRIP * FEW_GROUP,
    FEW_TO_SHARE = 1 << 16, /* elements of A: fewer are packed before another thread wakes */
};

INLINE bool few_rows_serves(const Product *p)
{
    const bool may_be_more = p->k >= LONG_ROW && p->m <= MORE_ROWS && p->m * p->k <= MORE_ELEMENTS;
    return p->a.dtype == BF16 && (p->m <= FEW_ROWS || may_be_more) && p->a.k_inner && p->b.k_inner;
}

typedef struct FewRows {
    const Product *p;
    int64_t steps; /* words along k, up to a whole tile */
    Word *rows;    /* scratch: A in groups of rows, [steps][rows of the group] */
    float *threads;
} FewRows;

/* The scratch of a thread. */
typedef struct FewRoom {
    Word *strip;    /* rows of B that cannot be read in place: [FEW_STRIP][steps] */
    float *sums[2]; /* [FEW_STRIP][FEW_GROUP] */
} FewRoom;

INLINE int64_t few_rows_steps(const Product *p)
{
    return amx_up((p->k + 1) / 2);
}

INLINE int64_t few_rows_thread_words(const Product *p)
{
    return few_rows_steps(p) * FEW_STRIP + 2 * FEW_SUMS;
}

static size_t few_rows_scratch(const Product *p, int n_threads)
{
    const int64_t words = few_rows_steps(p) * amx_up(p->m) + few_rows_thread_words(p) * n_threads;
    return sizeof(Word) * (size_t)words;
}

static FewRoom few_rows_room(const FewRows *f, int thread)
{
    float *at = f->threads + few_rows_thread_words(f->p) * thread;
    return (FewRoom){ .sums = { at, at + FEW_SUMS }, .strip = at + 2 * FEW_SUMS };
}

/* Rows of the group that begins with row i, up to whole tiles. */
INLINE int64_t few_rows_in_group(const Product *p, int64_t i)
{
    return p->m - i > LANES ? FEW_GROUP : LANES;
}

/* 16 rows of A. */
static void few_rows_pack(void *arg, int64_t tile, int thread)
{
    const FewRows *f = arg;
    const Product *p = f->p;
    const PackFrom from = { p->a, p->m, p->k, true };
    const int64_t i = tile * LANES, group = i / FEW_GROUP * FEW_GROUP,
                  n = few_rows_in_group(p, group), steps = (p->k + 1) / 2;
    (void)thread;
    for (int64_t k = 0; k < f->steps; k += LANES) {
        Word *at = f->rows + group * f->steps + k * n + i - group;
        Vec square[LANES];
        pack_square(&from, i, p->m - i, k, steps - k, square);
        for (int r = 0; r < LANES; r++) vec_store(at + r * n, square[r]);
    }
}

/* Rows of B from j on, with zeros after the last row and along k. */
static void few_rows_copy(const FewRows *f, int64_t j, Word *to)
{
    const Product *p = f->p;
    const PackFrom from = { p->b, p->n, p->k, true };
    const int64_t steps = (p->k + 1) / 2;
    for (int64_t r = 0; r < FEW_STRIP; r++)
        for (int64_t k = 0; k < f->steps; k += LANES) {
            const int64_t n = steps - k < LANES ? steps - k : LANES;
            vec_store(to + r * f->steps + k,
                      j + r < p->n ? pack_along_k(&from, j + r, k, n) : vec_set(0));
        }
}

/* Sums on their way to C: those of rows of A from i on, and of B from j on. */
typedef struct FewSums {
    const float *sums;
    int64_t i, j, group;
} FewSums;

INLINE void few_rows_put(const Product *p, const FewSums *s)
{
    for (int64_t r = 0; r < s->group && s->i + r < p->m; r += LANES)
        for (int64_t q = 0; q < FEW_STRIP && s->j + q < p->n; q += LANES) {
            const int64_t rows = p->m - s->i - r, columns = p->n - s->j - q;
            Vec square[LANES];
#pragma GCC unroll 16
            for (int k = 0; k < LANES; k++) square[k] = vec_load(s->sums + (q + k) * FEW_GROUP + r);
            vec_transpose(square);
            for (int64_t k = 0; k < LANES && k < rows; k++) {
                const int64_t at = (s->i + r + k) * p->c_stride + s->j + q,
                              n = columns < LANES ? columns : LANES;
                const Vec before = p->add ? vec_get(F32, p->c, at, n) : vec_set(0);
                vec_put(p->c_dtype, p->c, at, n, square[k] + before);
            }
        }
}

/* One strip of B with all rows of A. */
static void few_rows_strip(const FewRows *f, const FewRoom *room, int64_t j)
{
    const Product *p = f->p;
    const Factor *b = &p->b;
    const bool in_place =
        p->n - j >= FEW_STRIP && p->k % (2 * AMX_STEPS) == 0 && b->stride % 2 == 0;
    const int64_t n_calls = f->steps / AMX_STEPS * ((p->m + FEW_GROUP - 1) / FEW_GROUP),
                  next = p->n - j - FEW_STRIP;
    AmxFactors x = amx_factors(room->strip, f->steps, NULL, 0);
    FewSums before = { .group = 0 };
    int turn = 0;
    Ahead ahead = { 0 };
    if (next > 0)
        ahead = ahead_of((const bf16 *)b->data + (j + FEW_STRIP) * b->stride, b->stride * 2,
                         p->k * 2, next < FEW_STRIP ? next : FEW_STRIP, n_calls);
    if (in_place) {
        x = amx_factors((const Word *)((const bf16 *)b->data + j * b->stride), b->stride / 2, NULL,
                        0);
    } else {
        few_rows_copy(f, j, room->strip);
    }
    for (int64_t i = 0; i < p->m; i += FEW_GROUP) {
        const int64_t n = few_rows_in_group(p, i);
        float *sums = room->sums[turn];
        x.b = f->rows + i * f->steps;
        x.b_row = n;
        amx_clear();
        if (n == LANES)
            amx_square_add(2, 1, &x, f->steps, &ahead, NULL);
        else
            amx_square_add(2, 2, &x, f->steps, &ahead, NULL);
        few_rows_put(p, &before);
        if (n == LANES)
            amx_square_store(2, 1, sums, FEW_GROUP);
        else
            amx_square_store(2, 2, sums, FEW_GROUP);
        before = (FewSums){ sums, i, j, n };
        turn = !turn;
    }
    few_rows_put(p, &before);
}

static void few_rows_task(void *arg, int64_t task, int thread)
{
    const FewRows *f = arg;
    const FewRoom room = few_rows_room(f, thread);
    const int64_t first = task * FEW_STRIPS_PER_TASK * FEW_STRIP;
    amx_begin();
    for (int64_t j = first; j < first + FEW_STRIPS_PER_TASK * FEW_STRIP && j < f->p->n;
         j += FEW_STRIP)
        few_rows_strip(f, &room, j);
    amx_end();
}

static void few_rows_multiply(const Product *p, void *scratch, struct Pool *pool)
{
    const int64_t at_once = FEW_STRIPS_PER_TASK * FEW_STRIP, tiles = amx_up(p->m) / MR;
    FewRows f = { .p = p, .steps = few_rows_steps(p), .rows = scratch };
    f.threads = (float *)(f.rows + f.steps * amx_up(p->m));
    if (p->m * p->k > FEW_TO_SHARE)
        pool_run(pool, tiles, few_rows_pack, &f);
    else
        for (int64_t i = 0; i < tiles; i++) few_rows_pack(&f, i, 0);
    pool_run(pool, (p->n + at_once - 1) / at_once, few_rows_task, &f);
}

#endif
