/* sequence.c - ops that change which rows a sequence has: class tokens, queries that are learned;
 * and which ids its tokens have. */
#include "ops/sequence.h"
#include <string.h>

static const OpDef op_join_row, op_join_row_grad, op_slice_rows, op_pad_rows, op_mean_rows,
    op_mean_rows_grad, op_repeat_rows, op_repeat_rows_grad, op_later_ids, op_ids_below;

static const Field join_attrs[] = {
    FIELD_BOOL(JoinRow, in_front, NULL, "the row comes first"),
    { 0 },
};

static const Field slice_attrs[] = {
    FIELD_INT(SliceRows, from, NULL, 0, 0, "the first row"),
    { 0 },
};

static const Field later_attrs[] = {
    FIELD_INT(LaterIds, n, NULL, 0, 0, "so many tokens further on"),
    FIELD_INT(LaterIds, after, NULL, 0, 0, "after the last one"),
    { 0 },
};

static const Field below_attrs[] = {
    FIELD_INT(IdsBelow, n, NULL, 1, 0, "from here on an id counts as 0"),
    { 0 },
};

static const char *size_of(Graph *g, char letter, int64_t n)
{
    return arena_printf(g->arena, "%c=%lld", letter, (long long)n);
}

Value *join_row(Graph *g, Value *x, Value *row, bool in_front)
{
    Value *in[] = { x, row };
    const char *t = size_of(g, 't', x->dim[1].size + 1);
    return graph_add_dims(g, &op_join_row, "bs!d,ijd->bt!d", t, &(JoinRow){ in_front }, 2, in)
        ->out[0];
}

static Value *cut(Graph *g, const OpDef *op, Value *x, int64_t from, int64_t n)
{
    return graph_add_dims(g, op, "bs!d->bt!d", size_of(g, 't', n), &(SliceRows){ from }, 1, &x)
        ->out[0];
}

Value *slice_rows(Graph *g, Value *x, int64_t from, int64_t n)
{
    return cut(g, &op_slice_rows, x, from, n);
}

Value *later_ids(Graph *g, Value *ids, int64_t n, int32_t after)
{
    return graph_add(g, &op_later_ids, &(LaterIds){ n, after }, 1, &ids)->out[0];
}

Value *ids_below(Graph *g, Value *ids, int64_t n)
{
    return graph_add(g, &op_ids_below, &(IdsBelow){ n }, 1, &ids)->out[0];
}

Value *mean_rows(Graph *g, Value *x)
{
    return graph_add(g, &op_mean_rows, NULL, 1, &x)->out[0];
}

Value *repeat_rows(Graph *g, Value *rows, int64_t batch)
{
    const char *b = size_of(g, 'b', batch);
    Value *y = graph_add_dims(g, &op_repeat_rows, "qd->bqd", b, NULL, 1, &rows)->out[0];
    y->dim[0].axis = "batch";
    return y;
}

static void join_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const JoinRow *a = n->attrs;
    const int64_t rows = n->in[0]->dim[1].size;
    Value *dy = dout[0];
    din[0] = slice_rows(g, dy, a->in_front, rows);
    din[1] = graph_add_dims(g, &op_join_row_grad, "bt!d->ijd", "i=1 j=1", a, 1, &dy)->out[0];
}

static void slice_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] =
        cut(g, &op_pad_rows, dout[0], ((const SliceRows *)n->attrs)->from, n->in[0]->dim[1].size);
}

static void mean_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const char *s = size_of(g, 's', n->in[0]->dim[1].size);
    din[0] = graph_add_dims(g, &op_mean_rows_grad, "bd->bs!d", s, NULL, 1, dout)->out[0];
}

static void repeat_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    (void)n;
    din[0] = graph_add(g, &op_repeat_rows_grad, NULL, 1, dout)->out[0];
}

static void id_dtype(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = I32;
}

static void sum_dtype(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

/* Copies `n` rows of each sample, of `rows_in` and `rows_out`. */
static void copy_rows(const double *x, int64_t rows_in, double *y, int64_t rows_out, int64_t batch,
                      int64_t n, int64_t d)
{
    for (int64_t b = 0; b < batch; b++)
        memcpy(y + b * rows_out * d, x + b * rows_in * d, sizeof *y * (size_t)(n * d));
}

static int join_reference(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const int64_t batch = x->size[0], s = x->size[1], d = x->size[2];
    const bool in_front = ((const JoinRow *)l->attrs)->in_front;
    double *y = l->out[0].data;
    copy_rows(x->data, s, y + (in_front ? d : 0), s + 1, batch, s, d);
    for (int64_t b = 0; b < batch; b++)
        memcpy(y + (b * (s + 1) + (in_front ? 0 : s)) * d, l->in[1].data, sizeof *y * (size_t)d);
    return KERNEL_OK;
}

static int join_grad_reference(const Launch *l)
{
    const Tensor *dy = &l->in[0];
    const int64_t s = dy->size[1], d = dy->size[2];
    const int64_t row = ((const JoinRow *)l->attrs)->in_front ? 0 : s - 1;
    double *drow = l->out[0].data;
    for (int64_t j = 0; j < d; j++) {
        drow[j] = 0;
        for (int64_t b = 0; b < dy->size[0]; b++)
            drow[j] += ((const double *)dy->data)[(b * s + row) * d + j];
    }
    return KERNEL_OK;
}

static int slice_reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int64_t d = x->size[2], from = ((const SliceRows *)l->attrs)->from;
    copy_rows((const double *)x->data + from * d, x->size[1], y->data, y->size[1], x->size[0],
              y->size[1], d);
    return KERNEL_OK;
}

static int pad_reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int64_t d = x->size[2], from = ((const SliceRows *)l->attrs)->from;
    memset(y->data, 0, tensor_bytes(y));
    copy_rows(x->data, x->size[1], (double *)y->data + from * d, y->size[1], x->size[0], x->size[1],
              d);
    return KERNEL_OK;
}

static int later_reference(const Launch *l)
{
    const LaterIds *a = l->attrs;
    const int64_t s = l->in[0].size[1], n = tensor_count(&l->in[0]);
    const int32_t *x = l->in[0].data;
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)l->out[0].data)[i] = i % s + a->n < s ? x[i + a->n] : (int32_t)a->after;
    return KERNEL_OK;
}

static int below_reference(const Launch *l)
{
    const int64_t most = ((const IdsBelow *)l->attrs)->n, n = tensor_count(&l->in[0]);
    const int32_t *x = l->in[0].data;
    for (int64_t i = 0; i < n; i++) ((int32_t *)l->out[0].data)[i] = x[i] < most ? x[i] : 0;
    return KERNEL_OK;
}

static int mean_reference(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const int64_t s = x->size[1], d = x->size[2];
    double *y = l->out[0].data;
    for (int64_t i = 0; i < x->size[0] * d; i++) {
        y[i] = 0;
        for (int64_t k = 0; k < s; k++)
            y[i] += ((const double *)x->data)[(i / d * s + k) * d + i % d] / (double)s;
    }
    return KERNEL_OK;
}

static int mean_grad_reference(const Launch *l)
{
    const Tensor *dx = &l->out[0];
    const int64_t s = dx->size[1], d = dx->size[2], n = tensor_count(dx);
    for (int64_t i = 0; i < n; i++)
        ((double *)dx->data)[i] =
            ((const double *)l->in[0].data)[i / (s * d) * d + i % d] / (double)s;
    return KERNEL_OK;
}

static int repeat_reference(const Launch *l)
{
    const int64_t n = tensor_count(&l->in[0]);
    for (int64_t b = 0; b < l->out[0].size[0]; b++)
        memcpy((double *)l->out[0].data + b * n, l->in[0].data, sizeof(double) * (size_t)n);
    return KERNEL_OK;
}

static int repeat_grad_reference(const Launch *l)
{
    const int64_t n = tensor_count(&l->out[0]);
    double *dx = l->out[0].data;
    for (int64_t i = 0; i < n; i++) {
        dx[i] = 0;
        for (int64_t b = 0; b < l->in[0].size[0]; b++)
            dx[i] += ((const double *)l->in[0].data)[b * n + i];
    }
    return KERNEL_OK;
}

static const OpDef op_join_row = {
    .name = "join_row",
    .doc = "one more row before those of each sample, or after them",
    .attrs = join_attrs,
    .attrs_size = sizeof(JoinRow),
    .grad = join_grad,
    .reference = join_reference,
};
static const OpDef op_join_row_grad = {
    .name = "join_row_grad",
    .doc = "gradient of the row that was joined",
    .attrs = join_attrs,
    .attrs_size = sizeof(JoinRow),
    .dtypes = sum_dtype,
    .reference = join_grad_reference,
    .flags = OP_LINEAR,
};
static const OpDef op_slice_rows = {
    .name = "slice_rows",
    .doc = "some rows of each sample",
    .attrs = slice_attrs,
    .attrs_size = sizeof(SliceRows),
    .grad = slice_grad,
    .reference = slice_reference,
    .flags = OP_LINEAR,
};
static const OpDef op_pad_rows = {
    .name = "pad_rows",
    .doc = "rows at their place among zeros: gradient of slice_rows",
    .attrs = slice_attrs,
    .attrs_size = sizeof(SliceRows),
    .reference = pad_reference,
    .flags = OP_LINEAR,
};
static const OpDef op_mean_rows = {
    .name = "mean_rows",
    .doc = "the mean row of each sample",
    .dims = "bs!d->bd",
    .grad = mean_grad,
    .reference = mean_reference,
    .flags = OP_LINEAR,
};
static const OpDef op_mean_rows_grad = {
    .name = "mean_rows_grad",
    .doc = "gradient of each row",
    .reference = mean_grad_reference,
    .flags = OP_LINEAR,
};
static const OpDef op_repeat_rows = {
    .name = "repeat_rows",
    .doc = "the same rows for each sample",
    .grad = repeat_grad,
    .reference = repeat_reference,
};
static const OpDef op_repeat_rows_grad = {
    .name = "repeat_rows_grad",
    .doc = "the sum over the samples",
    .dims = "bqd->qd",
    .dtypes = sum_dtype,
    .reference = repeat_grad_reference,
    .flags = OP_LINEAR,
};

static const OpDef op_later_ids = {
    .name = "later_ids",
    .doc = "the ids of tokens further on",
    .dims = "bs!->bs!",
    .attrs = later_attrs,
    .attrs_size = sizeof(LaterIds),
    .dtypes = id_dtype,
    .reference = later_reference,
};

static const OpDef op_ids_below = {
    .name = "ids_below",
    .doc = "ids, but 0 from a bound on",
    .dims = "*->*",
    .attrs = below_attrs,
    .attrs_size = sizeof(IdsBelow),
    .dtypes = id_dtype,
    .reference = below_reference,
};

const OpDef *const sequence_ops[] = { &op_join_row,
                                      &op_join_row_grad,
                                      &op_slice_rows,
                                      &op_pad_rows,
                                      &op_mean_rows,
                                      &op_mean_rows_grad,
                                      &op_repeat_rows,
                                      &op_repeat_rows_grad,
                                      &op_later_ids,
                                      &op_ids_below,
                                      NULL };
