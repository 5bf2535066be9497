/* einsum_transformer.c - a model and an op from outside: a transformer written as sums over named
 * dimensions, whose causal softmax is an op of its own.
 *
 *     cc -shared -fPIC -o einsum_transformer.so einsum_transformer.c -lm
 *
 *     plugins: [./einsum_transformer.so]
 *     model_raw:
 *       component_key: model
 *       variant_key: einsum_transformer
 *       config: {embed_dim: 64, num_q_heads: 4, num_kv_heads: 2, num_layers: 2, ...}
 *
 * Letters: b batch, t position of the query, s of the key, d width, k heads of keys and values,
 * g queries for each of them, n all heads of queries, h width of a head, f width of the MLP. */
#include <math.h>
#include <modalities.h>
#include <stdio.h>

/* ---- the op: scores [b k g t s] to weights, each query seeing the keys up to its own place ----
 */

/* Rows of `size` scores; row number r of all belongs to the query r % size. */
static void causal_softmax(const void *settings, const ModalitiesTensor *in,
                           const ModalitiesTensor *out)
{
    (void)settings;
    const int64_t size = in->size[in->n_dims - 1], queries = in->size[in->n_dims - 2];
    for (int64_t r = 0; r < in->count / size; r++) {
        const double *x = in->data + r * size;
        double *y = out->data + r * size, most = -INFINITY, sum = 0;
        const int64_t n = r % queries + 1;
        for (int64_t i = 0; i < n; i++) most = fmax(most, x[i]);
        for (int64_t i = 0; i < n; i++) sum += y[i] = exp(x[i] - most);
        for (int64_t i = 0; i < size; i++) y[i] = i < n ? y[i] / sum : 0;
    }
}

static void causal_softmax_gradient(const void *settings, const ModalitiesTensor *in,
                                    const ModalitiesTensor *dout, const ModalitiesTensor *din)
{
    const int64_t size = in->size[in->n_dims - 1];
    causal_softmax(settings, in, din);
    for (int64_t r = 0; r < in->count / size; r++) {
        const double *dy = dout->data + r * size;
        double *y = din->data + r * size, dot = 0;
        for (int64_t i = 0; i < size; i++) dot += y[i] * dy[i];
        for (int64_t i = 0; i < size; i++) y[i] *= dy[i] - dot;
    }
}

static const ModalitiesOp op_causal_softmax = {
    .name = "causal_softmax",
    .doc = "softmax over the last dimension, up to the place of the one before it",
    .dims = "*t!s!->*ts",
    .forward = causal_softmax,
    .backward = causal_softmax_gradient,
};

/* ---- the model ---- */

typedef struct Settings {
    int64_t embed_dim, num_q_heads, num_kv_heads, num_layers;
    double mlp_expansion_factor;
} Settings;

static const ModalitiesSetting settings[] = {
    MODALITIES_SETTING(Settings, embed_dim, NULL, 1, INFINITY, "width of the hidden states"),
    MODALITIES_SETTING(Settings, num_q_heads, NULL, 1, INFINITY, "heads of queries"),
    MODALITIES_SETTING(Settings, num_kv_heads, NULL, 1, INFINITY, "heads of keys and values"),
    MODALITIES_SETTING(Settings, num_layers, NULL, 1, INFINITY, "blocks"),
    MODALITIES_SETTING(Settings, mlp_expansion_factor, "4.0", 0, INFINITY,
                       "width of the MLP by that of the hidden states"),
    { 0 },
};

static const ModalitiesInit normal = { .std = 0.02 }, ones = { .mean = 1 };

static ModalitiesValue *matrix(ModalitiesGraph *g, const char *name, int64_t rows, int64_t columns,
                               const char *axes, ModalitiesRole role)
{
    return modalities_parameter(g, name, 2, (const int64_t[]){ rows, columns }, axes, role, normal);
}

/* A projection to heads [d n h]. */
static ModalitiesValue *heads(ModalitiesGraph *g, const char *name, const Settings *s, int64_t n)
{
    const int64_t size[] = { s->embed_dim, n, s->embed_dim / s->num_q_heads };
    return modalities_parameter(g, name, 3, size, "embed heads head", MODALITIES_LINEAR, normal);
}

static ModalitiesValue *norm(ModalitiesGraph *g, const char *name, const Settings *s,
                             ModalitiesValue *x)
{
    modalities_enter(g, name, -1);
    ModalitiesValue *gain =
        modalities_parameter(g, "gain", 1, &s->embed_dim, "embed", MODALITIES_NORM, ones);
    modalities_leave(g);
    return modalities_rms_norm(g, x, gain, 1e-8);
}

static ModalitiesValue *attend(ModalitiesGraph *g, const Settings *s, ModalitiesValue *x)
{
    const int64_t width = s->embed_dim / s->num_q_heads, n = s->num_q_heads;
    char sizes[32];
    snprintf(sizes, sizeof sizes, "k=%lld", (long long)s->num_kv_heads);
    ModalitiesValue *q = modalities_einsum(g, "btd,dnh->btnh", x, heads(g, "W_q", s, n));
    ModalitiesValue *k =
        modalities_einsum(g, "bsd,dkh->bskh", x, heads(g, "W_k", s, s->num_kv_heads));
    ModalitiesValue *v =
        modalities_einsum(g, "bsd,dkh->bskh", x, heads(g, "W_v", s, s->num_kv_heads));
    q = modalities_reshape(g, "bt(kg)h->btkgh", sizes, q);
    ModalitiesValue *a = modalities_einsum(g, "btkgh,bskh->bkgts", q, k);
    a = modalities_scale(g, a, 1 / sqrt((double)width));
    a = modalities_apply(g, "causal_softmax", NULL, 1, &a);
    ModalitiesValue *y = modalities_einsum(g, "bkgts,bskh->btkgh", a, v);
    const int64_t size[] = { n, width, s->embed_dim };
    return modalities_einsum(
        g, "btnh,nhd->btd", modalities_reshape(g, "btkgh->bt(kg)h", NULL, y),
        modalities_parameter(g, "W_o", 3, size, "heads head embed", MODALITIES_RESIDUAL, normal));
}

static ModalitiesValue *mlp(ModalitiesGraph *g, const Settings *s, ModalitiesValue *x)
{
    const int64_t d = s->embed_dim, f = (int64_t)((double)d * s->mlp_expansion_factor);
    modalities_enter(g, "mlp", -1);
    ModalitiesValue *gate = modalities_einsum(
        g, "btd,df->btf", x, matrix(g, "W_in1", d, f, "embed ff", MODALITIES_LINEAR));
    ModalitiesValue *up = modalities_einsum(
        g, "btd,df->btf", x, matrix(g, "W_in2", d, f, "embed ff", MODALITIES_LINEAR));
    ModalitiesValue *y = modalities_add(g, modalities_apply(g, "gelu", NULL, 1, &gate), up);
    y = modalities_einsum(g, "btf,fd->btd", y,
                          matrix(g, "W_out", f, d, "ff embed", MODALITIES_RESIDUAL));
    modalities_leave(g);
    return y;
}

static ModalitiesValue *forward(ModalitiesGraph *g, const void *of, const ModalitiesForward *f)
{
    const Settings *s = of;
    const int64_t d = s->embed_dim;
    ModalitiesValue *x = modalities_embed(
        g, f->ids, matrix(g, "Wte", f->vocab_size, d, "vocab embed", MODALITIES_EMBEDDING));
    x = modalities_add_positions(
        g, x, matrix(g, "Wpe", f->sequence_length, d, NULL, MODALITIES_POSITION));
    for (int i = 0; i < s->num_layers; i++) {
        modalities_enter(g, "layers", i);
        x = modalities_add(g, x, attend(g, s, norm(g, "pre_attn_norm", s, x)));
        x = norm(g, "pre_mlp_norm", s, x);
        x = modalities_add(g, x, mlp(g, s, x));
        modalities_leave(g);
    }
    return modalities_einsum(
        g, "btd,dv->btv", norm(g, "pre_lm_head_norm", s, x),
        matrix(g, "lm_head", d, f->vocab_size, "embed vocab", MODALITIES_HEAD));
}

static const char *check(const void *of, int64_t *width, int64_t *n_blocks)
{
    const Settings *s = of;
    *width = s->embed_dim;
    *n_blocks = s->num_layers;
    if (s->embed_dim % s->num_q_heads) return "num_q_heads must divide embed_dim";
    if (s->num_q_heads % s->num_kv_heads) return "num_kv_heads must divide num_q_heads";
    return NULL;
}

#define PARTS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
static const ModalitiesDecayGroup groups[] = {
    { "linear", PARTS(".W_q", ".W_k", ".W_v", ".W_o", ".W_in1", ".W_in2", ".W_out", "^lm_head") },
    { "embedding", PARTS("^Wte", "^Wpe") },
    { "layernorm", PARTS("_norm.gain") },
    { 0 },
};

static const ModalitiesModel einsum_transformer = {
    .variant = "einsum_transformer",
    .doc = "a transformer as sums over named dimensions",
    .settings = settings,
    .settings_size = sizeof(Settings),
    .block_class = "TransformerBlock",
    .block_stack = "layers",
    .groups = groups,
    .check = check,
    .forward = forward,
};

const ModalitiesPlugin modalities_plugin = {
    .api = MODALITIES_API,
    .name = "einsum_transformer",
    .ops = (const ModalitiesOp *const[]){ &op_causal_softmax, NULL },
    .models = (const ModalitiesModel *const[]){ &einsum_transformer, NULL },
};
