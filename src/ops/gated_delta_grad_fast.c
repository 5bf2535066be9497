/* gated_delta_grad_fast.c - gradients of the gated delta rule, chunk by chunk from the last one. */
#include "ops/gated_delta_chunks.h"

/* What the backward pass needs beside it. */
typedef struct Back {
    float *dout, *du;           /* of width wide_e; du is negative as soon as it is given */
    float *turned_w;            /* [wide_e][TOKENS] */
    float *dread, *dcorrected;  /* [TOKENS][TOKENS], of q(i) k(j) and of k(i) k(j) */
    float *dq, *later, *former; /* of width wide_d; keys as those of i, and as those of j */
    float *sum;                 /* [wide_d]: gradient of a decay in each row of S */
    float *turned_state;        /* [wide_e][wide_d] */
    float *dstate;              /* [wide_d][wide_e] */
    bool ends;                  /* dstate is 0 */
    float *states;              /* in front of the chunks that go on with a document */
    float *all_dq, *all_dk;     /* [length][wide_d], summed over the heads of a group */
    int32_t *firsts;            /* of the chunks */
} Back;

static void lay_back(const Delta *x, Room *r, Back *b)
{
    float **of_keys[] = { &b->dq, &b->later, &b->former };
    float **of_values[] = { &b->dout, &b->du, &b->turned_w };
    for (int i = 0; i < 3; i++) *of_keys[i] = take(r, TOKENS * x->wide_d);
    for (int i = 0; i < 3; i++) *of_values[i] = take(r, TOKENS * x->wide_e);
    b->sum = take(r, x->wide_d);
    b->dread = take(r, TOKENS * TOKENS);
    b->dcorrected = take(r, TOKENS * TOKENS);
    b->turned_state = take(r, x->wide_d * x->wide_e);
    b->dstate = take(r, x->wide_d * x->wide_e);
    b->states = take(r, (x->length / TOKENS + 1) * x->wide_d * x->wide_e);
    b->all_dq = take(r, x->length * x->wide_d);
    b->all_dk = take(r, x->length * x->wide_d);
    b->firsts = (int32_t *)take(r, x->length);
}

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
                  of_state = { c->end_k, d, 1, back->dstate, e };
    for (int64_t i = 0; i < c->n; i++)
        load_row(&x->l->in[x->l->n_in - 1], head_at(x, b, c->first + i, h), x->e, 1,
                 back->dout + i * e);
    product(c->n, e, c->n, &of_read, false, back->du, e);
    if (!back->ends) product(c->n, e, d, &of_state, true, back->du, e);
    solve_back(x, c, back, b, h);
    for (int64_t i = 0; i < c->n; i++) {
        store_row(back->du + i * e, 1, &x->l->out[2], head_at(x, b, c->first + i, h), x->e);
        scale_row(back->du + i * e, -1, e, back->du + i * e);
    }
}

/* Of queries and keys that read S in front of the chunk, and of keys as S behind it has them, but
 * for what fades in between; of pairs of tokens, likewise. */
static void start_back(const Delta *x, const Chunk *c, const Back *back)
{
    const int64_t d = x->wide_d, e = x->wide_e, columns = whole_vectors(c->n);
    const size_t bytes = sizeof(float) * (size_t)(c->n * d);
    const Factors of_q = { back->dout, e, 1, back->turned_state, d },
                  of_later = { back->du, e, 1, back->turned_state, d },
                  of_former = { c->w, e, 1, back->turned_state, d },
                  reads = { back->dout, e, 1, back->turned_w, TOKENS },
                  corrections = { back->du, e, 1, back->turned_w, TOKENS };
    memset(back->dq, 0, bytes);
    memset(back->later, 0, bytes);
    memset(back->former, 0, bytes);
    if (!c->begins) {
        turn(c->state, d, e, back->turned_state, d);
        product(c->n, d, e, &of_q, false, back->dq, d);
        if (!x->adds) product(c->n, d, e, &of_later, false, back->later, d);
    }
    if (!back->ends) {
        turn(back->dstate, d, e, back->turned_state, d);
        product(c->n, d, e, &of_former, false, back->former, d);
    }
    turn(c->w, c->n, e, back->turned_w, TOKENS);
    product(c->n, columns, e, &reads, false, back->dread, TOKENS);
    if (!x->adds) product(c->n, columns, e, &corrections, false, back->dcorrected, TOKENS);
}

/* Of queries and keys of a head that fades as a whole. */
static void pairs_of_head_back(const Delta *x, const Chunk *c, const Back *back)
{
    const int64_t d = x->wide_d, columns = whole_vectors(c->n);
    const Factors of_q = { back->dread, TOKENS, 1, c->k, d },
                  of_read_k = { back->dread, 1, TOKENS, c->q, d },
                  of_later = { back->dcorrected, TOKENS, 1, c->k, d },
                  of_former = { back->dcorrected, 1, TOKENS, c->k, d };
    for (int64_t i = 0; i < c->n; i++) {
        scale_row(back->dq + i * d, c->from_begin[i], d, back->dq + i * d);
        scale_row(back->later + i * d, c->from_begin[i], d, back->later + i * d);
        scale_row(back->former + i * d, c->to_end[i], d, back->former + i * d);
    }
    times_near(c, columns, 1, back->dread);
    product(c->n, d, c->n, &of_q, true, back->dq, d);
    product(c->n, d, c->n, &of_read_k, true, back->former, d);
    if (x->adds) return;
    times_near(c, columns, 1, back->dcorrected);
    for (int64_t i = 0; i < c->n; i++) /* a token does not correct itself */
        back->dcorrected[i * TOKENS + i] = 0;
    product(c->n, d, c->n, &of_former, true, back->former, d);
    product(c->n, d, c->n, &of_later, true, back->later, d);
}

/* Within a block; what `former` has is that of keys behind the block. */
static void pairs_of_block_back(const Delta *x, const Chunk *c, const Back *back, int64_t first)
{
    const int64_t d = x->wide_d, end = block_end(c, first);
    for (int64_t f = 0; f < d; f += LANES)
        for (int64_t j = first; j < end; j++) {
            const Vec k = vec_load(c->k + j * d + f);
            Vec left = vec_set(1), sum = vec_set(0);
            for (int64_t i = j; i < end; i++) {
                const int64_t at = i * d + f;
                const Vec of_read = vec_set(back->dread[i * TOKENS + j]);
                if (i > j) left = faded(left, vec_load(c->keep + at));
                Vec of_later = of_read * vec_load(c->q + at);
                vec_store(back->dq + at, vec_fma(of_read, k * left, vec_load(back->dq + at)));
                if (i > j && !x->adds) {
                    const Vec of_pair = vec_set(back->dcorrected[i * TOKENS + j]);
                    of_later = vec_fma(of_pair, vec_load(c->k + at), of_later);
                    vec_store(back->later + at,
                              vec_fma(of_pair, k * left, vec_load(back->later + at)));
                }
                sum = vec_fma(left, of_later, sum);
            }
            float *former = back->former + j * d + f;
            vec_store(former, vec_fma(left, vec_load(former), sum));
        }
}

/* Of queries and keys where each row of S fades by itself: those of tokens behind others, block by
 * block, and then those of the others, from the last block on. Uses up begin_q, begin_k, end_k. */
static void pairs_by_row_back(const Delta *x, Chunk *c, const Back *back)
{
    const int64_t d = x->wide_d;
    fill_row(c->whole, 1, d);
    for (int64_t first = 0; first < c->n; first += BLOCK) {
        const int64_t end = block_end(c, first), rows = end - first;
        float *of_pass[] = { back->dq, back->later };
        enter_block(x, c, first);
        for (int pass = 0; pass < 2 - x->adds; pass++) {
            const float *pairs = pass ? back->dcorrected : back->dread;
            const Factors front = { pairs + first * TOKENS, TOKENS, 1, c->end_k, d };
            float *to = of_pass[pass] + first * d;
            for (int64_t i = 0; i < rows; i++) fade_row(to + i * d, c->whole, d);
            product(rows, d, first, &front, true, to, d);
            for (int64_t f = 0; f < d; f += LANES) {
                Vec left = vec_set(1);
                for (int64_t i = 0; i < rows; i++) {
                    left = faded(left, vec_load(c->keep + (first + i) * d + f));
                    vec_store(to + i * d + f, vec_load(to + i * d + f) * left);
                }
            }
        }
        leave_block(x, c, first);
        fade_row(c->whole, c->block, d);
    }
    for (int64_t first = (c->n - 1) / BLOCK * BLOCK; first >= 0; first -= BLOCK) {
        const int64_t rows = block_end(c, first) - first;
        const Factors of_q = { back->dread + first * TOKENS, 1, TOKENS, c->begin_q + first * d, d },
                      of_k = { back->dcorrected + first * TOKENS, 1, TOKENS, c->begin_k + first * d,
                               d };
        pairs_of_block_back(x, c, back, first);
        fill_row(c->block, 1, d);
        for (int64_t i = 0; i < rows; i++) fade_row(c->block, c->keep + (first + i) * d, d);
        for (int64_t j = 0; j < first; j++) fade_row(back->former + j * d, c->block, d);
        product(first, d, rows, &of_q, true, back->former, d);
        if (!x->adds) product(first, d, rows, &of_k, true, back->former, d);
    }
}

/* Of decays, from those of S behind the chunk times that S. */
static void sums_back(const Delta *x, const Back *back, const float *behind)
{
    const int64_t e = x->wide_e;
    for (int64_t f = 0; f < x->wide_d; f++)
        back->sum[f] = back->ends ? 0 : vec_sum(dot_rows(back->dstate + f * e, behind + f * e, e));
}

/* Of S in front of the chunk, from that behind it. */
static void state_back(const Delta *x, const Chunk *c, const Back *back)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors of_q = { c->begin_q, 1, d, back->dout, e },
                  of_k = { c->begin_k, 1, d, back->du, e };
    for (int64_t i = 0; i < d && !back->ends; i++)
        scale_row(back->dstate + i * e, c->whole[i], e, back->dstate + i * e);
    product(d, e, c->n, &of_q, !back->ends, back->dstate, e);
    if (!x->adds) product(d, e, c->n, &of_k, true, back->dstate, e);
}

static void decays_back(const Delta *x, const Chunk *c, const Back *back, int64_t b, int64_t h)
{
    const int64_t d = x->wide_d;
    const Tensor *ddecay = &x->l->out[3];
    double all = 0;
    for (int64_t f = 0; f < d; f++) all += back->sum[f];
    for (int64_t i = c->n - 1; i >= 0; i--) {
        const int64_t at = head_at(x, b, c->first + i, h);
        const float *q = c->q + i * d, *k = c->k + i * d, *dq = back->dq + i * d,
                    *later = back->later + i * d, *former = back->former + i * d;
        Vec sum = vec_set(0);
        for (int64_t f = 0; f < d; f += LANES) {
            const Vec of_keys = vec_load(later + f) - vec_load(former + f),
                      own = vec_fma(vec_load(q + f), vec_load(dq + f), vec_load(k + f) * of_keys);
            vec_store(back->sum + f, vec_load(back->sum + f) + own);
            sum += own;
        }
        all += vec_sum(sum);
        if (x->by_row)
            store_row(back->sum, 1, ddecay, at, x->d);
        else
            vec_put(ddecay->dtype, ddecay->data, at, 1, vec_set((float)all));
    }
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
        start_back(x, c, back);
        sums_back(x, back, behind);
        if (!c->begins) state_back(x, c, back);
        if (x->by_row)
            pairs_by_row_back(x, c, back);
        else
            pairs_of_head_back(x, c, back);
        decays_back(x, c, back, b, h);
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
    { "gated_delta_grad", "cpu", "any any any any any any>any any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { "gated_delta_grad", "cpu", "any any any any any i32 any>any any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
