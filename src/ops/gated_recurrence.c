/* gated_recurrence.c - the gated recurrence, token by token.
 *
 * Letters: b batch, s token, c feature. With r = sigmoid(fade), i = sigmoid(in), a = exp(l) of l =
 * -8 r softplus(speed) and m = sqrt(1 - a^2) a token makes h = a h' + m i x of the h' in front of
 * it. Backwards, with d the gradient of h behind a token, its reading included: m i x gets d, h'
 * gets a d, and l gets a d h' - d i x a^2 / m. */
#include "ops/gated_recurrence.h"
#include "base/arena.h"
#include "ops/delta_step.h"
#include "ops/gated_recurrence_gates.h"
#include <string.h>

static const OpDef op_gated_recurrence, op_gated_recurrence_grad, op_gated_recurrence_cached;

enum { N_OPERANDS = 4 };

Value *gated_recurrence(Graph *g, const GatedRecurrence *r, Value *documents)
{
    Value *in[] = { r->x, r->in, r->fade, r->speed, documents };
    const char *dims = documents ? "bs!c,bsc,bsc,c,bs->bsc" : "bs!c,bsc,bsc,c->bsc";
    return graph_add_dims(g, &op_gated_recurrence, dims, NULL, NULL, N_OPERANDS + !!documents, in)
        ->out[0];
}

Value *gated_recurrence_cached(Graph *g, Value *state, const GatedRecurrence *r)
{
    Value *in[] = { state, r->x, r->in, r->fade, r->speed };
    const char *dims = "boc,bs!c,bsc,bsc,c->boc,bsc";
    return graph_add_into(g, &op_gated_recurrence_cached, dims, NULL, NULL, N_OPERANDS + 1, in, 1,
                          &state)
        ->out[1];
}

/* The gradient of the result comes twice: ranks that divide a sequence walk over all of it, and
 * give the gradients of their own tokens, and for the speeds what those add. */
static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[N_OPERANDS + 4];
    memcpy(in, n->in, sizeof *in * (size_t)n->n_in);
    in[n->n_in] = n->out[0];
    in[n->n_in + 1] = in[n->n_in + 2] = dout[0];
    const char *dims = n->n_in > N_OPERANDS ? "bs!c,bsc,bsc,c,bs,bsc,btc,bsc->btc,btc,btc,c"
                                            : "bs!c,bsc,bsc,c,bsc,btc,bsc->btc,btc,btc,c";
    const Node *made =
        graph_add_dims(g, &op_gated_recurrence_grad, dims, NULL, NULL, n->n_in + 3, in);
    for (int k = 0; k < N_OPERANDS; k++) din[k] = made->out[k];
}

/* Of a launch: the operands from `x` on. */
typedef struct Operands {
    const double *x, *in, *fade, *speed;
    const int32_t *document; /* NULL: one document */
    int64_t n_text, length, c;
} Operands;

static Operands operands_of(const Tensor *in, bool has_documents)
{
    return (Operands){ .x = in[0].data,
                       .in = in[1].data,
                       .fade = in[2].data,
                       .speed = in[3].data,
                       .document = has_documents ? in[N_OPERANDS].data : NULL,
                       .n_text = in[0].size[0],
                       .length = in[0].size[1],
                       .c = in[0].size[2] };
}

static bool begins(const Operands *o, int64_t t)
{
    return t % o->length == 0 || (o->document && o->document[t] != o->document[t - 1]);
}

static double softplus(double x)
{
    return x > 30 ? x : log1p(exp(x));
}

/* Token t, a number over all texts, of feature c. */
typedef struct Gates {
    double in, fade;    /* opened by so much */
    double keep, share; /* of h' and of what the gate lets in */
} Gates;

static Gates gates_at(const Operands *o, int64_t t, int64_t c, bool is_first)
{
    const int64_t at = t * o->c + c;
    Gates g = { .in = delta_sigmoid(o->in[at]), .fade = delta_sigmoid(o->fade[at]), .share = 1 };
    if (is_first) return g;
    const double l = -RECURRENCE_SPEED * g.fade * softplus(o->speed[c]);
    g.keep = exp(l);
    g.share = sqrt(-expm1(2 * l));
    return g;
}

/* All tokens of a feature of text b, from and to *state, which counts where `goes_on`. */
static void run_feature(const Operands *o, int64_t b, int64_t c, bool goes_on, double *state,
                        double *y)
{
    for (int64_t t = b * o->length; t < (b + 1) * o->length; t++) {
        const bool is_first = begins(o, t) && (t % o->length > 0 || !goes_on);
        const Gates g = gates_at(o, t, c, is_first);
        const double kept = is_first ? 0 : g.keep * *state;
        *state = kept + g.share * g.in * o->x[t * o->c + c];
        y[t * o->c + c] = *state;
    }
}

static int reference(const Launch *l)
{
    const Operands o = operands_of(l->in, l->n_in > N_OPERANDS);
    for (int64_t i = 0; i < o.n_text * o.c; i++) {
        double state = 0;
        run_feature(&o, i / o.c, i % o.c, false, &state, l->out[0].data);
    }
    return KERNEL_OK;
}

/* The state is input and result, which may or may not share memory. */
static int cached_reference(const Launch *l)
{
    const Operands o = operands_of(l->in + 1, false);
    const double *kept = l->in[0].data;
    double *to = l->out[0].data;
    for (int64_t i = 0; i < o.n_text * o.c; i++) {
        const int64_t b = i / o.c;
        const double before = kept[i];
        double state = before;
        run_feature(&o, b, i % o.c, row_position(l->now, b) > 0, &state, l->out[1].data);
        to[i] = row_waits(l->now, b) ? before : state;
    }
    return KERNEL_OK;
}

/* Of the operands. */
typedef struct Grads {
    const double *h, *y; /* the result, and its gradient */
    double *x, *in, *fade, *speed;
    const int64_t *row; /* of each token of a sequence: its place among the own ones; -1: none */
    int64_t n_own;
} Grads;

/* Of l: a d h' - d i x a^2 / m, where m is not near 0. */
static double exponent_grad(const Gates *g, double d, double before, double let_in)
{
    const double least = 0.5 / RECURRENCE_SLOPE, m = g->share > least ? g->share : least;
    return d * (g->keep * before - let_in * g->keep * g->keep / m);
}

static void token_grad(const Operands *o, const Grads *to, int64_t t, int64_t c, const Gates *g,
                       double d)
{
    const bool is_first = begins(o, t);
    const int64_t at = t * o->c + c, row = to->row[t % o->length],
                  own = (t / o->length * to->n_own + row) * o->c + c;
    const double x = o->x[at];
    if (row < 0) return;
    to->x[own] = d * g->share * g->in;
    to->in[own] = d * g->share * x * g->in * (1 - g->in);
    if (is_first) return;
    const double of_l = exponent_grad(g, d, to->h[at - o->c], g->in * x),
                 faster = -RECURRENCE_SPEED * of_l;
    to->fade[own] = faster * softplus(o->speed[c]) * g->fade * (1 - g->fade);
    to->speed[c] += faster * g->fade * delta_sigmoid(o->speed[c]);
}

static void feature_grad(const Operands *o, const Grads *to, int64_t b, int64_t c)
{
    double d = 0;
    for (int64_t t = (b + 1) * o->length - 1; t >= b * o->length; t--) {
        const Gates g = gates_at(o, t, c, begins(o, t));
        d += to->y[t * o->c + c];
        token_grad(o, to, t, c, &g, d);
        d *= g.keep;
    }
}

static const int64_t *own_rows(Arena *a, const Tensor *own, int64_t length)
{
    int64_t *row = NEW_N(a, int64_t, length);
    for (int64_t t = 0; t < length; t++) row[t] = -1;
    for (int64_t i = 0; i < own->size[1]; i++) {
        const int64_t t = global_index(own, 1, i);
        if (t < length) row[t] = i; /* else it is padding */
    }
    return row;
}

static int grad_reference(const Launch *l)
{
    const Operands o = operands_of(l->in, l->n_in > N_OPERANDS + 3);
    const Tensor *own = &l->in[l->n_in - 2];
    Arena *a = arena_new();
    const Grads to = { l->in[l->n_in - 3].data,
                       l->in[l->n_in - 1].data,
                       l->out[0].data,
                       l->out[1].data,
                       l->out[2].data,
                       l->out[3].data,
                       own_rows(a, own, o.length),
                       own->size[1] };
    for (int k = 0; k < N_OPERANDS; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t i = 0; i < o.n_text * o.c; i++) feature_grad(&o, &to, i / o.c, i % o.c);
    arena_free(a);
    return KERNEL_OK;
}

/* Of each feature of a token: two gates, what fades, and what is added to it. */
enum { FLOPS = 12 };

static int64_t forward_flops(const Node *n)
{
    return FLOPS * value_count(n->in[0]);
}

static int64_t cached_flops(const Node *n)
{
    return FLOPS * value_count(n->in[1]);
}

static int64_t backward_flops(const Node *n)
{
    return 2 * forward_flops(n);
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < N_OPERANDS; k++) out[k] = n->in[k]->dtype;
}

/* What adds up over a text stays exact. */
static void cached_dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[1]->dtype);
    out[1] = n->in[1]->dtype;
}

static const OpDef op_gated_recurrence = {
    .name = "gated_recurrence",
    .doc = "a number of each feature that gates of the token let fade and add to, token by token "
           "(RG-LRU)",
    .dtypes = dtypes,
    .grad = grad,
    .flops = forward_flops,
    .reference = reference,
    .flags = OP_ATTENTION,
};
static const OpDef op_gated_recurrence_grad = {
    .name = "gated_recurrence_grad",
    .doc = "gradients of the features, of what their gates are made of, and of speeds",
    .dtypes = grad_dtypes,
    .flops = backward_flops,
    .reference = grad_reference,
    .flags = OP_ATTENTION,
};
static const OpDef op_gated_recurrence_cached = {
    .name = "gated_recurrence_cached",
    .doc = "gated_recurrence of a text that is continued, whose numbers are kept",
    .dtypes = cached_dtypes,
    .flops = cached_flops,
    .reference = cached_reference,
};

const OpDef *const gated_recurrence_ops[] = { &op_gated_recurrence, &op_gated_recurrence_grad,
                                              &op_gated_recurrence_cached, NULL };
