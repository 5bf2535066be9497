/* attention_ring_run.c - attention to one rank's keys after the other's, while the next ones come.
 */
#include "ops/attention_ring.h"
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

static int zero(const Ring *r, const Tensor *t)
{
    return move_clear(r->l, t->data, tensor_bytes(t));
}

static int convert(const Ring *r, const Tensor *to, const Tensor *from)
{
    return move_convert(r->l, to->data, to->dtype, from->data, from->dtype, tensor_count(to));
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

int attention_ring_join(const Launch *l, const Tensor *sum, const Tensor *lse, const Tensor *o,
                        const Tensor *more)
{
    (void)l;
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
    return KERNEL_OK;
}

/* The first keys begin the result, the others join it. */
static int add_result(const Ring *r, int step, const Tensor *sum, const Tensor *lse, RingJoin *join)
{
    if (step) return join(r->l, sum, lse, &r->out[0], &r->out[1]);
    const int status = convert(r, sum, &r->out[0]);
    return status == KERNEL_OK ? convert(r, lse, &r->out[1]) : status;
}

int attention_ring(const Launch *l, Kernel *alone, RingJoin *join, void *room, void *scratch)
{
    if (!l->comm) return alone(l);
    Ring r = ring_of(l, room);
    Tensor spare[3] = { 0 };
    Tensor sum = take(&r, &l->out[0], sum_dtype(l)), lse = take(&r, &l->out[1], sum_dtype(l));
    take_keys(&r, r.next);
    take_keys(&r, spare);
    for (int step = 0; step < r.ranks; step++) {
        struct Pending *keys = step + 1 < r.ranks ? start_keys(&r) : NULL;
        int status = finish(&r, &keys, attend(&r, step, alone, scratch));
        if (status == KERNEL_OK) status = add_result(&r, step, &sum, &lse, join);
        if (status != KERNEL_OK) return status;
        take_next(&r, spare);
    }
    const int status = convert(&r, &l->out[0], &sum);
    return status == KERNEL_OK ? convert(&r, &l->out[1], &lse) : status;
}

static int add_to(const Ring *r, const Tensor *sum, const Tensor *x)
{
    return move_add(r->l, sum->data, sum->dtype, x->data, x->dtype, tensor_count(sum));
}

/* What the keys at hand gave to the gradients. */
static int add_gradients(const Ring *r, const Tensor *dq)
{
    int status = add_to(r, dq, &r->out[0]);
    for (int k = 0; k < 2 && status == KERNEL_OK; k++)
        status = add_to(r, &r->grad[k], &r->out[1 + k]);
    return status;
}

int attention_ring_grad(const Launch *l, Kernel *alone, void *room, void *scratch)
{
    if (!l->comm) return alone(l);
    Ring r = ring_of(l, room);
    Tensor spare[3] = { 0 };
    Tensor dq = take(&r, &l->out[0], sum_dtype(l));
    int status = zero(&r, &dq);
    for (int k = 0; k < 2 && status == KERNEL_OK; k++) {
        r.grad[k] = take(&r, &l->out[1 + k], sum_dtype(l));
        r.coming[k] = take(&r, &l->out[1 + k], sum_dtype(l));
        status = zero(&r, &r.grad[k]);
    }
    if (status != KERNEL_OK) return status;
    take_keys(&r, r.next);
    take_keys(&r, spare);
    struct Pending *sums = NULL; /* those of the step before, until this one's are added to them */
    for (int step = 0; step < r.ranks; step++) {
        struct Pending *keys = step + 1 < r.ranks ? start_keys(&r) : NULL;
        status = attend(&r, step, alone, scratch);
        status = finish(&r, &sums, status);
        status = finish(&r, &keys, status);
        if (status != KERNEL_OK) return status;
        for (int k = 0; step && k < 2; k++) swap_tensors(&r.grad[k], &r.coming[k]);
        status = add_gradients(&r, &dq);
        if (status != KERNEL_OK) return status;
        sums = start_sums(&r);
        take_next(&r, spare);
    }
    status = finish(&r, &sums, KERNEL_OK); /* after the last step */
    if (status != KERNEL_OK) return status;
    for (int k = 0; k < 2; k++) swap_tensors(&r.grad[k], &r.coming[k]);
    status = convert(&r, &l->out[0], &dq);
    for (int k = 0; k < 2 && status == KERNEL_OK; k++)
        status = convert(&r, &l->out[1 + k], &r.grad[k]);
    return status;
}
