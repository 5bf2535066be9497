/* attention_ring.c - attention of ranks that divide queries and keys: keys and values go round. */
#include "ops/attention_ring.h"
#include "base/arena.h"
#include "ops/attention.h"
#include "ops/collective_rows.h"
#include <math.h>
#include <string.h>

enum { ALIGN = 64, KEYS = 1, VALUES = 2, KEY_DOCUMENTS = 4, FIRST_TAG_OF_SUMS = 3 };

/* One launch on its way round. */
typedef struct Ring {
    const Launch *l;
    int ranks, rank;
    bool has_documents;
    char *free;                /* of the room */
    Tensor in[8], out[3];      /* of the kernel that attends to one rank's keys */
    Tensor next[3];            /* where keys, values and their documents arrive */
    Tensor grad[2], coming[2]; /* sums of dk and dv for the keys at hand, and for the next ones */
} Ring;

static size_t padded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static Dtype sum_dtype(const Launch *l)
{
    return l->in[0].dtype == F64 ? F64 : F32;
}

static bool has_documents(const Launch *l)
{
    return l->n_in == 5 || l->n_in == 8;
}

static bool is_grad(const Launch *l)
{
    return l->n_out == 3;
}

static size_t sum_bytes(const Launch *l, const Tensor *t)
{
    return padded(dtype_size(sum_dtype(l)) * (size_t)tensor_count(t));
}

static size_t keys_bytes(const Launch *l)
{
    return padded(tensor_bytes(&l->in[KEYS])) + padded(tensor_bytes(&l->in[VALUES])) +
           (has_documents(l) ? padded(tensor_bytes(&l->in[KEY_DOCUMENTS])) : 0);
}

/* Two sets of keys that travel, what one set gives, and the sums. */
size_t attention_ring_bytes(const Launch *l)
{
    if (!l->comm) return 0;
    size_t bytes = 2 * keys_bytes(l);
    for (int k = 0; k < l->n_out; k++)
        bytes += padded(tensor_bytes(&l->out[k])) + sum_bytes(l, &l->out[k]);
    for (int k = 1; is_grad(l) && k < l->n_out; k++) bytes += sum_bytes(l, &l->out[k]);
    return bytes;
}

static Tensor take(Ring *r, const Tensor *like, Dtype t)
{
    Tensor made = *like;
    made.dtype = t;
    made.data = r->free;
    r->free += padded(tensor_bytes(&made));
    return made;
}

static void zero(const Tensor *t)
{
    memset(t->data, 0, tensor_bytes(t));
}

static Ring ring_of(const Launch *l, void *room)
{
    Ring r = { .l = l,
               .ranks = l->comm->size,
               .rank = l->comm->rank,
               .has_documents = has_documents(l),
               .free = room };
    memcpy(r.in, l->in, sizeof *l->in * (size_t)l->n_in);
    for (int k = 0; k < l->n_out; k++) r.out[k] = take(&r, &l->out[k], l->out[k].dtype);
    return r;
}

/* Places for the keys to come: the two sets take turns, after the rank's own. */
static void take_keys(Ring *r, Tensor *to)
{
    to[0] = take(r, &r->in[KEYS], r->in[KEYS].dtype);
    to[1] = take(r, &r->in[VALUES], r->in[VALUES].dtype);
    if (r->has_documents) to[2] = take(r, &r->in[KEY_DOCUMENTS], I32);
}

/* The keys at hand in step `step` are those of this rank. */
static int owner(const Ring *r, int step)
{
    return (r->rank - step + r->ranks) % r->ranks;
}

/* Keys stand where their owner's do; the kernel asks their Part. */
static int attend(Ring *r, int step, Kernel *alone, void *scratch)
{
    const Part *mine = r->l->in[KEYS].part[1];
    CHECK(mine && mine->n_inner <= 1 && mine->n_parts == r->ranks);
    Part theirs = *mine;
    theirs.index = owner(r, step);
    r->in[KEYS].part[1] = r->in[VALUES].part[1] = &theirs;
    Launch l = *r->l;
    l.in = r->in;
    l.out = r->out;
    l.add = NULL;
    l.comm = NULL;
    l.scratch = scratch;
    return alone(&l);
}

/* Messages of keys and of sums, which are under way at the same time, have tags of their own. */
static void add_travelling(Transfer *list, int *n, int peer, int tag, const Tensor *t)
{
    list[*n] = (Transfer){ .peer = peer, .tag = tag, .data = t->data, .bytes = tensor_bytes(t) };
    ++*n;
}

static int next_rank(const Ring *r)
{
    return (r->rank + 1) % r->ranks;
}

static int rank_before(const Ring *r)
{
    return (r->rank + r->ranks - 1) % r->ranks;
}

/* The keys at hand go to the next rank, and those of the one before begin to arrive. */
static struct Pending *start_keys(const Ring *r)
{
    Transfer out[3], in[3];
    int n_out = 0, n_in = 0;
    for (int k = 0; k < 2 + r->has_documents; k++) {
        const Tensor *at_hand = &r->in[k == 2 ? KEY_DOCUMENTS : KEYS + k];
        add_travelling(out, &n_out, next_rank(r), k, at_hand);
        add_travelling(in, &n_in, rank_before(r), k, &r->next[k]);
    }
    collective_use(r->l);
    return r->l->comm->start(r->l->comm, out, n_out, in, n_in, r->l->stream);
}

/* Likewise the sums of gradients of the keys at hand. */
static struct Pending *start_sums(const Ring *r)
{
    Transfer out[2], in[2];
    int n_out = 0, n_in = 0;
    for (int k = 0; k < 2; k++) {
        add_travelling(out, &n_out, next_rank(r), FIRST_TAG_OF_SUMS + k, &r->grad[k]);
        add_travelling(in, &n_in, rank_before(r), FIRST_TAG_OF_SUMS + k, &r->coming[k]);
    }
    collective_use(r->l);
    return r->l->comm->start(r->l->comm, out, n_out, in, n_in, r->l->stream);
}

/* Also after a failure, which it then keeps: nobody else may touch the memory any more. */
static int finish(const Ring *r, struct Pending **p, int status)
{
    if (!*p) return status;
    Comm *c = r->l->comm;
    const int ended = collective_status(c, c->finish(c, *p, r->l->stream));
    *p = NULL;
    return status == KERNEL_OK ? ended : status;
}

static void swap_tensors(Tensor *a, Tensor *b)
{
    const Tensor kept = *a;
    *a = *b;
    *b = kept;
}

/* The keys that arrived are at hand; after the first step, those that were may be written over. */
static void take_next(Ring *r, Tensor *spare)
{
    Tensor gone[3] = { r->in[KEYS], r->in[VALUES], r->in[KEY_DOCUMENTS] };
    r->in[KEYS] = r->next[0];
    r->in[VALUES] = r->next[1];
    if (r->has_documents) r->in[KEY_DOCUMENTS] = r->next[2];
    for (int k = 0; k < 2 + r->has_documents; k++)
        r->next[k] =
            gone[k].data == r->l->in[k == 2 ? KEY_DOCUMENTS : KEYS + k].data ? spare[k] : gone[k];
}

/* Joins what some keys gave into the result so far. */
static void join(const Ring *r, Tensor *sum, Tensor *lse)
{
    const Tensor *o = &r->out[0], *more = &r->out[1];
    const int64_t d = o->size[o->n_dims - 1];
    for (int64_t row = 0; row < tensor_count(lse); row++) {
        const double a = dtype_get(lse->dtype, lse->data, row),
                     b = dtype_get(more->dtype, more->data, row), top = fmax(a, b);
        if (isinf(b) && b < 0) continue; /* none of these keys is seen */
        const double of_a = exp(a - top), of_b = exp(b - top), total = of_a + of_b;
        for (int64_t i = row * d; i < (row + 1) * d; i++)
            dtype_set(sum->dtype, sum->data, i,
                      (dtype_get(sum->dtype, sum->data, i) * of_a +
                       dtype_get(o->dtype, o->data, i) * of_b) /
                          total);
        dtype_set(lse->dtype, lse->data, row, top + log(total));
    }
}

int attention_ring(const Launch *l, Kernel *alone, void *room, void *scratch)
{
    if (!l->comm) return alone(l);
    Ring r = ring_of(l, room);
    Tensor spare[3] = { 0 };
    Tensor sum = take(&r, &l->out[0], sum_dtype(l)), lse = take(&r, &l->out[1], sum_dtype(l));
    take_keys(&r, r.next);
    take_keys(&r, spare);
    zero(&sum);
    for (int64_t i = 0; i < tensor_count(&lse); i++) dtype_set(lse.dtype, lse.data, i, -INFINITY);
    for (int step = 0; step < r.ranks; step++) {
        struct Pending *keys = step + 1 < r.ranks ? start_keys(&r) : NULL;
        const int status = finish(&r, &keys, attend(&r, step, alone, scratch));
        if (status != KERNEL_OK) return status;
        join(&r, &sum, &lse);
        take_next(&r, spare);
    }
    dtype_convert(l->out[0].dtype, l->out[0].data, sum.dtype, sum.data, tensor_count(&sum));
    dtype_convert(l->out[1].dtype, l->out[1].data, lse.dtype, lse.data, tensor_count(&lse));
    return KERNEL_OK;
}

static void add_to(const Tensor *sum, const Tensor *x)
{
    for (int64_t i = 0; i < tensor_count(sum); i++)
        dtype_set(sum->dtype, sum->data, i,
                  dtype_get(sum->dtype, sum->data, i) + dtype_get(x->dtype, x->data, i));
}

int attention_ring_grad(const Launch *l, Kernel *alone, void *room, void *scratch)
{
    if (!l->comm) return alone(l);
    Ring r = ring_of(l, room);
    Tensor spare[3] = { 0 };
    Tensor dq = take(&r, &l->out[0], sum_dtype(l));
    zero(&dq);
    for (int k = 0; k < 2; k++) {
        r.grad[k] = take(&r, &l->out[1 + k], sum_dtype(l));
        r.coming[k] = take(&r, &l->out[1 + k], sum_dtype(l));
        zero(&r.grad[k]);
    }
    take_keys(&r, r.next);
    take_keys(&r, spare);
    struct Pending *sums = NULL; /* those of the step before, until this one's are added to them */
    for (int step = 0; step < r.ranks; step++) {
        struct Pending *keys = step + 1 < r.ranks ? start_keys(&r) : NULL;
        int status = attend(&r, step, alone, scratch);
        status = finish(&r, &sums, status);
        status = finish(&r, &keys, status);
        if (status != KERNEL_OK) return status;
        for (int k = 0; step && k < 2; k++) swap_tensors(&r.grad[k], &r.coming[k]);
        add_to(&dq, &r.out[0]);
        for (int k = 0; k < 2; k++) add_to(&r.grad[k], &r.out[1 + k]);
        sums = start_sums(&r);
        take_next(&r, spare);
    }
    const int home = finish(&r, &sums, KERNEL_OK); /* after the last step */
    if (home != KERNEL_OK) return home;
    for (int k = 0; k < 2; k++) swap_tensors(&r.grad[k], &r.coming[k]);
    dtype_convert(l->out[0].dtype, l->out[0].data, dq.dtype, dq.data, tensor_count(&dq));
    for (int k = 0; k < 2; k++)
        dtype_convert(l->out[1 + k].dtype, l->out[1 + k].data, r.grad[k].dtype, r.grad[k].data,
                      tensor_count(&r.grad[k]));
    return KERNEL_OK;
}

/* ---- the ops; their references are those of attention, on the ring ---- */

static int run_reference_on(const Launch *l, Kernel *alone,
                            int (*ring)(const Launch *, Kernel *, void *, void *))
{
    Arena *arena = arena_new();
    int status = ring(l, alone, arena_alloc(arena, attention_ring_bytes(l)), NULL);
    arena_free(arena);
    return status;
}

static int reference(const Launch *l)
{
    return run_reference_on(l, op_attention.reference, attention_ring);
}

static int grad_reference(const Launch *l)
{
    return run_reference_on(l, op_attention_grad.reference, attention_ring_grad);
}

static double sent(const Launch *l)
{
    const double keys = (double)(tensor_bytes(&l->in[KEYS]) + tensor_bytes(&l->in[VALUES]));
    return keys * (collective_size(l) - 1);
}

static double grad_sent(const Launch *l)
{
    const double sums = (double)(tensor_count(&l->in[KEYS]) + tensor_count(&l->in[VALUES])) *
                        (double)dtype_size(sum_dtype(l));
    return sent(l) + sums * collective_size(l);
}

static void dtypes(const Node *n, Dtype *out)
{
    op_attention.dtypes(n, out);
}

static int64_t flops(const Node *n)
{
    return op_attention.flops(n);
}

static int64_t grad_flops(const Node *n)
{
    return op_attention_grad.flops(n);
}

const OpDef op_ring_attention = {
    .name = "ring_attention",
    .doc = "attention of ranks that divide queries and keys; keys and values go round",
    .attrs = attention_fields,
    .attrs_size = sizeof(Attention),
    .dtypes = dtypes,
    .flops = flops,
    .reference = reference,
    .sent = sent,
    .completes = 1 << 0 | 1 << 1,
    .flags = OP_RANDOM | OP_ATTENTION,
};
const OpDef op_ring_attention_grad = {
    .name = "ring_attention_grad",
    .doc = "its gradients; those of keys and values travel with them",
    .attrs = attention_fields,
    .attrs_size = sizeof(Attention),
    .flops = grad_flops,
    .reference = grad_reference,
    .sent = grad_sent,
    .completes = 1 << 0 | 1 << 1 | 1 << 2,
    .flags = OP_RANDOM | OP_ATTENTION,
};

const OpDef *const attention_ring_ops[] = { &op_ring_attention, &op_ring_attention_grad, NULL };
