/* bias.cu - a vector along the last dimension, and its gradient, on a GPU. */
#include "device/cuda/kernel.h"

/* Eight elements as they lie in memory: what they mean is looked at when they are used, so that
 * nothing waits between loads. */
template <Dtype T> struct Lying {
    uint4 part[T == F32 ? 2 : 1];
};

template <Dtype T> __device__ static void add_lying(Eight &sum, const Lying<T> &e)
{
    if (T == F32) {
        float x[EIGHT];
        memcpy(x, e.part, sizeof e.part);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) sum.x[k] += x[k];
        return;
    }
    const uint32_t pair[4] = { e.part[0].x, e.part[0].y, e.part[0].z, e.part[0].w };
#pragma unroll
    for (int k = 0; k < EIGHT; k++) {
        const uint16_t bits = (uint16_t)(k % 2 ? pair[k / 2] >> 16 : pair[k / 2]);
        sum.x[k] += T == BF16 ? widen_bf16(bits) : widen_f16(bits);
    }
}

template <Dtype T> __device__ static Eight eight_at(const CallTensor &t, int64_t i)
{
    Eight e = {};
    add_lying<T>(e, ((const Lying<T> *)t.data)[i]);
    return e;
}

template <Dtype T> __device__ static uint32_t pair_of(float low, float high)
{
    return T == BF16 ? narrow_bf16_pair(low, high) : narrow_f16_pair(low, high);
}

template <Dtype T>
__device__ static void write_eight(const CallTensor &t, int64_t i, const Eight &e)
{
    Lying<T> to;
    if (T == F32)
        memcpy(to.part, e.x, sizeof to.part);
    else
        to.part[0] = make_uint4(pair_of<T>(e.x[0], e.x[1]), pair_of<T>(e.x[2], e.x[3]),
                                pair_of<T>(e.x[4], e.x[5]), pair_of<T>(e.x[6], e.x[7]));
    ((Lying<T> *)t.data)[i] = to;
}

/* The usual case, in steps of eight elements of one row. Two of them are on their way at once. */
template <Dtype T> __device__ static void add_to_eights(const Call &c)
{
    const int64_t n = c.out[0].count / EIGHT, step = all_threads();
    const CallTensor &bias = c.in[1];
    const uint32_t d = (uint32_t)(bias.count / EIGHT);
    const Lying<T> *x = (const Lying<T> *)c.in[0].data;
    for (int64_t i = thread_number(); i < n; i += 2 * step) {
        const Lying<T> pair[2] = { x[i], i + step < n ? x[i + step] : Lying<T>{} };
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const int64_t at = i + k * step;
            if (at >= n) continue;
            const uint32_t column = n <= UINT32_MAX ? (uint32_t)at % d : (uint32_t)(at % d);
            Eight sum = bias.dtype == F32    ? eight_at<F32>(bias, column)
                        : bias.dtype == BF16 ? eight_at<BF16>(bias, column)
                                             : eight_at<F16>(bias, column);
            add_lying<T>(sum, pair[k]);
            write_eight<T>(c.out[0], at, sum);
        }
    }
}

/* Whether x and the result are alike, all lies well and eight elements are of one row. */
__device__ static bool is_usual(const Call &c)
{
    const CallTensor &x = c.in[0], &bias = c.in[1], &y = c.out[0];
    return bias.count % EIGHT == 0 && x.dtype == y.dtype && !y.add && is_aligned(x) &&
           is_aligned(bias) && is_aligned(y);
}

KERNEL(add_bias_kernel, 256)
{
    const int64_t n = c.out[0].count, d = c.in[1].count;
    if (is_usual(c)) {
        if (c.in[0].dtype == F32) return add_to_eights<F32>(c);
        if (c.in[0].dtype == BF16) return add_to_eights<BF16>(c);
        return add_to_eights<F16>(c);
    }
    if (n == 0) return;
    const int64_t step = all_threads() % d;
    int64_t column = thread_number() % d;
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        put(c.out[0], i, get(c.in[0], i) + get(c.in[1], column));
        column += column + step < d ? step : step - d;
    }
}

/* ---- sums of columns ----
 *
 * In two steps, in a fixed order: number[0] pieces of rows give sums in scratch [piece][column],
 * and a second kernel adds those up. A block has a strip of columns of one piece: each of its warps
 * takes rows in turns, a lane eight columns of them. */

enum { STRIP = WARP * EIGHT, STRIP_WARPS = 8, STRIP_THREADS = STRIP_WARPS * WARP };

/* Rows [row, end) in steps, several at a time, so that as many loads are on their way; those after
 * the end count as zeros. */
template <Dtype T>
__device__ static Eight sum_of_rows(const CallTensor &t, int64_t row, int64_t end, int64_t d,
                                    int64_t column)
{
    constexpr int AT_ONCE = T == F32 ? 4 : 8;
    const Lying<T> *from = (const Lying<T> *)t.data + (row * d + column) / EIGHT;
    const int64_t step = d / EIGHT * STRIP_WARPS;
    int left = (int)((end - row + STRIP_WARPS - 1) / STRIP_WARPS);
    Eight sum = {};
    for (; left > 0; left -= AT_ONCE, from += AT_ONCE * step) {
        Lying<T> e[AT_ONCE];
        const Lying<T> *next = from;
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++, next += step) e[k] = k < left ? *next : Lying<T>{};
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) add_lying<T>(sum, e[k]);
    }
    return sum;
}

/* Wherever the rows lie; the last eight columns may be fewer. */
__device__ static Eight sum_of_any_rows(const CallTensor &t, int64_t row, int64_t end, int64_t d,
                                        int64_t column)
{
    Eight sum = {};
    for (; row < end; row += STRIP_WARPS)
#pragma unroll
        for (int k = 0; k < EIGHT; k++)
            if (column + k < d) sum.x[k] += get(t, row * d + column + k);
    return sum;
}

__device__ static Eight sum_of_strip(const Call &c, int64_t row, int64_t end, int64_t column)
{
    const CallTensor &t = c.in[0];
    const int64_t d = c.out[0].count;
    if (column >= d) return {};
    if (d % EIGHT || !is_aligned(t)) return sum_of_any_rows(t, row, end, d, column);
    if (t.dtype == F32) return sum_of_rows<F32>(t, row, end, d, column);
    if (t.dtype == BF16) return sum_of_rows<BF16>(t, row, end, d, column);
    return sum_of_rows<F16>(t, row, end, d, column);
}

/* Said to have more threads than it has: else it takes more registers than leave room for four
 * blocks. */
KERNEL(column_sums_kernel, 4 * STRIP_THREADS)
{
    __shared__ float part[STRIP_WARPS][STRIP];
    const int64_t d = c.out[0].count, rows = c.in[0].count / d, n_pieces = c.number[0];
    const int n_strips = (int)((d + STRIP - 1) / STRIP);
    const int64_t piece = (int)blockIdx.x / n_strips,
                  first = (int64_t)((int)blockIdx.x % n_strips) * STRIP;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int64_t from = rows * piece / n_pieces, to = rows * (piece + 1) / n_pieces;
    const Eight sum = sum_of_strip(c, from + warp, to, first + lane * EIGHT);
#pragma unroll
    for (int k = 0; k < EIGHT; k++) part[warp][lane + k * WARP] = sum.x[k];
    __syncthreads();
    /* a thread per column, which lies as its lane wrote it */
    const int column = threadIdx.x, at = column / EIGHT + column % EIGHT * WARP;
    float total = 0;
#pragma unroll
    for (int w = 0; w < STRIP_WARPS; w++) total += part[w][at];
    if (first + column < d) ((float *)c.scratch)[piece * d + first + column] = total;
}

/* Adds up scratch [number[0] pieces][result k][column], for as many results as there are from
 * number[1] on: a block has a few columns, and its threads take pieces in turns. */
enum { JOIN_COLUMNS = 16, JOIN_TURNS = 64, JOIN_UNIT = 4, JOIN_UNITS = JOIN_COLUMNS / JOIN_UNIT };

/* WHOLE: every unit lies in one load. */
template <bool WHOLE> __device__ static float4 unit_at(const float *sum, int64_t column, int64_t n)
{
    if (WHOLE) return *(const float4 *)(sum + column);
    return make_float4(sum[column], column + 1 < n ? sum[column + 1] : 0,
                       column + 2 < n ? sum[column + 2] : 0, column + 3 < n ? sum[column + 3] : 0);
}

__device__ static void add(float4 &a, const float4 &b)
{
    a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w;
}

/* Several pieces at a time, as in sum_of_rows. */
template <bool WHOLE>
__device__ static float4 sum_of_pieces(const float *sum, int64_t column, int64_t n, int piece,
                                       int n_pieces)
{
    constexpr int AT_ONCE = 8;
    float4 total = make_float4(0, 0, 0, 0);
    for (; piece < n_pieces; piece += AT_ONCE * JOIN_TURNS) {
        float4 x[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int next = piece + k * JOIN_TURNS;
            x[k] = next < n_pieces ? unit_at<WHOLE>(sum + next * n, column, n)
                                   : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) add(total, x[k]);
    }
    return total;
}

KERNEL(join_sums_kernel, JOIN_TURNS *JOIN_UNITS)
{
    __shared__ float4 part[JOIN_TURNS][JOIN_UNITS];
    const CallTensor *out = c.out + c.number[1];
    const float *sum = (const float *)c.scratch;
    const int64_t d = out->count, n = d * (c.n_out - c.number[1]);
    const int n_pieces = (int)c.number[0], unit = threadIdx.x % JOIN_UNITS,
              turn = threadIdx.x / JOIN_UNITS;
    const int64_t begin = (int64_t)blockIdx.x * JOIN_COLUMNS, mine = begin + unit * JOIN_UNIT;
    float4 total = make_float4(0, 0, 0, 0);
    if (mine < n && n % JOIN_UNIT == 0)
        total = sum_of_pieces<true>(sum, mine, n, turn, n_pieces);
    else if (mine < n)
        total = sum_of_pieces<false>(sum, mine, n, turn, n_pieces);
    part[turn][unit] = total;
    for (int half = JOIN_TURNS / 2; half; half /= 2) {
        __syncthreads();
        if (turn >= half) continue;
        add(total, part[turn + half][unit]);
        part[turn][unit] = total;
    }
    __syncthreads();
    const int64_t i = begin + threadIdx.x;
    if (threadIdx.x < JOIN_COLUMNS && i < n)
        put(out[i / d], i % d, ((const float *)part[0])[threadIdx.x]);
}
