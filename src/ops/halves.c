/* halves.c - f32 numbers as bf16 and what these lack. */
#include "ops/halves.h"
#include "tensor/halves.h"

static const OpDef op_join_halves;

Value *high_half(Graph *g, Value *x)
{
    return graph_add(g, &op_high_half, NULL, 1, &x)->out[0];
}

Value *join_halves(Graph *g, Value *high, Value *low)
{
    Value *in[] = { high, low };
    return graph_add(g, &op_join_halves, NULL, 2, in)->out[0];
}

static void high_dtype(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = BF16;
}

static void joined_dtype(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = F32;
}

static int reference_high(const Launch *l)
{
    const double *x = l->in[0].data;
    double *high = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++)
        high[i] = bf16_to_float(high_half_of((float)x[i]));
    return KERNEL_OK;
}

static int reference_join(const Launch *l)
{
    const double *high = l->in[0].data;
    const int32_t *low = l->in[1].data;
    double *x = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++)
        x[i] = float_of_halves(high_half_of((float)high[i]), (int16_t)low[i]);
    return KERNEL_OK;
}

const OpDef op_high_half = {
    .name = "high_half",
    .doc = "a parameter in bf16, rounded to nearest, halves away from zero",
    .dims = "*->*",
    .dtypes = high_dtype,
    .reference = reference_high,
    .flags = OP_LINEAR,
};

static const OpDef op_join_halves = {
    .name = "join_halves",
    .doc = "a parameter in f32, from its bf16 and what that lacks",
    .dims = "*,*->*",
    .dtypes = joined_dtype,
    .reference = reference_join,
};

const OpDef *const halves_ops[] = { &op_high_half, &op_join_halves, NULL };
