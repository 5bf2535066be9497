/* initializer_llama3_like.c - model_initialization.gpt2_llama3_like: truncated normal weights as
 * the Llama 3 recipes use them. Bounds are absolute. */
#include "config/builder.h"
#include "models/initializer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Settings {
    int64_t num_layers, n_embd;
    bool depth_init;
} Settings;

typedef struct Llama3Like {
    Initializer base;
    const Settings *settings;
} Llama3Like;

enum { WTE, LM_HEAD, QKV_AND_GATE, RESIDUAL, N_RULES };

static const char *const tails[N_RULES][6] = {
    [WTE] = { "wte.weight" },
    [LM_HEAD] = { "lm_head.weight" },
    [QKV_AND_GATE] = { "attn.q_attn.weight", "attn.k_attn.weight", "attn.v_attn.weight",
                       "mlp.W.weight" },
    [RESIDUAL] = { "attn.c_proj.weight", "mlp.V.weight", "mlp.W_2.weight" },
};

static int find_rule(const char *name)
{
    for (int r = 0; r < N_RULES; r++)
        for (int i = 0; tails[r][i]; i++)
            if (name_ends(name, tails[r][i])) return r;
    return -1;
}

static Init truncated(double std, double bound)
{
    return (Init){ .kind = INIT_TRUNCATED, .std = std, .low = -bound, .high = bound };
}

static Init init_of(const Settings *s, int rule, const char *name)
{
    const char *h = strstr(name, ".h.");
    double layer = h ? atof(h + 3) : 0, depth = s->depth_init ? layer + 1 : (double)s->num_layers;
    double head = 1 / sqrt((double)s->n_embd);
    switch (rule) {
    case WTE:
        return (Init){ .kind = INIT_NORMAL, .std = 1 };
    case LM_HEAD:
        return truncated(head, 3 * head);
    case QKV_AND_GATE:
        return truncated(0.02, 2);
    default:
        return truncated(0.02 / sqrt(2 * depth), 2);
    }
}

static Error *apply(const Initializer *self, Graph *g)
{
    const Settings *s = ((const Llama3Like *)self)->settings;
    bool hit[N_RULES] = { false };
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_PARAM) continue;
        if (name_ends(v->name, "bias"))
            return error_new(
                "gpt2_llama3_like has no rule for biases, but the model has %s; set bias: false",
                v->name);
        int rule = find_rule(v->name);
        if (rule < 0) continue; /* norms keep what construction gave */
        hit[rule] = true;
        v->init = init_of(s, rule, v->name);
    }
    for (int r = 0; r < N_RULES; r++)
        if (!hit[r])
            return error_new(
                "gpt2_llama3_like: no parameter ends in %s; it needs an untied head and swiglu",
                tails[r][0]);
    return NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    Llama3Like *l = NEW(builder_arena(b), Llama3Like);
    *l = (Llama3Like){ .base = { .apply = apply }, .settings = settings };
    *out = l;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_INT(Settings, num_layers, NULL, 1, INFINITY, "blocks of the model", .flags = FIELD_STRICT),
    FIELD_INT(Settings, n_embd, NULL, 1, INFINITY, "width of the model", .flags = FIELD_STRICT),
    FIELD_BOOL(Settings, depth_init, "true", "scale by the block's own depth instead of the number of blocks"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_initialization_gpt2_llama3_like = {
    .kind = "model_initialization",
    .variant = "gpt2_llama3_like",
    .doc = "truncated normal weights as in the Llama 3 recipes",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
