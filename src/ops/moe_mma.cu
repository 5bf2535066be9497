/* moe_mma.cu - products per expert by tensor cores: tiles of 128 x 128 of a result, by eight warps
 * of 64 x 32 each; 32 terms of the sums at a time lie in shared memory, in one of three places, so
 * that two are on their way while one is multiplied.
 *
 * Rows are sorted by expert, and how many each has is known here alone. A tile of rows in which
 * several experts meet is multiplied by each of their weights, and each writes its own rows. */
#include "device/cuda/mma.h"
extern "C" {
#include "ops/grouped_linear.h"
}

constexpr int TILE = 128, TERMS = 32, THREADS = 256, PLACES = 3;
constexpr int PIECE = 8;                        /* numbers of 16 bytes */
constexpr int PART = TILE * TERMS;              /* numbers of one factor at a time */
constexpr int ROWS = 64 / 16, COLUMNS = 32 / 8; /* small tiles of a warp */
constexpr int SHARED_ROW = TILE + 8;            /* floats: eight rows lie in all banks */

/* A factor: INNER: lines are rows of the tile, with the terms along them; else a line is a term.
 * Lines [line, line_end) of `width` numbers each; of those, [at, width) belong to it. */
struct Factor {
    const uint16_t *data;
    int64_t line, line_end, at, width;
};

/* Pieces are exchanged within groups of lines so that eight of them in a column lie in all banks.
 */
template <bool INNER> __device__ static int piece_at(int line, int piece)
{
    return INNER ? line * TERMS + (piece ^ (line / 2 % 4)) * PIECE
                 : line * TILE + (piece ^ line % 8) * PIECE;
}

/* Terms from `term` on. */
template <bool INNER> __device__ static void bring(uint16_t *to, const Factor &f, int64_t term)
{
    constexpr int PER_LINE = (INNER ? TERMS : TILE) / PIECE;
    for (int i = threadIdx.x; i < PART / PIECE; i += THREADS) {
        const int line = i / PER_LINE, piece = i % PER_LINE;
        const int64_t row = f.line + line + (INNER ? 0 : term),
                      at = f.at + piece * PIECE + (INNER ? term : 0);
        const bool is_there = row < f.line_end && at < f.width;
        copy_later(to + piece_at<INNER>(line, piece), f.data + (is_there ? row * f.width + at : 0),
                   is_there);
    }
}

/* Where the lane's row of a small tile begins, which is at (row, term) of the part. The first and
 * the second eight of the tile's rows come one after the other (FIRST), or those of its terms. */
template <bool INNER, bool FIRST>
__device__ static const uint16_t *row_of(const uint16_t *part, int row, int term)
{
    const int lane = threadIdx.x % WARP, eight = lane / 8 % 2 * 8, next = lane / 16 * 8;
    row += FIRST ? eight : next;
    term += FIRST ? next : eight;
    return INNER ? part + piece_at<true>(row + lane % 8, term / PIECE)
                 : part + piece_at<false>(term + lane % 8, row / PIECE);
}

struct Sums {
    float of[ROWS][COLUMNS][4];
};

template <bool IS_BF16, bool A_INNER, bool B_INNER>
__device__ static void multiply_part(Sums &s, const uint16_t *a, const uint16_t *b)
{
    const int warp = threadIdx.x / WARP, row = warp / 4 * 64, column = warp % 4 * 32;
#pragma unroll
    for (int term = 0; term < TERMS; term += 16) {
        uint32_t left[ROWS][4], right[COLUMNS / 2][4];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            load_matrices<!A_INNER>(left[i], row_of<A_INNER, true>(a, row + 16 * i, term));
#pragma unroll
        for (int j = 0; j < COLUMNS / 2; j++)
            load_matrices<!B_INNER>(right[j], row_of<B_INNER, false>(b, column + 16 * j, term));
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                multiply_tiles<IS_BF16>(s.of[i][j], left[i], right[j / 2][j % 2 * 2],
                                        right[j / 2][j % 2 * 2 + 1]);
    }
}

/* Sums over n terms, of the warps that have any; `room` is free before and after. */
template <bool IS_BF16, bool A_INNER, bool B_INNER>
__device__ static void multiply(Sums &s, const Factor &a, const Factor &b, int64_t n,
                                bool is_wanted, uint16_t *room)
{
    const int64_t n_parts = (n + TERMS - 1) / TERMS;
    s = {};
    for (int64_t part = 0; part < n_parts + PLACES - 1; part++) {
        uint16_t *to = room + part % PLACES * 2 * PART;
        wait_for_copies<PLACES - 2>();
        __syncthreads(); /* what came is there for all, and nobody needs `to` any more */
        if (part < n_parts) {
            bring<A_INNER>(to, a, part * TERMS);
            bring<B_INNER>(to + PART, b, part * TERMS);
        }
        end_copies();
        const int64_t done = part - (PLACES - 1);
        if (done < 0 || !is_wanted) continue;
        const uint16_t *from = room + done % PLACES * 2 * PART;
        multiply_part<IS_BF16, A_INNER, B_INNER>(s, from, from + PART);
    }
    __syncthreads();
}

/* Two numbers side by side; i is even, and so is the width of the result. */
__device__ static void put_pair(const CallTensor &t, int64_t i, float x, float y)
{
    if (t.add) x += get(t, i), y += get(t, i + 1);
    if (t.dtype == F32)
        *(float2 *)((float *)t.data + i) = make_float2(x, y);
    else
        *(uint32_t *)((uint16_t *)t.data + i) =
            t.dtype == BF16 ? (uint32_t)narrow_bf16(x) | (uint32_t)narrow_bf16(y) << 16
                            : (uint32_t)narrow_f16(x) | (uint32_t)narrow_f16(y) << 16;
}

/* A tile of a result: its first number is at (row, column) of a matrix of `width` columns that
 * begins at `base`. */
struct Place {
    const CallTensor &t;
    int64_t base, row, column, width;
};

/* Numbers of the tile's rows [from, to) as they lie in `tile`, row `first` first; NULL: zeros. */
__device__ static void write_rows(const Place &p, const float *tile, int first, int from, int to)
{
    const int n_pairs = (int)(p.width - p.column < TILE ? p.width - p.column : TILE) / 2;
    for (int i = threadIdx.x; i < (to - from) * (TILE / 2); i += THREADS) {
        const int at = from + i / (TILE / 2), x = i % (TILE / 2);
        const float *pair = tile ? tile + (at - first) * SHARED_ROW + 2 * x : NULL;
        if (x < n_pairs)
            put_pair(p.t, p.base + (p.row + at) * p.width + p.column + 2 * x, pair ? pair[0] : 0,
                     pair ? pair[1] : 0);
    }
}

/* Rows [from, to) of the tile, half of it at a time through shared memory, so that neighbours write
 * what lies side by side. */
__device__ static void write(const Sums &s, const Place &p, int from, int to, float *room)
{
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int half = 0; half < 2; half++) {
        const int first = half * (TILE / 2), last = first + TILE / 2;
        if (warp / 4 == half) {
#pragma unroll
            for (int i = 0; i < 2 * ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) {
                    float *to = room + (8 * i + lane / 4) * SHARED_ROW + warp % 4 * 32 + 8 * j +
                                lane % 4 * 2;
                    *(float2 *)to =
                        make_float2(s.of[i / 2][j][i % 2 * 2], s.of[i / 2][j][i % 2 * 2 + 1]);
                }
        }
        __syncthreads();
        write_rows(p, room, first, from > first ? from : first, to < last ? to : last);
        __syncthreads();
    }
}

/* How many of the tile's rows have no higher expert than this; behind the last one is none. */
__device__ static int rows_up_to(const uint32_t (&of)[TILE / WARP], uint32_t expert)
{
    int n = 0;
    for (int i = 0; i < TILE / WARP; i++) n += __popc(__ballot_sync(WHOLE_WARP, of[i] <= expert));
    return n;
}

/* Whether the warp has any of the tile's rows [from, to) and first n columns. */
__device__ static bool has_any(int from, int to, int64_t n)
{
    const int warp = threadIdx.x / WARP, row = warp / 4 * (TILE / 2);
    return from < row + TILE / 2 && to > row && warp % 4 * 32 < n;
}

/* in: rows, weights, expert of a row. A block per tile of the result. TURNED: the weight's rows are
 * terms. */
template <bool IS_BF16, bool TURNED>
__device__ static void multiply_rows(const Call &c, uint16_t *room)
{
    const CallTensor &of = c.in[2];
    const int64_t k = c.in[0].size[2], n = c.out[0].size[2], n_across = (n + TILE - 1) / TILE,
                  row = blockIdx.x / n_across * TILE, column = blockIdx.x % n_across * TILE;
    const int n_rows = of.count - row < TILE ? (int)(of.count - row) : TILE;
    uint32_t own[TILE / WARP];
    for (int i = 0; i < TILE / WARP; i++) {
        const int at = i * WARP + threadIdx.x % WARP;
        own[i] = at < n_rows ? (uint32_t)get_int(of, row + at) : ~0u;
    }
    const Factor x = { (const uint16_t *)c.in[0].data, row, of.count, 0, k };
    const Place to = { c.out[0], 0, row, column, n };
    int at = 0;
    Sums s;
    while (at < n_rows) {
        const int64_t expert = get_int(of, row + at);
        if (expert >= c.in[1].size[0]) fail(c, KERNEL_BAD_INDEX);
        if (expert < 0 || expert >= c.in[1].size[0]) break;
        const uint16_t *weight = (const uint16_t *)c.in[1].data + expert * n * k;
        const Factor w =
            TURNED ? Factor{ weight, 0, k, column, n } : Factor{ weight, column, n, 0, k };
        const int end = rows_up_to(own, (uint32_t)expert);
        multiply<IS_BF16, true, !TURNED>(s, x, w, k, has_any(at, end, n - column), room);
        write(s, to, at, end, (float *)room);
        at = end > at ? end : at + 1;
    }
    write_rows(to, NULL, 0, at, n_rows);
}

KERNEL(grouped_linear_mma_kernel, THREADS)
{
    alignas(16) __shared__ uint16_t room[PLACES * 2 * PART];
    if (c.in[0].dtype == BF16)
        multiply_rows<true, false>(c, room);
    else
        multiply_rows<false, false>(c, room);
}

KERNEL(grouped_linear_turned_mma_kernel, THREADS)
{
    alignas(16) __shared__ uint16_t room[PLACES * 2 * PART];
    if (c.in[0].dtype == BF16)
        multiply_rows<true, true>(c, room);
    else
        multiply_rows<false, true>(c, room);
}

/* The first row whose expert is not below this one; the same for all. */
__device__ static int64_t first_row(const CallTensor &of, uint32_t expert)
{
    int64_t low = 0, high = of.count;
    while (low < high) {
        const int64_t step = (high - low + WARP - 1) / WARP, at = low + threadIdx.x % WARP * step;
        const bool is_below = at < high && (uint32_t)get_int(of, at) < expert;
        const int n_below = __popc(__ballot_sync(WHOLE_WARP, is_below));
        if (n_below == 0) return low;
        if (low + n_below * step < high) high = low + n_below * step;
        low += (n_below - 1) * step + 1;
    }
    return low;
}

/* in: gradient of the rows, rows, expert of a row; out: gradient of the weights. A block per tile
 * of an expert's; the terms are its rows. */
template <bool IS_BF16> __device__ static void multiply_outer(const Call &c, uint16_t *room)
{
    const int64_t n = c.in[0].size[2], k = c.in[1].size[2], n_across = (k + TILE - 1) / TILE,
                  n_down = (n + TILE - 1) / TILE, expert = blockIdx.x / (n_across * n_down),
                  row = blockIdx.x / n_across % n_down * TILE,
                  column = blockIdx.x % n_across * TILE;
    const int64_t first = first_row(c.in[2], (uint32_t)expert),
                  end = first_row(c.in[2], (uint32_t)expert + 1);
    if (first == end && c.out[0].add) return;
    const Factor dy = { (const uint16_t *)c.in[0].data, first, end, row, n },
                 x = { (const uint16_t *)c.in[1].data, first, end, column, k };
    const Place to = { c.out[0], expert * n * k, row, column, k };
    const int n_rows = n - row < TILE ? (int)(n - row) : TILE;
    Sums s;
    multiply<IS_BF16, false, false>(s, dy, x, end - first, has_any(0, n_rows, k - column), room);
    write(s, to, 0, n_rows, (float *)room);
}

KERNEL(grouped_outer_mma_kernel, THREADS)
{
    alignas(16) __shared__ uint16_t room[PLACES * 2 * PART];
    if (c.in[0].dtype == BF16)
        multiply_outer<true>(c, room);
    else
        multiply_outer<false>(c, room);
}
