/* gated_delta_fast.c - the gated delta rule by chunks of tokens, so that most of it is products of
 * matrices (Yang et al. 2024, Parallelizing Linear Transformers with the Delta Rule).
 *
 * Let y(i) be the sum of decays from the chunk's beginning to token i, S the state in front of it,
 * and near(i,j) = exp(y(i) - y(j)) for j <= i, else 0. The corrections w(i) = rate(i) u(i) of all
 * of a chunk's tokens follow from a triangular system,
 *
 *     u(i) = v(i) - exp(y(i)) S^T k(i) - sum over j < i of near(i,j) (k(i) k(j)) w(j)
 *
 * and with them what queries read, and S behind the chunk n:
 *
 *     o(i) = exp(y(i)) S^T q(i) + sum over j <= i of near(i,j) (q(i) k(j)) w(j)
 *     S' = exp(y(n)) S + sum over j of exp(y(n) - y(j)) k(j) w(j)^T
 *
 * Where values are added alone, as in state spaces, u = v, and there is no system to solve. No
 * exponent is above 0. A chunk ends with its document, so that the next one begins with S = 0.
 * The backward pass keeps S in front of chunks, and makes the rest of a chunk again. Decays only
 * stand beside products of q and k, thus their gradients are dots of those with their own. */
#include "ops/gated_delta.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"

/* Tokens of a chunk; rows of a triangular system that are solved one by one; rows and vectors of a
 * tile of products. */
enum { TOKENS = 64, SOLVED = 8, ROWS = 6, VECTORS = 2 };

/* Of a launch. Rows of features are padded with zeros to whole vectors. */
typedef struct Delta {
    const Launch *l;
    const Tensor *q, *k, *v, *decay, *rate;
    const int32_t *document; /* NULL: one document */
    int64_t length, n_group, n_repeat, d, e, wide_d, wide_e;
    float scale, key_scale;
    bool adds;
    float *scratch;
    size_t thread_floats;
} Delta;

/* Of a thread: one chunk of one head, [tokens][features] unless told otherwise. */
typedef struct Chunk {
    int64_t first, n;
    bool begins;                    /* its S is 0 */
    float *q, *k;                   /* times their factors */
    float *turned_k;                /* [wide_d][TOKENS] */
    float *u, *w, *o, *some;        /* of width wide_e */
    float *near, *read, *corrected; /* [TOKENS][TOKENS]: near(i,j), that times q(i) k(j), and minus
                                       that times k(i) k(j) */
    float *state;                   /* [wide_d][wide_e] */
    float rate[TOKENS], from_begin[TOKENS], to_end[TOKENS];
} Chunk;

/* What the backward pass needs beside it. */
typedef struct Back {
    float *dout, *du, *more;    /* of width wide_e */
    float *turned_w;            /* [wide_e][TOKENS] */
    float *dread, *dcorrected;  /* [TOKENS][TOKENS], of q(i) k(j) and of k(i) k(j) */
    float *dq, *later, *former; /* of width wide_d; keys as those of i, and as those of j */
    float *turned_state;        /* [wide_e][wide_d] */
    float *dstate;              /* [wide_d][wide_e] */
    bool ends;                  /* dstate is 0 */
    float *states;              /* in front of the chunks that go on with a document */
    float *all_dq, *all_dk;     /* [length][wide_d], summed over the heads of a group */
    int32_t *firsts;            /* of the chunks */
} Back;

INLINE int64_t whole_vectors(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static Delta delta_of(const Launch *l, const Tensor *in, int n_in)
{
    const GatedDelta *a = l->attrs;
    const Tensor *v = &in[2];
    return (Delta){ .l = l,
                    .q = &in[0],
                    .k = &in[1],
                    .v = v,
                    .decay = &in[3],
                    .rate = &in[4],
                    .document = n_in == 6 ? in[5].data : NULL,
                    .length = v->size[1],
                    .n_group = v->size[2],
                    .n_repeat = v->size[3],
                    .d = in[0].size[3],
                    .e = v->size[4],
                    .wide_d = whole_vectors(in[0].size[3]),
                    .wide_e = whole_vectors(v->size[4]),
                    .scale = (float)a->scale,
                    .key_scale = (float)a->key_scale,
                    .adds = a->adds,
                    .scratch = l->scratch };
}

/* Parts of a thread's memory, one after the other; memory NULL: they are counted. */
typedef struct Room {
    float *memory;
    size_t n;
} Room;

static float *take(Room *r, int64_t n)
{
    float *p = r->memory ? r->memory + r->n : NULL;
    r->n += (size_t)whole_vectors(n);
    return p;
}

static void lay_chunk(const Delta *x, Room *r, Chunk *c)
{
    float **of_keys[] = { &c->q, &c->k, &c->turned_k };
    float **of_values[] = { &c->u, &c->w, &c->o, &c->some };
    float **of_pairs[] = { &c->near, &c->read, &c->corrected };
    for (int i = 0; i < 3; i++) *of_keys[i] = take(r, TOKENS * x->wide_d);
    for (int i = 0; i < 4; i++) *of_values[i] = take(r, TOKENS * x->wide_e);
    for (int i = 0; i < 3; i++) *of_pairs[i] = take(r, TOKENS * TOKENS);
    c->state = take(r, x->wide_d * x->wide_e);
}

static void lay_back(const Delta *x, Room *r, Back *b)
{
    float **of_keys[] = { &b->dq, &b->later, &b->former };
    float **of_values[] = { &b->dout, &b->du, &b->more, &b->turned_w };
    for (int i = 0; i < 3; i++) *of_keys[i] = take(r, TOKENS * x->wide_d);
    for (int i = 0; i < 4; i++) *of_values[i] = take(r, TOKENS * x->wide_e);
    b->dread = take(r, TOKENS * TOKENS);
    b->dcorrected = take(r, TOKENS * TOKENS);
    b->turned_state = take(r, x->wide_d * x->wide_e);
    b->dstate = take(r, x->wide_d * x->wide_e);
    b->states = take(r, (x->length / TOKENS + 1) * x->wide_d * x->wide_e);
    b->all_dq = take(r, x->length * x->wide_d);
    b->all_dk = take(r, x->length * x->wide_d);
    b->firsts = (int32_t *)take(r, x->length);
}

/* ---- products ---- */

/* Element (i, k) of the left one lies at i * row + k * step, row k of the right one at k * stride.
 */
typedef struct Factors {
    const float *left;
    int64_t row, step;
    const float *right;
    int64_t stride;
} Factors;

INLINE void tile(const int rows, const int vectors, const Factors *f, int64_t i, int64_t j,
                 int64_t steps, bool adds, float *to, int64_t to_row)
{
    Vec sum[ROWS * VECTORS];
    const float *left = f->left + i * f->row, *right = f->right + j;
    to += i * to_row + j;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[r * vectors + v] = adds ? vec_load(to + r * to_row + v * LANES) : vec_set(0);
    for (int64_t k = 0; k < steps; k++, left += f->step, right += f->stride) {
        Vec b[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) b[v] = vec_load(right + v * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const Vec a = vec_set(left[r * f->row]);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) vec_add_product(&sum[r * vectors + v], a, b[v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            vec_store(to + r * to_row + v * LANES, sum[r * vectors + v]);
}

INLINE void tiles_of_rows(const int rows, const Factors *f, int64_t i, int64_t columns,
                          int64_t steps, bool adds, float *to, int64_t to_row)
{
    int64_t j = 0;
    for (; j + VECTORS * LANES <= columns; j += VECTORS * LANES)
        tile(rows, VECTORS, f, i, j, steps, adds, to, to_row);
    for (; j < columns; j += LANES) tile(rows, 1, f, i, j, steps, adds, to, to_row);
}

/* to[rows][columns] = left right, or that is added; whole vectors of columns. */
NOINLINE void product(int64_t rows, int64_t columns, int64_t steps, const Factors *f, bool adds,
                      float *to, int64_t to_row)
{
    int64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS) tiles_of_rows(ROWS, f, i, columns, steps, adds, to, to_row);
    for (; i < rows; i++) tiles_of_rows(1, f, i, columns, steps, adds, to, to_row);
}

/* [n][width] becomes [width][to_row]; what rows lack to a whole vector is 0. */
INLINE void turn(const float *from, int64_t n, int64_t width, float *to, int64_t to_row)
{
    for (int64_t r = 0; r < n; r += LANES)
        for (int64_t i = 0; i < width; i += LANES) {
            Vec square[LANES];
#pragma GCC unroll 16
            for (int k = 0; k < LANES; k++)
                square[k] = r + k < n ? vec_load(from + (r + k) * width + i) : vec_set(0);
            vec_transpose(square);
#pragma GCC unroll 16
            for (int k = 0; k < LANES; k++) vec_store(to + (i + k) * to_row + r, square[k]);
        }
}

INLINE void scale_row(const float *from, float factor, int64_t width, float *to)
{
    for (int64_t i = 0; i < width; i += LANES)
        vec_store(to + i, vec_load(from + i) * vec_set(factor));
}

/* to += factor from */
INLINE void add_row(const float *from, float factor, int64_t width, float *to)
{
    for (int64_t i = 0; i < width; i += LANES)
        vec_store(to + i, vec_fma(vec_load(from + i), vec_set(factor), vec_load(to + i)));
}

INLINE Vec dot_rows(const float *x, const float *y, int64_t width)
{
    Vec sum = vec_set(0);
    for (int64_t i = 0; i < width; i += LANES) sum = vec_fma(vec_load(x + i), vec_load(y + i), sum);
    return sum;
}

/* ---- a chunk ---- */

INLINE float number_at(const Tensor *t, int64_t i)
{
    return vec_get(t->dtype, t->data, i, 1)[0];
}

/* The number of head h of values at token t of sequence b. */
INLINE int64_t head_at(const Delta *x, int64_t b, int64_t t, int64_t h)
{
    return (b * x->length + t) * x->n_group * x->n_repeat + h;
}

INLINE void load_row(const Tensor *t, int64_t at, int64_t width, float factor, float *to)
{
    for (int64_t i = 0; i < width; i += LANES)
        vec_store(to + i, vec_get(t->dtype, t->data, at * width + i,
                                  width - i < LANES ? width - i : LANES) *
                              vec_set(factor));
}

INLINE void store_row(const float *from, float factor, const Tensor *t, int64_t at, int64_t width)
{
    for (int64_t i = 0; i < width; i += LANES)
        vec_put(t->dtype, t->data, at * width + i, width - i < LANES ? width - i : LANES,
                vec_load(from + i) * vec_set(factor));
}

/* Tokens from `first` on that make a chunk. */
static int64_t chunk_length(const Delta *x, int64_t b, int64_t first)
{
    const int32_t *document = x->document ? x->document + b * x->length : NULL;
    int64_t n = 1;
    while (n < TOKENS && first + n < x->length &&
           (!document || document[first + n] == document[first]))
        n++;
    return n;
}

static bool begins_document(const Delta *x, int64_t b, int64_t t)
{
    const int32_t *document = x->document ? x->document + b * x->length : NULL;
    return t == 0 || (document && document[t] != document[t - 1]);
}

/* near(i,j), and how much there is of S at each token, and at the end of each token. */
static void load_decays(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    double sum[TOKENS], y = 0;
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at = head_at(x, b, c->first + i, h);
        sum[i] = y += number_at(x->decay, at);
        c->rate[i] = number_at(x->rate, at);
    }
    for (int64_t i = 0; i < c->n; i++) {
        float *near = c->near + i * TOKENS;
        for (int64_t j = 0; j < TOKENS; j++) near[j] = j <= i ? (float)(sum[i] - sum[j]) : 0;
        for (int64_t j = 0; j <= i; j += LANES)
            vec_store(near + j, vec_exp(vec_max(vec_set(-87), vec_load(near + j))));
        for (int64_t j = i + 1; j < TOKENS; j++) near[j] = 0;
        c->from_begin[i] = (float)exp(sum[i]);
        c->to_end[i] = (float)exp(y - sum[i]);
    }
}

static void load_chunk(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at = head_at(x, b, c->first + i, h);
        load_row(x->q, at / x->n_repeat, x->d, x->scale, c->q + i * x->wide_d);
        load_row(x->k, at / x->n_repeat, x->d, x->key_scale, c->k + i * x->wide_d);
        load_row(x->v, at, x->e, 1, c->u + i * x->wide_e);
    }
    turn(c->k, c->n, x->wide_d, c->turned_k, TOKENS);
    load_decays(x, c, b, h);
}

/* w of rows that are u. */
INLINE void rate_rows(const Delta *x, Chunk *c, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++)
        scale_row(c->u + i * x->wide_e, c->rate[i], x->wide_e, c->w + i * x->wide_e);
}

/* Rows of u become u without what the rows in front of them have corrected, and w. */
static void solve(const Delta *x, Chunk *c)
{
    const int64_t e = x->wide_e;
    for (int64_t first = 0; first < c->n; first += SOLVED) {
        const int64_t end = first + SOLVED < c->n ? first + SOLVED : c->n;
        const Factors f = { c->corrected + first * TOKENS, TOKENS, 1, c->w, e };
        if (first) product(end - first, e, first, &f, true, c->u + first * e, e);
        for (int64_t i = first; i < end; i++) {
            for (int64_t j = first; j < i; j++)
                add_row(c->w + j * e, c->corrected[i * TOKENS + j], e, c->u + i * e);
            rate_rows(x, c, i, i + 1);
        }
    }
}

/* Pairs of a chunk's tokens, times near and a sign. */
INLINE void times_near(const Chunk *c, int64_t columns, float sign, float *pairs)
{
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = i * TOKENS; j < i * TOKENS + columns; j += LANES)
            vec_store(pairs + j, vec_set(sign) * vec_load(c->near + j) * vec_load(pairs + j));
}

/* All that products of one chunk have, but o and S behind it. */
static void correct_chunk(const Delta *x, Chunk *c, int64_t b, int64_t h)
{
    const int64_t d = x->wide_d, e = x->wide_e, columns = whole_vectors(c->n);
    const Factors reads = { c->q, d, 1, c->turned_k, TOKENS },
                  corrections = { c->k, d, 1, c->turned_k, TOKENS },
                  of_state = { c->k, d, 1, c->state, e };
    load_chunk(x, c, b, h);
    product(c->n, columns, d, &reads, false, c->read, TOKENS);
    times_near(c, columns, 1, c->read);
    if (x->adds) {
        rate_rows(x, c, 0, c->n);
        return;
    }
    product(c->n, columns, d, &corrections, false, c->corrected, TOKENS);
    times_near(c, columns, -1, c->corrected);
    if (!c->begins) {
        product(c->n, e, d, &of_state, false, c->some, e);
        for (int64_t i = 0; i < c->n; i++)
            add_row(c->some + i * e, -c->from_begin[i], e, c->u + i * e);
    }
    solve(x, c);
}

static void read_chunk(const Delta *x, Chunk *c)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors of_state = { c->q, d, 1, c->state, e },
                  of_chunk = { c->read, TOKENS, 1, c->w, e };
    if (!c->begins) {
        product(c->n, e, d, &of_state, false, c->o, e);
        for (int64_t i = 0; i < c->n; i++)
            scale_row(c->o + i * e, c->from_begin[i], e, c->o + i * e);
    }
    product(c->n, e, c->n, &of_chunk, !c->begins, c->o, e);
}

/* S in front of the chunk becomes that behind it. */
static void leave_chunk(const Delta *x, Chunk *c)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors f = { c->k, 1, d, c->some, e };
    for (int64_t i = 0; i < c->n; i++) scale_row(c->w + i * e, c->to_end[i], e, c->some + i * e);
    for (int64_t i = 0; i < d && !c->begins; i++)
        scale_row(c->state + i * e, c->from_begin[c->n - 1], e, c->state + i * e);
    product(d, e, c->n, &f, !c->begins, c->state, e);
}

/* All tokens of a head; `begins`: there is nothing in the state. */
static void run_head(const Delta *x, Chunk *c, int64_t b, int64_t h, bool begins, const Tensor *o)
{
    for (c->first = 0; c->first < x->length; c->first += c->n) {
        c->n = chunk_length(x, b, c->first);
        c->begins = c->first ? begins_document(x, b, c->first) : begins;
        correct_chunk(x, c, b, h);
        read_chunk(x, c);
        for (int64_t i = 0; i < c->n; i++)
            store_row(c->o + i * x->wide_e, 1, o, head_at(x, b, c->first + i, h), x->e);
        leave_chunk(x, c);
    }
}

static void forward_task(void *arg, int64_t i, int thread)
{
    const Delta *x = arg;
    const int64_t n_heads = x->n_group * x->n_repeat;
    Room r = { x->scratch + (size_t)thread * x->thread_floats, 0 };
    Chunk c;
    lay_chunk(x, &r, &c);
    run_head(x, &c, i / n_heads, i % n_heads, true, &x->l->out[0]);
}

static size_t chunk_floats(const Delta *x)
{
    Room r = { 0 };
    Chunk c;
    lay_chunk(x, &r, &c);
    return r.n;
}

static int forward(const Launch *l)
{
    Delta x = delta_of(l, l->in, l->n_in);
    x.thread_floats = chunk_floats(&x);
    pool_run(l->stream->pool, x.q->size[0] * x.n_group * x.n_repeat, forward_task, &x);
    return KERNEL_OK;
}

static size_t forward_scratch(const Launch *l, int n_threads)
{
    const Delta x = delta_of(l, l->in, l->n_in);
    return sizeof(float) * (size_t)n_threads * chunk_floats(&x);
}

/* ---- a text that is continued ---- */

static void cached_task(void *arg, int64_t task, int thread)
{
    const Delta *x = arg;
    const Launch *l = x->l;
    const int64_t n_heads = x->n_group * x->n_repeat, b = task / n_heads;
    const float *kept = (const float *)l->in[0].data + task * x->d * x->e;
    float *to = (float *)l->out[0].data + task * x->d * x->e;
    const bool begins = row_position(l->now, b) == 0;
    Room r = { x->scratch + (size_t)thread * x->thread_floats, 0 };
    Chunk c;
    lay_chunk(x, &r, &c);
    memset(c.state, 0, sizeof(float) * (size_t)(x->wide_d * x->wide_e));
    for (int64_t i = 0; i < x->d && !begins; i++)
        memcpy(c.state + i * x->wide_e, kept + i * x->e, sizeof(float) * (size_t)x->e);
    if (to != kept) memcpy(to, kept, sizeof(float) * (size_t)(x->d * x->e));
    run_head(x, &c, b, task % n_heads, begins, &l->out[1]);
    for (int64_t i = 0; i < x->d && !row_waits(l->now, b); i++)
        memcpy(to + i * x->e, c.state + i * x->wide_e, sizeof(float) * (size_t)x->e);
}

static int cached(const Launch *l)
{
    Delta x = delta_of(l, l->in + 1, l->n_in - 1);
    x.thread_floats = chunk_floats(&x);
    pool_run(l->stream->pool, x.q->size[0] * x.n_group * x.n_repeat, cached_task, &x);
    return KERNEL_OK;
}

static size_t cached_scratch(const Launch *l, int n_threads)
{
    const Delta x = delta_of(l, l->in + 1, l->n_in - 1);
    return sizeof(float) * (size_t)n_threads * chunk_floats(&x);
}

/* ---- backwards ---- */

/* S in front of each chunk that goes on with its document. Returns the number of chunks. */
static int64_t keep_states(const Delta *x, Chunk *c, Back *back, int64_t b, int64_t h)
{
    const int64_t size = x->wide_d * x->wide_e;
    int64_t n_chunks = 0, n_kept = 0;
    for (c->first = 0; c->first < x->length; c->first += c->n) {
        c->n = chunk_length(x, b, c->first);
        c->begins = begins_document(x, b, c->first);
        back->firsts[n_chunks++] = (int32_t)c->first;
        if (!c->begins)
            memcpy(back->states + n_kept++ * size, c->state, sizeof(float) * (size_t)size);
        if (c->first + c->n == x->length) break; /* nobody asks what is behind the last one */
        correct_chunk(x, c, b, h);
        leave_chunk(x, c);
    }
    return n_chunks;
}

/* Of corrections; du becomes that of v, and rates get theirs. */
static void solve_back(const Delta *x, const Chunk *c, const Back *back, int64_t b, int64_t h)
{
    const int64_t e = x->wide_e;
    const Tensor *drate = &x->l->out[4];
    for (int64_t first = (c->n - 1) / SOLVED * SOLVED; first >= 0; first -= SOLVED) {
        const int64_t end = first + SOLVED < c->n ? first + SOLVED : c->n;
        const Factors f = { c->corrected + end * TOKENS + first, 1, TOKENS, back->du + end * e, e };
        if (end < c->n && !x->adds)
            product(end - first, e, c->n - end, &f, true, back->du + first * e, e);
        for (int64_t i = end - 1; i >= first; i--) {
            float *du = back->du + i * e;
            for (int64_t j = i + 1; j < end && !x->adds; j++)
                add_row(back->du + j * e, c->corrected[j * TOKENS + i], e, du);
            vec_put(drate->dtype, drate->data, head_at(x, b, c->first + i, h), 1,
                    vec_set(vec_sum(dot_rows(du, c->u + i * e, e))));
            scale_row(du, c->rate[i], e, du);
        }
    }
}

/* Of values, from those of what was read and of S behind the chunk. */
static void values_back(const Delta *x, const Chunk *c, const Back *back, int64_t b, int64_t h)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors of_read = { c->read, 1, TOKENS, back->dout, e },
                  of_state = { c->k, d, 1, back->dstate, e };
    for (int64_t i = 0; i < c->n; i++)
        load_row(&x->l->in[x->l->n_in - 1], head_at(x, b, c->first + i, h), x->e, 1,
                 back->dout + i * e);
    product(c->n, e, c->n, &of_read, false, back->du, e);
    if (!back->ends) {
        product(c->n, e, d, &of_state, false, back->more, e);
        for (int64_t i = 0; i < c->n; i++)
            add_row(back->more + i * e, c->to_end[i], e, back->du + i * e);
    }
    solve_back(x, c, back, b, h);
    for (int64_t i = 0; i < c->n; i++)
        store_row(back->du + i * e, 1, &x->l->out[2], head_at(x, b, c->first + i, h), x->e);
}

/* Of queries and keys, from what they are within the chunk. */
static void pairs_back(const Delta *x, const Chunk *c, const Back *back)
{
    const int64_t d = x->wide_d, e = x->wide_e, columns = whole_vectors(c->n);
    const Factors reads = { back->dout, e, 1, back->turned_w, TOKENS },
                  corrections = { back->du, e, 1, back->turned_w, TOKENS },
                  of_q = { back->dread, TOKENS, 1, c->k, d },
                  of_read_k = { back->dread, 1, TOKENS, c->q, d },
                  of_later = { back->dcorrected, TOKENS, 1, c->k, d },
                  of_former = { back->dcorrected, 1, TOKENS, c->k, d };
    turn(c->w, c->n, e, back->turned_w, TOKENS);
    product(c->n, columns, e, &reads, false, back->dread, TOKENS);
    times_near(c, columns, 1, back->dread);
    product(c->n, d, c->n, &of_q, false, back->dq, d);
    product(c->n, d, c->n, &of_read_k, false, back->former, d);
    if (x->adds) {
        memset(back->later, 0, sizeof(float) * (size_t)(c->n * d));
        return;
    }
    product(c->n, columns, e, &corrections, false, back->dcorrected, TOKENS);
    times_near(c, columns, -1, back->dcorrected);
    for (int64_t i = 0; i < c->n; i++) /* a token does not correct itself */
        back->dcorrected[i * TOKENS + i] = 0;
    product(c->n, d, c->n, &of_former, true, back->former, d);
    product(c->n, d, c->n, &of_later, false, back->later, d);
}

/* Of keys as S behind the chunk has them. */
static void end_back(const Delta *x, const Chunk *c, const Back *back)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors f = { back->more, e, 1, back->turned_state, d };
    turn(back->dstate, d, e, back->turned_state, d);
    for (int64_t i = 0; i < c->n; i++) scale_row(c->w + i * e, c->to_end[i], e, back->more + i * e);
    product(c->n, d, e, &f, true, back->former, d);
}

/* Of queries and keys that read S in front of the chunk, and of that S. */
static void begin_back(const Delta *x, const Chunk *c, Back *back)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors of_q = { back->more, e, 1, back->turned_state, d },
                  of_k = { back->du, e, 1, back->turned_state, d },
                  q_of_state = { c->q, 1, d, back->more, e },
                  k_of_state = { c->k, 1, d, back->du, e };
    turn(c->state, d, e, back->turned_state, d);
    for (int64_t i = 0; i < c->n; i++) {
        scale_row(back->dout + i * e, c->from_begin[i], e, back->more + i * e);
        scale_row(back->du + i * e, -c->from_begin[i], e, back->du + i * e);
    }
    product(c->n, d, e, &of_q, true, back->dq, d);
    if (!x->adds) product(c->n, d, e, &of_k, true, back->later, d);
    for (int64_t i = 0; i < d && !back->ends; i++)
        scale_row(back->dstate + i * e, c->from_begin[c->n - 1], e, back->dstate + i * e);
    product(d, e, c->n, &q_of_state, !back->ends, back->dstate, e);
    if (!x->adds) product(d, e, c->n, &k_of_state, true, back->dstate, e);
}

/* `sum`: of the gradient of S behind the chunk times that S. */
static void decays_back(const Delta *x, const Chunk *c, const Back *back, double sum, int64_t b,
                        int64_t h)
{
    const int64_t d = x->wide_d;
    const Tensor *ddecay = &x->l->out[3];
    for (int64_t i = c->n - 1; i >= 0; i--) {
        const float *k = c->k + i * d;
        sum += vec_sum(dot_rows(c->q + i * d, back->dq + i * d, d) +
                       dot_rows(k, back->later + i * d, d) - dot_rows(k, back->former + i * d, d));
        vec_put(ddecay->dtype, ddecay->data, head_at(x, b, c->first + i, h), 1,
                vec_set((float)sum));
    }
}

static double product_sum(const float *x, const float *y, int64_t rows, int64_t width)
{
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += vec_sum(dot_rows(x + i * width, y + i * width, width));
    return sum;
}

static void head_back(const Delta *x, Chunk *c, Back *back, int64_t b, int64_t h)
{
    const int64_t size = x->wide_d * x->wide_e;
    const int64_t n_chunks = keep_states(x, c, back, b, h);
    float *behind = NULL, *states = back->states;
    for (int64_t i = 0; i < n_chunks; i++)
        states += begins_document(x, b, back->firsts[i]) ? 0 : size;
    float *own = c->state;
    back->ends = true;
    for (int64_t k = n_chunks - 1; k >= 0; k--) {
        c->first = back->firsts[k];
        c->n = chunk_length(x, b, c->first);
        c->begins = begins_document(x, b, c->first);
        if (!c->begins) c->state = states -= size;
        correct_chunk(x, c, b, h);
        values_back(x, c, back, b, h);
        pairs_back(x, c, back);
        double sum = 0;
        if (!back->ends) {
            end_back(x, c, back);
            sum = product_sum(back->dstate, behind, x->wide_d, x->wide_e);
        }
        if (!c->begins) begin_back(x, c, back);
        decays_back(x, c, back, sum, b, h);
        for (int64_t i = 0; i < c->n; i++) {
            const int64_t row = i * x->wide_d, to = (c->first + i) * x->wide_d;
            add_row(back->dq + row, x->scale, x->wide_d, back->all_dq + to);
            add_row(back->later + row, x->key_scale, x->wide_d, back->all_dk + to);
            add_row(back->former + row, x->key_scale, x->wide_d, back->all_dk + to);
        }
        back->ends = c->begins;
        behind = c->begins ? NULL : c->state;
    }
    c->state = own;
}

static void backward_task(void *arg, int64_t task, int thread)
{
    const Delta *x = arg;
    const int64_t b = task / x->n_group, group = task % x->n_group;
    Room r = { x->scratch + (size_t)thread * x->thread_floats, 0 };
    Chunk c;
    Back back;
    lay_chunk(x, &r, &c);
    lay_back(x, &r, &back);
    memset(back.all_dq, 0, sizeof(float) * (size_t)(x->length * x->wide_d));
    memset(back.all_dk, 0, sizeof(float) * (size_t)(x->length * x->wide_d));
    for (int64_t i = 0; i < x->n_repeat; i++) head_back(x, &c, &back, b, group * x->n_repeat + i);
    for (int64_t t = 0; t < x->length; t++) {
        const int64_t at = (b * x->length + t) * x->n_group + group;
        store_row(back.all_dq + t * x->wide_d, 1, &x->l->out[0], at, x->d);
        store_row(back.all_dk + t * x->wide_d, 1, &x->l->out[1], at, x->d);
    }
}

static size_t back_floats(const Delta *x)
{
    Room r = { 0 };
    Chunk c;
    Back back;
    lay_chunk(x, &r, &c);
    lay_back(x, &r, &back);
    return r.n;
}

static int backward(const Launch *l)
{
    Delta x = delta_of(l, l->in, l->n_in - 1);
    x.thread_floats = back_floats(&x);
    pool_run(l->stream->pool, x.q->size[0] * x.n_group, backward_task, &x);
    return KERNEL_OK;
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    const Delta x = delta_of(l, l->in, l->n_in - 1);
    return sizeof(float) * (size_t)n_threads * back_floats(&x);
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "gated_delta", "cpu", "any any any any any>any", LEVEL, forward, forward_scratch, floats_fit },
    { "gated_delta", "cpu", "any any any any any i32>any", LEVEL, forward, forward_scratch, floats_fit },
    { "gated_delta_grad", "cpu", "any any any any any any>any any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { "gated_delta_grad", "cpu", "any any any any any i32 any>any any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { "gated_delta_cached", "cpu", "f32 any any any any any>f32 any", LEVEL, cached, cached_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
