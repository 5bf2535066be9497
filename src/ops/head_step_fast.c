/* head_step_fast.c - the loss of every token and its gradients, from logits computed once.
 *
 * With e = exp(logit - shift) and S their sum over the vocabulary, the slopes of a token's logits
 * are dloss (e / S - [is target]). S is known only after the whole vocabulary, but it is one number
 * per token: so dx sums e W and is divided by S at the end, and for dW the e of a chunk are kept
 * until the rows of x can be divided by S in their place. What targets add is one row of
 * W or x per token, added as such. */
#include "ops/head_products.h"
#include "ops/head_sums.h"
#include "ops/kernels.h"
#include "tensor/target.h"

/* x over the sum must stay a normal number. */
static const float least_sum = 1e-20f, most_sum = 1e20f;

/* Slopes that are kept at a time, as long as a chunk is not shorter than HEAD_MIN_CHUNK. */
enum { MOST_KEPT_BYTES = 64 << 20, LINE_WORDS = 16 };

typedef struct Step {
    Sums s;
    Products p;
    double *total; /* shared scratch: see sums_total */
    float *scale;  /* shared scratch: dloss over the sum, [chunk] */
    char *scaled;  /* x times that, [chunk][d] in the dtype of slopes */
    float *loss;
    Word *kept; /* e of the chunk, by blocks */
} Step;

static void step_of(const Launch *l, Step *w)
{
    *w = (Step){ .s.h = head_of(l) };
    Head *h = &w->s.h;
    /* ranks take their chunks together, so this is the same on all of them */
    int64_t of_token = head_up(l->in[1].size[0], HEAD_COLUMNS) * (h->pairs ? 2 : 4);
    int64_t most = MOST_KEPT_BYTES / (of_token > 0 ? of_token : 1) / (2 * MR) * (2 * MR);
    if (most < HEAD_MIN_CHUNK) most = HEAD_MIN_CHUNK;
    if (h->chunk > most) h->chunk = most;
    w->p = products_of(h, 2);
    size_t words = (size_t)(room_words(&w->p) + h->chunk * LANES);
    w->s.thread_bytes = sizeof(Word) * words;
}

/* Arrays in scratch for all threads, after the rows. */
typedef enum HeadPart { FOUND, TOTAL, SCALE, SCALED, X_PANELS, DX, LOSS, KEPT, N_PARTS } HeadPart;

static int64_t part_bytes(const Step *w, HeadPart part)
{
    const Head *h = &w->s.h;
    const int64_t words[N_PARTS] = {
        [FOUND] = h->n_segments * h->chunk,
        [TOTAL] = 4 * h->chunk,
        [SCALE] = h->chunk,
        [SCALED] = h->chunk * h->d,
        [X_PANELS] = x_panel_words(&w->p),
        [DX] = dx_floats(&w->p),
        [LOSS] = h->chunk,
        [KEPT] = h->n_blocks * kept_words(h) + LINE_WORDS,
    };
    return head_up((int64_t)sizeof(Word) * words[part], 64);
}

static void place(Step *w)
{
    char *at[N_PARTS + 1] = { w->s.h.shared };
    for (int i = 0; i < N_PARTS; i++) at[i + 1] = at[i] + part_bytes(w, (HeadPart)i);
    w->s.found = (float *)at[FOUND];
    w->total = (double *)at[TOTAL];
    w->scale = (float *)at[SCALE];
    w->scaled = at[SCALED];
    w->p.x_panels = (Word *)at[X_PANELS];
    w->p.dx = (float *)at[DX];
    w->loss = (float *)at[LOSS];
    w->kept = (Word *)(((uintptr_t)at[KEPT] + 63) / 64 * 64);
    w->s.h.threads = at[N_PARTS];
}

/* Copies MR tokens and computes the logits of their targets, where this rank has them. Tokens that
 * do not count get e = 0. */
static void prepare_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Head *h = &((Step *)arg)->s.h;
    head_copy_rows(h, i * MR);
    for (int64_t t = i * MR; t < (i + 1) * MR; t++) {
        int64_t target = head_target(h, t);
        h->shift[t] = target >= 0         ? head_logit(h, t, target) * log2_e
                      : head_counts(h, t) ? 0
                                          : INFINITY;
    }
}

/* e of MR tokens and NR columns, into rows of HEAD_COLUMNS, and added to the sums. */
INLINE void step_tile(const Head *h, bool pairs, float limit, int64_t row, int64_t n_columns,
                      const Word *panel, float *found, void *slopes, Word *kept)
{
    Vec c[MR][NV];
    head_tile(h, pairs, row, panel, c);
    if (n_columns < NR) head_cut(c, MR, n_columns);
    head_exp(c, MR, h->shift + row, limit);
    found_add(GATHER_SUM, c, MR, found);
    slopes_finish(c, MR, pairs, true, slopes, kept);
}

NOINLINE void f32_tile(const Head *h, float limit, int64_t row, int64_t n, const Word *panel,
                       float *found, void *slopes, Word *kept)
{
    step_tile(h, false, limit, row, n, panel, found, slopes, kept);
}

NOINLINE void pairs_tile(const Head *h, float limit, int64_t row, int64_t n, const Word *panel,
                         float *found, void *slopes, Word *kept)
{
    step_tile(h, true, limit, row, n, panel, found, slopes, kept);
}

/* e of the tokens [first, first + n) for one block. */
static void make_slopes(const Step *w, const Room *room, const ProductBlock *b, int64_t first,
                        int64_t n, float *found, Word *kept)
{
    const Head *h = &w->s.h;
    int64_t size = (int64_t)dtype_size(w->p.slope_dtype);
    float limit = w->s.is_to_largest ? 0 : 126; /* of the largest, the rest is rounding */
    for (int64_t j = 0; j < b->n; j += NR)
        for (int64_t i = 0; i < n; i += MR) {
            const Word *panel = room->columns + j * h->depth;
            void *to = (char *)room->slopes + (i * HEAD_COLUMNS + j) * size;
            float *sums = found + (first + i) * LANES;
            Word *kept_to = kept_at(h, kept, first + i, j);
            if (h->pairs)
                pairs_tile(h, limit, first + i, b->n - j, panel, sums, to, kept_to);
            else
                f32_tile(h, limit, first + i, b->n - j, panel, sums, to, kept_to);
        }
}

/* e of two tokens of a panel whose logits are known: as step_tile. */
INLINE void pair_of_tokens(const Step *w, const Room *room, const float *logits, int64_t first,
                           int64_t row, int64_t j, int64_t n_columns, float *found, Word *kept)
{
    const Head *h = &w->s.h;
    Vec c[HALF][NV];
#pragma GCC unroll 2
    for (int i = 0; i < HALF; i++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) c[i][v] = vec_load(logits + i * NR + v * LANES);
    if (n_columns < NR) head_cut(c, HALF, n_columns);
    head_exp(c, HALF, h->shift + first + row, w->s.is_to_largest ? 0 : 126);
    found_add(GATHER_SUM, c, HALF, found + (first + row) * LANES);
    slopes_finish(c, HALF, true, true, (bf16 *)room->slopes + row * HEAD_COLUMNS + j,
                  kept_at(h, kept, first + row, j));
}

/* Slices [from, from + steps) of a panel's logits, and meanwhile its share of what becomes of the
 * panel before: tiles and vectors work at the same time. */
typedef struct Meanwhile {
    int64_t from, steps; /* along the depth; none after the last panel */
    const Word *panel;
    float *logits, *before; /* of this panel, and of the one before or NULL */
    int64_t j, pair, pairs; /* columns of the one before; tokens of each tile, two at a time */
} Meanwhile;

NOINLINE void tile_meanwhile(const Step *w, const Room *room, const ProductBlock *b,
                             const Meanwhile *m, int64_t first, int64_t row, float *found,
                             Word *kept)
{
    const Head *h = &w->s.h;
    const int64_t word = sizeof(Word), tiles = m->steps / AMX_STEPS;
    AmxRows x = { (const char *)(h->rows + (first + row) * h->depth + m->from), h->depth * word,
                  AMX_STEPS * word };
    const Word *panel = m->panel;
    int64_t done = 0;
    if (m->from)
        amx_load(m->logits + row * NR, AMX_SUM_BYTES);
    else if (tiles)
        amx_clear();
    for (int64_t q = 0; m->before && q < m->pairs; q++) {
        const int64_t until = tiles * (q + 1) / m->pairs, at = row + HALF * (m->pair + q);
        for (; done < until; done++) {
            amx_product(AMX_STEPS, x, panel);
            x.at += x.next;
            panel += AMX_STEPS * NR;
        }
        pair_of_tokens(w, room, m->before + at * NR, first, at, m->j, b->n - m->j, found, kept);
    }
    amx_product((tiles - done) * AMX_STEPS, x, panel);
    if (tiles) amx_store(m->logits + row * NR, AMX_SUM_BYTES);
}

/* The same as make_slopes in tiles. Slices of the depth keep a panel in the first level cache. */
static void make_slopes_in_tiles(const Step *w, const Room *room, const ProductBlock *b,
                                 int64_t first, int64_t n, float *found, Word *kept)
{
    const Head *h = &w->s.h;
    const int64_t slices = chunk_count(h->depth, AMX_SLICE_STEPS);
    Meanwhile m = { .logits = room->sums };
    for (int64_t j = 0; j < b->n + NR; j += NR) {
        for (int64_t s = 0; s < slices; s++) {
            m.from = j < b->n ? s * AMX_SLICE_STEPS : 0;
            m.steps = h->depth - m.from < AMX_SLICE_STEPS ? h->depth - m.from : AMX_SLICE_STEPS;
            if (j >= b->n) m.steps = 0;
            m.panel = room->columns + j * h->depth + m.from * NR;
            m.pair = MR / HALF * s / slices;
            m.pairs = MR / HALF * (s + 1) / slices - m.pair;
            for (int64_t i = 0; i < n; i += MR)
                tile_meanwhile(w, room, b, &m, first, i, found, kept);
        }
        m.before = m.logits;
        m.logits = m.logits == room->sums ? room->sums + HEAD_ROWS * NR : room->sums;
        m.j = j;
    }
}

/* One segment of the vocabulary for all tokens of the chunk: sums, dx up to the factor, slopes. */
static void forward_task(void *arg, int64_t s, int thread)
{
    const Step *w = arg;
    const Head *h = &w->s.h;
    Word *at = (Word *)(h->threads + w->s.thread_bytes * (size_t)thread);
    const Room room = room_at(&w->p, at);
    float *found = (float *)(at + room_words(&w->p)), *dx = w->p.dx + s * h->chunk * w->p.width;
    int64_t from, to, n_rows = head_all_rows(h);
    split_range(h->n_blocks, h->n_segments, s, &from, &to);
    found_start(h, GATHER_SUM, found);
    if (TILES) amx_begin();
    for (int64_t q = from; q < to; q++) {
        const ProductBlock b = block_at(h, q);
        pack_block(&w->p, &room, &b);
        for (int64_t g = 0; g < n_rows; g += HEAD_ROWS) {
            int64_t n = n_rows - g < HEAD_ROWS ? n_rows - g : HEAD_ROWS;
            if (TILES)
                make_slopes_in_tiles(w, &room, &b, g, n, found, w->kept + q * kept_words(h));
            else
                make_slopes(w, &room, &b, g, n, found, w->kept + q * kept_words(h));
            slopes_to_dx(&w->p, &room, &b, g, n, dx, q > from ? TILE_ADD : TILE_STORE);
        }
    }
    if (TILES) amx_end();
    vec_stream_end();
    found_finish(&w->s, GATHER_SUM, found, s);
}

/* Loss and scale of token i of the chunk; one out of range will come again. */
static void finish_loss(Step *w, int64_t i)
{
    const Head *h = &w->s.h;
    const Launch *l = h->l;
    double sum = w->total[i];
    bool counts = head_counts(h, i);
    if (counts && (sum < least_sum || sum > most_sum)) w->s.out_of_range = true; /* NaN is final */
    if (!counts && head_token(h, i) != IGNORED_TARGET) w->s.bad_index = true;
    double loss = (h->shift[i] + log2(sum)) / log2_e - w->total[h->n_rows + i];
    w->loss[i] = counts ? (float)loss : 0;
    w->scale[i] = counts ? (float)(((const float *)l->in[3].data)[h->first + i] / sum) : 0;
}

/* Loss and dx of token i of the chunk, and its row of x for dW. */
static void finish_row(const Step *w, int64_t i)
{
    const Head *h = &w->s.h;
    const Launch *l = h->l;
    const Tensor *x = &l->in[0], *weight = &l->in[1], *dx = &l->out[1];
    int64_t target = head_target(h, i);
    bool counts = head_counts(h, i);
    float *loss = (float *)l->out[0].data + h->first + i;
    *loss = launch_adds(l, 0) ? *loss + w->loss[i] : w->loss[i];
    Vec scale = vec_set(w->scale[i]);
    Vec dloss = vec_set(target < 0 ? 0 : ((const float *)l->in[3].data)[h->first + i]);
    for (int64_t j = 0; j < h->d; j += LANES) {
        int64_t n = h->d - j < LANES ? h->d - j : LANES, at = (h->first + i) * h->d + j;
        Vec before = vec_before(l, 1, at, n), slope = vec_set(0), scaled = vec_set(0);
        if (counts) {
            slope = dx_total(&w->p, i, j) * scale;
            scaled = vec_get(x->dtype, x->data, at, n) * scale;
        }
        if (target >= 0)
            slope =
                vec_fnma(dloss, vec_get(weight->dtype, weight->data, target * h->d + j, n), slope);
        vec_put(dx->dtype, dx->data, at, n, before + slope);
        vec_put(w->p.slope_dtype, w->scaled, i * h->d + j, n, scaled);
    }
}

static void loss_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    Step *w = arg;
    Range r = chunk(w->s.h.n_rows, ROWS_PER_TASK, task);
    for (int64_t i = r.from; i < r.to; i++) finish_loss(w, i);
}

static void row_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Step *w = arg;
    Range r = chunk(w->s.h.n_rows, ROWS_PER_TASK, task);
    for (int64_t i = r.from; i < r.to; i++) finish_row(w, i);
}

static void panel_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Step *w = arg;
    const Head *h = &w->s.h;
    const PackFrom x = {
        { w->scaled, h->d, w->p.slope_dtype, .k_inner = false }, h->d, h->n_rows, h->pairs
    };
    pack_x_panel(&w->p, &x, i);
}

/* Takes what the targets in a block add off their rows of dW. */
static void subtract_targets(const Step *w, const ProductBlock *b)
{
    const Head *h = &w->s.h;
    const Tensor *x = &h->l->in[0];
    float *dweight = h->l->out[2].data;
    for (int64_t i = 0; i < h->n_rows; i++) {
        int64_t target = head_target(h, i);
        if (target < b->column || target >= b->column + b->n) continue;
        Vec dloss = vec_set(((const float *)h->l->in[3].data)[h->first + i]);
        for (int64_t j = 0; j < h->d; j += LANES) {
            int64_t n = h->d - j < LANES ? h->d - j : LANES, at = target * h->d + j;
            Vec row = vec_get(x->dtype, x->data, (h->first + i) * h->d + j, n);
            vec_put(F32, dweight, at, n, vec_fnma(dloss, row, vec_get(F32, dweight, at, n)));
        }
    }
}

/* dW of one segment of the vocabulary. */
static void dweight_task(void *arg, int64_t s, int thread)
{
    const Step *w = arg;
    const Head *h = &w->s.h;
    const Room room = room_at(&w->p, (Word *)(h->threads + w->s.thread_bytes * (size_t)thread));
    int64_t from, to;
    split_range(h->n_blocks, h->n_segments, s, &from, &to);
    if (TILES) amx_begin();
    for (int64_t q = from; q < to; q++) {
        const ProductBlock b = block_at(h, q);
        if (TILES)
            tiles_to_dweight(&w->p, w->kept + q * kept_words(h), &b, (float *)room.rows);
        else
            slopes_to_dweight(&w->p, w->kept + q * kept_words(h), &b);
        subtract_targets(w, &b);
    }
    if (TILES) amx_end();
}

static int run_forward(Step *w)
{
    const Head *h = &w->s.h;
    struct Pool *pool = h->l->stream->pool;
    w->s.out_of_range = false;
    pool_run(pool, h->n_segments, forward_task, w);
    int status = sums_total(&w->s, w->total);
    if (status == KERNEL_OK) pool_run(pool, chunk_count(h->n_rows, ROWS_PER_TASK), loss_task, w);
    return status;
}

/* Losses of the tokens of a chunk, and what their gradients are made of. */
static int step_forward(Step *w)
{
    const Head *h = &w->s.h;
    pool_run(h->l->stream->pool, head_all_rows(h) / MR, prepare_task, w);
    int status = vocabulary_reduce(h->l, h->shift, h->n_rows, F32, REDUCE_SUM);
    w->s.is_to_largest = false;
    if (status == KERNEL_OK) status = run_forward(w);
    if (status != KERNEL_OK || !w->s.out_of_range) return status;
    status = shift_to_largest(&w->s);
    return status == KERNEL_OK ? run_forward(w) : status;
}

static int step(const Launch *l)
{
    Step w;
    struct Pool *pool = l->stream->pool;
    step_of(l, &w);
    Head *h = &w.s.h;
    head_place_rows(h);
    place(&w);
    head_clear_padding(h, 2);
    for (h->first = 0; h->first < h->n; h->first += h->chunk) {
        h->n_rows = h->n - h->first < h->chunk ? h->n - h->first : h->chunk;
        w.p.steps = head_steps(h, TILES ? head_all_rows(h) : h->n_rows);
        int status = step_forward(&w);
        if (status != KERNEL_OK) return status;
        pool_run(pool, chunk_count(h->n_rows, ROWS_PER_TASK), row_task, &w);
        pool_run(pool, w.p.width / NR, panel_task, &w);
        pool_run(pool, h->n_segments, dweight_task, &w);
    }
    return w.s.bad_index ? KERNEL_BAD_INDEX : KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    Step w;
    step_of(l, &w);
    size_t bytes = head_rows_bytes(&w.s.h) + w.s.thread_bytes * (size_t)n_threads;
    for (int i = 0; i < N_PARTS; i++) bytes += (size_t)part_bytes(&w, (HeadPart)i);
    return bytes;
}

static bool serves(const Launch *l)
{
    Dtype t = l->out[1].dtype;
    return (t == F32 || t == BF16) && tensor_count(&l->in[2]) > 0;
}

/* A row without an op ends the table: tiles are for bf16 alone. */
const KernelDef TABLE[] = {
    { "head_step", "cpu", "bf16 bf16 i32 f32>f32 any f32", PRODUCT_LEVEL, step, scratch, serves },
    { TILES ? NULL : "head_step", "cpu", "f32 f32 i32 f32>f32 any f32", PRODUCT_LEVEL, step,
      scratch, serves },
    { 0 },
};
