/* causal_conv.c - a convolution along the sequence, of each feature by itself, that looks back. */
#include "ops/causal_conv.h"
#include "base/arena.h"
#include <string.h>

static const OpDef op_causal_conv, op_causal_conv_x_grad, op_causal_conv_weight_grad,
    op_causal_conv_cached;

/* x comes twice: ranks that divide a sequence make their own tokens from all of it. */
Value *causal_conv(Graph *g, Value *x, Value *weight, Value *documents)
{
    Value *in[] = { x, x, weight, documents };
    const char *dims = documents ? "bsc,bt!c,cw!,bt->bsc" : "bsc,bt!c,cw!->bsc";
    return graph_add_dims(g, &op_causal_conv, dims, NULL, NULL, documents ? 4 : 3, in)->out[0];
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
    Value *weight = n->in[2], *documents = n->n_in == 4 ? n->in[3] : NULL;
    const char *width = arena_printf(g->arena, "w=%lld", (long long)value_width(weight));
    if (documents) {
        Value *of_x[] = { weight, documents, dout[0] }, *of_w[] = { n->in[1], documents, dout[0] };
        din[1] = graph_add_dims(g, &op_causal_conv_x_grad, "cw!,bs,bs!c->bsc", NULL, NULL, 3, of_x)
                     ->out[0];
        din[2] =
            graph_add_dims(g, &op_causal_conv_weight_grad, "bt!c,bt,bsc->cw!", width, NULL, 3, of_w)
                ->out[0];
        return;
    }
    Value *of_x[] = { weight, dout[0] }, *of_w[] = { n->in[1], dout[0] };
    din[1] =
        graph_add_dims(g, &op_causal_conv_x_grad, "cw!,bs!c->bsc", NULL, NULL, 2, of_x)->out[0];
    din[2] = graph_add_dims(g, &op_causal_conv_weight_grad, "bt!c,bsc->cw!", width, NULL, 2, of_w)
                 ->out[0];
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

/* The number over all sequences of row i of a rank's own tokens; -1: it is padding. */
static int64_t token_of(const Tensor *own, int64_t i, int64_t length)
{
    const int64_t t = global_index(own, 1, i % own->size[1]);
    return t < length ? i / own->size[1] * length + t : -1;
}

static int reference(const Launch *l)
{
    const Tensor *own = &l->in[0], *x = &l->in[1], *weight = &l->in[2];
    const int32_t *document = l->n_in == 4 ? l->in[3].data : NULL;
    const double *in = x->data, *w = weight->data;
    const int64_t length = x->size[1], c = x->size[2], width = weight->size[1];
    double *y = l->out[0].data;
    for (int64_t row = 0; row < own->size[0] * own->size[1]; row++) {
        const int64_t t = token_of(own, row, length);
        const int64_t n = t < 0 ? -1 : n_before(document, t, length, width - 1);
        for (int64_t k = 0; k < c; k++) {
            double sum = 0;
            for (int64_t i = 0; i <= n; i++)
                sum += w[k * width + width - 1 - i] * in[(t - i) * c + k];
            y[row * c + k] = sum;
        }
    }
    return KERNEL_OK;
}

static int x_grad_reference(const Launch *l)
{
    const Tensor *weight = &l->in[0], *dx = &l->out[0];
    const int32_t *document = l->n_in == 3 ? l->in[1].data : NULL;
    const double *w = weight->data, *dy = l->in[l->n_in - 1].data;
    const int64_t length = dx->size[1], c = dx->size[2], width = weight->size[1];
    double *to = dx->data;
    memset(to, 0, tensor_bytes(dx));
    for (int64_t t = 0; t < dx->size[0] * length; t++) {
        const int64_t n = n_before(document, t, length, width - 1);
        for (int64_t k = 0; k < c; k++)
            for (int64_t i = 0; i <= n; i++)
                to[(t - i) * c + k] += w[k * width + width - 1 - i] * dy[t * c + k];
    }
    return KERNEL_OK;
}

static int weight_grad_reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *own = &l->in[l->n_in - 1], *dw = &l->out[0];
    const int32_t *document = l->n_in == 3 ? l->in[1].data : NULL;
    const double *in = x->data, *dy = own->data;
    const int64_t length = x->size[1], c = x->size[2], width = dw->size[1];
    double *to = dw->data;
    memset(to, 0, tensor_bytes(dw));
    for (int64_t row = 0; row < own->size[0] * own->size[1]; row++) {
        const int64_t t = token_of(own, row, length);
        const int64_t n = t < 0 ? -1 : n_before(document, t, length, width - 1);
        for (int64_t k = 0; k < c; k++)
            for (int64_t i = 0; i <= n; i++)
                to[k * width + width - 1 - i] += in[(t - i) * c + k] * dy[row * c + k];
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

static void x_grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[n->n_in - 1]->dtype;
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
static const OpDef op_causal_conv_x_grad = {
    .name = "causal_conv_x_grad",
    .doc = "gradient of what is summed",
    .dtypes = x_grad_dtypes,
    .reference = x_grad_reference,
};
static const OpDef op_causal_conv_weight_grad = {
    .name = "causal_conv_weight_grad",
    .doc = "gradient of the weights",
    .reference = weight_grad_reference,
};
static const OpDef op_causal_conv_cached = {
    .name = "causal_conv_cached",
    .doc = "causal_conv of a text that is continued, whose last tokens are kept",
    .dtypes = cached_dtypes,
    .reference = cached_reference,
};

const OpDef *const causal_conv_ops[] = { &op_causal_conv, &op_causal_conv_x_grad,
                                         &op_causal_conv_weight_grad, &op_causal_conv_cached,
                                         NULL };
