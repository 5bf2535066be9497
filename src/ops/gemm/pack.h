/* pack.h - copies parts of a factor into the panels that the innermost product reads.
 *
 * What lies in memory becomes words: floats stay, bf16 are widened to floats or (`pairs`) joined
 * two by two along k. An odd k leaves the last pair half empty: its other half is 0. */
#ifndef OPS_GEMM_PACK_H
#define OPS_GEMM_PACK_H
#include "ops/gemm/micro.h"
#include "ops/gemm/product.h"

/* A factor with the number of its rows and of its elements along k. */
typedef struct PackFrom {
    Factor f;
    int64_t rows, k;
    bool pairs;
} PackFrom;

/* Words of a panel of MR rows: the last vector written may reach beyond the panel. */
INLINE int64_t pack_rows_words(int64_t steps)
{
    return steps * MR + LANES;
}

/* bf16 as floats: those of the low halves of words, and of the high ones. */
INLINE Vec pack_low(Vec pairs)
{
    return vec_of_bits(vec_bits(pairs) << 16);
}

INLINE Vec pack_high(Vec pairs)
{
    return vec_of_bits(vec_bits(pairs) & vec_int_set(-65536));
}

/* Floats less the parts of them that come before this one, which is what bf16 holds of them if the
 * rest is cut off. All three parts together are the whole: each has eight of its 24 bits. */
INLINE Vec pack_from_part(int part, Vec x)
{
    for (int i = 0; i < part; i++) x -= pack_high(x);
    return x;
}

/* The upper halves of both as pairs: (even[0], odd[0]), (even[1], odd[1]) ... */
INLINE Vec pack_joined(Vec even, Vec odd)
{
    typedef uint32_t Bits __attribute__((vector_size(sizeof(Vec))));
    return (Vec)((Bits)even >> 16 | ((Bits)odd & 0xffff0000));
}

/* The part of 2 LANES floats that follow each other. */
INLINE Vec pack_run(int part, Vec first, Vec second)
{
    return vec_round_run(pack_high(pack_from_part(part, first)),
                         pack_high(pack_from_part(part, second)));
}

/* Elements along the rows of a factor in f32 without k_inner, 0 beyond its k. */
INLINE Vec pack_floats(const PackFrom *s, int64_t row, int64_t k, int64_t n)
{
    return k < s->k ? vec_get(F32, s->f.data, k * s->f.stride + row, n) : vec_set(0);
}

/* `n` words along k from (row, step) of a factor with k_inner. */
INLINE Vec pack_along_k(const PackFrom *s, int64_t row, int64_t step, int64_t n)
{
    if (s->f.dtype == F32 && s->pairs) {
        const float *at = (const float *)s->f.data + row * s->f.stride + 2 * step;
        const int64_t left = s->k - 2 * step, there = left < 2 * n ? left : 2 * n;
        if (there >= 2 * LANES) return pack_run(s->f.part, vec_load(at), vec_load(at + LANES));
        return pack_run(s->f.part, vec_get(F32, at, 0, there < LANES ? there : LANES),
                        there > LANES ? vec_get(F32, at, LANES, there - LANES) : vec_set(0));
    }
    if (s->f.dtype == F32) return vec_get(F32, s->f.data, row * s->f.stride + step, n);
    const bf16 *p = (const bf16 *)s->f.data + row * s->f.stride;
    if (!s->pairs) return vec_get(BF16, p, step, n);
    if (2 * (step + LANES) <= s->k && n >= LANES) return vec_load((const Word *)(p + 2 * step));
    bf16 both[2 * LANES] = { 0 };
    for (int i = 0; i < 2 * n && 2 * step + i < s->k; i++) both[i] = p[2 * step + i];
    return vec_load((const Word *)both);
}

/* Rows of the panel that begins with row `first`. */
INLINE int64_t pack_panel_rows(const PackFrom *s, int64_t first)
{
    return s->rows - first < PANEL_ROWS ? s->rows - first : PANEL_ROWS;
}

/* The words of a step of that panel. bf16 have two steps in each, unless they are `pairs`. */
INLINE const Word *pack_panel_words(const PackFrom *s, int64_t first, int64_t step)
{
    const bool two = s->f.dtype == BF16;
    const Word *panel =
        (const Word *)((const char *)s->f.data + first * s->k * (int64_t)dtype_size(s->f.dtype));
    return panel + (two && !s->pairs ? step / 2 : step) * pack_panel_rows(s, first);
}

/* `n` words along the rows from (row, step) of a factor in panels; they lie in one of them. */
INLINE Vec pack_from_panels(const PackFrom *s, int64_t row, int64_t step, int64_t n)
{
    if (n <= 0) return vec_set(0);
    const int64_t first = row / PANEL_ROWS * PANEL_ROWS;
    if (s->f.dtype == F32 && s->pairs) {
        const Word *even = pack_panel_words(s, first, 2 * step) + row - first,
                   *odd = even + pack_panel_rows(s, first);
        const int64_t there = n < LANES ? n : LANES;
        const bool two = 2 * step + 1 < s->k;
        return pack_joined(pack_from_part(s->f.part, vec_load_n(even, there)),
                           pack_from_part(s->f.part, two ? vec_load_n(odd, there) : vec_set(0)));
    }
    const Word *at = pack_panel_words(s, first, step) + row - first;
    const Vec v = n >= LANES ? vec_load(at) : vec_load_n(at, n);
    if (s->f.dtype == F32 || s->pairs) return v;
    return step % 2 ? pack_high(v) : pack_low(v);
}

/* `n` words along the rows from (row, step) of a factor without k_inner. */
INLINE Vec pack_along_rows(const PackFrom *s, int64_t row, int64_t step, int64_t n)
{
    if (s->f.dtype == F32 && s->pairs)
        return pack_joined(pack_from_part(s->f.part, pack_floats(s, row, 2 * step, n)),
                           pack_from_part(s->f.part, pack_floats(s, row, 2 * step + 1, n)));
    if (s->f.dtype == F32) return vec_get(F32, s->f.data, step * s->f.stride + row, n);
    const bf16 *p = (const bf16 *)s->f.data;
    if (!s->pairs) return vec_get(BF16, p, step * s->f.stride + row, n);
    const bf16 *even = p + 2 * step * s->f.stride + row, *odd = even + s->f.stride;
    if (n >= LANES && 2 * step + 1 < s->k) return vec_pairs(even, odd);
    bf16 both[2][LANES] = { { 0 } };
    for (int i = 0; i < n; i++) {
        both[0][i] = even[i];
        if (2 * step + 1 < s->k) both[1][i] = odd[i];
    }
    return vec_pairs(both[0], both[1]);
}

/* A square of LANES rows by LANES steps, transposed: out[step] holds the rows. Fewer rows or steps
 * leave zeros. */
INLINE void pack_square(const PackFrom *s, int64_t row, int64_t rows, int64_t step, int64_t steps,
                        Vec out[LANES])
{
    if (rows >= LANES && steps >= LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) out[i] = pack_along_k(s, row + i, step, LANES);
    } else {
        for (int i = 0; i < LANES; i++)
            out[i] = i < rows ? pack_along_k(s, row + i, step, steps < LANES ? steps : LANES)
                              : vec_set(0);
    }
    vec_transpose(out);
}

/* Short rows end before the hardware foresees where those come from that are packed next: they are
 * asked for. Longer ones are left to it: many lines at such distances push each other out. */
enum { PACK_SHORT_BYTES = 4096 };

INLINE bool pack_fetches(const PackFrom *s)
{
    return (int64_t)dtype_size(s->f.dtype) * s->f.stride < PACK_SHORT_BYTES;
}

/* Asks for what pack_square reads from (row, step) on. */
INLINE void pack_fetch(const PackFrom *s, int64_t row, int64_t step)
{
    const int64_t size = (int64_t)dtype_size(s->f.dtype), apart = s->f.stride * size;
    const char *at =
        (const char *)s->f.data + row * apart + step * (s->pairs ? (int64_t)sizeof(Word) : size);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) __builtin_prefetch(at + i * apart);
}

/* Asks for what pack_along_rows reads some steps later: rows lie too far apart to be foreseen. */
enum { PACK_ROWS_AHEAD = 12 };

INLINE void pack_rows_fetch(const PackFrom *s, int64_t row, int64_t step)
{
    const bf16 *at = (const bf16 *)s->f.data + 2 * step * s->f.stride + row;
    __builtin_prefetch(at);
    __builtin_prefetch(at + s->f.stride);
}

/* pack_columns of a factor in panels: lines of each are copied as they come. */
INLINE void pack_panel_copy(const PackFrom *s, int64_t row, int64_t rows, int64_t step,
                            int64_t steps, int64_t width, Word *to)
{
    enum { AT_ONCE = NV <= PANEL_ROWS / LANES ? NV * LANES : PANEL_ROWS };
    const bool widens = s->f.dtype == BF16 && !s->pairs, in_parts = s->f.dtype == F32 && s->pairs;
    for (int64_t j = 0; j < width; j += AT_ONCE) {
        const int64_t first = (row + j) / PANEL_ROWS * PANEL_ROWS;
        const bool whole = j + AT_ONCE <= rows && pack_panel_rows(s, first) == PANEL_ROWS;
        const Word *at =
            whole ? pack_panel_words(s, first, in_parts ? 2 * step : step) + row + j - first : NULL;
        Word *out = to + j;
        int64_t k = 0;
        if (whole && !widens && !in_parts) {
            for (; k < steps; k++, at += PANEL_ROWS, out += width)
#pragma GCC unroll 4
                for (int v = 0; v < AT_ONCE; v += LANES) vec_store(out + v, vec_load(at + v));
        } else if (whole && in_parts) {
            for (; k < steps && 2 * (step + k) + 1 < s->k; k++, at += 2 * PANEL_ROWS, out += width)
#pragma GCC unroll 4
                for (int v = 0; v < AT_ONCE; v += LANES)
                    vec_store(out + v, pack_joined(pack_from_part(s->f.part, vec_load(at + v)),
                                                   pack_from_part(s->f.part,
                                                                  vec_load(at + PANEL_ROWS + v))));
        } else if (whole && step % 2 == 0) {
            for (; k + 2 <= steps; k += 2, at += PANEL_ROWS, out += 2 * width)
#pragma GCC unroll 4
                for (int v = 0; v < AT_ONCE; v += LANES) {
                    const Vec pairs = vec_load(at + v);
                    vec_store(out + v, pack_low(pairs));
                    vec_store(out + width + v, pack_high(pairs));
                }
        }
        for (; k < steps; k++, out += width)
            for (int64_t v = 0; v < AT_ONCE; v += LANES)
                vec_store(out + v, pack_from_panels(s, row + j + v, step + k, rows - j - v));
    }
}

/* A part of B, [steps][width] words: columns [row, row + rows) of C, the missing ones 0. */
INLINE void pack_columns(const PackFrom *s, int64_t row, int64_t rows, int64_t step, int64_t steps,
                         int64_t width, Word *to)
{
    if (s->f.in_panels) {
        pack_panel_copy(s, row, rows, step, steps, width, to);
        return;
    }
    for (int64_t j = 0; j < width; j += LANES) {
        int64_t n = rows - j < 0 ? 0 : rows - j < LANES ? rows - j : LANES;
        if (!s->f.k_inner && s->pairs && width % (2 * LANES) == 0) { /* a line: two vectors */
            const int64_t more = rows - j - LANES;
            for (int64_t k = 0; k < steps; k++) {
                Word *at = to + k * width + j;
                if (s->f.dtype == BF16) pack_rows_fetch(s, row + j, step + k + PACK_ROWS_AHEAD);
                vec_store(at, pack_along_rows(s, row + j, step + k, n));
                vec_store(at + LANES, pack_along_rows(s, row + j + LANES, step + k,
                                                      more < 0       ? 0
                                                      : more < LANES ? more
                                                                     : LANES));
            }
            j += LANES;
            continue;
        }
        if (!s->f.k_inner) {
            for (int64_t k = 0; k < steps; k++)
                vec_store(to + k * width + j, pack_along_rows(s, row + j, step + k, n));
            continue;
        }
        for (int64_t k = 0; k < steps; k += LANES) {
            Vec square[LANES];
            if (pack_fetches(s)) pack_fetch(s, row + j + LANES, step + k);
            pack_square(s, row + j, n, step + k, steps - k, square);
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                if (k + i < steps) vec_store(to + (k + i) * width + j, square[i]);
        }
    }
}

/* A panel of B, [steps][NR] words. */
INLINE void pack_panel(const PackFrom *s, int64_t row, int64_t rows, int64_t step, int64_t steps,
                       Word *to)
{
    pack_columns(s, row, rows, step, steps, NR, to);
}

/* Panels of A without k_inner, `panel_words` apart and [steps][MR] each: vectors are written MR
 * words apart, so each overwrites what the one before wrote too much. */
INLINE void pack_rows(const PackFrom *s, int64_t row, int64_t rows, int64_t step, int64_t steps,
                      Word *to, int64_t panel_words)
{
    enum { AT_ONCE = 16 };
    for (int64_t k0 = 0; k0 < steps; k0 += AT_ONCE) {
        int64_t k1 = k0 + AT_ONCE < steps ? k0 + AT_ONCE : steps;
        for (int64_t i = 0; i < rows; i += MR) {
            Word *panel = to + i / MR * panel_words;
            int64_t n = s->rows - (row + i) < LANES ? s->rows - (row + i) : LANES;
            for (int64_t k = k0; k < k1; k++)
                vec_store(panel + k * MR, pack_along_rows(s, row + i, step + k, n));
        }
    }
}

/* Rows of A with k_inner as words, `steps` words apart. */
INLINE void pack_copy(const PackFrom *s, int64_t row, int64_t rows, int64_t step, int64_t steps,
                      Word *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < steps; k += LANES) {
            int64_t n = steps - k < LANES ? steps - k : LANES;
            Vec v = pack_along_k(s, row + i, step + k, n);
            if (n < LANES)
                vec_store_n(to + i * steps + k, n, v);
            else
                vec_store(to + i * steps + k, v);
        }
}

#endif
