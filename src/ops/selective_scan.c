/* selective_scan.c - the selective scan, token by token.
 *
 * Letters: b batch, s token, c feature, n numbers of its state h. With A = -exp(speed), keep =
 * exp(dt A) and u = dt x a token makes h = keep h' + u in of the h' in front of it. Backwards, with
 * d the gradient of h behind a token, its own reading included: keep gets d h', u the sum of d in,
 * and h' gets keep d. The gradient of dt is x times that of u, and the sum over n of A keep d h'.
 */
#include "ops/selective_scan.h"
#include "base/arena.h"
#include "ops/delta_step.h"
#include <string.h>

static const OpDef op_selective_scan, op_selective_scan_grad, op_selective_scan_cached;

enum { N_OPERANDS = 7 };

Value *selective_scan(Graph *g, const SelectiveScan *s, Value *documents)
{
    Value *in[] = { s->step, s->x, s->in, s->out, s->speed, s->bias, s->skip, documents };
    const char *dims =
        documents ? "bs!c,bsc,bsn!,bsn,cn,c,c,bs->bsc" : "bs!c,bsc,bsn!,bsn,cn,c,c->bsc";
    return graph_add_dims(g, &op_selective_scan, dims, NULL, NULL, N_OPERANDS + !!documents, in)
        ->out[0];
}

Value *selective_scan_cached(Graph *g, Value *state, const SelectiveScan *s)
{
    Value *in[] = { state, s->step, s->x, s->in, s->out, s->speed, s->bias, s->skip };
    const char *dims = "bocn!,bs!c,bsc,bsn,bsn,cn,c,c->bocn,bsc";
    return graph_add_into(g, &op_selective_scan_cached, dims, NULL, NULL, N_OPERANDS + 1, in, 1,
                          &state)
        ->out[1];
}

/* The gradient of the result comes twice: ranks that divide a sequence compute the states of all of
 * it, and give the gradients of their own tokens, and for the parameters what those add. */
static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[N_OPERANDS + 3];
    memcpy(in, n->in, sizeof *in * (size_t)n->n_in);
    in[n->n_in] = in[n->n_in + 1] = dout[0];
    const char *dims = n->n_in > N_OPERANDS
                           ? "bs!c,bsc,bsn!,bsn,cn,c,c,bs,btc,bsc->btc,btc,btn,btn,cn,c,c"
                           : "bs!c,bsc,bsn!,bsn,cn,c,c,btc,bsc->btc,btc,btn,btn,cn,c,c";
    const Node *made =
        graph_add_dims(g, &op_selective_scan_grad, dims, NULL, NULL, n->n_in + 2, in);
    for (int k = 0; k < N_OPERANDS; k++) din[k] = made->out[k];
}

/* Of a launch: the operands from `step` on. */
typedef struct Scan {
    const double *step, *x, *in, *out, *speed, *bias, *skip;
    const int32_t *document; /* NULL: one document */
    int64_t n_text, length, c, n;
} Scan;

static Scan scan_of(const Tensor *in, bool has_documents)
{
    return (Scan){ .step = in[0].data,
                   .x = in[1].data,
                   .in = in[2].data,
                   .out = in[3].data,
                   .speed = in[4].data,
                   .bias = in[5].data,
                   .skip = in[6].data,
                   .document = has_documents ? in[N_OPERANDS].data : NULL,
                   .n_text = in[1].size[0],
                   .length = in[1].size[1],
                   .c = in[1].size[2],
                   .n = in[4].size[1] };
}

/* Token t, a number over all sequences, of feature c. */
static double step_at(const Scan *s, int64_t t, int64_t c, double *slope)
{
    static const DeltaGatesAttrs unbounded;
    return delta_step(&unbounded, s->step[t * s->c + c] + s->bias[c], slope);
}

static bool begins(const Scan *s, int64_t t)
{
    return t % s->length == 0 || (s->document && s->document[t] != s->document[t - 1]);
}

/* h [n] behind a token from that in front of it. */
static void take_step(const Scan *s, int64_t t, int64_t c, const double *before, double *behind)
{
    double slope;
    const double dt = step_at(s, t, c, &slope), u = dt * s->x[t * s->c + c];
    for (int64_t j = 0; j < s->n; j++)
        behind[j] = exp(-exp(s->speed[c * s->n + j]) * dt) * before[j] + u * s->in[t * s->n + j];
}

/* All tokens of a feature of text b, from and to `state`. */
static void run_feature(const Scan *s, int64_t b, int64_t c, double *state, double *y)
{
    for (int64_t t = b * s->length; t < (b + 1) * s->length; t++) {
        if (t % s->length > 0 && begins(s, t)) memset(state, 0, sizeof *state * (size_t)s->n);
        take_step(s, t, c, state, state);
        double sum = s->skip[c] * s->x[t * s->c + c];
        for (int64_t j = 0; j < s->n; j++) sum += s->out[t * s->n + j] * state[j];
        y[t * s->c + c] = sum;
    }
}

static int reference(const Launch *l)
{
    const Scan s = scan_of(l->in, l->n_in > N_OPERANDS);
    Arena *a = arena_new();
    double *state = NEW_N(a, double, s.n);
    for (int64_t i = 0; i < s.n_text * s.c; i++) {
        memset(state, 0, sizeof *state * (size_t)s.n);
        run_feature(&s, i / s.c, i % s.c, state, l->out[0].data);
    }
    arena_free(a);
    return KERNEL_OK;
}

/* The state is input and result, which may or may not share memory. */
static int cached_reference(const Launch *l)
{
    const Scan s = scan_of(l->in + 1, false);
    const double *kept = l->in[0].data;
    double *to = l->out[0].data;
    Arena *a = arena_new();
    double *state = NEW_N(a, double, s.n);
    for (int64_t i = 0; i < s.n_text * s.c; i++) {
        const int64_t b = i / s.c;
        const size_t bytes = sizeof *state * (size_t)s.n;
        memset(state, 0, bytes);
        if (row_position(l->now, b) > 0) memcpy(state, kept + i * s.n, bytes);
        if (to != kept) memcpy(to + i * s.n, kept + i * s.n, bytes);
        run_feature(&s, b, i % s.c, state, l->out[1].data);
        if (!row_waits(l->now, b)) memcpy(to + i * s.n, state, bytes);
    }
    arena_free(a);
    return KERNEL_OK;
}

/* Of the operands. */
typedef struct ScanGrads {
    const double *y;
    double *step, *x, *in, *out, *speed, *bias, *skip;
    const int64_t *row; /* of each token of a sequence: its place among the own ones; -1: none */
    int64_t n_own;
} ScanGrads;

/* Turns the gradient of h behind a token, without its reading, into that in front of it. */
static void token_grad(const Scan *s, const ScanGrads *to, int64_t t, int64_t c,
                       const double *before, const double *behind, double *d)
{
    double slope, of_u = 0, of_dt = 0;
    const int64_t at = t * s->c + c;
    const double dt = step_at(s, t, c, &slope), x = s->x[at], dy = to->y[at];
    const int64_t row = to->row[t % s->length], own = t / s->length * to->n_own + row;
    for (int64_t j = 0; j < s->n; j++) {
        const int64_t k = t * s->n + j;
        const double speed = -exp(s->speed[c * s->n + j]), keep = exp(speed * dt);
        if (row >= 0) to->out[own * s->n + j] += dy * behind[j];
        d[j] += dy * s->out[k];
        if (row >= 0) to->in[own * s->n + j] += d[j] * dt * x;
        of_u += d[j] * s->in[k];
        const double faded = d[j] * keep * before[j];
        of_dt += faded * speed;
        if (row >= 0) to->speed[c * s->n + j] += faded * dt * speed;
        d[j] *= keep;
    }
    if (row < 0) return;
    to->x[own * s->c + c] = dt * of_u + s->skip[c] * dy;
    to->skip[c] += dy * x;
    to->step[own * s->c + c] = (of_dt + x * of_u) * slope;
    to->bias[c] += to->step[own * s->c + c];
}

static void feature_grad(const Scan *s, const ScanGrads *to, int64_t b, int64_t c, Arena *a)
{
    const double *nothing = NEW_N(a, double, s->n);
    double *behind = NEW_N(a, double, s->n * s->length), *d = NEW_N(a, double, s->n);
    const int64_t first = b * s->length;
    for (int64_t i = 0; i < s->length; i++)
        take_step(s, first + i, c, begins(s, first + i) ? nothing : behind + (i - 1) * s->n,
                  behind + i * s->n);
    for (int64_t i = s->length - 1; i >= 0; i--) {
        const double *before = begins(s, first + i) ? nothing : behind + (i - 1) * s->n;
        token_grad(s, to, first + i, c, before, behind + i * s->n, d);
        if (begins(s, first + i)) memset(d, 0, sizeof *d * (size_t)s->n);
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
    const Scan s = scan_of(l->in, l->n_in > N_OPERANDS + 2);
    const Tensor *own = &l->in[l->n_in - 2];
    Arena *of_all = arena_new();
    const ScanGrads to = { l->in[l->n_in - 1].data,
                           l->out[0].data,
                           l->out[1].data,
                           l->out[2].data,
                           l->out[3].data,
                           l->out[4].data,
                           l->out[5].data,
                           l->out[6].data,
                           own_rows(of_all, own, s.length),
                           own->size[1] };
    for (int k = 0; k < N_OPERANDS; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t i = 0; i < s.n_text * s.c; i++) {
        Arena *a = arena_new();
        feature_grad(&s, &to, i / s.c, i % s.c, a);
        arena_free(a);
    }
    arena_free(of_all);
    return KERNEL_OK;
}

/* Of each number of a state: it fades, is added to, and is read. */
static int64_t products(const Value *x, const Value *speed)
{
    return 6 * value_count(x) * value_width(speed);
}

static int64_t forward_flops(const Node *n)
{
    return products(n->in[1], n->in[4]);
}

static int64_t cached_flops(const Node *n)
{
    return products(n->in[2], n->in[5]);
}

static int64_t backward_flops(const Node *n)
{
    return 2 * forward_flops(n);
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[1]->dtype;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < N_OPERANDS; k++) out[k] = n->in[k]->dtype;
}

/* What adds up over a text stays exact. */
static void cached_dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[2]->dtype);
    out[1] = n->in[2]->dtype;
}

static const OpDef op_selective_scan = {
    .name = "selective_scan",
    .doc = "state spaces whose steps, inputs and outputs depend on the token: what is read of "
           "numbers that fade and are added to, token by token",
    .dtypes = dtypes,
    .grad = grad,
    .flops = forward_flops,
    .reference = reference,
    .flags = OP_ATTENTION,
};
static const OpDef op_selective_scan_grad = {
    .name = "selective_scan_grad",
    .doc = "gradients of steps, inputs, what goes in and out of states, speeds, biases and skips",
    .dtypes = grad_dtypes,
    .flops = backward_flops,
    .reference = grad_reference,
    .flags = OP_ATTENTION,
};
static const OpDef op_selective_scan_cached = {
    .name = "selective_scan_cached",
    .doc = "selective_scan of a text that is continued, whose states are kept",
    .dtypes = cached_dtypes,
    .flops = cached_flops,
    .reference = cached_reference,
};

const OpDef *const selective_scan_ops[] = { &op_selective_scan, &op_selective_scan_grad,
                                            &op_selective_scan_cached, NULL };
