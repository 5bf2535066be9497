/* grouped_linear.c - matrix products over groups of rows whose sizes are known only when they run:
 * each expert multiplies the rows that were sent to it. */
#include "ops/grouped_linear.h"
#include <string.h>

static const OpDef op_grouped_linear, op_grouped_outer;

static const Field attrs[] = {
    FIELD_BOOL(GroupedLinear, transposed, NULL, "the weight has the width of x in front"),
    { 0 },
};

static Value *product(Graph *g, Value *x, Value *weight, Value *start, bool transposed)
{
    Value *in[] = { x, weight, start };
    const char *dims = transposed ? "m!n,e!nk,z!->mk" : "m!k,e!nk,z!->mn";
    const GroupedLinear a = { transposed };
    return graph_add_dims(g, &op_grouped_linear, dims, NULL, &a, 3, in)->out[0];
}

Value *grouped_linear(Graph *g, Value *x, Value *weight, Value *start)
{
    return product(g, x, weight, start, false);
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const bool transposed = ((const GroupedLinear *)n->attrs)->transposed;
    CHECK(!transposed);
    const char *e = arena_printf(g->arena, "e=%lld", (long long)n->in[1]->dim[0].size);
    Value *in[] = { dout[0], n->in[0], n->in[2] };
    din[0] = product(g, dout[0], n->in[1], n->in[2], true);
    din[1] = graph_add_dims(g, &op_grouped_outer, "m!n,mk,z!->e!nk", e, NULL, 3, in)->out[0];
    din[1]->dim[0].axis = n->in[1]->dim[0].axis;
}

/* All rows, whatever their expert. */
static int64_t flops(const Node *n)
{
    const Value *weight = n->in[1]->n_dims == 3 ? n->in[1] : n->out[0];
    return 2 * n->in[0]->dim[0].size * weight->dim[1].size * weight->dim[2].size;
}

static void sum_dtype(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

static int reference(const Launch *l)
{
    const bool transposed = ((const GroupedLinear *)l->attrs)->transposed;
    const Tensor *weight = &l->in[1];
    const int64_t k = l->in[0].size[1], n = l->out[0].size[1];
    const int32_t *start = l->in[2].data;
    double *out = l->out[0].data;
    memset(out, 0, tensor_bytes(&l->out[0]));
    for (int64_t e = 0; e < weight->size[0]; e++) {
        const double *w = (const double *)weight->data + e * n * k;
        for (int64_t i = start[e]; i < start[e + 1]; i++) {
            const double *x = (const double *)l->in[0].data + i * k;
            for (int64_t j = 0; j < n; j++)
                for (int64_t c = 0; c < k; c++)
                    out[i * n + j] += x[c] * (transposed ? w[c * n + j] : w[j * k + c]);
        }
    }
    return KERNEL_OK;
}

static int outer_reference(const Launch *l)
{
    const int64_t n = l->in[0].size[1], k = l->in[1].size[1], n_experts = l->out[0].size[0];
    const int32_t *start = l->in[2].data;
    const double *dy = l->in[0].data, *x = l->in[1].data;
    memset(l->out[0].data, 0, tensor_bytes(&l->out[0]));
    for (int64_t e = 0; e < n_experts; e++) {
        double *dw = (double *)l->out[0].data + e * n * k;
        for (int64_t i = start[e]; i < start[e + 1]; i++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t c = 0; c < k; c++) dw[j * k + c] += dy[i * n + j] * x[i * k + c];
    }
    return KERNEL_OK;
}

static const OpDef op_grouped_linear = {
    .name = "grouped_linear",
    .doc = "rows times the weight of their expert",
    .attrs = attrs,
    .attrs_size = sizeof(GroupedLinear),
    .grad = grad,
    .flops = flops,
    .reference = reference,
    .flags = OP_MATMUL,
};
static const OpDef op_grouped_outer = {
    .name = "grouped_outer",
    .doc = "gradient of the experts' weights",
    .dtypes = sum_dtype,
    .flops = flops,
    .reference = outer_reference,
    .flags = OP_MATMUL | OP_ADDS,
};

const OpDef *const grouped_linear_ops[] = { &op_grouped_linear, &op_grouped_outer, NULL };
