/* selective_scan_grad_fast.c - gradients of the selective scan. A first walk keeps the states in
 * front of chunks of tokens; the second one, from the last chunk, makes those within a chunk again.
 * What all features share gets sums of groups of features, which are then added up in order. */
#include "ops/selective_scan_tokens.h"

/* Tokens of a chunk; features of a task; tokens, and features, of a task that adds up. */
enum { TOKENS = 16, GROUP = 64, BLOCKS = GROUP / LANES, SUMMED = 64 };

/* Of LANES features: numbers as in Features. */
typedef struct Strip {
    Features f;
    float *starts;         /* [chunks][wide_n]: states in front of chunks */
    float *dstate, *dfade; /* dfade: of the logarithm of -fade */
    Vec dbias, dskip;
} Strip;

/* Of a thread. */
typedef struct Back {
    Strip strip[BLOCKS];
    int n_strips;
    float *states;      /* [TOKENS + 1][wide_n]: in front of a token, and behind the last */
    float *in, *out;    /* [TOKENS][wide_n] numbers that features share */
    const int32_t *row; /* of the chunk's tokens, as in Sums */
    float *din, *dout;  /* [TOKENS][wide_n] vectors, summed over the strips */
} Back;

/* The rows of a sequence's tokens among the rank's own, -1 of others, and where results of tasks
 * lie in front of the rooms of threads: of each text and group [length][2][n] of what features
 * share, and of each text [n + 2][features, padded]. */
typedef struct Sums {
    int32_t *row;
    float *shared, *of_features;
    int64_t groups, wide_c;
} Sums;

typedef struct Work {
    Scan s;
    Sums sums;
} Work;

static int64_t chunks_of(const Scan *s)
{
    return chunk_count(s->length, TOKENS);
}

static size_t thread_floats(const Scan *s)
{
    const int64_t vectors = s->wide_n * (BLOCKS * (4 + chunks_of(s)) + 3 * TOKENS + 1);
    return (size_t)(vectors * LANES + 2 * TOKENS * s->wide_n);
}

static float *take(float **room, int64_t n)
{
    float *taken = *room;
    *room += n;
    return taken;
}

static void lay_back(const Scan *s, int64_t group, float *room, Back *b)
{
    const int64_t size = s->wide_n * LANES;
    const Range r = chunk(s->blocks, BLOCKS, group);
    b->n_strips = (int)(r.to - r.from);
    for (int i = 0; i < b->n_strips; i++) {
        Strip *p = &b->strip[i];
        float *fade = take(&room, size), *state = take(&room, size);
        p->f = features_of(s, r.from + i, fade, state);
        p->dstate = take(&room, size);
        p->dfade = take(&room, size);
        p->starts = take(&room, chunks_of(s) * size);
        memset(p->dstate, 0, 2 * sizeof(float) * (size_t)size);
        p->dbias = p->dskip = vec_set(0);
    }
    b->states = take(&room, (TOKENS + 1) * size);
    b->din = take(&room, TOKENS * size);
    b->dout = take(&room, TOKENS * size);
    b->in = take(&room, TOKENS * s->wide_n);
    b->out = take(&room, TOKENS * s->wide_n);
}

static void load_chunk(const Scan *s, const Back *b, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        load_shared(s, s->in, first + i, b->in + i * s->wide_n);
        load_shared(s, s->out, first + i, b->out + i * s->wide_n);
    }
}

/* States in front of all chunks of a text, whose first token is `first`. */
static void keep_starts(const Scan *s, const Back *b, int64_t first)
{
    const int64_t size = s->wide_n * LANES;
    for (int64_t c = 0; c < chunks_of(s); c++) {
        const Range r = chunk(s->length, TOKENS, c);
        load_chunk(s, b, first + r.from, r.to - r.from);
        for (int i = 0; i < b->n_strips; i++) {
            const Strip *p = &b->strip[i];
            memcpy(p->starts + c * size, p->f.state, sizeof(float) * (size_t)size);
            for (int64_t t = first + r.from; t < first + r.to && r.to < s->length; t++) {
                const Token k = token_of(s, &p->f, t);
                take_step(s, &p->f, &k, begins_text(s, t), b->in + (t - first - r.from) * s->wide_n,
                          p->f.state, p->f.state);
            }
        }
    }
}

/* What a token adds to the gradients of u and dt. */
typedef struct TokenGrad {
    Vec u, dt;
} TokenGrad;

/* Token i of a chunk, from the gradient of the state behind it to that in front of it. */
static TokenGrad token_back(const Scan *s, const Back *b, const Strip *p, const Token *k, int64_t i,
                            bool begins, Vec dy)
{
    const int64_t size = s->wide_n * LANES;
    const float *in = b->in + i * s->wide_n, *out = b->out + i * s->wide_n,
                *before = b->states + i * size;
    const Vec own_dt = b->row[i] < 0 ? vec_set(0) : k->dt;
    TokenGrad g = { vec_set(0), vec_set(0) };
    for (int64_t j = 0; j < s->wide_n; j += IN_STEP) {
        Vec keep[IN_STEP];
        keep_of(&p->f, k, j, keep);
#pragma GCC unroll 4
        for (int m = 0; m < IN_STEP; m++) {
            const int64_t at = (j + m) * LANES, of_token = i * size + at;
            const Vec behind = vec_get(F32, before, size + at, LANES),
                      fade = vec_get(F32, p->f.fade, at, LANES),
                      d = vec_fma(dy, vec_set(out[j + m]), vec_get(F32, p->dstate, at, LANES)),
                      left = begins ? vec_set(0) : d * keep[m],
                      faded = begins ? left : left * fade * vec_get(F32, before, at, LANES);
            vec_put(F32, b->dout, of_token, LANES,
                    vec_fma(dy, behind, vec_get(F32, b->dout, of_token, LANES)));
            vec_put(F32, b->din, of_token, LANES,
                    vec_fma(d, k->u, vec_get(F32, b->din, of_token, LANES)));
            vec_put(F32, p->dfade, at, LANES,
                    vec_fma(faded, own_dt, vec_get(F32, p->dfade, at, LANES)));
            vec_put(F32, p->dstate, at, LANES, left);
            g.u = vec_fma(d, vec_set(in[j + m]), g.u);
            g.dt += faded;
        }
    }
    return g;
}

/* Tokens [first, first + n) of some features; `start` is the state in front of them. */
static void chunk_back(const Scan *s, const Back *b, Strip *p, int64_t first, int64_t n,
                       const float *start)
{
    const Launch *l = s->l;
    const Tensor *dy = &l->in[l->n_in - 1], *dstep = &l->out[0], *dx = &l->out[1];
    const int64_t size = s->wide_n * LANES;
    Token k[TOKENS];
    memcpy(b->states, start, sizeof(float) * (size_t)size);
    for (int64_t i = 0; i < n; i++) {
        k[i] = token_of(s, &p->f, first + i);
        take_step(s, &p->f, &k[i], begins_text(s, first + i), b->in + i * s->wide_n,
                  b->states + i * size, b->states + (i + 1) * size);
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        const int64_t at = (first + i) * s->c + p->f.first;
        const Vec d = vec_get(dy->dtype, dy->data, at, p->f.count);
        const TokenGrad g = token_back(s, b, p, &k[i], i, begins_text(s, first + i), d);
        const Vec of_step = vec_fma(k[i].x, g.u, g.dt) * k[i].slope;
        const int64_t to = (first / s->length * dx->size[1] + b->row[i]) * s->c + p->f.first;
        if (b->row[i] < 0) continue;
        vec_put(dx->dtype, dx->data, to, p->f.count, vec_fma(k[i].dt, g.u, p->f.skip * d));
        vec_put(dstep->dtype, dstep->data, to, p->f.count, of_step);
        p->dskip = vec_fma(d, k[i].x, p->dskip);
        p->dbias += of_step;
    }
}

/* Sums over the features of the group. */
static void store_shared(const Scan *s, const Back *b, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < s->n; j++) {
            const int64_t at = (i * s->wide_n + j) * LANES;
            to[2 * i * s->n + j] = vec_sum(vec_get(F32, b->din, at, LANES));
            to[(2 * i + 1) * s->n + j] = vec_sum(vec_get(F32, b->dout, at, LANES));
        }
}

static void store_own(const Scan *s, const Strip *p, int64_t wide_c, float *to)
{
    to += p->f.first;
    for (int64_t j = 0; j < s->n; j++)
        vec_put(F32, to, j * wide_c, LANES, vec_get(F32, p->dfade, j * LANES, LANES));
    vec_put(F32, to, s->n * wide_c, LANES, p->dbias);
    vec_put(F32, to, (s->n + 1) * wide_c, LANES, p->dskip);
}

static void grad_task(void *arg, int64_t task, int thread)
{
    const Work *w = arg;
    const Scan *s = &w->s;
    const int64_t text = task / w->sums.groups, first = text * s->length, size = s->wide_n * LANES;
    float *shared = w->sums.shared + task * s->length * 2 * s->n;
    Back b;
    lay_back(s, task % w->sums.groups, s->scratch + (size_t)thread * thread_floats(s), &b);
    keep_starts(s, &b, first);
    for (int64_t c = chunks_of(s) - 1; c >= 0; c--) {
        const Range r = chunk(s->length, TOKENS, c);
        load_chunk(s, &b, first + r.from, r.to - r.from);
        memset(b.din, 0, 2 * sizeof(float) * (size_t)(TOKENS * size)); /* and dout */
        b.row = w->sums.row + r.from;
        for (int i = 0; i < b.n_strips; i++)
            chunk_back(s, &b, &b.strip[i], first + r.from, r.to - r.from,
                       b.strip[i].starts + c * size);
        store_shared(s, &b, r.to - r.from, shared + r.from * 2 * s->n);
    }
    for (int i = 0; i < b.n_strips; i++)
        store_own(s, &b.strip[i], w->sums.wide_c,
                  w->sums.of_features + text * (s->n + 2) * w->sums.wide_c);
}

/* What token t gets for the k-th of the two, over the groups. */
static void store_sum(const Work *w, int64_t t, int64_t k)
{
    const Scan *s = &w->s;
    const Tensor *to = &s->l->out[2 + k];
    const int64_t text = t / s->length, own = w->sums.row[t % s->length],
                  first = text * w->sums.groups * s->length + t % s->length;
    if (own < 0) return;
    for (int64_t j = 0; j < s->n; j += LANES) {
        const int64_t n = s->n - j < LANES ? s->n - j : LANES;
        Vec sum = vec_set(0);
        for (int64_t g = 0; g < w->sums.groups; g++) {
            const int64_t row = 2 * (first + g * s->length) + k;
            sum += vec_get(F32, w->sums.shared, row * s->n + j, n);
        }
        vec_put(to->dtype, to->data, (text * to->size[1] + own) * s->n + j, n, sum);
    }
}

static void shared_task(void *arg, int64_t task, int thread)
{
    const Work *w = arg;
    const Range r = chunk(w->s.n_text * w->s.length, SUMMED, task);
    (void)thread;
    for (int64_t t = r.from; t < r.to; t++)
        for (int64_t k = 0; k < 2; k++) store_sum(w, t, k);
}

/* Of features, over the texts. */
static void own_task(void *arg, int64_t task, int thread)
{
    const Work *w = arg;
    const Scan *s = &w->s;
    const Range r = chunk(s->c, SUMMED, task);
    (void)thread;
    for (int64_t j = 0; j < s->n + 2; j++)
        for (int64_t c = r.from; c < r.to; c++) {
            const Tensor *to = &s->l->out[j < s->n ? 4 : j == s->n ? 5 : 6];
            double sum = 0;
            for (int64_t b = 0; b < s->n_text; b++)
                sum += w->sums.of_features[(b * (s->n + 2) + j) * w->sums.wide_c + c];
            vec_put(to->dtype, to->data, j < s->n ? c * s->n + j : c, 1, vec_set((float)sum));
        }
}

static size_t sums_floats(const Work *w)
{
    const Scan *s = &w->s;
    return (size_t)(s->length + s->n_text * (w->sums.groups * s->length * 2 * s->n +
                                             (s->n + 2) * w->sums.wide_c));
}

static Work work_of(const Launch *l)
{
    Work w = { .s = scan_of(l, l->in, l->n_in > N_OPERANDS + 2) };
    w.sums = (Sums){ .groups = chunk_count(w.s.blocks, BLOCKS), .wide_c = w.s.blocks * LANES };
    return w;
}

/* Rows that are padding are zeros. */
static void find_rows(const Work *w)
{
    const Launch *l = w->s.l;
    const Tensor *own = &l->in[l->n_in - 2];
    for (int64_t t = 0; t < w->s.length; t++) w->sums.row[t] = -1;
    for (int64_t i = 0; i < own->size[1]; i++) {
        const int64_t t = global_index(own, 1, i);
        if (t < w->s.length) w->sums.row[t] = (int32_t)i;
    }
    for (int k = 0; k < 4 && own->size[1] != w->s.length; k++)
        memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
}

static int backward(const Launch *l)
{
    Work w = work_of(l);
    Scan *s = &w.s;
    w.sums.row = l->scratch;
    w.sums.shared = (float *)l->scratch + s->length;
    w.sums.of_features = w.sums.shared + s->n_text * w.sums.groups * s->length * 2 * s->n;
    s->scratch = (float *)l->scratch + sums_floats(&w);
    find_rows(&w);
    pool_run(l->stream->pool, s->n_text * w.sums.groups, grad_task, &w);
    pool_run(l->stream->pool, chunk_count(s->n_text * s->length, SUMMED), shared_task, &w);
    pool_run(l->stream->pool, chunk_count(s->c, SUMMED), own_task, &w);
    return KERNEL_OK;
}

static size_t backward_scratch(const Launch *l, int n_threads)
{
    const Work w = work_of(l);
    return sizeof(float) * (sums_floats(&w) + (size_t)n_threads * thread_floats(&w.s));
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "selective_scan_grad", "cpu", "any any any any any any any any any>any any any any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { "selective_scan_grad", "cpu", "any any any any any any any i32 any any>any any any any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
