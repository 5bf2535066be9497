/* grouped_linear.c - matrix products over groups of rows whose sizes are known only when they run:
 * each expert multiplies the rows that were sent to it. */
#include "ops/grouped_linear.h"
#include <string.h>

static const OpDef op_grouped_outer;

static const Field attrs[] = {
    FIELD_BOOL(GroupedLinear, transposed, NULL, "the weight has the width of x in front"),
    FIELD_INT(GroupedLinear, n_rows, NULL, 0, 0, "rows in use"),
    { 0 },
};

static Value *product(Graph *g, Value *x, Value *weight, Value *of, const GroupedLinear *a)
{
    Value *in[] = { x, weight, of };
    const char *dims = a->transposed ? "grn,(ge)nk,gr->grk" : "grk,(ge)nk,gr->grn";
    return graph_add_dims(g, &op_grouped_linear, dims, NULL, a, 3, in)->out[0];
}

Value *grouped_linear(Graph *g, Value *x, Value *weight, Value *of, int64_t n_rows)
{
    return product(g, x, weight, of, &(GroupedLinear){ .n_rows = n_rows });
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    GroupedLinear a = *(const GroupedLinear *)n->attrs;
    CHECK(!a.transposed);
    a.transposed = true;
    const int64_t n_each = n->in[1]->dim[0].size / n->in[0]->dim[0].size;
    const char *e = arena_printf(g->arena, "e=%lld", (long long)n_each);
    Value *in[] = { dout[0], n->in[0], n->in[2] };
    din[0] = product(g, dout[0], n->in[1], n->in[2], &a);
    din[1] = graph_add_dims(g, &op_grouped_outer, "grn,grk,gr->(ge)nk", e, &a, 3, in)->out[0];
    din[1]->dim[0].axis = n->in[1]->dim[0].axis;
}

static int64_t flops(const Node *n)
{
    const Value *weight = n->op == &op_grouped_linear ? n->in[1] : n->out[0];
    const int64_t n_rows = ((const GroupedLinear *)n->attrs)->n_rows;
    return 2 * n_rows * weight->dim[1].size * weight->dim[2].size;
}

static void sum_dtype(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

int64_t grouped_end(const Tensor *of, int64_t expert, int64_t first)
{
    const int32_t *x = of->data;
    int64_t n = tensor_count(of);
    while (first < n && x[first] == expert) first++;
    return first;
}

static int reference(const Launch *l)
{
    const bool transposed = ((const GroupedLinear *)l->attrs)->transposed;
    const int64_t k = l->in[0].size[2], n = l->out[0].size[2], n_experts = l->in[1].size[0];
    const int64_t n_rows = tensor_count(&l->in[2]);
    const int32_t *of = l->in[2].data;
    double *out = l->out[0].data;
    memset(out, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n_rows && of[i] >= 0; i++) {
        if (of[i] >= n_experts) return KERNEL_BAD_INDEX;
        const double *w = (const double *)l->in[1].data + of[i] * n * k;
        const double *x = (const double *)l->in[0].data + i * k;
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < k; c++)
                out[i * n + j] += x[c] * (transposed ? w[c * n + j] : w[j * k + c]);
    }
    return KERNEL_OK;
}

static int outer_reference(const Launch *l)
{
    const int64_t n = l->in[0].size[2], k = l->in[1].size[2], n_experts = l->out[0].size[0];
    const int64_t n_rows = tensor_count(&l->in[2]);
    const int32_t *of = l->in[2].data;
    const double *dy = l->in[0].data, *x = l->in[1].data;
    memset(l->out[0].data, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n_rows && of[i] >= 0; i++) {
        if (of[i] >= n_experts) return KERNEL_BAD_INDEX;
        double *dw = (double *)l->out[0].data + of[i] * n * k;
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < k; c++) dw[j * k + c] += dy[i * n + j] * x[i * k + c];
    }
    return KERNEL_OK;
}

const OpDef op_grouped_linear = {
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
    .attrs = attrs,
    .attrs_size = sizeof(GroupedLinear),
    .dtypes = sum_dtype,
    .flops = flops,
    .reference = outer_reference,
    .flags = OP_MATMUL | OP_ADDS,
};

const OpDef *const grouped_linear_ops[] = { &op_grouped_linear, &op_grouped_outer, NULL };
