/* norm.cu - RMS and layer normalisation on a GPU: a block per row at a time.
 *
 * A row is read once and stays in registers: a thread has the same columns of every row that its
 * block takes, in units of four. The bits of the next row are on their way while this one is worked
 * on. Rows that are too wide or lie badly have kernels of their own, which read them again.
 *
 * The gradient of weight and bias: each block takes rows in turns and adds up its columns; the sums
 * go to scratch [block][weight, bias][column], and join_sums_kernel (bias.cu) adds the blocks up.
 *
 * That of x may end with what else x gets, be written in two dtypes, and be added up, too: these
 * sums are in shared memory, where a thread has its columns, because registers are few.
 */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/norm.h"
}

/* Columns of a unit, and units of a thread: norm_cuda.c starts as many threads as a row needs. */
enum { UNIT = 4, UNITS = 2 };

/* A thread's units of a row, as they lie in memory: 16-bit elements fill half of it. What they mean
 * is looked at when they are used, so that nothing waits between loads. */
struct RowBits {
    uint4 unit[UNITS];
};

struct Row {
    float x[UNITS][UNIT];
};

__device__ static int unit_of(int u)
{
    return (int)(threadIdx.x + u * blockDim.x);
}

/* Units after the row are zeros. */
__device__ static RowBits load(const CallTensor &t, int row, int n_units)
{
    RowBits bits = {};
    const int64_t first = (int64_t)row * n_units;
    if (t.dtype == F32) {
        const uint4 *from = (const uint4 *)t.data + first;
#pragma unroll
        for (int u = 0; u < UNITS; u++)
            if (unit_of(u) < n_units) bits.unit[u] = from[unit_of(u)];
        return bits;
    }
    const uint2 *from = (const uint2 *)t.data + first;
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        if (unit_of(u) < n_units) {
            const uint2 half = from[unit_of(u)];
            bits.unit[u].x = half.x;
            bits.unit[u].y = half.y;
        }
    return bits;
}

__device__ static Row read(const RowBits &bits, int32_t dtype)
{
    Row r;
    if (dtype == F32) {
        memcpy(r.x, bits.unit, sizeof r.x);
    } else if (dtype == BF16) {
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            r.x[u][0] = widen_bf16((uint16_t)bits.unit[u].x);
            r.x[u][1] = widen_bf16((uint16_t)(bits.unit[u].x >> 16));
            r.x[u][2] = widen_bf16((uint16_t)bits.unit[u].y);
            r.x[u][3] = widen_bf16((uint16_t)(bits.unit[u].y >> 16));
        }
    } else {
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            r.x[u][0] = widen_f16((uint16_t)bits.unit[u].x);
            r.x[u][1] = widen_f16((uint16_t)(bits.unit[u].x >> 16));
            r.x[u][2] = widen_f16((uint16_t)bits.unit[u].y);
            r.x[u][3] = widen_f16((uint16_t)(bits.unit[u].y >> 16));
        }
    }
    return r;
}

/* A vector along the columns; `absent` where the norm has none. */
__device__ static Row read_vector(const CallTensor &t, bool is_there, float absent, int n_units)
{
    if (is_there) return read(load(t, 0, n_units), t.dtype);
    Row r;
#pragma unroll
    for (int u = 0; u < UNITS; u++)
#pragma unroll
        for (int k = 0; k < UNIT; k++) r.x[u][k] = absent;
    return r;
}

__device__ static void write_floats(float *to, int n_units, const Row &r)
{
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        if (unit_of(u) < n_units)
            ((float4 *)to)[unit_of(u)] = make_float4(r.x[u][0], r.x[u][1], r.x[u][2], r.x[u][3]);
}

__device__ static void write(const CallTensor &t, int row, int n_units, const Row &r)
{
    const int64_t first = (int64_t)row * n_units;
    if (t.dtype == F32) {
        write_floats((float *)t.data + first * UNIT, n_units, r);
        return;
    }
    uint2 *to = (uint2 *)t.data + first;
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
        const float *x = r.x[u];
        if (unit_of(u) >= n_units) continue;
        to[unit_of(u)] =
            t.dtype == BF16 ? make_uint2(narrow_bf16_pair(x[0], x[1]), narrow_bf16_pair(x[2], x[3]))
                            : make_uint2(narrow_f16_pair(x[0], x[1]), narrow_f16_pair(x[2], x[3]));
    }
}

/* What sums over a block need to know: the warps, as a power of two; which warp's sum a lane takes,
 * if there is such a warp; and which place is next. */
struct Team {
    int n_warps, from, turn;
    bool is_there;
};

__device__ static Team team_of()
{
    int n_warps = 1;
    while (n_warps * WARP < (int)blockDim.x) n_warps *= 2;
    const int from = threadIdx.x & (n_warps - 1);
    return { n_warps, from, 0, from * WARP < (int)blockDim.x };
}

/* Sums of one number or TWO over the block, the same on all threads, always in the same order. One
 * barrier is enough: calls take two places in turns, and whoever writes to a place has met all
 * readers of what was in it at the barrier of the call between. A kernel calls one of the two. */
template <bool TWO> __device__ static float2 sum_over_block(Team &t, float2 x)
{
    __shared__ float2 part[2][WARP];
    x.x = over_warp(x.x, Sum());
    if (TWO) x.y = over_warp(x.y, Sum());
    if (threadIdx.x % WARP == 0) part[t.turn][threadIdx.x / WARP] = x;
    __syncthreads();
    x = t.is_there ? part[t.turn][t.from] : make_float2(0, 0);
    for (int step = t.n_warps / 2; step; step /= 2) {
        x.x += __shfl_xor_sync(WHOLE_WARP, x.x, step);
        if (TWO) x.y += __shfl_xor_sync(WHOLE_WARP, x.y, step);
    }
    t.turn = !t.turn;
    return x;
}

__device__ static float sum_of(const Row &r)
{
    float sum = 0;
#pragma unroll
    for (int u = 0; u < UNITS; u++) sum += (r.x[u][0] + r.x[u][1]) + (r.x[u][2] + r.x[u][3]);
    return sum;
}

__device__ static float dot(const Row &a, const Row &b)
{
    float sum = 0;
#pragma unroll
    for (int u = 0; u < UNITS; u++)
#pragma unroll
        for (int k = 0; k < UNIT; k++) sum += a.x[u][k] * b.x[u][k];
    return sum;
}

__device__ static void add(Row &a, const Row &b)
{
#pragma unroll
    for (int u = 0; u < UNITS; u++)
#pragma unroll
        for (int k = 0; k < UNIT; k++) a.x[u][k] += b.x[u][k];
}

/* Subtracts the mean; columns after the row stay 0, so that no sum counts them. */
__device__ static void center(Row &r, float mean, int n_units)
{
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        if (unit_of(u) < n_units)
#pragma unroll
            for (int k = 0; k < UNIT; k++) r.x[u][k] -= mean;
}

/* What launchers say of a norm; all of it is constant memory. */
struct Rows {
    int n, d, n_units;
    bool is_centered;
};

__device__ static Rows rows_of(const Call &c)
{
    const int d = (int)c.number[1];
    return { (int)c.number[0], d, d / UNIT, c.number[2] != 0 };
}

__device__ static float factor_of(const Call &c, float mean_square)
{
    return 1 / sqrtf(mean_square + (float)attrs_of<NormAttrs>(c).eps);
}

/* AHEAD: the next row is asked for before this one is worked on. */
template <bool AHEAD> __device__ static void normalize(const Call &c)
{
    const NormAttrs &a = attrs_of<NormAttrs>(c);
    const CallTensor &x = c.in[0];
    const Rows rows = rows_of(c);
    const float share = 1 / (float)rows.d;
    const Row weight = read_vector(c.in[1], a.weight, 1, rows.n_units),
              bias = read_vector(c.in[1 + a.weight], a.bias, 0, rows.n_units);
    Team team = team_of();
    int row = blockIdx.x;
    RowBits bits;
    if (AHEAD) bits = load(x, row, rows.n_units);
    for (; row < rows.n; row += (int)gridDim.x) {
        if (!AHEAD) bits = load(x, row, rows.n_units);
        Row r = read(bits, x.dtype);
        if (AHEAD && row + (int)gridDim.x < rows.n)
            bits = load(x, row + (int)gridDim.x, rows.n_units);
        if (rows.is_centered) {
            const float2 sum = sum_over_block<false>(team, make_float2(sum_of(r), 0));
            center(r, sum.x * share, rows.n_units);
        }
        const float2 square = sum_over_block<false>(team, make_float2(dot(r, r), 0));
        const float factor = factor_of(c, square.x * share);
#pragma unroll
        for (int u = 0; u < UNITS; u++)
#pragma unroll
            for (int k = 0; k < UNIT; k++)
                r.x[u][k] = r.x[u][k] * factor * weight.x[u][k] + bias.x[u][k];
        write(c.out[0], row, rows.n_units, r);
    }
}

/* The sum of e h, with e = slope * weight. */
__device__ static float dot(const Row &slope, const Row &weight, const Row &h)
{
    float sum = 0;
#pragma unroll
    for (int u = 0; u < UNITS; u++)
#pragma unroll
        for (int k = 0; k < UNIT; k++) sum += slope.x[u][k] * weight.x[u][k] * h.x[u][k];
    return sum;
}

/* Writes a row, or adds it to what is there. */
__device__ static void put_row(const CallTensor &t, int row, int n_units, Row r)
{
    if (t.add) add(r, read(load(t, row, n_units), t.dtype));
    write(t, row, n_units, r);
}

/* Sums of the columns of a gradient, at most as many as a row in registers has. Each thread has
 * its own. */
__device__ static float4 *column_sums()
{
#ifdef __CUDACC__
    extern __shared__ float4 sums[];
#else
    static float4 sums[1024 * UNITS];
#endif
    return sums;
}

__device__ static void start_sums(float4 *sums, int n_units)
{
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        if (unit_of(u) < n_units) sums[unit_of(u)] = make_float4(0, 0, 0, 0);
}

__device__ static void add_to_sums(float4 *sums, int n_units, const Row &r)
{
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        if (unit_of(u) < n_units) {
            const float4 s = sums[unit_of(u)];
            sums[unit_of(u)] =
                make_float4(s.x + r.x[u][0], s.y + r.x[u][1], s.z + r.x[u][2], s.w + r.x[u][3]);
        }
}

__device__ static void write_sums(float *to, int n_units, const float4 *sums)
{
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        if (unit_of(u) < n_units) ((float4 *)to)[unit_of(u)] = sums[unit_of(u)];
}

/* As in norm.c; x - mean takes the place of h = (x - mean) * factor in sums, which then need not
 * wait for the factor. Where the threads are many, registers are few: the weight is read again. */
template <bool AHEAD> __device__ static void differentiate(const Call &c)
{
    const NormAttrs &a = attrs_of<NormAttrs>(c);
    const CallTensor &x = c.in[0], &dy = c.in[1 + a.weight], &other = c.in[2 + a.weight];
    const Rows rows = rows_of(c);
    const int n_units = rows.n_units;
    const float share = 1 / (float)rows.d;
    Row dweight = {}, dbias = {}, weight;
    RowBits x_bits, dy_bits, other_bits;
    float4 *dx_sums = column_sums();
    if (a.sums) start_sums(dx_sums, n_units);
    Team team = team_of();
    int row = blockIdx.x;
    if (AHEAD) {
        weight = read_vector(c.in[1], a.weight, 1, n_units);
        x_bits = load(x, row, n_units);
        dy_bits = load(dy, row, n_units);
    }
    for (; row < rows.n; row += (int)gridDim.x) {
        if (!AHEAD) {
            x_bits = load(x, row, n_units);
            dy_bits = load(dy, row, n_units);
            weight = read_vector(c.in[1], a.weight, 1, n_units);
        }
        Row h = read(x_bits, x.dtype);
        const Row slope = read(dy_bits, dy.dtype);
        if (AHEAD && row + (int)gridDim.x < rows.n) {
            x_bits = load(x, row + (int)gridDim.x, n_units);
            dy_bits = load(dy, row + (int)gridDim.x, n_units);
        }
        if (AHEAD && a.adds) other_bits = load(other, row, n_units);
        float mean_e = 0;
        if (rows.is_centered) {
            const float2 sum =
                sum_over_block<true>(team, make_float2(sum_of(h), dot(slope, weight)));
            center(h, sum.x * share, n_units);
            mean_e = sum.y * share;
        }
        const float2 sum =
            sum_over_block<true>(team, make_float2(dot(h, h), dot(slope, weight, h)));
        const float factor = factor_of(c, sum.x * share), mean_eh = sum.y * share * factor;
        const float of_h = factor * mean_eh, constant = factor * mean_e;
        if (!AHEAD) weight = read_vector(c.in[1], a.weight, 1, n_units);
#pragma unroll
        for (int u = 0; u < UNITS; u++)
#pragma unroll
            for (int k = 0; k < UNIT; k++) {
                const float normal = h.x[u][k] * factor, e = slope.x[u][k] * weight.x[u][k];
                dweight.x[u][k] += slope.x[u][k] * normal;
                dbias.x[u][k] += slope.x[u][k];
                h.x[u][k] = factor * e - constant - normal * of_h;
            }
        if (a.adds) {
            if (!AHEAD) other_bits = load(other, row, n_units);
            add(h, read(other_bits, other.dtype));
        }
        if (a.sums) add_to_sums(dx_sums, n_units, h);
        put_row(c.out[0], row, n_units, h);
        if (a.copies) put_row(c.out[1], row, n_units, h);
    }
    float *sums = (float *)c.scratch + (int64_t)blockIdx.x * (a.weight + a.bias + a.sums) * rows.d;
    if (a.weight) write_floats(sums, n_units, dweight);
    if (a.bias) write_floats(sums + a.weight * rows.d, n_units, dbias);
    if (a.sums) write_sums(sums + (a.weight + a.bias) * rows.d, n_units, dx_sums);
}

KERNEL(norm_kernel, 512)
{
    normalize<true>(c);
}

KERNEL(norm_wide_kernel, 1024)
{
    normalize<false>(c);
}

KERNEL(norm_grad_kernel, 640)
{
    differentiate<true>(c);
}

KERNEL(norm_grad_wide_kernel, 1024)
{
    differentiate<false>(c);
}

/* ---- rows of any width, wherever they lie ---- */

struct Moments {
    float mean, factor;
};

__device__ static Moments moments_of(const Call &c, int64_t at, int d)
{
    const CallTensor &x = c.in[0];
    const bool is_centered = rows_of(c).is_centered;
    float sum = 0, square = 0;
    if (is_centered)
        for (int j = threadIdx.x; j < d; j += blockDim.x) sum += get(x, at + j);
    const float mean = is_centered ? over_block(sum, Sum(), 0.0f) / (float)d : 0;
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        const float h = get(x, at + j) - mean;
        square += h * h;
    }
    return { mean, factor_of(c, over_block(square, Sum(), 0.0f) / (float)d) };
}

KERNEL(norm_any_kernel, 256)
{
    const NormAttrs &a = attrs_of<NormAttrs>(c);
    const Rows rows = rows_of(c);
    for (int row = blockIdx.x; row < rows.n; row += (int)gridDim.x) {
        const int64_t at = (int64_t)row * rows.d;
        const Moments m = moments_of(c, at, rows.d);
        for (int j = threadIdx.x; j < rows.d; j += blockDim.x) {
            float y = (get(c.in[0], at + j) - m.mean) * m.factor;
            if (a.weight) y *= get(c.in[1], j);
            if (a.bias) y += get(c.in[1 + a.weight], j);
            put(c.out[0], at + j, y);
        }
    }
}

KERNEL(norm_grad_any_kernel, 256)
{
    const NormAttrs &a = attrs_of<NormAttrs>(c);
    const CallTensor &x = c.in[0], &dy = c.in[1 + a.weight];
    const Rows rows = rows_of(c);
    const int d = rows.d;
    float *dweight = (float *)c.scratch + (int64_t)blockIdx.x * (a.weight + a.bias + a.sums) * d,
          *dbias = dweight + a.weight * d, *dx_sum = dbias + a.bias * d;
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        if (a.weight) dweight[j] = 0;
        if (a.bias) dbias[j] = 0;
        if (a.sums) dx_sum[j] = 0;
    }
    for (int row = blockIdx.x; row < rows.n; row += (int)gridDim.x) {
        const int64_t at = (int64_t)row * d;
        const Moments m = moments_of(c, at, d);
        float sum_e = 0, sum_eh = 0;
        for (int j = threadIdx.x; j < d; j += blockDim.x) {
            const float h = (get(x, at + j) - m.mean) * m.factor, slope = get(dy, at + j);
            const float e = a.weight ? slope * get(c.in[1], j) : slope;
            sum_e += e;
            sum_eh += e * h;
            if (a.weight) dweight[j] += slope * h;
            if (a.bias) dbias[j] += slope;
        }
        const float mean_eh = over_block(sum_eh, Sum(), 0.0f) / (float)d,
                    mean_e = rows.is_centered ? over_block(sum_e, Sum(), 0.0f) / (float)d : 0;
        for (int j = threadIdx.x; j < d; j += blockDim.x) {
            const float h = (get(x, at + j) - m.mean) * m.factor, slope = get(dy, at + j);
            const float e = a.weight ? slope * get(c.in[1], j) : slope;
            float dx = m.factor * (e - h * mean_eh - mean_e);
            if (a.adds) dx += get(c.in[2 + a.weight], at + j);
            put(c.out[0], at + j, dx);
            if (a.copies) put(c.out[1], at + j, dx);
            if (a.sums) dx_sum[j] += dx;
        }
    }
}
