/* gaussian_top_k.c - max(0, x - mean - z deviation) over rows.
 *
 * With m = 1 where x is above the bound and g = m dy, the gradient is g - sum(g) (1 + z h) / d with
 * h = (x - mean) / deviation; a row whose elements are all equal has h = 0. */
#include "ops/gaussian_top_k.h"

static const OpDef op_gaussian_top_k, op_gaussian_top_k_grad;

static const Field attrs[] = {
    FIELD_FLOAT(GaussianTopK, z, NULL, 0, 0, "deviations from the mean to the bound"),
    { 0 },
};

/* Below it a normal distribution has that share: halves the range until no number is between. */
static double quantile(double share)
{
    double low = -40, high = 40;
    for (;;) {
        const double z = (low + high) / 2;
        if (!(z > low && z < high)) return z;
        if (0.5 * erfc(-z / sqrt(2)) < share)
            low = z;
        else
            high = z;
    }
}

Value *gaussian_top_k(Graph *g, Value *x, double share)
{
    return graph_add(g, &op_gaussian_top_k, &(GaussianTopK){ quantile(share) }, 1, &x)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], dout[0] };
    din[0] = graph_add(g, &op_gaussian_top_k_grad, n->attrs, 2, in)->out[0];
}

typedef struct Moments {
    double mean, deviation;
} Moments;

static Moments moments_of(const double *x, int64_t d)
{
    double sum = 0, square = 0;
    for (int64_t j = 0; j < d; j++) sum += x[j];
    const double mean = sum / (double)d;
    for (int64_t j = 0; j < d; j++) square += (x[j] - mean) * (x[j] - mean);
    return (Moments){ mean, sqrt(square / (double)d) };
}

static int reference(const Launch *l)
{
    const Tensor *in = &l->in[0];
    const double *x = in->data, z = ((const GaussianTopK *)l->attrs)->z;
    double *y = l->out[0].data;
    const int64_t d = in->size[in->n_dims - 1], n = tensor_count(in);
    for (int64_t at = 0; at < n; at += d) {
        const Moments m = moments_of(x + at, d);
        const double bound = m.mean + z * m.deviation;
        for (int64_t j = at; j < at + d; j++) y[j] = x[j] <= bound ? 0 : x[j] - bound;
    }
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const Tensor *in = &l->in[0];
    const double *x = in->data, *dy = l->in[1].data, z = ((const GaussianTopK *)l->attrs)->z;
    double *dx = l->out[0].data;
    const int64_t d = in->size[in->n_dims - 1], n = tensor_count(in);
    for (int64_t at = 0; at < n; at += d) {
        const Moments m = moments_of(x + at, d);
        const double bound = m.mean + z * m.deviation;
        double sum = 0;
        for (int64_t j = at; j < at + d; j++) sum += x[j] > bound ? dy[j] : 0;
        for (int64_t j = at; j < at + d; j++) {
            const double h = m.deviation > 0 ? (x[j] - m.mean) / m.deviation : 0;
            dx[j] = (x[j] > bound ? dy[j] : 0) - sum * (1 + z * h) / (double)d;
        }
    }
    return KERNEL_OK;
}

static const OpDef op_gaussian_top_k = {
    .name = "gaussian_top_k",
    .doc = "max(0, x - mean - z deviation) over rows",
    .dims = "*d!->*d",
    .attrs = attrs,
    .attrs_size = sizeof(GaussianTopK),
    .grad = grad,
    .reference = reference,
};
static const OpDef op_gaussian_top_k_grad = {
    .name = "gaussian_top_k_grad",
    .doc = "gradient of gaussian_top_k from its input, through mean and deviation, too",
    .dims = "*d!,*d->*d",
    .attrs = attrs,
    .attrs_size = sizeof(GaussianTopK),
    .reference = grad_reference,
};

const OpDef *const gaussian_top_k_ops[] = { &op_gaussian_top_k, &op_gaussian_top_k_grad, NULL };
