/* moe_bias.c - the load of experts over a step, and what follows from it for their biases. */
#include "ops/moe_bias.h"
#include <string.h>

static const OpDef op_moe_count, op_moe_even, op_moe_shift;

static const Field even_attrs[] = {
    FIELD_FLOAT(MoeEven, rate, NULL, 0, 0, "by how much a bias changes in a step"),
    { 0 },
};

void moe_count(Graph *g, Value *expert, Value *load)
{
    const char *sizes = arena_printf(g->arena, "e=%lld", (long long)value_count(load));
    Value *n = graph_add_dims(g, &op_moe_count, "*k!->e!", sizes, NULL, 1, &expert)->out[0];
    graph_add_into(g, &op_moe_load, op_moe_load.dims, NULL, NULL, 1, &n, 1, &load);
}

Value *moe_even(Graph *g, Value *total, Value *load, double rate)
{
    return graph_add_into(g, &op_moe_even, op_moe_even.dims, NULL, &(MoeEven){ rate }, 1, &total, 2,
                          (Value *[]){ NULL, load })
        ->out[0];
}

void moe_shift(Graph *g, Value *x, Value *bias)
{
    graph_add_into(g, &op_moe_shift, op_moe_shift.dims, NULL, NULL, 2, (Value *[]){ bias, x }, 1,
                   &bias);
}

static void counts(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = F32;
}

static int count_reference(const Launch *l)
{
    const int32_t *expert = l->in[0].data;
    const int64_t n_experts = l->out[0].size[0];
    double *load = l->out[0].data;
    memset(load, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        if (expert[i] < 0 || expert[i] >= n_experts) return KERNEL_BAD_INDEX;
        load[expert[i]]++;
    }
    return KERNEL_OK;
}

static int load_reference(const Launch *l)
{
    memcpy(l->out[0].data, l->in[0].data, tensor_bytes(&l->out[0]));
    return KERNEL_OK;
}

/* Loads are whole numbers: what is compared is exact, however they were added up. */
static int even_reference(const Launch *l)
{
    const int64_t n = tensor_count(&l->in[0]);
    const double *load = l->in[0].data, rate = ((const MoeEven *)l->attrs)->rate;
    double *change = l->out[0].data, sum = 0, shift = 0;
    for (int64_t i = 0; i < n; i++) sum += load[i];
    for (int64_t i = 0; i < n; i++) {
        const double above = load[i] * (double)n - sum;
        change[i] = above < 0 ? rate : above > 0 ? -rate : 0;
        shift += change[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) change[i] -= shift;
    memset(l->out[1].data, 0, tensor_bytes(&l->out[1]));
    return KERNEL_OK;
}

static int shift_reference(const Launch *l)
{
    const double *bias = l->in[0].data, *x = l->in[1].data;
    double *y = l->out[0].data;
    for (int64_t i = 0; i < tensor_count(&l->out[0]); i++) y[i] = bias[i] + x[i];
    return KERNEL_OK;
}

static const OpDef op_moe_count = {
    .name = "moe_count",
    .doc = "how often each expert is chosen",
    .dtypes = counts,
    .reference = count_reference,
};
const OpDef op_moe_load = {
    .name = "moe_load",
    .doc = "adds the load of a microbatch to that of the step",
    .dims = "*->*",
    .reference = load_reference,
    .flags = OP_LINEAR | OP_ADDS,
};
static const OpDef op_moe_even = {
    .name = "moe_even",
    .doc = "changes of biases that make the load more even; the load becomes zero",
    .dims = "e!->e,e",
    .attrs = even_attrs,
    .attrs_size = sizeof(MoeEven),
    .reference = even_reference,
};
static const OpDef op_moe_shift = {
    .name = "moe_shift",
    .doc = "a bias, changed",
    .dims = "*,*->*",
    .reference = shift_reference,
};

const OpDef *const moe_bias_ops[] = { &op_moe_count, &op_moe_load, &op_moe_even, &op_moe_shift,
                                      NULL };
