/* norm.c - RMS and layer normalisation of the last dimension, with optional weight and bias.
 *
 * y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias; RMS normalisation takes 0 for
 * the mean. The gradient recomputes mean and deviation from x, which it must read anyway. */
#include "ops/norm.h"
#include <string.h>

static const OpDef op_rms_norm, op_rms_norm_grad, op_rms_norm_grad_add, op_layer_norm,
    op_layer_norm_grad, op_layer_norm_grad_add;

static const Field attrs[] = {
    FIELD_FLOAT(NormAttrs, eps, NULL, 0, 0, "added to the mean square"),
    FIELD_BOOL(NormAttrs, weight, NULL, "has a weight"),
    FIELD_BOOL(NormAttrs, bias, NULL, "has a bias"),
    { 0 },
};

static const Field attrs_with_sum[] = {
    FIELD_FLOAT(NormAttrs, eps, NULL, 0, 0, "added to the mean square"),
    FIELD_BOOL(NormAttrs, weight, NULL, "has a weight"),
    FIELD_BOOL(NormAttrs, bias, NULL, "has a bias"),
    FIELD_BOOL(NormAttrs, adds, NULL, "adds to the gradient of x"),
    FIELD_BOOL(NormAttrs, copies, NULL, "writes it again"),
    FIELD_BOOL(NormAttrs, sums, NULL, "adds it up over rows"),
    { 0 },
};

static Value *norm(Graph *g, const OpDef *op, Value *x, Value *weight, Value *bias, double eps)
{
    static const char *const dims[] = { "*d!->*d", "*d!,d->*d", "*d!,d,d->*d" };
    NormAttrs n = { .eps = eps, .weight = weight != NULL, .bias = bias != NULL };
    Value *in[3] = { x };
    int n_in = 1;
    if (weight) in[n_in++] = weight;
    if (bias) in[n_in++] = bias;
    return graph_add_dims(g, op, dims[n_in - 1], NULL, &n, n_in, in)->out[0];
}

Value *rms_norm(Graph *g, Value *x, Value *weight, Value *bias, double eps)
{
    return norm(g, &op_rms_norm, x, weight, bias, eps);
}

Value *layer_norm(Graph *g, Value *x, Value *weight, Value *bias, double eps)
{
    return norm(g, &op_layer_norm, x, weight, bias, eps);
}

/* Inputs x, weight if there is one, dy; results dx, dweight, dbias as far as there are such. */
static void add_grad(Graph *g, const OpDef *op, const Node *n, Value *const *dout, Value **din)
{
    const NormAttrs *a = n->attrs;
    Value *in[3] = { n->in[0] };
    int n_in = 1;
    if (a->weight) in[n_in++] = n->in[1];
    in[n_in++] = dout[0];
    const char *dims = arena_printf(g->arena, "*d!%s,*d->*d%s%s", a->weight ? ",d" : "",
                                    a->weight ? ",d" : "", a->bias ? ",d" : "");
    Node *made = graph_add_dims(g, op, dims, NULL, a, n_in, in);
    for (int k = 0; k < n->n_in; k++) din[k] = made->out[k];
}

static void rms_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    add_grad(g, &op_rms_norm_grad, n, dout, din);
}

static void layer_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    add_grad(g, &op_layer_norm_grad, n, dout, din);
}

/* The op for a gradient with a sum, or NULL. */
static const OpDef *op_with_sum(const OpDef *op)
{
    if (op == &op_rms_norm_grad || op == &op_rms_norm_grad_add) return &op_rms_norm_grad_add;
    if (op == &op_layer_norm_grad || op == &op_layer_norm_grad_add) return &op_layer_norm_grad_add;
    return NULL;
}

Node *norm_grad_add(Graph *g, const Node *grad, Value *other, bool copies, bool sums)
{
    const OpDef *op = op_with_sum(grad->op);
    if (!op) return NULL;
    NormAttrs a = *(const NormAttrs *)grad->attrs;
    a.adds = true;
    a.copies = copies;
    a.sums = sums;
    Value *in[4] = { 0 };
    int n_in = 2 + a.weight;
    memcpy(in, grad->in, sizeof *in * (size_t)n_in);
    in[n_in++] = other;
    const char *dims =
        arena_printf(g->arena, "*d!%s,*d,*d->*d%s%s%s%s", a.weight ? ",d" : "", copies ? ",*d" : "",
                     a.weight ? ",d" : "", a.bias ? ",d" : "", sums ? ",d" : "");
    return graph_add_dims(g, op, dims, NULL, &a, n_in, in);
}

const NormAttrs *norm_grad_add_attrs(const Node *n)
{
    return op_with_sum(n->op) == n->op ? n->attrs : NULL;
}

/* What a row is shifted and multiplied by. */
typedef struct Moments {
    double mean, factor;
} Moments;

static Moments moments_of(const double *x, int64_t d, bool centered, double eps)
{
    double sum = 0, square = 0;
    for (int64_t j = 0; centered && j < d; j++) sum += x[j];
    double mean = sum / (double)d;
    for (int64_t j = 0; j < d; j++) square += (x[j] - mean) * (x[j] - mean);
    return (Moments){ mean, 1 / sqrt(square / (double)d + eps) };
}

static int forward(const Launch *l, bool centered)
{
    const NormAttrs *a = l->attrs;
    const double *x = l->in[0].data, *weight = a->weight ? l->in[1].data : NULL;
    const double *bias = a->bias ? l->in[1 + a->weight].data : NULL;
    double *y = l->out[0].data;
    int64_t d = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]);
    for (int64_t at = 0; at < n; at += d) {
        Moments m = moments_of(x + at, d, centered, a->eps);
        for (int64_t j = 0; j < d; j++)
            y[at + j] =
                (x[at + j] - m.mean) * m.factor * (weight ? weight[j] : 1) + (bias ? bias[j] : 0);
    }
    return KERNEL_OK;
}

/* With h = (x - mean) * factor and e = dy * weight:
 * dx = factor * (e - h * mean(e h) - mean(e)), the last term for a centered norm only. */
static int backward(const Launch *l, bool centered)
{
    const NormAttrs *a = l->attrs;
    const double *x = l->in[0].data, *weight = a->weight ? l->in[1].data : NULL;
    const double *dy = l->in[1 + a->weight].data;
    const int first = 1 + a->copies;
    double *dx = l->out[0].data, *dweight = a->weight ? l->out[first].data : NULL;
    double *dbias = a->bias ? l->out[first + a->weight].data : NULL;
    int64_t d = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]);
    for (int k = first; k < l->n_out; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t at = 0; at < n; at += d) {
        Moments m = moments_of(x + at, d, centered, a->eps);
        double mean_e = 0, mean_eh = 0;
        for (int64_t j = 0; j < d; j++) {
            double h = (x[at + j] - m.mean) * m.factor;
            double e = dy[at + j] * (weight ? weight[j] : 1);
            if (centered) mean_e += e / (double)d;
            mean_eh += e * h / (double)d;
            if (dweight) dweight[j] += dy[at + j] * h;
            if (dbias) dbias[j] += dy[at + j];
        }
        for (int64_t j = 0; j < d; j++) {
            double h = (x[at + j] - m.mean) * m.factor;
            double e = dy[at + j] * (weight ? weight[j] : 1);
            dx[at + j] = m.factor * (e - h * mean_eh - mean_e);
        }
    }
    return KERNEL_OK;
}

/* The copy is rounded where results are written. */
static int backward_with_sum(const Launch *l, bool centered)
{
    const NormAttrs *a = l->attrs;
    const double *other = l->in[l->n_in - 1].data;
    double *dx = l->out[0].data, *sum = a->sums ? l->out[l->n_out - 1].data : NULL;
    int64_t d = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]);
    backward(l, centered);
    for (int64_t i = 0; i < n; i++) {
        dx[i] += other[i];
        if (sum) sum[i % d] += dx[i];
    }
    if (a->copies) memcpy(l->out[1].data, dx, tensor_bytes(&l->out[0]));
    return KERNEL_OK;
}

static int rms_reference(const Launch *l)
{
    return forward(l, false);
}

static int rms_grad_reference(const Launch *l)
{
    return backward(l, false);
}

static int rms_grad_add_reference(const Launch *l)
{
    return backward_with_sum(l, false);
}

static int layer_reference(const Launch *l)
{
    return forward(l, true);
}

static int layer_grad_reference(const Launch *l)
{
    return backward(l, true);
}

static int layer_grad_add_reference(const Launch *l)
{
    return backward_with_sum(l, true);
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    const Dtype t = n->in[0]->dtype;
    const int first = 1 + ((const NormAttrs *)n->attrs)->copies;
    for (int k = 0; k < n->n_out; k++) out[k] = k < first ? t : dtype_for_sums(t);
}

static const OpDef op_rms_norm = {
    .name = "rms_norm",
    .doc = "x / sqrt(mean(x^2) + eps) * weight + bias",
    .attrs = attrs,
    .attrs_size = sizeof(NormAttrs),
    .grad = rms_grad,
    .reference = rms_reference,
};
static const OpDef op_rms_norm_grad = {
    .name = "rms_norm_grad",
    .doc = "gradients of x, weight and bias",
    .attrs = attrs,
    .attrs_size = sizeof(NormAttrs),
    .dtypes = grad_dtypes,
    .reference = rms_grad_reference,
    .flags = OP_ADDS,
};
static const OpDef op_rms_norm_grad_add = {
    .name = "rms_norm_grad_add",
    .doc = "gradients of x, weight and bias; x's with what else it gets, in two dtypes, added up",
    .attrs = attrs_with_sum,
    .attrs_size = sizeof(NormAttrs),
    .dtypes = grad_dtypes,
    .reference = rms_grad_add_reference,
    .flags = OP_ADDS,
};
static const OpDef op_layer_norm = {
    .name = "layer_norm",
    .doc = "(x - mean(x)) / sqrt(var(x) + eps) * weight + bias",
    .attrs = attrs,
    .attrs_size = sizeof(NormAttrs),
    .grad = layer_grad,
    .reference = layer_reference,
};
static const OpDef op_layer_norm_grad = {
    .name = "layer_norm_grad",
    .doc = "gradients of x, weight and bias",
    .attrs = attrs,
    .attrs_size = sizeof(NormAttrs),
    .dtypes = grad_dtypes,
    .reference = layer_grad_reference,
    .flags = OP_ADDS,
};
static const OpDef op_layer_norm_grad_add = {
    .name = "layer_norm_grad_add",
    .doc = "gradients of x, weight and bias; x's with what else it gets, in two dtypes, added up",
    .attrs = attrs_with_sum,
    .attrs_size = sizeof(NormAttrs),
    .dtypes = grad_dtypes,
    .reference = layer_grad_add_reference,
    .flags = OP_ADDS,
};

const OpDef *const norm_ops[] = { &op_rms_norm,
                                  &op_rms_norm_grad,
                                  &op_rms_norm_grad_add,
                                  &op_layer_norm,
                                  &op_layer_norm_grad,
                                  &op_layer_norm_grad_add,
                                  NULL };
