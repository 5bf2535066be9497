/* contract_pieces_run.c - one piece after the other, while others travel.
 *
 * A share of another rank goes or comes in two halves of the batch, where that is even: what it
 * costs to send is then beside three quarters of a product instead of a half. */
#include "ops/collective_rows.h"
#include "ops/contract_pieces.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, MOST_HALVES = 2 };

/* A launch, its pieces, and what is left of its scratch memory. */
typedef struct Work {
    const Launch *l;
    const Pieces *attrs;
    int ranks, rank, slot; /* of the letter that the ranks divide */
    const Tensor *part;    /* one rank's share of it, along attrs->dim */
    char *free;
    int halves, half; /* of the first dimension: how many, 1 or 2, and the one at work */
    int batch;        /* the slot of that dimension's letter */
} Work;

/* One product of a launch: operands a and b, and the result c. */
typedef struct One {
    DimSpec dims;
    Operand in[2], out[1];
    Tensor factor[2], result;
} One;

static size_t padded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_gather(const Launch *l)
{
    return !strcmp(l->op->name, "gather_contract"); /* in a GPU's library, too */
}

static int n_products(const Launch *l)
{
    return is_gather(l) ? l->n_in - 1 : l->n_in / 2;
}

/* The dimension that has this letter, or -1. */
static int dim_of_slot(const Operand *o, int slot)
{
    for (int d = 0; d < o->n_dims; d++)
        if (o->dim[d].slot[0] == slot) return d;
    return -1;
}

/* Whether the batch comes first in whatever the ranks divide, and nowhere else. */
static bool has_batch_first(const Work *w, const Tensor *t, const Operand *o)
{
    const int batch = dim_of_slot(o, w->batch);
    if (dim_of_slot(o, w->slot) < 0) return batch < 0;
    return batch == 0 && o->dim[0].n == 1 && !t->part[0] && t->size[0] % MOST_HALVES == 0;
}

static int count_halves(const Work *w)
{
    const Launch *l = w->l;
    if (w->attrs->dim == 0) return 1;
    for (int k = 0; k < l->n_in; k++)
        if (!has_batch_first(w, &l->in[k], &l->dims->in[k])) return 1;
    for (int k = 0; k < l->n_out; k++)
        if (!has_batch_first(w, &l->out[k], &l->dims->out[k])) return 1;
    return MOST_HALVES;
}

static Work work_of(const Launch *l)
{
    Work w = { .l = l, .attrs = l->attrs, .ranks = collective_size(l), .free = l->scratch };
    const Operand *divided = is_gather(l) ? &l->dims->in[0] : &l->dims->out[0];
    w.rank = l->comm ? l->comm->rank : 0;
    w.slot = divided->dim[w.attrs->dim].slot[0];
    w.batch = divided->dim[0].slot[0];
    w.part = is_gather(l) ? &l->in[0] : &l->out[0];
    w.halves = 1;
    return w;
}

/* The same, at work on one half. */
static Work half_of(const Work *w, int halves, int half)
{
    Work made = *w;
    made.halves = halves;
    made.half = half;
    return made;
}

/* What is at work of a tensor: all of it, or a half of the batch. */
static Tensor at_work(const Work *w, const Tensor *t, const Operand *o)
{
    Tensor made = *t;
    if (w->halves == 1 || dim_of_slot(o, w->batch) != 0) return made;
    made.size[0] /= w->halves;
    if (made.data) made.data = (char *)made.data + (size_t)w->half * tensor_bytes(&made);
    return made;
}

static void *take(Work *w, size_t bytes)
{
    void *at = w->free;
    w->free += padded(bytes);
    return at;
}

/* The dimension that the ranks divide, or -1. */
static int divided_dim(const Work *w, const Operand *o)
{
    return dim_of_slot(o, w->slot);
}

/* A tensor's share of one rank, without memory. */
static Tensor share_of(const Work *w, const Tensor *t, const Operand *o)
{
    Tensor made = at_work(w, t, o);
    const int d = divided_dim(w, o);
    if (d < 0) return made;
    made.data = NULL;
    made.size[d] = w->part->size[w->attrs->dim];
    made.part[d] = w->part->part[w->attrs->dim];
    return made;
}

/* Product k of one piece. Operands that the ranks divide have no memory yet. */
static One product_of_piece(const Work *w, int k)
{
    const Launch *l = w->l;
    One p = { .dims = { .text = l->dims->text, .n_in = 2, .n_out = 1 } };
    int at[2] = { 2 * k, 2 * k + 1 };
    if (is_gather(l)) {
        const int second = (int)(w->attrs->second >> k & 1);
        at[second] = 0;
        at[!second] = 1 + k;
    }
    for (int i = 0; i < 2; i++) {
        p.in[i] = l->dims->in[at[i]];
        p.factor[i] = share_of(w, &l->in[at[i]], &p.in[i]);
    }
    p.out[0] = l->dims->out[is_gather(l) ? k : 0];
    p.result = share_of(w, &l->out[is_gather(l) ? k : 0], &p.out[0]);
    return p;
}

static Launch launch_of(const Work *w, const OpDef *op, One *p, const bool *adds)
{
    Launch l = *w->l;
    p->dims.in = p->in;
    p->dims.out = p->out;
    l.op = op;
    l.attrs = NULL;
    l.dims = &p->dims;
    l.in = p->factor;
    l.n_in = 2;
    l.out = &p->result;
    l.n_out = 1;
    l.add = adds;
    l.comm = NULL;
    l.scratch = w->free;
    return l;
}

static bool all_served(const Work *w, const OpDef *op, bool (*serves)(const Launch *l))
{
    for (int k = 0; k < n_products(w->l); k++) {
        One p = product_of_piece(w, k);
        const bool adds = is_gather(w->l) ? divided_dim(w, &p.out[0]) < 0 : k > 0;
        const Launch piece = launch_of(w, op, &p, &adds);
        if (!serves(&piece)) return false;
    }
    return true;
}

bool contract_pieces_serve(const Launch *l, const OpDef *op, bool (*serves)(const Launch *l))
{
    const Work w = work_of(l), half = half_of(&w, count_halves(&w), 0);
    return all_served(&w, op, serves) && all_served(&half, op, serves);
}

/* ---- messages ---- */

/* The rank to which the message of step k goes, and the one from which that of step k comes. */
static int rank_after(const Work *w, int k)
{
    return (w->rank + k) % w->ranks;
}

static int rank_before(const Work *w, int k)
{
    return (w->rank + w->ranks - k) % w->ranks;
}

/* Of the half at work. */
static struct Pending *start(const Work *w, int k, char *out, char *in, size_t bytes)
{
    const size_t at = (size_t)w->half * bytes;
    const int tag = k * MOST_HALVES + w->half;
    const Transfer sent[] = { { rank_after(w, k), tag, out + at, bytes } },
                   received[] = { { rank_before(w, k), tag, in + at, bytes } };
    return w->l->comm->start(w->l->comm, sent, 1, received, 1, w->l->stream);
}

/* Also after a failure, which it then keeps: nobody else may touch the memory any more. */
static int finish(const Work *w, struct Pending *p, int status)
{
    Comm *c = w->l->comm;
    const int ended = collective_status(c, c->finish(c, p, w->l->stream));
    return status == KERNEL_OK ? ended : status;
}

/* ---- gathering ---- */

/* The factor of a product that is not gathered: its rows of a member, where it has such. */
static int take_factor(Work *w, One *p, int k, int member)
{
    const int other = !(w->attrs->second >> k & 1);
    const Tensor whole = at_work(w, &w->l->in[1 + k], &p->in[other]);
    const int d = divided_dim(w, &p->in[other]);
    if (d < 0) return KERNEL_OK;
    p->factor[other].data = take(w, tensor_bytes(&p->factor[other]));
    const Rows rows = rows_of(w->l, &whole, &p->factor[other], d);
    return rows_pack(w->l, &rows, member, p->factor[other].data);
}

/* Product k with the rows of a member. */
static int multiply_rows(const Work *of, const PieceKernel *alone, int k, int member, void *x,
                         bool is_first)
{
    Work w = *of;
    One p = product_of_piece(&w, k);
    p.factor[w.attrs->second >> k & 1].data = x;
    int status = take_factor(&w, &p, k, member);
    const int d = divided_dim(&w, &p.out[0]);
    const bool adds = d < 0 && (launch_adds(w.l, k) || !is_first);
    if (d >= 0) p.result.data = take(&w, tensor_bytes(&p.result));
    const Launch l = launch_of(&w, alone->op, &p, &adds);
    if (status == KERNEL_OK) status = alone->run(&l);
    if (status != KERNEL_OK || d < 0) return status;
    const Tensor whole = at_work(&w, &w.l->out[k], &p.out[0]);
    const Rows rows = rows_of(w.l, &whole, &p.result, d);
    return rows_unpack(w.l, &rows, member, p.result.data);
}

static int use_rows(const Work *w, const PieceKernel *alone, int member, void *x, bool is_first)
{
    const Launch *l = w->l;
    const int n = n_products(l);
    for (int k = 0; k < n; k++) {
        const int status = multiply_rows(w, alone, k, member, x, is_first);
        if (status != KERNEL_OK) return status;
    }
    if (l->n_out == n) return KERNEL_OK;
    const Tensor whole = at_work(w, &l->out[n], &l->dims->out[n]),
                 part = at_work(w, &l->in[0], &l->dims->in[0]);
    const Rows rows = rows_of(l, &whole, &part, (int)w->attrs->dim);
    return rows_unpack(l, &rows, member, x);
}

static int gather_pieces(const Launch *l, const PieceKernel *alone, struct Pending **pending)
{
    Work w = work_of(l);
    const size_t bytes = tensor_bytes(&l->in[0]), room = padded(bytes);
    const int halves = count_halves(&w), n = l->comm ? (w.ranks - 1) * halves : 0;
    const size_t of_half = bytes / (size_t)halves;
    char *in = take(&w, room * (size_t)(w.ranks - 1));
    if (l->comm) collective_use(l);
    for (int i = 0; i < n; i++) {
        const Work half = half_of(&w, halves, i % halves);
        pending[i] =
            start(&half, 1 + i / halves, l->in[0].data, in + room * (size_t)(i / halves), of_half);
    }
    int status = use_rows(&w, alone, w.rank, l->in[0].data, true);
    for (int i = 0; i < n; i++) {
        const Work half = half_of(&w, halves, i % halves);
        char *rows = in + room * (size_t)(i / halves) + (size_t)half.half * of_half;
        status = finish(&w, pending[i], status);
        if (status == KERNEL_OK)
            status = use_rows(&half, alone, rank_before(&w, 1 + i / halves), rows, false);
    }
    return status;
}

/* One exchange for each half of each other rank's share. */
static struct Pending **pending_of(const Launch *l)
{
    struct Pending **made = calloc((size_t)collective_size(l) * MOST_HALVES, sizeof *made);
    CHECK(made != NULL);
    return made;
}

int gather_contract(const Launch *l, const PieceKernel *alone)
{
    struct Pending **pending = pending_of(l);
    const int status = gather_pieces(l, alone, pending);
    free(pending);
    return status;
}

/* ---- scattering ---- */

/* The sum of all products for the rows of a member. */
static int multiply_for(const Work *of, const PieceKernel *alone, int member, void *to)
{
    int status = KERNEL_OK;
    for (int k = 0; k < n_products(of->l) && status == KERNEL_OK; k++) {
        Work w = *of;
        One p = product_of_piece(&w, k);
        const bool adds = k > 0;
        for (int i = 0; i < 2; i++) {
            const int d = divided_dim(&w, &p.in[i]);
            if (d < 0) continue;
            p.factor[i].data = take(&w, tensor_bytes(&p.factor[i]));
            const Tensor whole = at_work(&w, &w.l->in[2 * k + i], &p.in[i]);
            const Rows rows = rows_of(w.l, &whole, &p.factor[i], d);
            status = rows_pack(w.l, &rows, member, p.factor[i].data);
            if (status != KERNEL_OK) return status;
        }
        p.result.data = to;
        const Launch l = launch_of(&w, alone->op, &p, &adds);
        status = alone->run(&l);
    }
    return status;
}

Dtype contract_pieces_wire(const Launch *l)
{
    return l->out[0].dtype == F32 ? (Dtype)((const Pieces *)l->attrs)->wire : l->out[0].dtype;
}

static int scatter_pieces(const Launch *l, const PieceKernel *alone, struct Pending **pending)
{
    Work w = work_of(l);
    const Tensor *y = &l->out[0];
    const Dtype wire = contract_pieces_wire(l);
    const size_t bytes = dtype_size(wire) * (size_t)tensor_count(y), room = padded(bytes);
    char *out = take(&w, room * (size_t)(w.ranks - 1)),
         *in = take(&w, room * (size_t)(w.ranks - 1));
    char *own = take(&w, tensor_bytes(y));
    const int halves = count_halves(&w), n = l->comm ? (w.ranks - 1) * halves : 0;
    const size_t of_half = bytes / (size_t)halves;
    int status = KERNEL_OK, n_started = 0;
    if (l->comm) collective_use(l);
    for (int i = 0; i < n; i++) {
        const Work half = half_of(&w, halves, i % halves);
        const size_t at = room * (size_t)(i / halves);
        status = multiply_for(&half, alone, rank_after(&w, 1 + i / halves), own);
        if (status == KERNEL_OK)
            status = move_convert(l, out + at + (size_t)half.half * of_half, wire, own, y->dtype,
                                  tensor_count(y) / halves);
        if (status != KERNEL_OK) break;
        pending[n_started++] = start(&half, 1 + i / halves, out + at, in + at, of_half);
    }
    if (status == KERNEL_OK) status = multiply_for(&w, alone, w.rank, own);
    for (int i = 0; i < n_started; i++) status = finish(&w, pending[i], status);
    if (status != KERNEL_OK) return status;
    status = move_clear(l, y->data, tensor_bytes(y));
    for (int m = 0; m < w.ranks && status == KERNEL_OK; m++) {
        const int k = (w.rank + w.ranks - m) % w.ranks;
        status = move_add(l, y->data, y->dtype, k ? in + room * (size_t)(k - 1) : own,
                          k ? wire : y->dtype, tensor_count(y));
    }
    return status;
}

int contract_scatter(const Launch *l, const PieceKernel *alone)
{
    struct Pending **pending = pending_of(l);
    const int status = scatter_pieces(l, alone, pending);
    free(pending);
    return status;
}

/* ---- memory ---- */

/* Of one product with one piece: copies of what the ranks divide, and the kernel's own. */
static size_t piece_bytes(const Work *w, int k, const PieceKernel *alone, int n_threads)
{
    One p = product_of_piece(w, k);
    const bool adds = true;
    const Launch l = launch_of(w, alone->op, &p, &adds);
    size_t bytes = padded(alone->scratch ? alone->scratch(&l, n_threads) : 0);
    for (int i = 0; i < 2; i++)
        if (divided_dim(w, &p.in[i]) >= 0) bytes += padded(tensor_bytes(&p.factor[i]));
    return bytes + padded(tensor_bytes(&p.result));
}

size_t contract_pieces_scratch(const Launch *l, const PieceKernel *alone, int n_threads)
{
    const Work w = work_of(l);
    const size_t others = (size_t)(w.ranks - 1);
    size_t bytes = 0, most = 0;
    if (is_gather(l)) {
        bytes += others * padded(tensor_bytes(&l->in[0]));
    } else {
        bytes += 2 * others *
                 padded(dtype_size(contract_pieces_wire(l)) * (size_t)tensor_count(&l->out[0]));
        bytes += padded(tensor_bytes(&l->out[0]));
    }
    for (int k = 0; k < n_products(l); k++) {
        const size_t of_piece = piece_bytes(&w, k, alone, n_threads);
        if (of_piece > most) most = of_piece;
    }
    return bytes + most;
}
