/* unit.c - transfers of all parameters or gradients of one unit, as one node each. */
#include "graph/split.h"
#include "ops/collective.h"
#include "ops/collective_rows.h"
#include <stdlib.h>
#include <string.h>

static const OpDef op_gather_unit, op_reduce_unit, op_reduce_bucket, op_clear_unit;

typedef struct Bucket {
    int64_t max; /* the reduction is a maximum */
} Bucket;

static const Field bucket_attrs[] = {
    FIELD_INT(Bucket, max, "0", 0, 1, "1: the largest, instead of the sum"),
    { 0 },
};

static Node *append(Graph *g, const OpDef *op, int n, Value *const *in, Value *const *into,
                    unsigned axes)
{
    const Bucket attrs = { .max = n && in[0]->reduce == REDUCE_MAX };
    Node *x = graph_add_into(g, op, "=", NULL, &attrs, n, in, into ? n : 0, into);
    x->axes = axes;
    return x;
}

void gather_unit(Graph *g, int n, Value *const *home, unsigned axes, Value **whole)
{
    Node *x = append(g, &op_gather_unit, n, home, NULL, axes);
    for (int k = 0; k < n; k++) {
        whole[k] = x->out[k];
        memcpy(whole[k]->dim, home[k]->dim, sizeof home[k]->dim);
        dim_join(&whole[k]->dim[0], axes);
    }
}

void reduce_unit(Graph *g, int n, Value *const *whole, unsigned axes, Value *const *home)
{
    append(g, &op_reduce_unit, n, whole, home, axes);
}

void reduce_bucket(Graph *g, int n, Value *const *x, unsigned axes)
{
    append(g, &op_reduce_bucket, n, x, x, axes);
}

void reduce_list(Graph *g, int n, Value *const *x, unsigned axes, Value **out)
{
    const Node *made = append(g, &op_reduce_bucket, n, x, NULL, axes);
    for (int k = 0; k < n; k++) {
        out[k] = made->out[k];
        memcpy(out[k]->dim, x[k]->dim, sizeof x[k]->dim);
        out[k]->reduce = x[k]->reduce;
        out[k]->partial = x[k]->partial & ~axes;
    }
}

void clear_unit(Graph *g, int n, Value *const *x)
{
    append(g, &op_clear_unit, n, x, x, 0);
}

static void same_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < n->n_out; k++) out[k] = n->in[k]->dtype;
}

/* Of the parts that a rank has, each other one gets a copy; and of what they add up, theirs. Each
 * part travels in the dtype of its input. */
static double sum_parts(const Launch *l, const Tensor *part, int n)
{
    double bytes = 0;
    for (int k = 0; k < n; k++)
        bytes += (double)tensor_count(&part[k]) * (double)dtype_size(l->in[k].dtype);
    return bytes * (collective_size(l) - 1);
}

static double gather_sent(const Launch *l)
{
    return sum_parts(l, l->in, l->n_in);
}

static double scatter_sent(const Launch *l)
{
    return sum_parts(l, l->out, l->n_in);
}

static double bucket_sent(const Launch *l)
{
    return 2 * sum_parts(l, l->out, l->n_in) / collective_size(l);
}

/* Small tensors of one dtype that follow each other go in one message of at most this size. */
enum { PACKED_BYTES = 1 << 16 };

/* How many tensors from k on fit into one message; at least 1. */
static int take_small(const Tensor *t, int n, int k, size_t *bytes)
{
    int end = k;
    *bytes = 0;
    while (end < n && t[end].dtype == t[k].dtype && *bytes + tensor_bytes(&t[end]) <= PACKED_BYTES)
        *bytes += tensor_bytes(&t[end++]);
    if (end == k) *bytes = tensor_bytes(&t[end++]);
    return end - k;
}

/* Tensors of which ranks have rows, on their way: in `data` all parts of the first rank, then those
 * of the second. */
typedef struct Packed {
    const Launch *l;
    const Tensor *whole, *part;
    int n;
    int64_t *counts; /* by rank: elements of its parts; the caller's */
    int64_t *at;     /* by rank: where its next part goes; behind them */
    char *data;
} Packed;

static Packed packed_of(const Launch *l, const Tensor *whole, const Tensor *part, int n,
                        int64_t *numbers)
{
    const int size = collective_size(l);
    Packed p = { .l = l,
                 .whole = whole,
                 .part = part,
                 .n = n,
                 .counts = numbers,
                 .at = numbers + size,
                 .data = l->scratch };
    for (int m = 0; m < size; m++) p.counts[m] = 0;
    for (int i = 0; i < n; i++) {
        const Rows r = rows_of(l, &whole[i], &part[i], 0);
        for (int m = 0; m < size; m++) p.counts[m] += rows_count(&r, m) * r.after;
    }
    return p;
}

static char *place_of_rank(const Packed *p, int rank)
{
    int64_t before = 0;
    for (int m = 0; m < rank; m++) before += p->counts[m];
    return p->data + (size_t)before * dtype_size(p->whole[0].dtype);
}

/* Copies between whole tensors and `data`. */
static int copy_packed(const Packed *p, bool into_whole)
{
    const int size = collective_size(p->l);
    int status = KERNEL_OK;
    for (int m = 0; m < size; m++) p->at[m] = m ? p->at[m - 1] + p->counts[m - 1] : 0;
    for (int i = 0; i < p->n && !status; i++) {
        const Rows r = rows_of(p->l, &p->whole[i], &p->part[i], 0);
        const size_t element = dtype_size(p->whole[i].dtype);
        char *whole = p->whole[i].data;
        for (int m = 0; m < size && !status; m++) {
            int64_t n = rows_count(&r, m) * r.after;
            char *packed = p->data + (size_t)p->at[m] * element;
            status = move_bytes(p->l, into_whole ? whole : packed, into_whole ? packed : whole,
                                (size_t)n * element);
            whole += (size_t)n * element;
            p->at[m] += n;
        }
    }
    return status;
}

static size_t packed_scratch(const Launch *l)
{
    (void)l;
    return PACKED_BYTES;
}

static int gather_some(const Launch *l, int k, int n, int64_t *numbers)
{
    const Packed p = packed_of(l, &l->out[k], &l->in[k], n, numbers);
    int status = KERNEL_OK;
    const int rank = l->comm->rank;
    const Dtype t = l->in[k].dtype;
    if (n == 1)
        return collective_status(
            l->comm,
            l->comm->all_gather(l->comm, l->in[k].data, l->out[k].data, p.counts, t, l->stream));
    char *mine = place_of_rank(&p, rank), *to = mine;
    for (int i = 0; i < n && !status; i++) {
        const Rows r = rows_of(l, &p.whole[i], &p.part[i], 0);
        size_t bytes = (size_t)(rows_count(&r, rank) * r.after) * dtype_size(t);
        status = move_bytes(l, to, p.part[i].data, bytes);
        to += bytes;
    }
    if (!status)
        status = collective_status(
            l->comm, l->comm->all_gather(l->comm, mine, p.data, p.counts, t, l->stream));
    return status ? status : copy_packed(&p, true);
}

static int run_gather_unit(const Launch *l)
{
    int64_t *numbers = collective_numbers(2 * collective_size(l));
    int status = KERNEL_OK, n;
    size_t bytes;
    for (int k = 0; !status && k < l->n_in; k += n) {
        n = take_small(l->out, l->n_out, k, &bytes);
        for (int i = k; collective_size(l) == 1 && i < k + n && !status; i++)
            status = move_bytes(l, l->out[i].data, l->in[i].data, tensor_bytes(&l->out[i]));
        if (collective_size(l) > 1) status = gather_some(l, k, n, numbers);
    }
    free(numbers);
    return status;
}

static size_t reduce_scratch(const Launch *l)
{
    size_t most = PACKED_BYTES;
    for (int k = 0; k < l->n_out; k++) {
        size_t bytes = (size_t)tensor_count(&l->out[k]) * dtype_size(l->in[k].dtype);
        if (bytes > most) most = bytes;
    }
    return most;
}

static int reduce_some(const Launch *l, int k, int n, int64_t *numbers)
{
    const Packed p = packed_of(l, &l->in[k], &l->out[k], n, numbers);
    int status = KERNEL_OK;
    const Dtype t = l->in[k].dtype;
    const int rank = l->comm->rank;
    const void *from = l->in[k].data;
    char *mine = p.data;
    if (n > 1) {
        status = copy_packed(&p, false);
        from = p.data;
        mine = place_of_rank(&p, rank);
    }
    if (!status)
        status = collective_status(l->comm, l->comm->reduce_scatter(l->comm, from, mine, p.counts,
                                                                    t, REDUCE_SUM, l->stream));
    for (int i = 0; !status && i < n; i++) {
        const Rows r = rows_of(l, &p.whole[i], &p.part[i], 0);
        const int64_t count = rows_count(&r, rank) * r.after;
        status = move_add(l, p.part[i].data, p.part[i].dtype, mine, t, count);
        mine += (size_t)count * dtype_size(t);
    }
    return status;
}

static int run_reduce_unit(const Launch *l)
{
    int64_t *numbers = collective_numbers(2 * collective_size(l));
    int status = KERNEL_OK, n;
    size_t bytes;
    for (int k = 0; !status && k < l->n_in; k += n) {
        n = take_small(l->in, l->n_in, k, &bytes);
        for (int i = k; collective_size(l) == 1 && i < k + n && !status; i++)
            status = move_add(l, l->out[i].data, l->out[i].dtype, l->in[i].data, l->in[i].dtype,
                              tensor_count(&l->in[i]));
        if (collective_size(l) > 1) status = reduce_some(l, k, n, numbers);
    }
    free(numbers);
    return status;
}

static int run_reduce_bucket(const Launch *l)
{
    int status = KERNEL_OK, n;
    const ReduceOp op = ((const Bucket *)l->attrs)->max ? REDUCE_MAX : REDUCE_SUM;
    for (int k = 0; !status && k < l->n_out; k += n) {
        size_t bytes, at = 0;
        n = take_small(l->out, l->n_out, k, &bytes);
        for (int i = k; i < k + n && !status; i++)
            if (l->out[i].data != l->in[i].data)
                status = move_bytes(l, l->out[i].data, l->in[i].data, tensor_bytes(&l->in[i]));
        if (collective_size(l) == 1) continue;
        char *to = n == 1 ? l->out[k].data : l->scratch;
        for (int i = k; n > 1 && i < k + n && !status; at += tensor_bytes(&l->out[i++]))
            status = move_bytes(l, to + at, l->out[i].data, tensor_bytes(&l->out[i]));
        Dtype t = l->out[k].dtype;
        if (!status)
            status = collective_status(
                l->comm, l->comm->all_reduce(l->comm, to, (int64_t)(bytes / dtype_size(t)), t, op,
                                             l->stream));
        at = 0;
        for (int i = k; n > 1 && i < k + n && !status; at += tensor_bytes(&l->out[i++]))
            status = move_bytes(l, l->out[i].data, to + at, tensor_bytes(&l->out[i]));
    }
    return status;
}

static int run_clear_unit(const Launch *l)
{
    int status = KERNEL_OK;
    for (int k = 0; k < l->n_out && !status; k++)
        status = move_clear(l, l->out[k].data, tensor_bytes(&l->out[k]));
    return status;
}

static const OpDef op_gather_unit = {
    .name = "gather_unit",
    .doc = "the whole parameters of a unit from the parts that ranks keep",
    .attrs = bucket_attrs,
    .attrs_size = sizeof(Bucket),
    .dtypes = same_dtypes,
    .reference = run_gather_unit,
    .sent = gather_sent,
    .scratch = packed_scratch,
    .flags = OP_COMM,
};

static const OpDef op_reduce_unit = {
    .name = "reduce_unit",
    .doc = "adds the sums of a unit's gradients to the parts that ranks keep",
    .attrs = bucket_attrs,
    .attrs_size = sizeof(Bucket),
    .dtypes = same_dtypes,
    .reference = run_reduce_unit,
    .sent = scatter_sent,
    .scratch = reduce_scratch,
    .flags = OP_COMM | OP_ADDS,
};

static const OpDef op_reduce_bucket = {
    .name = "reduce_bucket",
    .doc = "sums over ranks of a list of gradients, in place, or of scalars",
    .attrs = bucket_attrs,
    .attrs_size = sizeof(Bucket),
    .dtypes = same_dtypes,
    .reference = run_reduce_bucket,
    .sent = bucket_sent,
    .scratch = packed_scratch,
    .flags = OP_COMM | OP_ADDS,
};

static const OpDef op_clear_unit = {
    .name = "clear_unit",
    .doc = "gradients that were reduced become zero",
    .attrs = bucket_attrs,
    .attrs_size = sizeof(Bucket),
    .dtypes = same_dtypes,
    .reference = run_clear_unit,
    .flags = OP_COMM | OP_ADDS,
};

const OpDef *const unit_ops[] = { &op_gather_unit, &op_reduce_unit, &op_reduce_bucket,
                                  &op_clear_unit, NULL };
