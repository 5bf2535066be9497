/* positions.c - adds a learned vector per position; positions within documents. */
#include "ops/positions.h"
#include <string.h>

static const OpDef op_add_positions, op_document_positions, op_add_positions_grad;

static const Field fields[] = {
    FIELD_INT(Positions, first, NULL, 0, 0, "row of the first position"),
    { 0 },
};

Value *add_positions(Graph *g, Value *x, Value *table, int64_t first)
{
    const Positions attrs = { first };
    return graph_add(g, &op_add_positions, &attrs, 2, (Value *[]){ x, table })->out[0];
}

Value *document_positions(Graph *g, Value *documents, int64_t first)
{
    return graph_add(g, &op_document_positions, &(Positions){ first }, 1, &documents)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const char *t = arena_printf(g->arena, "t=%lld", (long long)n->in[1]->dim[0].size);
    const OpDef *op = &op_add_positions_grad;
    din[0] = dout[0];
    din[1] = graph_add_dims(g, op, op->dims, t, n->attrs, 1, dout)->out[0];
    din[1]->dim[0].axis = n->in[1]->dim[0].axis;
}

/* The row of the table for token i of x, or -1 after its end. */
static int64_t row_of(const Launch *l, int64_t i, int64_t n_rows)
{
    const Positions *a = l->attrs;
    const int64_t length = l->in[0].size[1];
    int64_t p =
        a->first + global_index(&l->in[0], 1, i % length) + row_position(l->now, i / length);
    return p < n_rows ? p : -1;
}

static int reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *table = &l->in[1];
    double *y = l->out[0].data;
    int64_t n_rows = x->size[0] * x->size[1], d = x->size[2];
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t p = row_of(l, i, table->size[0]);
        if (p < 0) return KERNEL_BAD_INDEX;
        for (int64_t j = 0; j < d; j++)
            y[i * d + j] =
                ((const double *)x->data)[i * d + j] + ((const double *)table->data)[p * d + j];
    }
    return KERNEL_OK;
}

static void document_dtype(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = I32;
}

static int document_reference(const Launch *l)
{
    const Positions *a = l->attrs;
    const Tensor *documents = &l->in[0];
    const int32_t *document = documents->data;
    int32_t *position = l->out[0].data;
    int64_t length = documents->size[1], n = tensor_count(documents);
    for (int64_t i = 0; i < n; i++) {
        bool goes_on = i % length && document[i] == document[i - 1];
        position[i] = goes_on ? position[i - 1] + 1 : (int32_t)a->first;
    }
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

static int grad_reference(const Launch *l)
{
    const Tensor *dy = &l->in[0];
    double *dtable = l->out[0].data;
    int64_t n_rows = dy->size[0] * dy->size[1], d = dy->size[2];
    memset(dtable, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t p = row_of(l, i, l->out[0].size[0]);
        if (p < 0) return KERNEL_BAD_INDEX;
        for (int64_t j = 0; j < d; j++) dtable[p * d + j] += ((const double *)dy->data)[i * d + j];
    }
    return KERNEL_OK;
}

static const OpDef op_add_positions = {
    .name = "add_positions",
    .doc = "x plus the row of a table for its position",
    .dims = "bsd,t!d->bsd",
    .attrs = fields,
    .attrs_size = sizeof(Positions),
    .grad = grad,
    .reference = reference,
};
static const OpDef op_document_positions = {
    .name = "document_positions",
    .doc = "the number of tokens of the same document in front of a token",
    .dims = "bs!->bs!",
    .attrs = fields,
    .attrs_size = sizeof(Positions),
    .dtypes = document_dtype,
    .reference = document_reference,
};
static const OpDef op_add_positions_grad = {
    .name = "add_positions_grad",
    .doc = "the sum of the gradient per position",
    .dims = "bsd->t!d",
    .attrs = fields,
    .attrs_size = sizeof(Positions),
    .dtypes = grad_dtypes,
    .reference = grad_reference,
    .flags = OP_LINEAR | OP_ADDS,
};

const OpDef *const positions_ops[] = { &op_add_positions, &op_document_positions,
                                       &op_add_positions_grad, NULL };
