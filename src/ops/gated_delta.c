/* gated_delta.c - the gated delta rule, token by token.
 *
 * Letters: b batch, s token, g head of keys, r heads of values that share it, d width of keys, e of
 * values. A token's correction is w = rate u with u = v - P^T k. Backwards, with D the gradient of
 * S behind a token, the token's own reading included: dw = D^T k, du = rate dw = dv, and P gets D -
 * k du^T, of which exp(decay) goes on to the token in front. Where values are added alone u = v,
 * and P gets D. Each row
 * of S may have a decay of its own. */
#include "ops/gated_delta.h"
#include "base/arena.h"
#include <string.h>

static const OpDef op_gated_delta, op_gated_delta_grad, op_gated_delta_cached;

const Field gated_delta_fields[] = {
    FIELD_FLOAT(GatedDelta, scale, NULL, 0, 0, "of what a query reads"),
    FIELD_FLOAT(GatedDelta, key_scale, NULL, 0, 0, "of keys"),
    FIELD_BOOL(GatedDelta, adds, "false", "values are added, and nothing is corrected"),
    { 0 },
};

/* Letters of the decays in a list of dimensions, up to the next comma. */
static const char *decays(const Value *decay)
{
    return decay->n_dims == 5 ? "bsgrd" : "bsgr";
}

Value *gated_delta(Graph *g, Value *q, Value *k, Value *v, Value *decay, Value *rate,
                   Value *documents, const GatedDelta *attrs)
{
    Value *in[] = { q, k, v, decay, rate, documents };
    const char *dims = arena_printf(g->arena, "bs!gd!,bsgd,bsgre,%s,bsgr%s->bsgre", decays(decay),
                                    documents ? ",bs" : "");
    return graph_add_dims(g, &op_gated_delta, dims, NULL, attrs, documents ? 6 : 5, in)->out[0];
}

Value *gated_delta_cached(Graph *g, Value *state, Value *q, Value *k, Value *v, Value *decay,
                          Value *rate, const GatedDelta *attrs)
{
    Value *in[] = { state, q, k, v, decay, rate };
    const char *dims =
        arena_printf(g->arena, "bogrde,bs!gd!,bsgd,bsgre,%s,bsgr->bogrde,bsgre", decays(decay));
    return graph_add_into(g, &op_gated_delta_cached, dims, NULL, attrs, 6, in, 1, &state)->out[1];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[7];
    memcpy(in, n->in, sizeof *in * (size_t)n->n_in);
    in[n->n_in] = dout[0];
    const char *fades = decays(n->in[3]);
    const char *dims =
        arena_printf(g->arena, "bs!gd!,bsgd,bsgre,%s,bsgr%s,bsgre->bsgd,bsgd,bsgre,%s,bsgr", fades,
                     n->n_in == 6 ? ",bs" : "", fades);
    const Node *made =
        graph_add_dims(g, &op_gated_delta_grad, dims, NULL, n->attrs, n->n_in + 1, in);
    for (int k = 0; k < 5; k++) din[k] = made->out[k];
}

/* Of a launch: the operands from q on, and where they lie. */
typedef struct Delta {
    const double *q, *k, *v, *decay, *rate;
    const int32_t *document; /* NULL: one document */
    int64_t length, n_group, n_repeat, d, e;
    double scale, key_scale;
    bool adds, by_row; /* each row of S has decays of its own */
} Delta;

static Delta delta_of(const Launch *l, const Tensor *in, int n_in)
{
    const GatedDelta *a = l->attrs;
    const Tensor *v = &in[2];
    return (Delta){ .q = in[0].data,
                    .k = in[1].data,
                    .v = v->data,
                    .decay = in[3].data,
                    .rate = in[4].data,
                    .document = n_in == 6 ? in[5].data : NULL,
                    .length = v->size[1],
                    .n_group = v->size[2],
                    .n_repeat = v->size[3],
                    .d = in[0].size[3],
                    .e = v->size[4],
                    .scale = a->scale,
                    .key_scale = a->key_scale,
                    .adds = a->adds,
                    .by_row = in[3].n_dims == 5 };
}

/* The number of token t of sequence b, and head h of values there. */
static int64_t head_at(const Delta *x, int64_t b, int64_t t, int64_t h)
{
    return (b * x->length + t) * x->n_group * x->n_repeat + h;
}

/* Where the decay of row i of S lies. */
static int64_t decay_at(const Delta *x, int64_t at, int64_t i)
{
    return x->by_row ? at * x->d + i : at;
}

/* S behind a token, from that in front of it, which is P = exp(decay) S on return; u [e]. */
static void step(const Delta *x, int64_t at, double *before, double *behind, double *u)
{
    const double *k = x->k + at / x->n_repeat * x->d, *v = x->v + at * x->e;
    for (int64_t i = 0; i < x->d; i++) {
        const double keep = exp(x->decay[decay_at(x, at, i)]);
        for (int64_t j = 0; j < x->e; j++) before[i * x->e + j] *= keep;
    }
    for (int64_t j = 0; j < x->e; j++) {
        u[j] = v[j];
        for (int64_t i = 0; i < x->d && !x->adds; i++)
            u[j] -= x->key_scale * k[i] * before[i * x->e + j];
    }
    for (int64_t i = 0; i < x->d; i++)
        for (int64_t j = 0; j < x->e; j++)
            behind[i * x->e + j] = before[i * x->e + j] + x->key_scale * k[i] * x->rate[at] * u[j];
}

static void read_state(const Delta *x, int64_t at, const double *state, double *o)
{
    const double *q = x->q + at / x->n_repeat * x->d;
    for (int64_t j = 0; j < x->e; j++) {
        o[at * x->e + j] = 0;
        for (int64_t i = 0; i < x->d; i++)
            o[at * x->e + j] += x->scale * q[i] * state[i * x->e + j];
    }
}

static bool begins(const Delta *x, int64_t b, int64_t t)
{
    const int32_t *document = x->document ? x->document + b * x->length : NULL;
    return t == 0 || (document && document[t] != document[t - 1]);
}

/* All tokens of one head, from and to `state`. */
static void run_head(const Delta *x, int64_t b, int64_t h, double *state, double *u, double *o)
{
    for (int64_t t = 0; t < x->length; t++) {
        const int64_t at = head_at(x, b, t, h);
        if (t > 0 && begins(x, b, t)) memset(state, 0, sizeof *state * (size_t)(x->d * x->e));
        step(x, at, state, state, u);
        read_state(x, at, state, o);
    }
}

static int reference(const Launch *l)
{
    const Delta x = delta_of(l, l->in, l->n_in);
    const int64_t n_heads = x.n_group * x.n_repeat, size = x.d * x.e;
    Arena *a = arena_new();
    double *state = NEW_N(a, double, size), *u = NEW_N(a, double, x.e);
    for (int64_t i = 0; i < l->in[0].size[0] * n_heads; i++) {
        memset(state, 0, sizeof *state * (size_t)size);
        run_head(&x, i / n_heads, i % n_heads, state, u, l->out[0].data);
    }
    arena_free(a);
    return KERNEL_OK;
}

/* The state is input and result, which may or may not share memory. */
static int cached_reference(const Launch *l)
{
    const Delta x = delta_of(l, l->in + 1, l->n_in - 1);
    const int64_t n_heads = x.n_group * x.n_repeat, size = x.d * x.e;
    const double *kept = l->in[0].data;
    double *to = l->out[0].data;
    Arena *a = arena_new();
    double *state = NEW_N(a, double, size), *u = NEW_N(a, double, x.e);
    for (int64_t i = 0; i < l->in[0].size[0] * n_heads; i++) {
        const int64_t b = i / n_heads;
        const size_t bytes = sizeof *state * (size_t)size;
        memset(state, 0, bytes);
        if (row_position(l->now, b) > 0) memcpy(state, kept + i * size, bytes);
        if (to != kept) memcpy(to + i * size, kept + i * size, bytes);
        run_head(&x, b, i % n_heads, state, u, l->out[1].data);
        if (!row_waits(l->now, b)) memcpy(to + i * size, state, bytes);
    }
    arena_free(a);
    return KERNEL_OK;
}

/* Of the operands. */
typedef struct DeltaGrads {
    const double *o;
    double *q, *k, *v, *decay, *rate;
} DeltaGrads;

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Adds what one token reads to the gradient of S behind it, and of its query. */
static void read_grad(const Delta *x, const DeltaGrads *to, int64_t at, const double *state,
                      double *dstate)
{
    const int64_t row = at / x->n_repeat * x->d;
    const double *o = to->o + at * x->e;
    for (int64_t i = 0; i < x->d; i++) {
        to->q[row + i] += x->scale * dot(state + i * x->e, o, x->e);
        for (int64_t j = 0; j < x->e; j++) dstate[i * x->e + j] += x->scale * x->q[row + i] * o[j];
    }
}

/* Turns the gradient of S behind a token into that in front of it; `faded` is P, `before` S there;
 * du [e]. */
static void step_grad(const Delta *x, const DeltaGrads *to, int64_t at, const double *before,
                      const double *faded, const double *u, double *du, double *dstate)
{
    const int64_t row = at / x->n_repeat * x->d, e = x->e;
    const double rate = x->rate[at];
    for (int64_t j = 0; j < e; j++) {
        double dw = 0;
        for (int64_t i = 0; i < x->d; i++) dw += x->key_scale * x->k[row + i] * dstate[i * e + j];
        to->rate[at] += dw * u[j];
        to->v[at * e + j] = du[j] = rate * dw;
    }
    for (int64_t i = 0; i < x->d; i++) {
        double *of_state = dstate + i * e;
        const double keep = exp(x->decay[decay_at(x, at, i)]);
        const double known = x->adds ? 0 : dot(faded + i * e, du, e);
        to->k[row + i] += x->key_scale * (rate * dot(of_state, u, e) - known);
        for (int64_t j = 0; j < e && !x->adds; j++)
            of_state[j] -= x->key_scale * x->k[row + i] * du[j];
        to->decay[decay_at(x, at, i)] += keep * dot(of_state, before + i * e, e);
        for (int64_t j = 0; j < e; j++) of_state[j] *= keep;
    }
}

/* Rows of `faded` are P of each token, those of `behind` S behind it, those of `u` u. */
static void head_grad(const Delta *x, const DeltaGrads *to, int64_t b, int64_t h, Arena *a)
{
    const int64_t size = x->d * x->e;
    const double *nothing = NEW_N(a, double, size);
    double *faded = NEW_N(a, double, size * x->length),
           *behind = NEW_N(a, double, size * x->length), *u = NEW_N(a, double, x->e * x->length),
           *dstate = NEW_N(a, double, size), *du = NEW_N(a, double, x->e);
    for (int64_t t = 0; t < x->length; t++) {
        const double *before = begins(x, b, t) ? nothing : behind + (t - 1) * size;
        memcpy(faded + t * size, before, sizeof *before * (size_t)size);
        step(x, head_at(x, b, t, h), faded + t * size, behind + t * size, u + t * x->e);
    }
    for (int64_t t = x->length - 1; t >= 0; t--) {
        const int64_t at = head_at(x, b, t, h);
        const double *before = begins(x, b, t) ? nothing : behind + (t - 1) * size;
        read_grad(x, to, at, behind + t * size, dstate);
        step_grad(x, to, at, before, faded + t * size, u + t * x->e, du, dstate);
        if (begins(x, b, t)) memset(dstate, 0, sizeof *dstate * (size_t)size);
    }
}

static int grad_reference(const Launch *l)
{
    const Delta x = delta_of(l, l->in, l->n_in - 1);
    const DeltaGrads to = { l->in[l->n_in - 1].data, l->out[0].data, l->out[1].data,
                            l->out[2].data,          l->out[3].data, l->out[4].data };
    const int64_t n_heads = x.n_group * x.n_repeat;
    for (int k = 0; k < 5; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t i = 0; i < l->in[0].size[0] * n_heads; i++) {
        Arena *a = arena_new();
        head_grad(&x, &to, i / n_heads, i % n_heads, a);
        arena_free(a);
    }
    return KERNEL_OK;
}

/* Three products of a token and a head with its matrix: what P has under k, the correction, what q
 * reads; where values are added alone there is not the first. */
static int64_t products(const Node *n, const Value *v, int64_t width)
{
    const int64_t of_token = ((const GatedDelta *)n->attrs)->adds ? 2 : 3;
    return 2 * of_token * value_count(v) * width;
}

static int64_t forward_flops(const Node *n)
{
    return products(n, n->in[2], n->in[0]->dim[3].size);
}

static int64_t cached_flops(const Node *n)
{
    return products(n, n->in[3], n->in[1]->dim[3].size);
}

static int64_t backward_flops(const Node *n)
{
    return 2 * forward_flops(n);
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[2]->dtype;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < 5; k++) out[k] = n->in[k]->dtype;
}

/* What adds up over a text stays exact. */
static void cached_dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[3]->dtype);
    out[1] = n->in[3]->dtype;
}

static const OpDef op_gated_delta = {
    .name = "gated_delta",
    .doc = "linear attention by the gated delta rule: what queries read of matrices that fade and "
           "are corrected, or added to, token by token",
    .attrs = gated_delta_fields,
    .attrs_size = sizeof(GatedDelta),
    .dtypes = dtypes,
    .grad = grad,
    .flops = forward_flops,
    .reference = reference,
    .flags = OP_ATTENTION,
};
static const OpDef op_gated_delta_grad = {
    .name = "gated_delta_grad",
    .doc = "gradients of queries, keys, values, decays and rates",
    .attrs = gated_delta_fields,
    .attrs_size = sizeof(GatedDelta),
    .dtypes = grad_dtypes,
    .flops = backward_flops,
    .reference = grad_reference,
    .flags = OP_ATTENTION,
};
static const OpDef op_gated_delta_cached = {
    .name = "gated_delta_cached",
    .doc = "gated_delta of a text that is continued, whose matrices are kept",
    .attrs = gated_delta_fields,
    .attrs_size = sizeof(GatedDelta),
    .dtypes = cached_dtypes,
    .flops = cached_flops,
    .reference = cached_reference,
};

const OpDef *const gated_delta_ops[] = { &op_gated_delta, &op_gated_delta_grad,
                                         &op_gated_delta_cached, NULL };
