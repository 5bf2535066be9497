/* moe_transfer.c - all-to-all of rows whose numbers are known only when they run: first the
 * numbers, then the rows, packed in the order of ranks. Memory is planned for the worst case. */
#include "ops/moe_transfer.h"
#include "comm/mesh.h"
#include "ops/collective_rows.h"
#include "ops/reshape.h"
#include <stdlib.h>
#include <string.h>

static const OpDef op_moe_meet, op_moe_send, op_moe_return;

static void follow(Node *n)
{
    n->axes = 1u << MESH_EP;
    n->stream = STREAM_EXPERTS;
}

static Value *as_rows(Value *v, int dim)
{
    v->dim[dim].axis = "rows";
    return v;
}

/* Axes of a rank's own rows: those of the rows at the experts. */
static void name_axes(Value *v)
{
    v->dim[0].axis = "experts";
    as_rows(v, 1);
}

MoeMeeting moe_meet(Graph *g, Value *of, int64_t n_experts, int64_t room, int64_t parts)
{
    const int64_t ranks = g->mesh ? g->mesh->size[MESH_EP] : 1, own = n_experts / ranks;
    MoeMeeting m = { .of = of };
    if (ranks == 1) {
        m.at = reshape(g, "m->gm", "g=1", of);
        return m;
    }
    if (n_experts % ranks)
        graph_fail(g, error_new("%lld experts do not divide among %lld ranks of ep",
                                (long long)n_experts, (long long)ranks));
    const int64_t mine = (value_count(of) + parts - 1) / parts;
    int64_t most = room < mine ? own * room : mine; /* from one rank */
    if (most > mine) most = mine;
    const int64_t rows = most * ranks * parts;
    const char *sizes = arena_printf(g->arena, "g=%lld r=%lld y=2 z=%lld", (long long)ranks,
                                     (long long)rows, (long long)n_experts);
    Node *n = graph_add_dims(graph_from(g, HERE), &op_moe_meet, "m->gr,yz", sizes, NULL, 1, &of);
    follow(n);
    m.at = n->out[0];
    m.counts = n->out[1];
    name_axes(m.at);
    return m;
}

static Value *send(Graph *g, Value *x, Value *counts, Value *at, Value *of)
{
    Node *n =
        graph_add(graph_from(g, HERE), &op_moe_send, NULL, 4, (Value *[]){ x, counts, at, of });
    follow(n);
    name_axes(n->out[0]);
    return n->out[0];
}

static Value *give_back(Graph *g, Value *y, Value *counts, Value *at, Value *of)
{
    Node *n =
        graph_add(graph_from(g, HERE), &op_moe_return, NULL, 4, (Value *[]){ y, counts, at, of });
    follow(n);
    return as_rows(n->out[0], 0);
}

Value *moe_send(Graph *g, Value *x, const MoeMeeting *m)
{
    return m->counts ? send(g, x, m->counts, m->at, m->of) : reshape(g, "md->gmd", "g=1", x);
}

Value *moe_return(Graph *g, Value *y, const MoeMeeting *m)
{
    return m->counts ? give_back(g, y, m->counts, m->at, m->of) : reshape(g, "gmd->(mg)d", NULL, y);
}

static void send_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = give_back(g, dout[0], n->in[1], n->in[2], n->in[3]);
}

static void return_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = send(g, dout[0], n->in[1], n->in[2], n->in[3]);
}

static void integers(const Node *n, Dtype *out)
{
    for (int k = 0; k < n->n_out; k++) out[k] = I32;
}

static void same_dtype(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
}

/* ---- splits ---- */

static void spread_meet(const Node *n)
{
    Value *at = n->out[0];
    memcpy(at->dim[1].mesh, n->in[0]->dim[0].mesh, sizeof at->dim[1].mesh);
    at->dim[1].is_padded = true;
    memset(at->dim[0].mesh, 0, sizeof at->dim[0].mesh);
    at->dim[0].mesh[0] = MESH_EP;
}

/* As `like` in front, and as the rows in their width; what is partial stays so. */
static void spread_rows(const Node *n, const Value *like)
{
    Value *to = n->out[0];
    const Value *from = n->in[0];
    for (int d = 0; d < like->n_dims; d++) {
        const char *axis = to->dim[d].axis;
        to->dim[d] = like->dim[d];
        to->dim[d].axis = axis;
    }
    to->dim[to->n_dims - 1] = from->dim[from->n_dims - 1];
    to->partial = from->partial;
    to->reduce = from->reduce;
}

static void spread_send(const Node *n)
{
    spread_rows(n, n->in[2]);
}

static void spread_return(const Node *n)
{
    spread_rows(n, n->in[3]);
}

/* ---- kernels ---- */

/* What one rank knows of a meeting. */
typedef struct Numbers {
    const int32_t *sent;     /* rows of this rank for each expert of all */
    const int32_t *received; /* rows of rank q for this rank's expert j: [q * own + j] */
    int64_t own;             /* experts of a rank */
    int ranks;
} Numbers;

static Numbers numbers_of(const Launch *l, const Tensor *counts, const int32_t *data)
{
    Numbers x = { .sent = data, .ranks = collective_size(l) };
    x.received = x.sent + counts->size[1];
    x.own = counts->size[1] / x.ranks;
    return x;
}

/* Memory of the host that holds what a tensor of integers has, or will have. */
static int32_t *integers_like(const Tensor *t)
{
    int32_t *made = calloc((size_t)tensor_count(t) + 1, sizeof *made);
    CHECK(made != NULL);
    return made;
}

/* Rows that one rank sends to another. */
static int64_t of_rank(const Numbers *x, const int32_t *count, int rank)
{
    int64_t n = 0;
    for (int64_t j = 0; j < x->own; j++) n += count[rank * x->own + j];
    return n;
}

static Error *too_many(const Launch *l, int64_t n, int64_t room)
{
    return error_new("%lld rows came to the experts of rank %d, but memory is planned for %lld",
                     (long long)n, l->comm->rank, (long long)room);
}

/* Tells each rank how many rows it gets; the numbers come back to the host. */
static int tell_numbers(const Launch *l, int32_t *numbers, int64_t own)
{
    const Tensor *counts = &l->out[1];
    const int64_t n = counts->size[1];
    int32_t *there = counts->data;
    int64_t *each = collective_numbers(collective_size(l));
    for (int q = 0; q < collective_size(l); q++) each[q] = own;
    int status = move_now(l, there, numbers, sizeof *numbers * (size_t)n);
    if (status == KERNEL_OK)
        status = collective_status(
            l->comm, l->comm->all_to_all(l->comm, there, each, there + n, each, I32, l->stream));
    free(each);
    return status == KERNEL_OK ? move_now(l, numbers, there, tensor_bytes(counts)) : status;
}

static int fill_places(const Launch *l, const Numbers *x, int32_t *place, int64_t room)
{
    int64_t n = 0;
    int32_t *const end = place + room;
    for (int q = 0; q < x->ranks; q++) n += of_rank(x, x->received, q);
    if (n > room) return collective_status(l->comm, too_many(l, n, room));
    for (int64_t j = 0; j < x->own; j++)
        for (int q = 0; q < x->ranks; q++)
            for (int64_t i = x->received[q * x->own + j]; i > 0; i--) *place++ = (int32_t)j;
    while (place < end) *place++ = -1;
    return KERNEL_OK;
}

static int meet(const Launch *l, int32_t *expert, int32_t *numbers, int32_t *places)
{
    const Tensor *of = &l->in[0], *at = &l->out[0];
    int status = move_now(l, expert, of->data, tensor_bytes(of));
    if (status != KERNEL_OK) return status;
    for (int64_t i = 0; i < tensor_count(of) && expert[i] >= 0; i++) numbers[expert[i]]++;
    if (!l->comm) return move_now(l, l->out[1].data, numbers, tensor_bytes(&l->out[1]));
    const Numbers x = numbers_of(l, &l->out[1], numbers);
    status = tell_numbers(l, numbers, x.own);
    if (status == KERNEL_OK) status = fill_places(l, &x, places, tensor_count(at));
    return status == KERNEL_OK ? move_now(l, at->data, places, tensor_bytes(at)) : status;
}

static int run_meet(const Launch *l)
{
    int32_t *expert = integers_like(&l->in[0]), *numbers = integers_like(&l->out[1]),
            *places = integers_like(&l->out[0]);
    const int status = meet(l, expert, numbers, places);
    free(expert);
    free(numbers);
    free(places);
    return status;
}

/* In scratch: rows in the order of ranks. */
static size_t send_scratch(const Launch *l)
{
    return tensor_bytes(&l->out[0]);
}

static size_t return_scratch(const Launch *l)
{
    return tensor_bytes(&l->in[0]);
}

/* Between rows in the order of ranks and rows in the order of this rank's experts. */
static int sort_rows(const Launch *l, const Numbers *x, char *by_rank, char *by_expert,
                     size_t bytes, bool to_ranks)
{
    int status = KERNEL_OK;
    for (int64_t j = 0; j < x->own; j++) {
        char *rank = by_rank;
        for (int q = 0; q < x->ranks && status == KERNEL_OK; q++) {
            char *from = rank;
            for (int64_t i = 0; i < j; i++) from += (size_t)x->received[q * x->own + i] * bytes;
            const size_t n = (size_t)x->received[q * x->own + j] * bytes;
            status = move_bytes(l, to_ranks ? from : by_expert, to_ranks ? by_expert : from, n);
            by_expert += n;
            rank += (size_t)of_rank(x, x->received, q) * bytes;
        }
    }
    return status;
}

static int clear_behind(const Launch *l, const Tensor *t, int64_t n_rows, size_t bytes)
{
    const size_t used = (size_t)n_rows * bytes;
    return move_clear(l, (char *)t->data + used, tensor_bytes(t) - used);
}

/* What this rank sends and receives: rows of it by rank, as elements. */
typedef struct Trip {
    Numbers numbers;
    size_t row_bytes;
    int64_t *out, *in, n_sent, n_received;
} Trip;

static void count_trip(Trip *t, int64_t width)
{
    for (int q = 0; q < t->numbers.ranks; q++) {
        const int64_t sent = of_rank(&t->numbers, t->numbers.sent, q),
                      received = of_rank(&t->numbers, t->numbers.received, q);
        t->n_sent += sent;
        t->n_received += received;
        t->out[q] = sent * width;
        t->in[q] = received * width;
    }
}

static int to_experts(const Launch *l, const Trip *t)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    int status =
        collective_status(l->comm, l->comm->all_to_all(l->comm, x->data, t->out, l->scratch, t->in,
                                                       x->dtype, l->stream));
    if (status == KERNEL_OK)
        status = sort_rows(l, &t->numbers, l->scratch, y->data, t->row_bytes, false);
    return status == KERNEL_OK ? clear_behind(l, y, t->n_received, t->row_bytes) : status;
}

static int from_experts(const Launch *l, const Trip *t)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    int status = sort_rows(l, &t->numbers, l->scratch, x->data, t->row_bytes, true);
    if (status == KERNEL_OK) status = clear_behind(l, y, t->n_sent, t->row_bytes);
    if (status != KERNEL_OK) return status;
    return collective_status(l->comm, l->comm->all_to_all(l->comm, l->scratch, t->in, y->data,
                                                          t->out, x->dtype, l->stream));
}

/* The host must know the numbers: on a GPU this waits for them. */
static int exchange_rows(const Launch *l, int (*go)(const Launch *l, const Trip *t))
{
    const Tensor *x = &l->in[0], *counts = &l->in[1];
    const int64_t width = x->size[x->n_dims - 1];
    if (!l->comm) return KERNEL_OK;
    int32_t *numbers = integers_like(counts);
    Trip t = { .numbers = numbers_of(l, counts, numbers),
               .row_bytes = (size_t)width * dtype_size(x->dtype),
               .out = collective_numbers(2 * collective_size(l)) };
    t.in = t.out + t.numbers.ranks;
    int status = move_now(l, numbers, counts->data, tensor_bytes(counts));
    count_trip(&t, width);
    if (status == KERNEL_OK) status = go(l, &t);
    free(t.out);
    free(numbers);
    return status;
}

static int run_send(const Launch *l)
{
    return exchange_rows(l, to_experts);
}

static int run_return(const Launch *l)
{
    return exchange_rows(l, from_experts);
}

/* On average, all but a rank's share go elsewhere. */
static double to_others(const Launch *l, const Tensor *rows)
{
    const int n = collective_size(l);
    return (double)tensor_bytes(rows) * (n - 1) / n;
}

static double meet_sent(const Launch *l)
{
    return to_others(l, &l->out[1]) / 2;
}

static double send_sent(const Launch *l)
{
    return to_others(l, &l->in[0]);
}

static double return_sent(const Launch *l)
{
    return to_others(l, &l->out[0]);
}

static const OpDef op_moe_meet = {
    .name = "moe_meet",
    .doc = "how many rows go to each expert, and the expert of each row that comes",
    .dtypes = integers,
    .reference = run_meet,
    .sent = meet_sent,
    .spread = spread_meet,
    .flags = OP_COMM,
};
static const OpDef op_moe_send = {
    .name = "moe_send",
    .doc = "rows at the ranks that have their experts",
    .dims = "md,yz,gr,m->grd",
    .dtypes = same_dtype,
    .grad = send_grad,
    .reference = run_send,
    .scratch = send_scratch,
    .sent = send_sent,
    .spread = spread_send,
    .flags = OP_COMM | OP_LINEAR,
};
static const OpDef op_moe_return = {
    .name = "moe_return",
    .doc = "rows at the ranks from which they came",
    .dims = "grd,yz,gr,m->md",
    .dtypes = same_dtype,
    .grad = return_grad,
    .reference = run_return,
    .scratch = return_scratch,
    .sent = return_sent,
    .spread = spread_return,
    .flags = OP_COMM | OP_LINEAR,
};

const OpDef *const moe_transfer_ops[] = { &op_moe_meet, &op_moe_send, &op_moe_return, NULL };
