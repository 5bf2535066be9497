/* collective.c - all_reduce, all_gather, reduce_scatter and slice along one dimension. */
#include "ops/collective.h"
#include "graph/split.h"
#include "ops/collective_narrow.h"
#include "ops/collective_rows.h"
#include <stdlib.h>

static const OpDef op_all_reduce, op_all_to_all;

typedef struct Along {
    int64_t dim;
    int64_t max; /* the reduction is a maximum */
    int64_t to;  /* all_to_all: the dimension that is divided instead */
    int wire;    /* the dtype in which parts of a sum in F32 travel */
} Along;

static const Field attrs[] = {
    FIELD_INT(Along, dim, "0", 0, MAX_DIMS, "the dimension that the ranks divide"),
    FIELD_INT(Along, max, "0", 0, 1, "1: the largest, instead of the sum"),
    FIELD_INT(Along, to, "0", 0, MAX_DIMS, "all_to_all: the dimension that they divide instead"),
    FIELD_CHOICE(Along, wire, "f32", dtype_choices, "sums of f32: the dtype in which parts travel"),
    { 0 },
};

static Value *append_attrs(Graph *g, const OpDef *op, Value *x, const Along *a, unsigned axes)
{
    Node *n = graph_add(g, op, a, 1, &x);
    n->axes = axes;
    Value *y = n->out[0];
    for (int d = 0; d < x->n_dims; d++) y->dim[d] = x->dim[d];
    y->partial = x->partial;
    y->reduce = x->reduce;
    y->grad_of = x->grad_of;
    return y;
}

static Value *append(Graph *g, const OpDef *op, Value *x, int dim, unsigned axes)
{
    return append_attrs(g, op, x, &(Along){ .dim = dim, .wire = (int)F32 }, axes);
}

/* What is not F32 travels as it is. */
static Along sum_along(const Value *x, int dim, Dtype wire)
{
    return (Along){ .dim = dim,
                    .max = x->reduce == REDUCE_MAX,
                    .wire = (int)(x->dtype == F32 && x->reduce == REDUCE_SUM ? wire : F32) };
}

Value *all_reduce(Graph *g, Value *x, unsigned axes, Dtype wire)
{
    CHECK((x->partial & axes) == axes);
    const Along a = sum_along(x, 0, wire);
    Value *y = append_attrs(g, &op_all_reduce, x, &a, axes);
    y->partial &= ~axes;
    return y;
}

Value *all_gather(Graph *g, Value *x, int dim, unsigned axes)
{
    Value *y = append(g, &op_all_gather, x, dim, axes);
    dim_join(&y->dim[dim], axes);
    return y;
}

Value *reduce_scatter(Graph *g, Value *x, int dim, MeshAxis axis, Dtype wire)
{
    CHECK(x->partial >> axis & 1 && x->reduce == REDUCE_SUM);
    const Along a = sum_along(x, dim, wire);
    Value *y = append_attrs(g, &op_reduce_scatter, x, &a, 1u << axis);
    y->partial &= ~(1u << axis);
    dim_divide(&y->dim[dim], axis);
    return y;
}

int collective_dim(const Node *n)
{
    return (int)((const Along *)n->attrs)->dim;
}

Dtype collective_wire(const Node *n)
{
    return (Dtype)((const Along *)n->attrs)->wire;
}

Value *slice(Graph *g, Value *x, int dim, unsigned axes)
{
    Value *y = append(g, &op_slice, x, dim, axes);
    dim_divide_over(&y->dim[dim], axes);
    return y;
}

Value *slice_as(Graph *g, Value *x, int dim, const Dim *like)
{
    const unsigned inner = dim_inner_axes(like), axes[] = { 1u << like->mesh[0], inner };
    const Source asked = g->source;
    for (int i = 0; i < 2 && like->mesh[0] && axes[i]; i++) {
        x = slice(graph_from(g, asked), x, dim, axes[i]);
        dim_lie_as(&x->dim[dim], like);
    }
    g->source = (Source){ 0 }; /* also where nothing is divided */
    return x;
}

Value *all_to_all(Graph *g, Value *x, int from, int to, unsigned axes)
{
    const Along a = { .dim = from, .to = to, .wire = (int)F32 };
    Value *y = append_attrs(g, &op_all_to_all, x, &a, axes);
    dim_join(&y->dim[from], axes);
    dim_divide_over(&y->dim[to], axes);
    return y;
}

static void same_dtype(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
}

/* The dtype in which parts of a sum travel. */
static Dtype wire_of(const Launch *l)
{
    const Dtype own = l->in[0].dtype;
    return own == F32 ? (Dtype)((const Along *)l->attrs)->wire : own;
}

static bool is_narrow(const Launch *l)
{
    return wire_of(l) != l->in[0].dtype && collective_size(l) > 1;
}

static size_t reduce_scratch(const Launch *l)
{
    return is_narrow(l) ? narrow_sum_bytes(collective_size(l), tensor_count(&l->in[0]), wire_of(l))
                        : 0;
}

static int run_all_reduce(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const Along *a = l->attrs;
    const int status = move_bytes(l, l->out[0].data, x->data, tensor_bytes(x));
    if (status || collective_size(l) == 1) return status;
    if (is_narrow(l)) return narrow_sum(l, wire_of(l), l->out[0].data, tensor_count(x), l->scratch);
    return collective_status(l->comm,
                             l->comm->all_reduce(l->comm, l->out[0].data, tensor_count(x), x->dtype,
                                                 a->max ? REDUCE_MAX : REDUCE_SUM, l->stream));
}

/* In scratch, where rows do not lie in order: what is sent or received. */
static size_t packed_scratch(const Launch *l, const Tensor *wide, const Tensor *narrow)
{
    const Rows r = rows_of(l, wide, narrow, (int)((const Along *)l->attrs)->dim);
    return r.in_order ? 0 : tensor_bytes(narrow) * (size_t)r.size;
}

static size_t gather_scratch(const Launch *l)
{
    return packed_scratch(l, &l->out[0], &l->in[0]);
}

/* That of packed_scratch, whole cache lines of it, and what narrow parts need. */
static size_t scatter_scratch(const Launch *l)
{
    const size_t packed = packed_scratch(l, &l->in[0], &l->out[0]);
    if (!is_narrow(l)) return packed;
    const int n = collective_size(l);
    const int64_t part = tensor_count(&l->out[0]);
    return (packed + 63) / 64 * 64 + narrow_scatter_bytes(n, n * part, part, wire_of(l));
}

static int gather(const Launch *l, const Rows *r, int64_t *counts)
{
    const Tensor *x = &l->in[0];
    if (r->in_order) {
        rows_counts(r, counts);
        return collective_status(l->comm, l->comm->all_gather(l->comm, x->data, l->out[0].data,
                                                              counts, x->dtype, l->stream));
    }
    char *packed = l->scratch;
    for (int m = 0; m < r->size; m++) counts[m] = tensor_count(x);
    int status = collective_status(
        l->comm, l->comm->all_gather(l->comm, x->data, packed, counts, x->dtype, l->stream));
    for (int m = 0; !status && m < r->size; m++)
        status = rows_unpack(l, r, m, packed + (size_t)m * tensor_bytes(x));
    return status;
}

static int run_all_gather(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const Rows r = rows_of(l, &l->out[0], x, (int)((const Along *)l->attrs)->dim);
    if (r.size == 1) return move_bytes(l, l->out[0].data, x->data, tensor_bytes(x));
    int64_t *counts = collective_numbers(r.size);
    const int status = gather(l, &r, counts);
    free(counts);
    return status;
}

static int scatter(const Launch *l, const Rows *r, int64_t *counts)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    char *packed = l->scratch;
    const void *from = x->data;
    int status = KERNEL_OK;
    if (r->in_order) {
        rows_counts(r, counts);
        status = move_clear(l, y->data, tensor_bytes(y)); /* padding */
    } else {
        from = packed;
        for (int m = 0; m < r->size && !status; m++) {
            counts[m] = tensor_count(y);
            status = rows_pack(l, r, m, packed + (size_t)m * tensor_bytes(y));
        }
    }
    if (status) return status;
    if (is_narrow(l))
        return narrow_scatter(l, wire_of(l), from, counts, y->data,
                              (char *)l->scratch + (packed_scratch(l, x, y) + 63) / 64 * 64);
    return collective_status(l->comm, l->comm->reduce_scatter(l->comm, from, y->data, counts,
                                                              x->dtype, REDUCE_SUM, l->stream));
}

static int run_reduce_scatter(const Launch *l)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const Rows r = rows_of(l, x, y, (int)((const Along *)l->attrs)->dim);
    if (r.size == 1) return move_bytes(l, y->data, x->data, tensor_bytes(x));
    int64_t *counts = collective_numbers(r.size);
    const int status = scatter(l, &r, counts);
    free(counts);
    return status;
}

/* Every other rank gets a part. */
static double sent_parts(const Launch *l, const Tensor *part)
{
    return (double)tensor_bytes(part) * (collective_size(l) - 1);
}

static double gather_sent(const Launch *l)
{
    return sent_parts(l, &l->in[0]);
}

static double scatter_sent(const Launch *l)
{
    Tensor part = l->out[0];
    part.dtype = wire_of(l);
    return sent_parts(l, &part);
}

/* A part of the sum to each, and the sum of the own part. */
static double reduce_sent(const Launch *l)
{
    const int n = collective_size(l);
    return 2.0 * (double)tensor_count(&l->in[0]) * (double)dtype_size(wire_of(l)) * (n - 1) / n;
}

/* What one rank sends to another: parts of both dimensions. */
static Tensor block_of(const Launch *l)
{
    const Along *a = l->attrs;
    Tensor t = l->in[0];
    t.size[a->to] = l->out[0].size[a->to];
    t.part[a->to] = l->out[0].part[a->to];
    return t;
}

static size_t exchange_scratch(const Launch *l)
{
    const Tensor block = block_of(l);
    return (size_t)collective_size(l) * 2 * tensor_bytes(&block);
}

static double exchange_sent(const Launch *l)
{
    const Tensor block = block_of(l);
    return sent_parts(l, &block);
}

static int exchange_blocks(const Launch *l, int n, int64_t *counts)
{
    const Along *a = l->attrs;
    const Tensor block = block_of(l), *x = &l->in[0];
    const Rows sent = rows_of(l, x, &block, (int)a->to),
               received = rows_of(l, &l->out[0], &block, (int)a->dim);
    const size_t bytes = tensor_bytes(&block);
    char *out = l->scratch, *in = out + (size_t)n * bytes;
    int status = KERNEL_OK;
    for (int m = 0; m < n && !status; m++) {
        counts[m] = tensor_count(&block);
        status = rows_pack(l, &sent, m, out + (size_t)m * bytes);
    }
    if (!status)
        status = collective_status(
            l->comm, l->comm->all_to_all(l->comm, out, counts, in, counts, x->dtype, l->stream));
    for (int m = 0; !status && m < n; m++)
        status = rows_unpack(l, &received, m, in + (size_t)m * bytes);
    return status;
}

static int run_all_to_all(const Launch *l)
{
    const int n = collective_size(l);
    if (n == 1) return move_bytes(l, l->out[0].data, l->in[0].data, tensor_bytes(&l->in[0]));
    int64_t *counts = collective_numbers(n);
    const int status = exchange_blocks(l, n, counts);
    free(counts);
    return status;
}

static int run_slice(const Launch *l)
{
    const Rows r = rows_of(l, &l->in[0], &l->out[0], (int)((const Along *)l->attrs)->dim);
    return rows_pack(l, &r, l->comm ? l->comm->rank : 0, l->out[0].data);
}

static const OpDef op_all_reduce = {
    .name = "all_reduce",
    .doc = "the sum or maximum over ranks, on all of them",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Along),
    .dtypes = same_dtype,
    .reference = run_all_reduce,
    .sent = reduce_sent,
    .scratch = reduce_scratch,
    .flags = OP_COMM,
};

const OpDef op_all_gather = {
    .name = "all_gather",
    .doc = "the parts of a dimension from all ranks, on all of them",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Along),
    .dtypes = same_dtype,
    .reference = run_all_gather,
    .sent = gather_sent,
    .scratch = gather_scratch,
    .flags = OP_COMM,
};

const OpDef op_reduce_scatter = {
    .name = "reduce_scatter",
    .doc = "the sum over ranks, of which each gets its part of a dimension",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Along),
    .dtypes = same_dtype,
    .reference = run_reduce_scatter,
    .sent = scatter_sent,
    .scratch = scatter_scratch,
    .flags = OP_COMM,
};

static const OpDef op_all_to_all = {
    .name = "all_to_all",
    .doc = "parts of one dimension become parts of another",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Along),
    .dtypes = same_dtype,
    .reference = run_all_to_all,
    .sent = exchange_sent,
    .scratch = exchange_scratch,
    .flags = OP_COMM,
};

const OpDef op_slice = {
    .name = "slice",
    .doc = "this rank's part of a dimension that it has whole",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Along),
    .dtypes = same_dtype,
    .reference = run_slice,
    .flags = OP_COMM,
};

const OpDef *const collective_ops[] = {
    &op_all_reduce, &op_all_gather, &op_reduce_scatter, &op_all_to_all, &op_slice, NULL,
};
