/* embed.cu - rows of a table by id, and their gradient, on a GPU.
 *
 * The gradient is the same in every run: no two threads add to one place. Tokens are sorted by
 * their rows, stably, in one pass per digit of the row: blocks count the digits of their pieces of
 * the tokens, and then put each token behind all with smaller digits and all before it with the
 * same. A warp adds up the tokens of a row in this order; those of long rows are first added up in
 * pieces, so that no warp has many of them to itself. */
#include "ops/eights_cuda.h"
extern "C" {
#include "ops/embed_cuda.h"
}

constexpr int SORT_THREADS = 256, SORT_WARPS = SORT_THREADS / WARP,
              ROUNDS = EMBED_TILE / SORT_THREADS;

/* ---- rows by id ---- */

/* The row of an id; -1: another rank has it. */
__device__ static int64_t row_of_id(const Call &c, int64_t token)
{
    const int32_t id = get_int(c.in[0], token);
    const bool is_id = id >= 0 && id < whole_size(c, c.in[1], 0);
    if (!is_id) fail(c, KERNEL_BAD_INDEX);
    return is_id ? own_index(c, c.in[1], 0, id) : -1;
}

/* A warp per row, of whatever dtype: 16 bytes at a time. */
__device__ static void copy_rows(const Call &c, int element_bytes)
{
    constexpr int LOADS = 4;
    const int width = (int)(c.in[1].size[1] * element_bytes / 16);
    for (int64_t i = thread_number() / WARP; i < c.in[0].count; i += all_threads() / WARP) {
        const int64_t row = row_of_id(c, i);
        const uint4 *from = (const uint4 *)c.in[1].data + row * width;
        uint4 *to = (uint4 *)c.out[0].data + i * width;
        for (int j = threadIdx.x % WARP; j < width; j += LOADS * WARP) {
            uint4 x[LOADS] = {};
#pragma unroll
            for (int k = 0; k < LOADS; k++)
                if (row >= 0 && j + k * WARP < width) x[k] = from[j + k * WARP];
#pragma unroll
            for (int k = 0; k < LOADS; k++)
                if (j + k * WARP < width) to[j + k * WARP] = x[k];
        }
    }
}

template <int TABLE, int OUT> __device__ static void convert_rows(const Call &c)
{
    constexpr int N = TOGETHER<TABLE>;
    const int d = (int)c.in[1].size[1];
    for (int64_t i = thread_number() / WARP; i < c.in[0].count; i += all_threads() / WARP) {
        const int64_t row = row_of_id(c, i);
        for (int j = threadIdx.x % WARP * N; j < d; j += WARP * N) {
            Floats<N> x = {};
            if (row >= 0) x = load<TABLE>(c.in[1], row * d + j);
            store<OUT>(c.out[0], i * d + j, x);
        }
    }
}

KERNEL(embed_kernel, 256)
{
    const CallTensor &table = c.in[1], &out = c.out[0];
    const int64_t d = table.size[1];
    const int bytes = table.dtype == F32 ? 4 : 2;
    const int from = dtype_of_eights(table, d), to = dtype_of_eights(out, d);
    if (table.dtype == out.dtype && is_aligned(table) && is_aligned(out) && d * bytes % 16 == 0)
        copy_rows(c, bytes);
    else if (from == F32 && to == BF16)
        convert_rows<F32, BF16>(c);
    else if (from == BF16 && to == F32)
        convert_rows<BF16, F32>(c);
    else
        convert_rows<ANY_DTYPE, ANY_DTYPE>(c);
}

/* ---- tokens by row ---- */

__device__ static int32_t row_of(uint64_t token)
{
    return (int32_t)(token >> 32);
}

__device__ static uint64_t token_at(const Call &c, const EmbedSort &s, int32_t i)
{
    if (s.from) return s.from[i];
    const int64_t row = own_index(c, c.out[0], 0, get_int(c.in[0], i));
    return (uint64_t)(row < 0 ? c.out[0].size[0] : row) << 32 | (uint32_t)i;
}

__device__ static int32_t digit_of(const EmbedSort &s, uint64_t token)
{
    return row_of(token) >> s.shift & (s.digits - 1);
}

__device__ static int32_t piece_end(const EmbedSort &s, int32_t piece)
{
    const int64_t end = ((int64_t)piece + 1) * s.piece;
    return end < s.n ? (int32_t)end : s.n;
}

/* A block per piece. */
KERNEL(embed_count_kernel, 256)
{
    __shared__ int32_t count[EMBED_DIGITS];
    const EmbedSort &s = attrs_of<EmbedSort>(c);
    const int32_t piece = (int32_t)blockIdx.x, end = piece_end(s, piece);
    for (int d = threadIdx.x; d < s.digits; d += SORT_THREADS) count[d] = 0;
    __syncthreads();
#pragma unroll 4
    for (int32_t i = piece * s.piece + (int)threadIdx.x; i < end; i += SORT_THREADS)
        atomicAdd(&count[digit_of(s, token_at(c, s, i))], 1);
    __syncthreads();
    for (int d = threadIdx.x; d < s.digits; d += SORT_THREADS)
        s.count[piece * s.digits + d] = count[d];
}

/* The sum of x over the threads in front of this one, and over all of them. */
__device__ static int32_t sum_before(int32_t x, int32_t *all)
{
    __shared__ int32_t part[SORT_WARPS];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int32_t sum = x, before = 0;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const int32_t other = __shfl_sync(WHOLE_WARP, sum, lane - step);
        if (lane >= step) sum += other;
    }
    __syncthreads();
    if (lane == WARP - 1) part[warp] = sum;
    __syncthreads();
    *all = 0;
    for (int w = 0; w < SORT_WARPS; w++) {
        if (w < warp) before += part[w];
        *all += part[w];
    }
    return before + sum - x;
}

/* Where this block's first token of each digit goes. */
__device__ static void find_places(const EmbedSort &s, int32_t *place)
{
    int32_t smaller = 0;
    for (int first = 0; first < s.digits; first += SORT_THREADS) {
        const int d = first + (int)threadIdx.x;
        int32_t sum = 0, own = 0, all;
#pragma unroll 16
        for (int p = 0; p < s.n_pieces; p++) {
            const int32_t n = d < s.digits ? s.count[p * s.digits + d] : 0;
            sum += n;
            if (p < (int)blockIdx.x) own += n;
        }
        const int32_t before = sum_before(sum, &all);
        if (d < s.digits) place[d] = smaller + before + own;
        smaller += all;
    }
}

/* Puts the tokens [first, first + EMBED_TILE) below `end` where they go. A warp has ROUNDS times 32
 * tokens that follow each other; of_warp: how many of a digit it has had so far, and later where
 * its first one goes. */
__device__ static void place_tile(const Call &c, const EmbedSort &s, int32_t first, int32_t end,
                                  int32_t *place, int32_t (*of_warp)[EMBED_DIGITS])
{
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    uint64_t token[ROUNDS];
    int32_t digit[ROUNDS], rank[ROUNDS];
    for (int w = 0; w < SORT_WARPS; w++)
        for (int d = threadIdx.x; d < s.digits; d += SORT_THREADS) of_warp[w][d] = 0;
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const int32_t i = first + (warp * ROUNDS + r) * WARP + lane;
        token[r] = i < end ? token_at(c, s, i) : 0;
        digit[r] = i < end ? digit_of(s, token[r]) : -1;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const unsigned same = __match_any_sync(WHOLE_WARP, digit[r]);
        rank[r] = __popc(same & ((1u << lane) - 1));
        if (digit[r] >= 0) rank[r] += of_warp[warp][digit[r]];
        __syncwarp();
        if (digit[r] >= 0 && same >> lane == 1) of_warp[warp][digit[r]] = rank[r] + 1;
        __syncwarp();
    }
    __syncthreads();
    for (int d = threadIdx.x; d < s.digits; d += SORT_THREADS) {
        int32_t at = place[d];
        for (int w = 0; w < SORT_WARPS; w++) {
            const int32_t n = of_warp[w][d];
            of_warp[w][d] = at;
            at += n;
        }
        place[d] = at;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROUNDS; r++)
        if (digit[r] >= 0) s.to[of_warp[warp][digit[r]] + rank[r]] = token[r];
    __syncthreads();
}

/* A block per piece. */
KERNEL(embed_place_kernel, 256)
{
    __shared__ int32_t place[EMBED_DIGITS], of_warp[SORT_WARPS][EMBED_DIGITS];
    const EmbedSort &s = attrs_of<EmbedSort>(c);
    const int32_t piece = (int32_t)blockIdx.x, end = piece_end(s, piece);
    find_places(s, place);
    for (int32_t first = piece * s.piece; first < end; first += EMBED_TILE)
        place_tile(c, s, first, end, place, of_warp);
}

/* ---- sums of sorted tokens: warps have columns of them ---- */

/* Columns of a warp. */
template <int T> constexpr unsigned COLUMNS = WARP *TOGETHER<T>;

__device__ static CallTensor partial_of(const EmbedSort &s)
{
    CallTensor t = {};
    t.data = s.partial;
    t.dtype = F32;
    return t;
}

/* The dtype by which partial sums are taken where rows of the gradient are taken by this one. */
template <int DY> constexpr int PARTIAL = DY == ANY_DTYPE ? ANY_DTYPE : (int)F32;

/* Adds rows [from, to) of the sorted tokens in order, of the columns from j on. */
template <int DY>
__device__ static void add_tokens(Floats<TOGETHER<DY>> &sum, const Call &c, const EmbedSort &s,
                                  int32_t from, int32_t to, unsigned j)
{
    constexpr int LOADS = DY == F32 ? 2 : 4;
    const unsigned d = (unsigned)c.out[0].size[1];
    const int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (; from < to; from += WARP) {
        const int n = to - from < WARP ? to - from : WARP;
        const int32_t own = lane < n ? (int32_t)s.to[from + lane] : 0;
#pragma unroll 1
        for (int first = 0; first < n; first += LOADS) {
            Packed<DY> x[LOADS] = {};
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                const int64_t token = __shfl_sync(WHOLE_WARP, own, first + k);
                if (first + k < n && j < d) x[k] = load_packed<DY>(c.in[1], token * d + j);
            }
#pragma unroll
            for (int k = 0; k < LOADS; k++) add(sum, unpacked<DY>(x[k]));
        }
    }
}

/* A warp per piece and some columns, if the piece is of one row alone: of the other pieces a row
 * has few tokens. */
template <int DY> __device__ static void sum_pieces(const Call &c, const EmbedSort &s)
{
    const unsigned d = (unsigned)c.out[0].size[1], n_slices = (d + COLUMNS<DY> - 1) / COLUMNS<DY>;
    const int64_t n = (int64_t)(s.n / EMBED_PIECE) * n_slices;
    for (int64_t i = thread_number() / WARP; i < n; i += all_threads() / WARP) {
        const int32_t piece = (int32_t)((unsigned)i / n_slices), first = piece * EMBED_PIECE;
        const int32_t row = row_of(s.to[first]);
        if (row != row_of(s.to[first + EMBED_PIECE - 1]) || row >= c.out[0].size[0]) continue;
        const unsigned j = (unsigned)i % n_slices * COLUMNS<DY> + threadIdx.x % WARP * TOGETHER<DY>;
        Floats<TOGETHER<DY>> sum = {};
        add_tokens<DY>(sum, c, s, first, first + EMBED_PIECE, j);
        if (j < d) store<PARTIAL<DY>>(partial_of(s), (int64_t)piece * d + j, sum);
    }
}

KERNEL(embed_piece_kernel, 256)
{
    const EmbedSort &s = attrs_of<EmbedSort>(c);
    const int dy = dtype_of_eights(c.in[1], c.out[0].size[1]);
    if (dy == BF16)
        sum_pieces<BF16>(c, s);
    else if (dy == F32)
        sum_pieces<F32>(c, s);
    else
        sum_pieces<ANY_DTYPE>(c, s);
}

/* The end of the tokens of the row that begin at i. */
__device__ static int32_t row_end(const EmbedSort &s, int32_t row, int32_t i)
{
    const int32_t next = i + 1 + (int32_t)(threadIdx.x % WARP);
    const unsigned others = __ballot_sync(WHOLE_WARP, next >= s.n || row_of(s.to[next]) != row);
    if (others) return i + 1 + __popc((others & -others) - 1);
    int32_t low = i + WARP, high = s.n; /* of the row; of another, or behind all */
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (row_of(s.to[middle]) == row)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The sum of tokens [from, to): those in front of whole pieces, the pieces, those after them. */
template <int DY>
__device__ static Floats<TOGETHER<DY>> sum_of_row(const Call &c, const EmbedSort &s, int32_t from,
                                                  int32_t to, unsigned j)
{
    const unsigned d = (unsigned)c.out[0].size[1];
    const int32_t first = (from + EMBED_PIECE - 1) / EMBED_PIECE, end = to / EMBED_PIECE;
    Floats<TOGETHER<DY>> sum = {};
#pragma unroll 1
    for (int part = 0; part < 2; part++) {
        const bool is_behind = part == 1;
        const int32_t begin = is_behind ? end * EMBED_PIECE : from,
                      stop = first < end && !is_behind ? first * EMBED_PIECE : to;
        add_tokens<DY>(sum, c, s, begin, stop, j);
        if (first >= end || is_behind) break;
#pragma unroll 2
        for (int32_t piece = first; piece < end; piece++)
            if (j < d) add(sum, load<PARTIAL<DY>>(partial_of(s), (int64_t)piece * d + j));
    }
    return sum;
}

/* A warp per token and some columns: that of the first token of a row adds up all of the row's. */
template <int DY, int TABLE> __device__ static void sum_rows(const Call &c, const EmbedSort &s)
{
    const CallTensor &table = c.out[0];
    const unsigned d = (unsigned)table.size[1], n_slices = (d + COLUMNS<DY> - 1) / COLUMNS<DY>;
    const int64_t n_all = (int64_t)s.n * n_slices;
    for (int64_t w = thread_number() / WARP; w < n_all; w += all_threads() / WARP) {
        const int32_t i = (int32_t)((unsigned)w / n_slices), row = row_of(s.to[i]);
        const unsigned j = (unsigned)w % n_slices * COLUMNS<DY> + threadIdx.x % WARP * TOGETHER<DY>;
        if (row >= table.size[0] || (i > 0 && row_of(s.to[i - 1]) == row)) continue;
        const int64_t at = (int64_t)row * d + j;
        Floats<TOGETHER<DY>> old = {};
        if (table.add && j < d) old = load<TABLE>(table, at);
        add(old, sum_of_row<DY>(c, s, i, row_end(s, row, i), j));
        if (j < d) store<TABLE>(table, at, old);
    }
}

KERNEL(embed_grad_kernel, 256)
{
    const EmbedSort &s = attrs_of<EmbedSort>(c);
    const int64_t d = c.out[0].size[1];
    const int dy = dtype_of_eights(c.in[1], d), table = dtype_of_eights(c.out[0], d);
    if (dy == BF16 && table == F32)
        sum_rows<BF16, F32>(c, s);
    else if (dy == F32 && table == F32)
        sum_rows<F32, F32>(c, s);
    else if (dy == BF16 && table == BF16)
        sum_rows<BF16, BF16>(c, s);
    else
        sum_rows<ANY_DTYPE, ANY_DTYPE>(c, s);
}
