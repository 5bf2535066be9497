/* compress.c - tokens of a window as one, by weights of each feature that tokens and their places
 * give (DeepSeek-AI 2026, DeepSeek V4).
 *
 * Letters: b batch, s token, t window, c features of a token, d of a window, r place in a window.
 */
#include "ops/compress.h"
#include "base/arena.h"
#include "ops/compress_windows.h"
#include "ops/softmax.h"
#include <string.h>

static const OpDef op_compress, op_compress_grad, op_compress_cached, op_ended_windows;

static const Field attrs[] = {
    FIELD_INT(Compress, rate, NULL, 0, 0, "tokens of a window"),
    FIELD_BOOL(Compress, overlaps, NULL, "windows have the tokens of the one before, too"),
    { 0 },
};

static const Field ended_attrs[] = {
    FIELD_INT(EndedWindows, rate, NULL, 0, 0, "tokens of a window"),
    { 0 },
};

int64_t compress_tail(const Compress *a)
{
    return a->rate - 1 + (a->overlaps ? a->rate : 0);
}

static const char *sizes_of(Graph *g, const Value *x, const Compress *a, int64_t windows)
{
    const int64_t width = value_width(x);
    if (a->overlaps && width % 2)
        graph_fail(g, error_new("compress: windows that overlap need two halves of %lld features",
                                (long long)width));
    return arena_printf(g->arena, "t=%lld d=%lld", (long long)windows,
                        (long long)(a->overlaps ? width / 2 : width));
}

Value *compress(Graph *g, Value *x, Value *gate, Value *bias, const Compress *a)
{
    Value *in[] = { x, gate, bias };
    const char *sizes = sizes_of(g, x, a, (x->dim[1].size + a->rate - 1) / a->rate);
    return graph_add_dims(g, &op_compress, "bs!c!,bs!c!,r!c!->bt!d!", sizes, a, 3, in)->out[0];
}

Value *compress_cached(Graph *g, Value *const *tail, Value *x, Value *gate, Value *bias,
                       const Compress *a)
{
    Value *in[] = { tail[0], tail[1], x, gate, bias }, *into[] = { tail[0], tail[1] };
    const char *sizes = sizes_of(g, x, a, (x->dim[1].size + a->rate - 2) / a->rate + 1);
    return graph_add_into(g, &op_compress_cached, "bou!c!,bou!c!,bs!c!,bs!c!,r!c!->bouc,bouc,bt!d!",
                          sizes, a, 5, in, 2, into)
        ->out[2];
}

Value *ended_windows(Graph *g, Value *x, Value *keys, int64_t rate)
{
    Value *in[] = { x, keys };
    const char *dims = keys->n_dims == 4 ? "bsk!,bt!gd->bst!" : "bsk!,bt!d->bst!";
    return graph_add_dims(g, &op_ended_windows, dims, NULL, &(EndedWindows){ rate }, 2, in)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], n->in[2], dout[0] };
    const Node *made = graph_add(g, &op_compress_grad, n->attrs, 4, in);
    for (int k = 0; k < 3; k++) din[k] = made->out[k];
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = n->in[1]->dtype;
    out[2] = dtype_for_sums(n->in[2]->dtype);
}

static void cached_dtypes(const Node *n, Dtype *out)
{
    out[0] = out[1] = out[2] = n->in[2]->dtype;
}

static void ended_dtypes(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = I32;
}

/* ---- reference kernels ---- */

/* Rows of a text from token `from` on, [.. c]. */
typedef struct Rows {
    const double *x, *gate, *bias;
    int64_t c, d;
} Rows;

/* Feature e of row i of a window: its element of x and gate, that of bias, and its logit. False:
 * there is no such row. */
static bool element_of(const Rows *r, const Window *w, int64_t i, int64_t e, int64_t *at,
                       int64_t *of_bias, double *logit)
{
    int64_t token, place;
    bool before;
    if (!window_row(w, i, &token, &place, &before)) return false;
    const int64_t column = w->overlaps && !before ? r->d + e : e;
    *at = (token - w->from) * r->c + column;
    *of_bias = place * r->c + column;
    *logit = r->gate[*at] + r->bias[*of_bias];
    return true;
}

/* The mean of feature e, and in *lse the logarithm of the sum of its exponentials. */
static double mean_of(const Rows *r, const Window *w, int64_t e, double *lse)
{
    double top = -INFINITY, sum = 0, mean = 0, logit;
    int64_t at, of_bias;
    const int64_t n = window_rows(w);
    for (int64_t i = 0; i < n; i++)
        if (element_of(r, w, i, e, &at, &of_bias, &logit)) top = fmax(top, logit);
    for (int64_t i = 0; i < n; i++) {
        if (!element_of(r, w, i, e, &at, &of_bias, &logit)) continue;
        const double p = exp(logit - top);
        sum += p;
        mean += p * r->x[at];
    }
    *lse = top + log(sum);
    return sum > 0 ? mean / sum : 0;
}

static int reference(const Launch *l)
{
    const Compress *a = l->attrs;
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int64_t s = x->size[1], c = x->size[2], t = y->size[1], d = y->size[2];
    double *to = y->data, lse;
    for (int64_t b = 0; b < x->size[0]; b++) {
        const Rows r = { (const double *)x->data + b * s * c,
                         (const double *)l->in[1].data + b * s * c, l->in[2].data, c, d };
        for (int64_t i = 0; i < t; i++) {
            const Window w = { a->rate, 0, s, i * a->rate, a->overlaps };
            for (int64_t e = 0; e < d; e++) *to++ = mean_of(&r, &w, e, &lse);
        }
    }
    return KERNEL_OK;
}

/* With p the weight of a row: dx = p dy, dgate = p dy (x - y), and dbias is the sum of those. */
static int grad_reference(const Launch *l)
{
    const Compress *a = l->attrs;
    const Tensor *x = &l->in[0], *dy = &l->in[3];
    const int64_t s = x->size[1], c = x->size[2], t = dy->size[1], d = dy->size[2];
    double *dbias = l->out[2].data, lse, logit;
    for (int k = 0; k < 3; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t b = 0; b < x->size[0]; b++) {
        const Rows r = { (const double *)x->data + b * s * c,
                         (const double *)l->in[1].data + b * s * c, l->in[2].data, c, d };
        double *dx = (double *)l->out[0].data + b * s * c,
               *dgate = (double *)l->out[1].data + b * s * c;
        for (int64_t i = 0; i < t * d; i++) {
            const Window w = { a->rate, 0, s, i / d * a->rate, a->overlaps };
            const double mean = mean_of(&r, &w, i % d, &lse),
                         of = ((const double *)dy->data)[b * t * d + i];
            int64_t at, of_bias;
            for (int64_t j = 0; j < window_rows(&w); j++) {
                if (!element_of(&r, &w, j, i % d, &at, &of_bias, &logit)) continue;
                const double flow = exp(logit - lse) * of;
                dx[at] = flow;
                dgate[at] = flow * (r.x[at] - mean);
                dbias[of_bias] += dgate[at];
            }
        }
    }
    return KERNEL_OK;
}

/* What is kept of a text in front of row `b` of new ones, and these: [u+s c]. */
static double *joined(const Tensor *tail, const Tensor *x, int64_t b, Arena *a)
{
    const int64_t kept = tail->size[2] * tail->size[3], n = x->size[1] * x->size[2];
    double *rows = NEW_N(a, double, kept + n + 1);
    memcpy(rows, (const double *)tail->data + b * kept, sizeof *rows * (size_t)kept);
    memcpy(rows + kept, (const double *)x->data + b * n, sizeof *rows * (size_t)n);
    return rows;
}

/* Tails are input and result, which may or may not share memory. */
static int cached_reference(const Launch *l)
{
    const Compress *a = l->attrs;
    const Tensor *x = &l->in[2], *y = &l->out[2];
    const int64_t s = x->size[1], c = x->size[2], u = l->in[0].size[2], t = y->size[1],
                  d = y->size[2];
    double lse;
    for (int64_t b = 0; b < x->size[0]; b++) {
        Arena *arena = arena_new();
        const int64_t p = row_position(l->now, b), missing = u - p > 0 ? u - p : 0;
        double *rows[] = { joined(&l->in[0], x, b, arena), joined(&l->in[1], &l->in[3], b, arena) };
        const Rows r = { rows[0] + missing * c, rows[1] + missing * c, l->in[4].data, c, d };
        for (int64_t i = 0; i < t * d; i++) {
            const Window w = { a->rate, p - u + missing, p + s, (p / a->rate + i / d) * a->rate,
                               a->overlaps };
            ((double *)y->data)[b * t * d + i] = mean_of(&r, &w, i % d, &lse);
        }
        for (int k = 0; k < 2; k++)
            memcpy((double *)l->out[k].data + b * u * c,
                   rows[k] + (row_waits(l->now, b) ? 0 : s * c), sizeof(double) * (size_t)(u * c));
        arena_free(arena);
    }
    return KERNEL_OK;
}

static int ended_reference(const Launch *l)
{
    const int64_t rate = ((const EndedWindows *)l->attrs)->rate, t = l->out[0].size[2];
    const Tensor *x = &l->in[0];
    int32_t *to = l->out[0].data;
    for (int64_t row = 0; row < x->size[0] * x->size[1]; row++, to += t) {
        const int64_t position =
            global_index(x, 1, row % x->size[1]) + row_position(l->now, row / x->size[1]);
        for (int64_t i = 0; i < t; i++) to[i] = (i + 1) * rate <= position + 1 ? (int32_t)i : -1;
    }
    return KERNEL_OK;
}

static const OpDef op_compress = {
    .name = "compress",
    .doc = "rows of windows of tokens as one each, by a softmax over them for each feature",
    .attrs = attrs,
    .attrs_size = sizeof(Compress),
    .grad = grad,
    .reference = reference,
};
static const OpDef op_compress_grad = {
    .name = "compress_grad",
    .doc = "gradients of the rows, of their logits, and of what places add to these",
    .dims = "bs!c!,bs!c!,r!c!,bt!d!->bsc,bsc,rc",
    .attrs = attrs,
    .attrs_size = sizeof(Compress),
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};
static const OpDef op_compress_cached = {
    .name = "compress_cached",
    .doc = "compress of a text that is continued, whose last tokens are kept",
    .attrs = attrs,
    .attrs_size = sizeof(Compress),
    .dtypes = cached_dtypes,
    .reference = cached_reference,
};
static const OpDef op_ended_windows = {
    .name = "ended_windows",
    .doc = "for each token the windows that have ended, as indices",
    .attrs = ended_attrs,
    .attrs_size = sizeof(EndedWindows),
    .dtypes = ended_dtypes,
    .reference = ended_reference,
};

const OpDef *const compress_ops[] = { &op_compress, &op_compress_grad, &op_compress_cached,
                                      &op_ended_windows, NULL };
