/* gated_delta_fast.c - what queries read by the gated delta rule, of whole texts and of texts that
 * are continued. */
#include "ops/gated_delta_chunks.h"

static void read_chunk(const Delta *x, Chunk *c)
{
    const int64_t d = x->wide_d, e = x->wide_e;
    const Factors of_state = { c->begin_q, d, 1, c->state, e },
                  of_chunk = { c->read, TOKENS, 1, c->w, e };
    if (!c->begins) product(c->n, e, d, &of_state, false, c->o, e);
    product(c->n, e, c->n, &of_chunk, !c->begins, c->o, e);
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

/* clang-format off */
const KernelDef TABLE[] = {
    { "gated_delta", "cpu", "any any any any any>any", LEVEL, forward, forward_scratch, floats_fit },
    { "gated_delta", "cpu", "any any any any any i32>any", LEVEL, forward, forward_scratch, floats_fit },
    { "gated_delta_cached", "cpu", "f32 any any any any any>f32 any", LEVEL, cached, cached_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
