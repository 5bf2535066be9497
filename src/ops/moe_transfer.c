/* moe_transfer.c - all-to-all of rows whose numbers are known only when they run: first the
 * numbers, then the rows, packed in the order of ranks. Memory is planned for the worst case. */
#include "ops/moe_transfer.h"
#include "comm/mesh.h"
#include "ops/collective_rows.h"
#include "ops/reshape.h"
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
    Node *n = graph_add_dims(g, &op_moe_meet, "m->gr,yz", sizes, NULL, 1, &of);
    follow(n);
    m.at = n->out[0];
    m.counts = n->out[1];
    name_axes(m.at);
    return m;
}

static Value *send(Graph *g, Value *x, Value *counts, Value *at, Value *of)
{
    Node *n = graph_add(g, &op_moe_send, NULL, 4, (Value *[]){ x, counts, at, of });
    follow(n);
    name_axes(n->out[0]);
    return n->out[0];
}

static Value *give_back(Graph *g, Value *y, Value *counts, Value *at, Value *of)
{
    Node *n = graph_add(g, &op_moe_return, NULL, 4, (Value *[]){ y, counts, at, of });
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

static Numbers numbers_of(const Launch *l, const Tensor *counts)
{
    Numbers x = { .sent = counts->data, .ranks = collective_size(l) };
    x.received = x.sent + counts->size[1];
    x.own = counts->size[1] / x.ranks;
    return x;
}

/* Rows that one rank sends to another. */
static int64_t of_rank(const Numbers *x, const int32_t *count, int rank)
{
    int64_t n = 0;
    for (int64_t j = 0; j < x->own; j++) n += count[rank * x->own + j];
    return n;
}

static size_t meet_scratch(const Launch *l)
{
    return sizeof(int64_t) * (size_t)collective_size(l);
}

static Error *too_many(const Launch *l, int64_t n, int64_t room)
{
    return error_new("%lld rows came to the experts of rank %d, but memory is planned for %lld",
                     (long long)n, l->comm->rank, (long long)room);
}

static int run_meet(const Launch *l)
{
    const Tensor *of = &l->in[0], *at = &l->out[0], *counts = &l->out[1];
    const int32_t *expert = of->data;
    int32_t *sent = counts->data, *place = at->data;
    int64_t *each = l->scratch, n = 0;
    memset(sent, 0, tensor_bytes(counts));
    for (int64_t i = 0; i < tensor_count(of) && expert[i] >= 0; i++) sent[expert[i]]++;
    const Numbers x = numbers_of(l, counts);
    for (int q = 0; q < x.ranks; q++) each[q] = x.own;
    if (!l->comm) return KERNEL_OK;
    int status =
        collective_status(l->comm, l->comm->all_to_all(l->comm, sent, each, sent + counts->size[1],
                                                       each, I32, l->stream));
    if (status) return status;
    for (int q = 0; q < x.ranks; q++) n += of_rank(&x, x.received, q);
    if (n > tensor_count(at)) return collective_status(l->comm, too_many(l, n, tensor_count(at)));
    for (int64_t j = 0; j < x.own; j++)
        for (int q = 0; q < x.ranks; q++)
            for (int64_t i = x.received[q * x.own + j]; i > 0; i--) *place++ = (int32_t)j;
    for (int32_t *end = (int32_t *)at->data + tensor_count(at); place < end;) *place++ = -1;
    return KERNEL_OK;
}

/* In scratch: what is sent to each rank and what comes from it, then rows in the order of ranks. */
static size_t rows_scratch(const Launch *l, const Tensor *at_experts)
{
    return 2 * sizeof(int64_t) * (size_t)collective_size(l) + tensor_bytes(at_experts);
}

static size_t send_scratch(const Launch *l)
{
    return rows_scratch(l, &l->out[0]);
}

static size_t return_scratch(const Launch *l)
{
    return rows_scratch(l, &l->in[0]);
}

/* Between rows in the order of ranks and rows in the order of this rank's experts. */
static void sort_rows(const Numbers *x, char *by_rank, char *by_expert, size_t bytes, bool to_ranks)
{
    for (int64_t j = 0; j < x->own; j++) {
        char *rank = by_rank;
        for (int q = 0; q < x->ranks; q++) {
            char *from = rank;
            for (int64_t i = 0; i < j; i++) from += (size_t)x->received[q * x->own + i] * bytes;
            const size_t n = (size_t)x->received[q * x->own + j] * bytes;
            memcpy(to_ranks ? from : by_expert, to_ranks ? by_expert : from, n);
            by_expert += n;
            rank += (size_t)of_rank(x, x->received, q) * bytes;
        }
    }
}

static void clear_behind(const Tensor *t, int64_t n_rows, size_t bytes)
{
    const size_t used = (size_t)n_rows * bytes;
    memset((char *)t->data + used, 0, tensor_bytes(t) - used);
}

static int exchange_rows(const Launch *l, bool to_experts)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const Numbers numbers = numbers_of(l, &l->in[1]);
    const int n = numbers.ranks;
    const int64_t width = x->size[x->n_dims - 1];
    const size_t bytes = (size_t)width * dtype_size(x->dtype);
    int64_t *out = l->scratch, *in = out + n, n_sent = 0, n_received = 0;
    char *by_rank = (char *)(in + n);
    if (!l->comm) return KERNEL_OK;
    for (int q = 0; q < n; q++) {
        const int64_t sent = of_rank(&numbers, numbers.sent, q),
                      received = of_rank(&numbers, numbers.received, q);
        n_sent += sent;
        n_received += received;
        out[q] = sent * width;
        in[q] = received * width;
    }
    if (to_experts) {
        int status = collective_status(
            l->comm, l->comm->all_to_all(l->comm, x->data, out, by_rank, in, x->dtype, l->stream));
        if (status) return status;
        sort_rows(&numbers, by_rank, y->data, bytes, false);
        clear_behind(y, n_received, bytes);
        return KERNEL_OK;
    }
    sort_rows(&numbers, by_rank, x->data, bytes, true);
    clear_behind(y, n_sent, bytes);
    return collective_status(
        l->comm, l->comm->all_to_all(l->comm, by_rank, in, y->data, out, x->dtype, l->stream));
}

static int run_send(const Launch *l)
{
    return exchange_rows(l, true);
}

static int run_return(const Launch *l)
{
    return exchange_rows(l, false);
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
    .scratch = meet_scratch,
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
