/* causal_conv.c - a convolution along the sequence, of each feature by itself, that looks back. */
#include "ops/causal_conv.h"
#include "base/arena.h"
#include <string.h>

static const OpDef op_causal_conv, op_causal_conv_grad, op_causal_conv_cached;

Value *causal_conv(Graph *g, Value *x, Value *weight, Value *documents)
{
    Value *in[] = { x, weight, documents };
    const char *dims = documents ? "bs!c,cw!,bs->bsc" : "bs!c,cw!->bsc";
    return graph_add_dims(g, &op_causal_conv, dims, NULL, NULL, documents ? 3 : 2, in)->out[0];
}

Value *causal_conv_cached(Graph *g, Value *tail, Value *x, Value *weight)
{
    Value *in[] = { tail, x, weight };
    const char *dims = "bou!c,bs!c,cw!->bouc,bsc";
    if (tail->n_dims == 4 && tail->dim[2].size != value_width(weight) - 1)
        graph_fail(g, error_new("causal_conv_cached: %lld tokens are kept for a width of %lld",
                                (long long)tail->dim[2].size, (long long)value_width(weight)));
    return graph_add_into(g, &op_causal_conv_cached, dims, NULL, NULL, 3, in, 1, &tail)->out[1];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[4];
    memcpy(in, n->in, sizeof *in * (size_t)n->n_in);
    in[n->n_in] = dout[0];
    const char *dims = n->n_in == 3 ? "bs!c,cw!,bs,bsc->bsc,cw" : "bs!c,cw!,bsc->bsc,cw";
    const Node *made = graph_add_dims(g, &op_causal_conv_grad, dims, NULL, NULL, n->n_in + 1, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

/* How many tokens in front of t, up to `most`, are of its document; t is a number over all
 * sequences. */
static int64_t n_before(const int32_t *document, int64_t t, int64_t length, int64_t most)
{
    int64_t n = 0;
    while (n < most && (t - n) % length > 0 && (!document || document[t - n - 1] == document[t]))
        n++;
    return n;
}

static int reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *weight = &l->in[1];
    const int32_t *document = l->n_in == 3 ? l->in[2].data : NULL;
    const double *in = x->data, *w = weight->data;
    const int64_t length = x->size[1], c = x->size[2], width = weight->size[1];
    double *y = l->out[0].data;
    for (int64_t t = 0; t < x->size[0] * length; t++) {
        const int64_t n = n_before(document, t, length, width - 1);
        for (int64_t k = 0; k < c; k++) {
            double sum = 0;
            for (int64_t i = 0; i <= n; i++)
                sum += w[k * width + width - 1 - i] * in[(t - i) * c + k];
            y[t * c + k] = sum;
        }
    }
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *weight = &l->in[1];
    const int32_t *document = l->n_in == 4 ? l->in[2].data : NULL;
    const double *in = x->data, *w = weight->data, *dy = l->in[l->n_in - 1].data;
    const int64_t length = x->size[1], c = x->size[2], width = weight->size[1];
    double *dx = l->out[0].data, *dw = l->out[1].data;
    memset(dx, 0, tensor_bytes(&l->out[0]));
    memset(dw, 0, tensor_bytes(&l->out[1]));
    for (int64_t t = 0; t < x->size[0] * length; t++) {
        const int64_t n = n_before(document, t, length, width - 1);
        for (int64_t k = 0; k < c; k++)
            for (int64_t i = 0; i <= n; i++) {
                const int64_t of_w = k * width + width - 1 - i, of_x = (t - i) * c + k;
                dx[of_x] += w[of_w] * dy[t * c + k];
                dw[of_w] += in[of_x] * dy[t * c + k];
            }
    }
    return KERNEL_OK;
}

/* What is kept of a text, and its new tokens behind that: [w-1+s c]. */
static double *joined(const Launch *l, Arena *a, int64_t b)
{
    const Tensor *tail = &l->in[0], *x = &l->in[1];
    const int64_t c = x->size[2], kept = tail->size[2] * c, n = x->size[1] * c;
    double *rows = NEW_N(a, double, kept + n);
    if (row_position(l->now, b) > 0)
        memcpy(rows, (const double *)tail->data + b * kept, sizeof *rows * (size_t)kept);
    memcpy(rows + kept, (const double *)x->data + b * n, sizeof *rows * (size_t)n);
    return rows;
}

/* The tail is input and result, which may or may not share memory. */
static int cached_reference(const Launch *l)
{
    const Tensor *x = &l->in[1], *weight = &l->in[2];
    const double *w = weight->data;
    const int64_t length = x->size[1], c = x->size[2], width = weight->size[1],
                  kept = (width - 1) * c;
    double *tail = l->out[0].data, *y = l->out[1].data;
    for (int64_t b = 0; b < x->size[0]; b++, tail += kept) {
        Arena *a = arena_new();
        const double *rows = joined(l, a, b);
        for (int64_t i = 0; i < length * c; i++, y++) {
            *y = 0;
            for (int64_t k = 0; k < width; k++) *y += w[i % c * width + k] * rows[k * c + i];
        }
        const double *last =
            row_waits(l->now, b) ? (const double *)l->in[0].data + b * kept : rows + length * c;
        if (tail != last) memcpy(tail, last, sizeof *tail * (size_t)kept);
        arena_free(a);
    }
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = n->in[1]->dtype;
}

static void cached_dtypes(const Node *n, Dtype *out)
{
    out[0] = out[1] = n->in[1]->dtype;
}

static const OpDef op_causal_conv = {
    .name = "causal_conv",
    .doc = "each feature as a weighted sum of its last few numbers, within a document",
    .grad = grad,
    .reference = reference,
};
static const OpDef op_causal_conv_grad = {
    .name = "causal_conv_grad",
    .doc = "gradients of what is summed and of the weights",
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};
static const OpDef op_causal_conv_cached = {
    .name = "causal_conv_cached",
    .doc = "causal_conv of a text that is continued, whose last tokens are kept",
    .dtypes = cached_dtypes,
    .reference = cached_reference,
};

const OpDef *const causal_conv_ops[] = { &op_causal_conv, &op_causal_conv_grad,
                                         &op_causal_conv_cached, NULL };
