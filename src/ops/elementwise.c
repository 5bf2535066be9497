/* elementwise.c - sums, products, activations and scaling, element by element. */
#include "ops/elementwise.h"

static const OpDef op_mul, op_scale, op_silu, op_silu_grad, op_gelu, op_gelu_grad, op_swiglu,
    op_swiglu_grad;

Value *add(Graph *g, Value *a, Value *b)
{
    return graph_add(g, &op_add, NULL, 2, (Value *[]){ a, b })->out[0];
}

Value *mul(Graph *g, Value *a, Value *b)
{
    return graph_add(g, &op_mul, NULL, 2, (Value *[]){ a, b })->out[0];
}

Value *add_bias(Graph *g, Value *x, Value *bias)
{
    return graph_add(g, &op_add_bias, NULL, 2, (Value *[]){ x, bias })->out[0];
}

Value *silu(Graph *g, Value *x)
{
    return graph_add(g, &op_silu, NULL, 1, &x)->out[0];
}

Value *gelu(Graph *g, Value *x)
{
    return graph_add(g, &op_gelu, NULL, 1, &x)->out[0];
}

Value *swiglu(Graph *g, Value *gate, Value *up)
{
    return graph_add(g, &op_swiglu, NULL, 2, (Value *[]){ gate, up })->out[0];
}

static const Field scale_attrs[] = {
    FIELD_FLOAT(Scale, factor, NULL, 0, 0, "what every element is multiplied by"),
    { 0 },
};

Value *scale(Graph *g, Value *x, double factor)
{
    return graph_add(g, &op_scale, &(Scale){ factor }, 1, &x)->out[0];
}

/* The two ways of a sum take its gradient as it is. */
static void add_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    (void)g, (void)n;
    din[0] = din[1] = dout[0];
}

static void mul_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = mul(g, dout[0], n->in[1]);
    din[1] = mul(g, dout[0], n->in[0]);
}

static void add_bias_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    (void)n;
    din[0] = dout[0];
    din[1] = graph_add(g, &op_add_bias_grad, NULL, 1, dout)->out[0];
}

static void silu_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_silu_grad, NULL, 2, (Value *[]){ n->in[0], dout[0] })->out[0];
}

static void gelu_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_gelu_grad, NULL, 2, (Value *[]){ n->in[0], dout[0] })->out[0];
}

static void swiglu_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    Node *made = graph_add(g, &op_swiglu_grad, NULL, 3, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static void scale_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = scale(g, dout[0], ((const Scale *)n->attrs)->factor);
}

/* ---- reference kernels: x, y are the arguments, z the result, dz its gradient ---- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu_slope(double x)
{
    double s = sigmoid(x);
    return s * (1 + x * (1 - s));
}

/* The distribution function of the standard normal; erfc keeps its left tail exact. */
static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double normal_density(double x)
{
    return exp(-0.5 * x * x) / sqrt(2 * M_PI);
}

static int add_reference(const Launch *l)
{
    const double *x = l->in[0].data, *y = l->in[1].data;
    double *z = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) z[i] = x[i] + y[i];
    return KERNEL_OK;
}

static int mul_reference(const Launch *l)
{
    const double *x = l->in[0].data, *y = l->in[1].data;
    double *z = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) z[i] = x[i] * y[i];
    return KERNEL_OK;
}

static int scale_reference(const Launch *l)
{
    const double *x = l->in[0].data, factor = ((const Scale *)l->attrs)->factor;
    double *z = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) z[i] = factor * x[i];
    return KERNEL_OK;
}

static int add_bias_reference(const Launch *l)
{
    const double *x = l->in[0].data, *bias = l->in[1].data;
    double *z = l->out[0].data;
    int64_t d = l->in[1].size[0], n = tensor_count(&l->out[0]);
    for (int64_t i = 0; i < n; i++) z[i] = x[i] + bias[i % d];
    return KERNEL_OK;
}

static int add_bias_grad_reference(const Launch *l)
{
    const double *dz = l->in[0].data;
    double *dbias = l->out[0].data;
    int64_t d = l->out[0].size[0], n = tensor_count(&l->in[0]);
    for (int64_t j = 0; j < d; j++) dbias[j] = 0;
    for (int64_t i = 0; i < n; i++) dbias[i % d] += dz[i];
    return KERNEL_OK;
}

static int silu_reference(const Launch *l)
{
    const double *x = l->in[0].data;
    double *z = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) z[i] = x[i] * sigmoid(x[i]);
    return KERNEL_OK;
}

static int silu_grad_reference(const Launch *l)
{
    const double *x = l->in[0].data, *dz = l->in[1].data;
    double *dx = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) dx[i] = dz[i] * silu_slope(x[i]);
    return KERNEL_OK;
}

static int gelu_reference(const Launch *l)
{
    const double *x = l->in[0].data;
    double *z = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) z[i] = x[i] * normal_cdf(x[i]);
    return KERNEL_OK;
}

static int gelu_grad_reference(const Launch *l)
{
    const double *x = l->in[0].data, *dz = l->in[1].data;
    double *dx = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++)
        dx[i] = dz[i] * (normal_cdf(x[i]) + x[i] * normal_density(x[i]));
    return KERNEL_OK;
}

static int swiglu_reference(const Launch *l)
{
    const double *gate = l->in[0].data, *up = l->in[1].data;
    double *z = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++)
        z[i] = gate[i] * sigmoid(gate[i]) * up[i];
    return KERNEL_OK;
}

static int swiglu_grad_reference(const Launch *l)
{
    const double *gate = l->in[0].data, *up = l->in[1].data, *dz = l->in[2].data;
    double *dgate = l->out[0].data, *dup = l->out[1].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) {
        dgate[i] = dz[i] * up[i] * silu_slope(gate[i]);
        dup[i] = dz[i] * gate[i] * sigmoid(gate[i]);
    }
    return KERNEL_OK;
}

static void sum_dtype(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

const OpDef op_add = {
    .name = "add",
    .doc = "x + y",
    .dims = "*,*->*",
    .grad = add_grad,
    .reference = add_reference,
    .flags = OP_LINEAR | OP_SUM,
};
static const OpDef op_mul = {
    .name = "mul",
    .doc = "x times y, element by element",
    .dims = "*,*->*",
    .grad = mul_grad,
    .reference = mul_reference,
};
static const OpDef op_scale = {
    .name = "scale",
    .doc = "x times a constant",
    .dims = "*->*",
    .attrs = scale_attrs,
    .attrs_size = sizeof(Scale),
    .grad = scale_grad,
    .reference = scale_reference,
    .flags = OP_LINEAR,
};
const OpDef op_add_bias = {
    .name = "add_bias",
    .doc = "x plus a vector along the last dimension",
    .dims = "*d,d->*d",
    .grad = add_bias_grad,
    .reference = add_bias_reference,
};
const OpDef op_add_bias_grad = {
    .name = "add_bias_grad",
    .doc = "the sum of all rows: gradient of a bias",
    .dims = "*d->d",
    .dtypes = sum_dtype,
    .reference = add_bias_grad_reference,
    .flags = OP_LINEAR | OP_ADDS,
};
static const OpDef op_silu = {
    .name = "silu",
    .doc = "x sigmoid(x)",
    .dims = "*->*",
    .grad = silu_grad,
    .reference = silu_reference,
};
static const OpDef op_silu_grad = {
    .name = "silu_grad",
    .doc = "gradient of silu from its argument",
    .dims = "*,*->*",
    .reference = silu_grad_reference,
};
static const OpDef op_gelu = {
    .name = "gelu",
    .doc = "x times the normal distribution function of x (exact, by erf)",
    .dims = "*->*",
    .grad = gelu_grad,
    .reference = gelu_reference,
};
static const OpDef op_gelu_grad = {
    .name = "gelu_grad",
    .doc = "gradient of gelu from its argument",
    .dims = "*,*->*",
    .reference = gelu_grad_reference,
};
static const OpDef op_swiglu = {
    .name = "swiglu",
    .doc = "silu(gate) times up",
    .dims = "*,*->*",
    .grad = swiglu_grad,
    .reference = swiglu_reference,
};
static const OpDef op_swiglu_grad = {
    .name = "swiglu_grad",
    .doc = "gradients of gate and up",
    .dims = "*,*,*->*,*",
    .reference = swiglu_grad_reference,
};

const OpDef *const elementwise_ops[] = { &op_add,       &op_mul,           &op_scale,
                                         &op_add_bias,  &op_add_bias_grad, &op_silu,
                                         &op_silu_grad, &op_gelu,          &op_gelu_grad,
                                         &op_swiglu,    &op_swiglu_grad,   NULL };
