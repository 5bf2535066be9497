/* positions.cu - learned positions, and places within documents, on a GPU. */
#include "ops/eights_cuda.h"
extern "C" {
#include "ops/positions.h"
}

/* The row of the table for row s of sample b of x; -1: after its end. */
__device__ static int64_t row_of(const Call &c, int64_t b, int64_t s, int64_t n_rows)
{
    const int64_t p =
        attrs_of<Positions>(c).first + whole_index(c, c.in[0], 1, s) + first_position(c, b);
    return p < n_rows ? p : -1;
}

/* A thread has eight columns of the same place of a few samples, which mostly have the same row of
 * the table. */
template <int X, int TABLE, int OUT, int SAMPLES> __device__ static void add_rows(const Call &c)
{
    constexpr int N = TOGETHER<X>;
    const CallTensor &x = c.in[0], &table = c.in[1];
    const unsigned batch = (unsigned)x.size[0], length = (unsigned)x.size[1],
                   d = (unsigned)x.size[2], per_row = d / N;
    const int64_t sample = x.size[1] * x.size[2];
    const unsigned groups = (batch + SAMPLES - 1) / SAMPLES;
    for (int64_t i = thread_number(); i < (int64_t)groups * length * per_row; i += all_threads()) {
        const unsigned place = (unsigned)i / per_row, j = ((unsigned)i - place * per_row) * N,
                       b = place / length * SAMPLES, s = place % length;
        const int64_t first = b * sample + (int64_t)s * d + j;
        Packed<X> own[SAMPLES] = {};
        Floats<N> row = {};
        int64_t p = -1;
#pragma unroll
        for (int k = 0; k < SAMPLES; k++)
            if (b + k < batch) own[k] = load_packed<X>(x, first + k * sample);
#pragma unroll
        for (int k = 0; k < SAMPLES; k++) {
            if (b + k >= batch) continue;
            const int64_t before = p;
            p = row_of(c, b + k, s, table.size[0]);
            if (p < 0) fail(c, KERNEL_BAD_INDEX);
            if (p >= 0 && p != before) row = load<TABLE>(table, p * d + j);
            Floats<N> sum = unpacked<X>(own[k]);
            if (p >= 0) add(sum, row);
            store<OUT>(c.out[0], first + k * sample, sum);
        }
    }
}

KERNEL(add_positions_kernel, 256)
{
    const int64_t d = c.in[0].size[2];
    const int x = dtype_of_eights(c.in[0], d), table = dtype_of_eights(c.in[1], d),
              out = dtype_of_eights(c.out[0], d);
    if (x == BF16 && out == BF16 && table == BF16)
        add_rows<BF16, BF16, BF16, 4>(c);
    else if (x == BF16 && out == BF16 && table == F32)
        add_rows<BF16, F32, BF16, 4>(c);
    else if (x == BF16 && out == F32 && table == F32) /* of a table of tokens in halves */
        add_rows<BF16, F32, F32, 4>(c);
    else if (x == F32 && out == F32 && table == F32)
        add_rows<F32, F32, F32, 2>(c);
    else
        add_rows<ANY_DTYPE, ANY_DTYPE, ANY_DTYPE, 1>(c);
}

constexpr int SLICES = 4, PLACES = 64;

/* Sums of the samples slice, slice + SLICES ... */
template <int DY>
__device__ static Floats<TOGETHER<DY>> sum_of_slice(const CallTensor &dy, int slice, int64_t at)
{
    constexpr int LOADS = DY == F32 ? 2 : 4;
    const int64_t sample = dy.size[1] * dy.size[2];
    const int batch = (int)dy.size[0];
    Floats<TOGETHER<DY>> sum = {};
#pragma unroll 1
    for (int b = slice; b < batch; b += LOADS * SLICES) {
        Packed<DY> x[LOADS] = {};
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            if (b + k * SLICES < batch) x[k] = load_packed<DY>(dy, (b + k * SLICES) * sample + at);
#pragma unroll
        for (int k = 0; k < LOADS; k++) add(sum, unpacked<DY>(x[k]));
    }
    return sum;
}

/* Four threads add up the samples of some columns of one row of the table, in which no two rows of
 * x in one sample are; the first joins their sums. */
template <int DY, int TABLE>
__device__ static void sum_rows(const Call &c, float (*part)[EIGHT][PLACES])
{
    constexpr int N = TOGETHER<DY>;
    const CallTensor &dy = c.in[0], &table = c.out[0];
    const unsigned d = (unsigned)table.size[1], per_row = d / N;
    const int64_t n_places = table.size[0] * per_row,
                  before = attrs_of<Positions>(c).first + c.now->position;
    const int slice = threadIdx.x / PLACES, place = threadIdx.x % PLACES;
    for (int64_t first = (int64_t)blockIdx.x * PLACES; first < n_places;
         first += (int64_t)gridDim.x * PLACES) {
        const int64_t i = first + place;
        const unsigned row = (unsigned)i / per_row, j = ((unsigned)i - row * per_row) * N;
        const int64_t s = i < n_places ? own_index(c, dy, 1, row - before) : -1;
        Floats<N> sum = {};
        if (s >= 0) sum = sum_of_slice<DY>(dy, slice, s * d + j);
#pragma unroll
        for (int k = 0; k < N; k++) part[slice][k][place] = sum.x[k];
        __syncthreads();
        if (slice == 0 && i < n_places && (s >= 0 || !table.add)) {
            for (int other = 1; other < SLICES; other++)
#pragma unroll
                for (int k = 0; k < N; k++) sum.x[k] += part[other][k][place];
            const int64_t at = (int64_t)row * d + j;
            if (table.add) add(sum, load<TABLE>(table, at));
            store<TABLE>(table, at, sum);
        }
        __syncthreads();
    }
}

KERNEL(add_positions_grad_kernel, 256)
{
    __shared__ float part[SLICES][EIGHT][PLACES];
    const int64_t length = c.in[0].size[1], d = c.in[0].size[2];
    const int dy = dtype_of_eights(c.in[0], d), table = dtype_of_eights(c.out[0], d);
    if (dy == BF16 && table == F32)
        sum_rows<BF16, F32>(c, part);
    else if (dy == F32 && table == F32)
        sum_rows<F32, F32>(c, part);
    else
        sum_rows<ANY_DTYPE, ANY_DTYPE>(c, part);
    if (thread_number() == 0 && length && row_of(c, 0, length - 1, c.out[0].size[0]) < 0)
        fail(c, KERNEL_BAD_INDEX);
}

/* A thread per token looks back to where its document begins. */
KERNEL(document_positions_kernel, 256)
{
    const CallTensor &documents = c.in[0];
    const int64_t length = documents.size[1];
    for (int64_t i = thread_number(); i < documents.count; i += all_threads()) {
        const int32_t own = get_int(documents, i);
        int64_t first = i;
        while (first % length && get_int(documents, first - 1) == own) first--;
        set(c.out[0], i, (double)(attrs_of<Positions>(c).first + i - first));
    }
}
