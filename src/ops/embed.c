/* embed.c - looks up one row of a table per id; the gradient adds rows up per id.
 *
 * When the vocabulary is split, a rank knows some rows only and gives zeros for other ids, so that
 * the sum over the ranks is the result. */
#include "ops/embed.h"
#include <string.h>

static const OpDef op_embed, op_embed_grad;

Value *embed(Graph *g, Value *ids, Value *table)
{
    return graph_add(g, &op_embed, NULL, 2, (Value *[]){ ids, table })->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const char *v = arena_printf(g->arena, "v=%lld", (long long)n->in[1]->dim[0].size);
    Value *in[] = { n->in[0], dout[0] };
    Node *made = graph_add_dims(g, &op_embed_grad, op_embed_grad.dims, v, NULL, 2, in);
    made->out[0]->dim[0].axis = n->in[1]->dim[0].axis;
    din[1] = made->out[0];
}

static int reference(const Launch *l)
{
    const int32_t *ids = l->in[0].data;
    const Tensor *table = &l->in[1];
    double *y = l->out[0].data;
    int64_t d = table->size[1];
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++, y += d) {
        if (ids[i] < 0 || ids[i] >= global_size(table, 0)) return KERNEL_BAD_INDEX;
        int64_t row = local_index(table, 0, ids[i]);
        for (int64_t j = 0; j < d; j++)
            y[j] = row < 0 ? 0 : ((const double *)table->data)[row * d + j];
    }
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[1]->dtype);
}

static int grad_reference(const Launch *l)
{
    const int32_t *ids = l->in[0].data;
    const double *dy = l->in[1].data;
    double *dtable = l->out[0].data;
    int64_t d = l->out[0].size[1];
    memset(dtable, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++, dy += d) {
        int64_t row = local_index(&l->out[0], 0, ids[i]);
        for (int64_t j = 0; row >= 0 && j < d; j++) dtable[row * d + j] += dy[j];
    }
    return KERNEL_OK;
}

static const OpDef op_embed = {
    .name = "embed",
    .doc = "rows of a table by id",
    .dims = "*,vd->*d",
    .grad = grad,
    .reference = reference,
};
static const OpDef op_embed_grad = {
    .name = "embed_grad",
    .doc = "adds each row of the gradient to the table's row of its id",
    .dims = "*,*d->vd",
    .dtypes = grad_dtypes,
    .reference = grad_reference,
    .flags = OP_ADDS,
};

const OpDef *const embed_ops[] = { &op_embed, &op_embed_grad, NULL };
