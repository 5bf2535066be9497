/* gated_delta_grad_fast.c - gradients of the gated delta rule, chunk by chunk from the last one. */
#include "ops/gated_delta_chunks.h"

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
    { "gated_delta_grad", "cpu", "any any any any any any>any any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { "gated_delta_grad", "cpu", "any any any any any i32 any>any any any any any", LEVEL, backward, backward_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
