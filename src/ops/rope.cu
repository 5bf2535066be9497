/* rope.cu - rotary positions on a GPU: tables, and the turning of pairs. */
#include "ops/eights_cuda.h"
extern "C" {
#include "ops/rope.h"
#include "ops/rope_scaled.h"
}

/* The frequencies of a row are in scratch, from the host, 0 of pairs that do not turn; attributes:
 * RopeFactors. */
KERNEL(rope_table_kernel, 256)
{
    const float *frequency = (const float *)c.scratch;
    const RopeFactors &by = attrs_of<RopeFactors>(c);
    const int64_t d = c.out[0].size[1], half = d / 2;
    for (int64_t i = thread_number(); i < c.out[0].size[0] * half; i += all_threads()) {
        const int64_t p = i / half, j = i % half;
        const double angle = (double)p * frequency[j],
                     grown = rope_growth(by.growth, by.original, p + by.offset),
                     factor = frequency[j] == 0 ? grown : grown * by.attention;
        put_double(c.out[0], p * d + j, factor * cos(angle));
        put_double(c.out[0], p * d + j + half, factor * sin(angle));
    }
}

/* Number[0]: tokens; number[1]: heads of a token. A thread turns pairs of up to HEADS heads of a
 * token, which have the same cosines and sines. */
template <int X, int TABLE, int OUT, int HEADS> __device__ static void turn(const Call &c)
{
    constexpr int N = TOGETHER<X>;
    const CallTensor &x = c.in[0], &table = c.in[1];
    const unsigned half = (unsigned)table.size[1] / 2, per_head = half / N,
                   heads = (unsigned)c.number[1], groups = (heads + HEADS - 1) / HEADS,
                   length = (unsigned)x.size[1];
    const float sign = attrs_of<Rope>(c).inverse ? -1 : 1;
    for (int64_t i = thread_number(); i < c.number[0] * groups * per_head; i += all_threads()) {
        const unsigned group = (unsigned)i / per_head, j = ((unsigned)i - group * per_head) * N,
                       token = group / groups, head = group - token * groups;
        const int64_t first = (int64_t)token * heads * 2 * half; /* of the token's elements */
        Packed<X> low[HEADS] = {}, high[HEADS] = {};
#pragma unroll
        for (int h = 0; h < HEADS; h++) {
            const unsigned own = head + h * groups;
            if (own >= heads) continue;
            low[h] = load_packed<X>(x, first + (own * 2 * half + j));
            high[h] = load_packed<X>(x, first + (own * 2 * half + half + j));
        }
        const int64_t p = whole_index(c, x, 1, token % length) + first_position(c, token / length);
        const bool is_there = p >= 0 && p < table.size[0];
        if (!is_there) fail(c, KERNEL_BAD_INDEX);
        const int64_t at = is_there ? p * 2 * half + j : j;
        const Floats<N> cosine = load<TABLE>(table, at), sine = load<TABLE>(table, at + half);
#pragma unroll
        for (int h = 0; h < HEADS; h++) {
            const unsigned own = head + h * groups;
            if (own >= heads) continue;
            const Floats<N> a = unpacked<X>(low[h]), b = unpacked<X>(high[h]);
            Floats<N> turned_a, turned_b;
#pragma unroll
            for (int k = 0; k < N; k++) {
                const float s = sign * sine.x[k];
                turned_a.x[k] = a.x[k] * cosine.x[k] - b.x[k] * s;
                turned_b.x[k] = b.x[k] * cosine.x[k] + a.x[k] * s;
            }
            store<OUT>(c.out[0], first + (own * 2 * half + j), turned_a);
            store<OUT>(c.out[0], first + (own * 2 * half + half + j), turned_b);
        }
    }
}

/* Attributes: RopeWindows. A thread per pair of a row. */
KERNEL(rope_windows_kernel, 256)
{
    const RopeWindows &a = attrs_of<RopeWindows>(c);
    const CallTensor &x = c.in[0], &table = c.in[1];
    const int64_t d = table.size[1], half = d / 2, length = x.size[1],
                  inner = x.count / (x.size[0] * length * d);
    for (int64_t i = thread_number(); i < x.count / 2; i += all_threads()) {
        const int64_t row = i / half, j = i % half, token = row / inner;
        const int64_t p = rope_window_position(whole_index(c, x, 1, token % length),
                                               first_position(c, token / length), a.rate,
                                               table.size[0]);
        const float u = get(x, row * d + j), v = get(x, row * d + j + half),
                    cosine = get(table, p * d + j), sine = get(table, p * d + j + half),
                    s = a.inverse ? -sine : sine;
        put(c.out[0], row * d + j, u * cosine - v * s);
        put(c.out[0], row * d + j + half, v * cosine + u * s);
    }
}

KERNEL(rope_kernel, 256)
{
    const int64_t half = c.in[1].size[1] / 2;
    const int x = dtype_of_eights(c.in[0], half), table = dtype_of_eights(c.in[1], half),
              out = dtype_of_eights(c.out[0], half);
    if (x == BF16 && out == BF16 && table == F32)
        turn<BF16, F32, BF16, 2>(c);
    else if (x == F32 && out == BF16 && table == F32) /* in front of attention */
        turn<F32, F32, BF16, 1>(c);
    else if (x == BF16 && out == F32 && table == F32) /* behind its gradient */
        turn<BF16, F32, F32, 1>(c);
    else if (x == F32 && out == F32 && table == F32)
        turn<F32, F32, F32, 1>(c);
    else if (x == BF16 && out == BF16 && table == BF16)
        turn<BF16, BF16, BF16, 2>(c);
    else
        turn<ANY_DTYPE, ANY_DTYPE, ANY_DTYPE, 1>(c);
}
