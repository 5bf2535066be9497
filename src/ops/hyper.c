/* hyper.c - hyper-connections: which weights a token reads, writes and mixes its streams by (Xie et
 * al. 2026, after Zhu et al. 2024), and what that makes of them.
 *
 * Letters: k streams, d their width, m numbers of a token, q scales. */
#include "ops/hyper.h"
#include "base/arena.h"
#include "ops/hyper_sinkhorn.h"
#include <string.h>

static const OpDef op_hyper_weights_grad, op_hyper_read, op_hyper_read_grad, op_hyper_write,
    op_hyper_write_grad;

static const Field attrs[] = {
    FIELD_INT(HyperWeights, streams, NULL, 0, 0, "streams of a token"),
    FIELD_INT(HyperWeights, iterations, NULL, 0, 0,
              "of the sums of the mix that are made 1; 0: there is no mix"),
    FIELD_FLOAT(HyperWeights, eps, NULL, 0, 0, "added to weights and divisors"),
    FIELD_FLOAT(HyperWeights, write_scale, NULL, 0, 0, "that weights of writing are below"),
    FIELD_BOOL(HyperWeights, reads_alone, NULL, "there are weights of reading alone"),
    { 0 },
};

Value *hyper_weights(Graph *g, Value *x, Value *base, Value *scale, const HyperWeights *a)
{
    Value *in[] = { x, base, scale };
    if (value_width(x) != hyper_width(a))
        graph_fail(g, error_new("hyper_weights: %lld streams have %lld numbers, not %lld",
                                (long long)a->streams, (long long)hyper_width(a),
                                (long long)value_width(x)));
    return graph_add(g, &op_hyper_weights, a, 3, in)->out[0];
}

Value *hyper_read(Graph *g, Value *x, Value *w)
{
    return graph_add(g, &op_hyper_read, NULL, 2, (Value *[]){ x, w })->out[0];
}

Value *hyper_write(Graph *g, Value *x, Value *y, Value *w)
{
    return graph_add(g, &op_hyper_write, NULL, 3, (Value *[]){ x, y, w })->out[0];
}

static void weights_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], n->in[2], dout[0] };
    const Node *made = graph_add(g, &op_hyper_weights_grad, n->attrs, 4, in);
    for (int k = 0; k < 3; k++) din[k] = made->out[k];
}

static void read_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    const Node *made = graph_add(g, &op_hyper_read_grad, NULL, 3, in);
    for (int k = 0; k < 2; k++) din[k] = made->out[k];
}

static void write_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], n->in[2], dout[0] };
    const Node *made = graph_add(g, &op_hyper_write_grad, NULL, 4, in);
    for (int k = 0; k < 3; k++) din[k] = made->out[k];
}

static void weights_dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

/* Gradients have the dtypes of what they are of; of parameters, those of sums. */
static void grad_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < n->n_out; k++) out[k] = n->in[k]->dtype;
    if (n->op != &op_hyper_weights_grad) return;
    for (int k = 1; k < 3; k++) out[k] = dtype_for_sums(n->in[k]->dtype);
}

/* ---- reference kernels ---- */

static void logits_of(const HyperWeights *a, const Launch *l, int64_t row, double *y)
{
    const int64_t m = l->in[1].size[0];
    const double *x = (const double *)l->in[0].data + row * m, *base = l->in[1].data,
                 *scale = l->in[2].data;
    for (int64_t i = 0; i < m; i++) y[i] = scale[hyper_part(a, i)] * x[i] + base[i];
}

static int weights_reference(const Launch *l)
{
    const HyperWeights *a = l->attrs;
    const int64_t m = l->in[1].size[0], n = tensor_count(&l->in[0]) / m;
    Arena *arena = arena_new();
    double *by = NEW_N(arena, double, hyper_divisors(a) + 1), *y = l->out[0].data;
    for (int64_t row = 0; row < n; row++, y += m) {
        logits_of(a, l, row, y);
        hyper_forward(a, y, by);
    }
    arena_free(arena);
    return KERNEL_OK;
}

static int weights_grad_reference(const Launch *l)
{
    const HyperWeights *a = l->attrs;
    const int64_t m = l->in[1].size[0], n = tensor_count(&l->in[0]) / m;
    const double *x = l->in[0].data, *scale = l->in[2].data, *dw = l->in[3].data;
    double *dx = l->out[0].data, *dbase = l->out[1].data, *dscale = l->out[2].data;
    Arena *arena = arena_new();
    double *by = NEW_N(arena, double, hyper_divisors(a) + 1), *y = NEW_N(arena, double, m);
    for (int k = 1; k < 3; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t row = 0; row < n; row++, x += m, dx += m, dw += m) {
        logits_of(a, l, row, y);
        hyper_forward(a, y, by);
        memcpy(dx, dw, sizeof *dx * (size_t)m);
        hyper_backward(a, y, dx, by);
        for (int64_t i = 0; i < m; i++) {
            const int part = hyper_part(a, i);
            dbase[i] += dx[i];
            dscale[part] += dx[i] * x[i];
            dx[i] *= scale[part];
        }
    }
    arena_free(arena);
    return KERNEL_OK;
}

/* Streams of a launch: input 0 has rows of [k d], weights have m numbers each. */
typedef struct Streams {
    int64_t n, k, d, m;
    const double *x, *w;
} Streams;

/* Whether the weights mix streams. */
static bool mixes(const Streams *s)
{
    return s->m > 2 * s->k;
}

static Streams streams_of(const Tensor *x, const Tensor *w)
{
    const int64_t k = x->size[x->n_dims - 2], d = x->size[x->n_dims - 1];
    return (Streams){ tensor_count(x) / (k * d), k, d, w->size[w->n_dims - 1], x->data, w->data };
}

static int read_reference(const Launch *l)
{
    const Streams s = streams_of(&l->in[0], &l->in[1]);
    double *y = l->out[0].data;
    memset(y, 0, tensor_bytes(&l->out[0]));
    for (int64_t row = 0; row < s.n; row++)
        for (int64_t j = 0; j < s.k; j++)
            for (int64_t e = 0; e < s.d; e++)
                y[row * s.d + e] += s.w[row * s.m + j] * s.x[(row * s.k + j) * s.d + e];
    return KERNEL_OK;
}

static int read_grad_reference(const Launch *l)
{
    const Streams s = streams_of(&l->in[0], &l->in[1]);
    const double *dy = l->in[2].data;
    double *dx = l->out[0].data, *dw = l->out[1].data;
    memset(dw, 0, tensor_bytes(&l->out[1]));
    for (int64_t row = 0; row < s.n; row++)
        for (int64_t j = 0; j < s.k; j++)
            for (int64_t e = 0; e < s.d; e++) {
                const int64_t at = (row * s.k + j) * s.d + e;
                dx[at] = s.w[row * s.m + j] * dy[row * s.d + e];
                dw[row * s.m + j] += s.x[at] * dy[row * s.d + e];
            }
    return KERNEL_OK;
}

static int write_reference(const Launch *l)
{
    const Streams s = streams_of(&l->in[0], &l->in[2]);
    const double *y = l->in[1].data;
    double *to = l->out[0].data;
    for (int64_t row = 0; row < s.n; row++) {
        const double *post = s.w + row * s.m + s.k, *mix = post + s.k;
        for (int64_t j = 0; j < s.k; j++)
            for (int64_t e = 0; e < s.d; e++) {
                double sum = post[j] * y[row * s.d + e];
                if (!mixes(&s)) sum += s.x[(row * s.k + j) * s.d + e];
                for (int64_t i = 0; i < s.k && mixes(&s); i++)
                    sum += mix[i * s.k + j] * s.x[(row * s.k + i) * s.d + e];
                to[(row * s.k + j) * s.d + e] = sum;
            }
    }
    return KERNEL_OK;
}

static int write_grad_reference(const Launch *l)
{
    const Streams s = streams_of(&l->in[0], &l->in[2]);
    const double *y = l->in[1].data, *dto = l->in[3].data;
    double *dx = l->out[0].data, *dy = l->out[1].data, *dw = l->out[2].data;
    for (int k = 0; k < 3; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t row = 0; row < s.n; row++) {
        const double *post = s.w + row * s.m + s.k, *mix = post + s.k;
        double *dpost = dw + row * s.m + s.k, *dmix = dpost + s.k;
        for (int64_t j = 0; j < s.k; j++)
            for (int64_t e = 0; e < s.d; e++) {
                const double of = dto[(row * s.k + j) * s.d + e];
                dy[row * s.d + e] += post[j] * of;
                dpost[j] += y[row * s.d + e] * of;
                if (!mixes(&s)) dx[(row * s.k + j) * s.d + e] = of;
                for (int64_t i = 0; i < s.k && mixes(&s); i++) {
                    const int64_t at = (row * s.k + i) * s.d + e;
                    dx[at] += mix[i * s.k + j] * of;
                    dmix[i * s.k + j] += s.x[at] * of;
                }
            }
    }
    return KERNEL_OK;
}

const OpDef op_hyper_weights = {
    .name = "hyper_weights",
    .doc = "weights by which a token's streams are read, written and mixed",
    .dims = "*m!,m!,q!->*m",
    .attrs = attrs,
    .attrs_size = sizeof(HyperWeights),
    .dtypes = weights_dtypes,
    .grad = weights_grad,
    .reference = weights_reference,
};
static const OpDef op_hyper_weights_grad = {
    .name = "hyper_weights_grad",
    .doc = "gradients of what they come from, of base and of scale",
    .dims = "*m!,m!,q!,*m!->*m,m,q",
    .attrs = attrs,
    .attrs_size = sizeof(HyperWeights),
    .dtypes = grad_dtypes,
    .reference = weights_grad_reference,
};
static const OpDef op_hyper_read = {
    .name = "hyper_read",
    .doc = "sum of a token's streams by its weights",
    .dims = "*k!d,*m!->*d",
    .grad = read_grad,
    .reference = read_reference,
};
static const OpDef op_hyper_read_grad = {
    .name = "hyper_read_grad",
    .doc = "gradients of streams and weights",
    .dims = "*k!d!,*m!,*d!->*kd,*m",
    .dtypes = grad_dtypes,
    .reference = read_grad_reference,
};
static const OpDef op_hyper_write = {
    .name = "hyper_write",
    .doc = "a token's streams, mixed, and what a layer gave to each, by its weights",
    .dims = "*k!d,*d,*m!->*kd",
    .grad = write_grad,
    .reference = write_reference,
    .flags = OP_SUM,
};
static const OpDef op_hyper_write_grad = {
    .name = "hyper_write_grad",
    .doc = "gradients of streams, of what a layer gave, and of weights",
    .dims = "*k!d!,*d!,*m!,*k!d!->*kd,*d,*m",
    .dtypes = grad_dtypes,
    .reference = write_grad_reference,
};

const OpDef *const hyper_ops[] = { &op_hyper_weights,
                                   &op_hyper_weights_grad,
                                   &op_hyper_read,
                                   &op_hyper_read_grad,
                                   &op_hyper_write,
                                   &op_hyper_write_grad,
                                   NULL };
