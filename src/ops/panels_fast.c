/* panels_fast.c - puts weights into panels. */
#include "ops/gemm/pack.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

/* LANES rows from `row` on: words of f32, of pairs, or of pairs that are rounded meanwhile. */
typedef struct Turn {
    PackFrom from;
    bool rounds;
} Turn;

static Vec rounded_pairs(const PackFrom *s, int64_t row, int64_t step, int64_t n)
{
    bf16 both[2 * LANES] = { 0 };
    for (int64_t i = 0; i < 2 * n; i += LANES) {
        const int64_t left = 2 * n - i < LANES ? 2 * n - i : LANES;
        const Vec x = vec_get(F32, s->f.data, row * s->f.stride + 2 * step + i, left);
        vec_put_i16((int16_t *)both + i, left, vec_high_half(x));
    }
    return vec_load((const Word *)both);
}

static void turn_square(const Turn *t, int64_t row, int64_t rows, int64_t step, int64_t steps,
                        Vec out[LANES])
{
    if (!t->rounds) {
        pack_square(&t->from, row, rows, step, steps, out);
        return;
    }
    for (int i = 0; i < LANES; i++)
        out[i] = i < rows ? rounded_pairs(&t->from, row + i, step, steps < LANES ? steps : LANES)
                          : vec_set(0);
    vec_transpose(out);
}

static void panel_task(void *arg, int64_t panel, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Tensor *w = &l->in[0];
    const bool pairs = l->out[0].dtype == BF16;
    const int64_t n = w->size[0], k = w->size[1], steps = pairs ? k / 2 : k;
    const int64_t first = panel * PANEL_ROWS,
                  rows = n - first < PANEL_ROWS ? n - first : PANEL_ROWS;
    const Turn t = { { { w->data, k, w->dtype, .k_inner = true }, n, k, pairs },
                     pairs && w->dtype == F32 };
    Word *to = (Word *)l->out[0].data + first * steps;
    for (int64_t r = 0; r < rows; r += LANES) {
        const int64_t there = rows - r < LANES ? rows - r : LANES;
        for (int64_t s = 0; s < steps; s += LANES) {
            Vec square[LANES];
            turn_square(&t, first + r, there, s, steps - s, square);
            for (int64_t i = 0; i < LANES && s + i < steps; i++)
                vec_store_n(to + (s + i) * rows + r, there, square[i]);
        }
    }
}

static int run_panels(const Launch *l)
{
    pool_run(l->stream->pool, chunk_count(l->in[0].size[0], PANEL_ROWS), panel_task, (void *)l);
    return KERNEL_OK;
}

static bool serves(const Launch *l)
{
    const bool pairs = ((const Panels *)l->attrs)->pairs;
    return l->out[0].dtype == (pairs ? BF16 : F32);
}

const KernelDef TABLE[] = {
    { "panels", "cpu", "f32>f32", LEVEL, run_panels, NULL, serves },
    { "panels", "cpu", "f32>bf16", LEVEL, run_panels, NULL, serves },
    { "panels", "cpu", "bf16>bf16", LEVEL, run_panels, NULL, serves },
    { 0 },
};
