/* grouped_bias.c - the bias of each expert, added to the rows that were sent to it. */
#include "ops/grouped_bias.h"
#include <string.h>

static const OpDef op_grouped_bias, op_grouped_bias_grad;

Value *grouped_bias(Graph *g, Value *x, Value *bias, Value *of)
{
    return graph_add(g, &op_grouped_bias, NULL, 3, (Value *[]){ x, bias, of })->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const int64_t n_each = n->in[1]->dim[0].size / n->in[0]->dim[0].size;
    const char *e = arena_printf(g->arena, "e=%lld", (long long)n_each);
    Value *in[] = { dout[0], n->in[2] };
    din[0] = dout[0];
    din[1] = graph_add_dims(g, &op_grouped_bias_grad, "grn,gr->(ge)n", e, NULL, 2, in)->out[0];
    din[1]->dim[0].axis = n->in[1]->dim[0].axis;
}

static void sum_dtype(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

static int reference(const Launch *l)
{
    const int64_t n = l->out[0].size[2], n_rows = tensor_count(&l->in[2]);
    const int32_t *of = l->in[2].data;
    for (int64_t i = 0; i < n_rows * n; i++) {
        const int32_t expert = of[i / n];
        if (expert >= l->in[1].size[0]) return KERNEL_BAD_INDEX;
        ((double *)l->out[0].data)[i] =
            ((const double *)l->in[0].data)[i] +
            (expert < 0 ? 0 : ((const double *)l->in[1].data)[expert * n + i % n]);
    }
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const int64_t n = l->out[0].size[1], n_rows = tensor_count(&l->in[1]);
    const int32_t *of = l->in[1].data;
    memset(l->out[0].data, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n_rows * n; i++) {
        const int32_t expert = of[i / n];
        if (expert >= l->out[0].size[0]) return KERNEL_BAD_INDEX;
        if (expert >= 0)
            ((double *)l->out[0].data)[expert * n + i % n] += ((const double *)l->in[0].data)[i];
    }
    return KERNEL_OK;
}

static const OpDef op_grouped_bias = {
    .name = "grouped_bias",
    .doc = "rows plus the bias of their expert",
    .dims = "grn,(ge)n,gr->grn",
    .grad = grad,
    .reference = reference,
};
static const OpDef op_grouped_bias_grad = {
    .name = "grouped_bias_grad",
    .doc = "gradient of the experts' biases: sums of their rows",
    .dtypes = sum_dtype,
    .reference = grad_reference,
};

const OpDef *const grouped_bias_ops[] = { &op_grouped_bias, &op_grouped_bias_grad, NULL };
