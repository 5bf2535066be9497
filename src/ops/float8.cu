/* float8.cu - factors in eight bits on a GPU: scales, rounding, and what products of them need
 * around cuBLASLt (float8_cuda.c). */
#include "device/cuda/kernel.h"
#ifdef __CUDACC__
#include <cuda_fp8.h>
#endif
extern "C" {
#include "ops/float8.h"
}

/* ---- scales ---- */

/* Of |x|. Without signs floats are ordered as integers are, NaN above all. */
__device__ static int32_t bits_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffff;
}

__device__ static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

__device__ static float largest_number(int dtype)
{
    return dtype == F8_E5M2 ? 57344.0f : 448.0f;
}

/* As float8_scale_for. */
__device__ static float scale_of(int32_t bits, const Float8Format &f)
{
    const float least = 1e-12f;
    float size, s;
    memcpy(&size, &bits, sizeof size);
    s = (size < least ? least : size) / largest_number(f.dtype);
    if (!f.power_of_two) return s;
    memcpy(&bits, &s, sizeof bits);
    if (bits < 0x7f800000 && bits & 0x7fffff) bits = (bits & 0x7f800000) + 0x800000;
    memcpy(&s, &bits, sizeof s);
    return s;
}

/* The largest of some elements from i on that a thread takes at once. */
__device__ static int32_t largest_of(const CallTensor &x, int64_t i, int64_t n)
{
    const Eight e = get_eight(x, i, n);
    int32_t most = 0;
#pragma unroll
    for (int k = 0; k < EIGHT; k++) most = larger(most, bits_of(e.x[k]));
    return most;
}

/* One number per block, in scratch. */
KERNEL(float8_largest_kernel, 256)
{
    int32_t most = 0;
    for (int64_t i = EIGHT * thread_number(); i < c.in[0].count; i += EIGHT * all_threads())
        most = larger(most, largest_of(c.in[0], i, c.in[0].count - i));
    most = over_block(most, Largest(), 0);
    if (threadIdx.x == 0) ((int32_t *)c.scratch)[blockIdx.x] = most;
}

/* Rows of number[0] elements: a block for each. Eight at a time where rows begin at such places. */
KERNEL(float8_rows_kernel, 256)
{
    const int64_t width = c.number[0];
    for (int64_t row = blockIdx.x; row < c.out[0].count; row += gridDim.x) {
        int32_t most = 0;
        if (width % EIGHT == 0)
            for (int64_t j = EIGHT * threadIdx.x; j < width; j += EIGHT * blockDim.x)
                most = larger(most, largest_of(c.in[0], row * width + j, EIGHT));
        else
            for (int64_t j = threadIdx.x; j < width; j += blockDim.x)
                most = larger(most, bits_of(get(c.in[0], row * width + j)));
        most = over_block(most, Largest(), 0);
        if (threadIdx.x == 0) put(c.out[0], row, scale_of(most, attrs_of<Float8Format>(c)));
    }
}

/* Columns of a matrix with number[0] of them, in number[1] pieces of rows: to scratch, [piece][j].
 */
KERNEL(float8_columns_kernel, 256)
{
    const int64_t width = c.number[0], n_pieces = c.number[1], n = c.in[0].count / width,
                  per_piece = (n + n_pieces - 1) / n_pieces;
    for (int64_t i = thread_number(); i < width * n_pieces; i += all_threads()) {
        const int64_t from = i / width * per_piece,
                      to = from + per_piece < n ? from + per_piece : n;
        int32_t most = 0;
        for (int64_t row = from; row < to; row++)
            most = larger(most, bits_of(get(c.in[0], row * width + i % width)));
        ((int32_t *)c.scratch)[i] = most;
    }
}

/* Scales from number[1] pieces in scratch, [piece][scale]: a block for each scale. */
KERNEL(float8_join_kernel, 256)
{
    const int64_t n = c.out[0].count;
    for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
        int32_t most = 0;
        for (int64_t p = threadIdx.x; p < c.number[1]; p += blockDim.x)
            most = larger(most, ((const int32_t *)c.scratch)[p * n + i]);
        most = over_block(most, Largest(), 0);
        if (threadIdx.x == 0) put(c.out[0], i, scale_of(most, attrs_of<Float8Format>(c)));
    }
}

/* ---- rounding ---- */

/* Two numbers that the format holds, the first one in the low byte. */
__device__ static uint32_t narrow_two(float low, float high, int dtype)
{
#ifdef __CUDACC__
    return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE,
                                    dtype == F8_E5M2 ? __NV_E5M2 : __NV_E4M3);
#else
    uint8_t two[2];
    dtype_set((Dtype)dtype, two, 0, low);
    dtype_set((Dtype)dtype, two, 1, high);
    return two[0] | (uint32_t)two[1] << 8;
#endif
}

/* What element i is multiplied by: a matrix with number[0] columns, whose scale has number
 * row * number[1] + column * number[2]. */
__device__ static float inverse_at(const Call &c, int64_t i)
{
    const int64_t width = c.number[0];
    const float *scale = (const float *)c.in[1].data;
    return 1 / scale[(c.number[1] ? i / width : 0) + (c.number[2] ? i % width : 0)];
}

/* As float8_within. */
__device__ static float within(float v, float most)
{
    return v > most ? most : v < -most ? -most : v;
}

KERNEL(float8_quantize_kernel, 256)
{
    const int dtype = c.out[0].dtype;
    const float most = largest_number(attrs_of<Float8Format>(c).dtype);
    const bool is_same = c.number[2] == 0 && (c.number[1] == 0 || c.number[0] % EIGHT == 0);
    const float of_all = inverse_at(c, 0);
    uint8_t *q = (uint8_t *)c.out[0].data;
    for (int64_t i = EIGHT * thread_number(); i < c.out[0].count; i += EIGHT * all_threads()) {
        const int64_t n = c.out[0].count - i < EIGHT ? c.out[0].count - i : EIGHT;
        const float of_eight = is_same && c.number[1] ? inverse_at(c, i) : of_all;
        Eight x = get_eight(c.in[0], i, n);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) {
            const float by = is_same || k >= n ? of_eight : inverse_at(c, i + k);
            x.x[k] = within(x.x[k] * by, most);
        }
        uint32_t word[2];
#pragma unroll
        for (int k = 0; k < 2; k++)
            word[k] = narrow_two(x.x[4 * k], x.x[4 * k + 1], dtype) |
                      narrow_two(x.x[4 * k + 2], x.x[4 * k + 3], dtype) << 16;
        if (n == EIGHT && is_aligned(c.out[0])) {
            *(uint2 *)(void *)(q + i) = make_uint2(word[0], word[1]);
            continue;
        }
#pragma unroll
        for (int k = 0; k < EIGHT; k++)
            if (k < n) q[i + k] = (uint8_t)(word[k / 4] >> 8 * (k % 4));
    }
}

/* ---- around products ---- */

/* A matrix of bytes, number[0] rows of number[1], both multiples of 4, turned over. */
KERNEL(float8_turn_kernel, 256)
{
    enum { TILE = 64, WORDS = TILE / 4 };
    __shared__ uint8_t tile[TILE][TILE + 4];
    const int64_t rows = c.number[0], columns = c.number[1], across = (columns + TILE - 1) / TILE,
                  n_tiles = across * ((rows + TILE - 1) / TILE);
    const uint8_t *from = (const uint8_t *)c.in[0].data;
    uint8_t *to = (uint8_t *)c.out[0].data;
    const int word = 4 * (threadIdx.x % WORDS);
    for (int64_t t = blockIdx.x; t < n_tiles; t += gridDim.x) {
        const int64_t row = t / across * TILE, column = t % across * TILE;
        for (int r = threadIdx.x / WORDS; r < TILE; r += blockDim.x / WORDS) {
            if (row + r >= rows || column + word >= columns) continue;
            const uint32_t x =
                *(const uint32_t *)(const void *)(from + (row + r) * columns + column + word);
#pragma unroll
            for (int k = 0; k < 4; k++) tile[r][word + k] = (uint8_t)(x >> 8 * k);
        }
        __syncthreads();
        for (int r = threadIdx.x / WORDS; r < TILE; r += blockDim.x / WORDS) {
            if (column + r >= columns || row + word >= rows) continue;
            uint32_t x = 0;
#pragma unroll
            for (int k = 0; k < 4; k++) x |= (uint32_t)tile[word + k][r] << 8 * k;
            *(uint32_t *)(void *)(to + (column + r) * rows + row + word) = x;
        }
        __syncthreads();
    }
}

__device__ static float widen(uint8_t x, int dtype)
{
#ifdef __CUDACC__
    const __half_raw h = __nv_cvt_fp8_to_halfraw(x, dtype == F8_E5M2 ? __NV_E5M2 : __NV_E4M3);
    return widen_f16(h.x);
#else
    return (float)dtype_get((Dtype)dtype, &x, 0);
#endif
}

/* in[0] in eight bits to out[0] in bf16, which holds all of those numbers. */
KERNEL(float8_widen_kernel, 256)
{
    const uint8_t *from = (const uint8_t *)c.in[0].data;
    for (int64_t i = EIGHT * thread_number(); i < c.in[0].count; i += EIGHT * all_threads()) {
        const int64_t n = c.in[0].count - i < EIGHT ? c.in[0].count - i : EIGHT;
        Eight e;
#pragma unroll
        for (int k = 0; k < EIGHT; k++) e.x[k] = k < n ? widen(from[i + k], c.in[0].dtype) : 0;
        put_eight(c.out[0], i, n, e);
    }
}

/* Sums in scratch times both scales to out[0], whose rows have number[0] elements. Bits of
 * number[1]: a scale of in[2] for each row, and column; the same for in[3]. */
KERNEL(float8_scale_sums_kernel, 256)
{
    const int64_t width = c.number[0], steps = c.number[1];
    const float *sum = (const float *)c.scratch, *a = (const float *)c.in[2].data,
                *b = (const float *)c.in[3].data;
    for (int64_t i = EIGHT * thread_number(); i < c.out[0].count; i += EIGHT * all_threads()) {
        const int64_t n = c.out[0].count - i < EIGHT ? c.out[0].count - i : EIGHT;
        Eight e;
#pragma unroll
        for (int k = 0; k < EIGHT; k++) {
            if (k >= n) {
                e.x[k] = 0;
                continue;
            }
            const int64_t row = (i + k) / width, column = (i + k) % width;
            const float by = a[(steps & 1 ? row : 0) + (steps & 2 ? column : 0)] *
                             b[(steps & 4 ? row : 0) + (steps & 8 ? column : 0)];
            e.x[k] = sum[i + k] * by;
        }
        put_eight(c.out[0], i, n, e);
    }
}
