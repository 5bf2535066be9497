/* gradient_norm.c - the norm of all gradients together, and the factor that clips them.
 *
 * One partial per parameter, then one scalar: sum |x|, sum x^2 or max |x| for the norms 1, 2 and
 * infinity (written 0). All in double precision, so that the order of summation does not show. */
#include "ops/gradient_norm.h"
#include <string.h>

static const OpDef op_norm_partial, op_norm_total, op_clip_factor, op_unscale;

static const Field norm_attrs[] = {
    FIELD_INT(GradientNorm, p, NULL, 0, 2, "1, 2, or 0 for the maximum norm"),
    { 0 },
};

static const Field clip_attrs[] = {
    FIELD_FLOAT(Clip, max_norm, NULL, 0, 0, "above which gradients are scaled down; 0: never"),
    { 0 },
};

Value *norm_partial(Graph *g, Value *x, int64_t p)
{
    Value *v = graph_add(g, &op_norm_partial, &(GradientNorm){ p }, 1, &x)->out[0];
    v->reduce = p == 0 ? REDUCE_MAX : REDUCE_SUM;
    return v;
}

/* Scalars are written `*` here (no leading dimensions), since "->" means no input at all. */
Value *norm_total(Graph *g, int64_t n, Value *const *partial, int64_t p)
{
    CHECK(n >= 1);
    char *dims = arena_alloc(g->arena, (size_t)(2 * n + 2));
    for (int64_t i = 0; i < n; i++) memcpy(dims + 2 * i, "*,", 2);
    memcpy(dims + 2 * n - 1, "->", 3);
    return graph_add_dims(g, &op_norm_total, dims, NULL, &(GradientNorm){ p }, (int)n, partial)
        ->out[0];
}

Value *clip_factor(Graph *g, Value *norm, double max_norm)
{
    return graph_add(g, &op_clip_factor, &(Clip){ max_norm }, 1, &norm)->out[0];
}

Value *unscale(Graph *g, Value *x)
{
    return graph_add(g, &op_unscale, NULL, 1, &x)->out[0];
}

static void double_precision(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = F64;
}

static int partial_reference(const Launch *l)
{
    const double *x = l->in[0].data;
    int64_t p = ((const GradientNorm *)l->attrs)->p;
    double sum = 0;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) {
        double size = fabs(x[i]);
        if (p != 0)
            sum += p == 1 ? size : size * size;
        else if (size > sum || isnan(size)) /* a NaN stays */
            sum = size;
    }
    *(double *)l->out[0].data = sum;
    return KERNEL_OK;
}

static int total_reference(const Launch *l)
{
    int64_t p = ((const GradientNorm *)l->attrs)->p;
    double sum = 0;
    for (int k = 0; k < l->n_in; k++) {
        double part = *(const double *)l->in[k].data;
        if (p != 0)
            sum += part;
        else if (part > sum || isnan(part))
            sum = part;
    }
    *(double *)l->out[0].data = p == 2 ? sqrt(sum) : sum;
    return KERNEL_OK;
}

static int clip_reference(const Launch *l)
{
    double norm = *(const double *)l->in[0].data, limit = ((const Clip *)l->attrs)->max_norm;
    double factor = limit > 0 ? limit / (norm + 1e-6) : 1;
    *(double *)l->out[0].data = factor > 1 ? 1 : factor;
    return KERNEL_OK;
}

static int unscale_reference(const Launch *l)
{
    const double scale = l->now->gradient_scale;
    *(double *)l->out[0].data = *(const double *)l->in[0].data / (scale > 0 ? scale : 1);
    return KERNEL_OK;
}

static const OpDef op_norm_partial = {
    .name = "norm_partial",
    .doc = "sum |x|, sum x^2 or max |x|",
    .dims = "*->",
    .attrs = norm_attrs,
    .attrs_size = sizeof(GradientNorm),
    .dtypes = double_precision,
    .reference = partial_reference,
};
static const OpDef op_norm_total = {
    .name = "norm_total",
    .doc = "the norm from the partials of all gradients",
    .attrs = norm_attrs,
    .attrs_size = sizeof(GradientNorm),
    .dtypes = double_precision,
    .reference = total_reference,
};
static const OpDef op_clip_factor = {
    .name = "clip_factor",
    .doc = "min(1, max_norm / (norm + 1e-6))",
    .dims = "*->*",
    .attrs = clip_attrs,
    .attrs_size = sizeof(Clip),
    .dtypes = double_precision,
    .reference = clip_reference,
};
static const OpDef op_unscale = {
    .name = "unscale",
    .doc = "x / the scale of the loss",
    .dims = "*->*",
    .dtypes = double_precision,
    .reference = unscale_reference,
};

const OpDef *const gradient_norm_ops[] = { &op_norm_partial, &op_norm_total, &op_clip_factor,
                                           &op_unscale, NULL };
