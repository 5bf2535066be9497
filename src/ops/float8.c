/* float8.c - scales of factors, factors in eight bits, and their products. */
#include "ops/float8.h"
#include "ops/contract.h"

static const OpDef op_float8_quantize;

static const Field format_attrs[] = {
    FIELD_CHOICE(Float8Format, dtype, NULL, dtype_choices, "f8_e4m3 or f8_e5m2"),
    FIELD_BOOL(Float8Format, power_of_two, NULL, "scales are powers of two"),
    { 0 },
};

static const Field contract_attrs[] = {
    FIELD_CHOICE(Float8Contract, dtype, NULL, dtype_choices, "of the result"),
    { 0 },
};

Value *float8_scale(Graph *g, const char *dims, Value *x, const Float8Format *f)
{
    Value *v = graph_add_dims(g, &op_float8_scale, dims, NULL, f, 1, &x)->out[0];
    v->reduce = REDUCE_MAX;
    return v;
}

Value *float8_quantize(Graph *g, const char *dims, Value *x, Value *scale, const Float8Format *f)
{
    Value *in[] = { x, scale };
    return graph_add_dims(g, &op_float8_quantize, dims, NULL, f, 2, in)->out[0];
}

Value *float8_contract(Graph *g, const char *dims, Value *a, Value *b, Value *scale_a,
                       Value *scale_b, Dtype t, Value *into)
{
    Value *in[] = { a, b, scale_a, scale_b };
    Node *n = graph_add_into(g, &op_float8_contract, dims, NULL, &(Float8Contract){ (int)t }, 4, in,
                             1, &into);
    if (n->out[0]->kind == VALUE_RESULT) n->out[0]->from = n;
    return n->out[0];
}

/* Scales that are found in parts are joined by their maximum: it does not matter whether that comes
 * before or after this. */
float float8_scale_for(float largest, const Float8Format *f)
{
    const float least = 1e-12F, most = float8_most((Dtype)f->dtype);
    const float s = (largest < least ? least : largest) / most;
    int exponent;
    if (!f->power_of_two || !isfinite(s)) return s;
    return frexpf(s, &exponent) == 0.5F ? s : ldexpf(1, exponent);
}

static void scale_dtype(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = F32;
}

static void format_dtype(const Node *n, Dtype *out)
{
    out[0] = (Dtype)((const Float8Format *)n->attrs)->dtype;
}

static void contract_dtype(const Node *n, Dtype *out)
{
    out[0] = (Dtype)((const Float8Contract *)n->attrs)->dtype;
}

static int scale_reference(const Launch *l)
{
    const double *x = l->in[0].data;
    double *s = l->out[0].data;
    const int64_t n = tensor_count(&l->out[0]);
    Float8Grid g;
    CHECK(float8_grid(&l->dims->in[0], &l->in[0], &l->dims->out[0], &g));
    for (int64_t i = 0; i < n; i++) s[i] = 0;
    for (int64_t i = 0; i < g.rows; i++)
        for (int64_t j = 0; j < g.columns; j++) {
            const double size = fabs(x[i * g.columns + j]);
            double *most = &s[i * g.row_step + j * g.column_step];
            if (size > *most || isnan(size)) *most = size;
        }
    for (int64_t i = 0; i < n; i++) s[i] = float8_scale_for((float)s[i], l->attrs);
    return KERNEL_OK;
}

/* The rounding happens where results are written. */
static int quantize_reference(const Launch *l)
{
    const double *x = l->in[0].data, *s = l->in[1].data;
    double *q = l->out[0].data;
    const float most = float8_most((Dtype)((const Float8Format *)l->attrs)->dtype);
    Float8Grid g;
    CHECK(float8_grid(&l->dims->in[0], &l->in[0], &l->dims->in[1], &g));
    for (int64_t i = 0; i < g.rows; i++)
        for (int64_t j = 0; j < g.columns; j++) {
            const float inverse = 1 / (float)s[i * g.row_step + j * g.column_step];
            q[i * g.columns + j] = float8_within((float)x[i * g.columns + j], inverse, most);
        }
    return KERNEL_OK;
}

static int contract_reference(const Launch *l)
{
    const double *a = l->in[2].data, *b = l->in[3].data;
    double *y = l->out[0].data;
    DimSpec dims = *l->dims;
    Launch product = *l;
    Float8Grid of_a, of_b;
    CHECK(float8_grid(&dims.out[0], &l->out[0], &dims.in[2], &of_a));
    CHECK(float8_grid(&dims.out[0], &l->out[0], &dims.in[3], &of_b));
    dims.n_in = product.n_in = 2;
    product.dims = &dims;
    op_contract.reference(&product);
    for (int64_t i = 0; i < of_a.rows; i++)
        for (int64_t j = 0; j < of_a.columns; j++)
            y[i * of_a.columns + j] *= a[i * of_a.row_step + j * of_a.column_step] *
                                       b[i * of_b.row_step + j * of_b.column_step];
    return KERNEL_OK;
}

const OpDef op_float8_scale = {
    .name = "float8_scale",
    .doc = "scales by which numbers fit a format of eight bits: their largest / what it holds",
    .attrs = format_attrs,
    .attrs_size = sizeof(Float8Format),
    .dtypes = scale_dtype,
    .reference = scale_reference,
};
static const OpDef op_float8_quantize = {
    .name = "float8_quantize",
    .doc = "x / scale in a format of eight bits, rounded to nearest even",
    .attrs = format_attrs,
    .attrs_size = sizeof(Float8Format),
    .dtypes = format_dtype,
    .reference = quantize_reference,
};
const OpDef op_float8_contract = {
    .name = "float8_contract",
    .doc = "product of two values in eight bits, times their scales",
    .attrs = contract_attrs,
    .attrs_size = sizeof(Float8Contract),
    .dtypes = contract_dtype,
    .reference = contract_reference,
    .flags = OP_MATMUL | OP_ADDS,
};

const OpDef *const float8_ops[] = { &op_float8_scale, &op_float8_quantize, &op_float8_contract,
                                    NULL };
