/* initializer_llama3_like.c - model_initialization.gpt2_llama3_like: truncated normal weights as
 * the Llama 3 recipes use them. Bounds are absolute. */
#include "config/builder.h"
#include "models/initializer.h"
#include <math.h>

typedef struct Settings {
    int64_t num_layers, n_embd;
    bool depth_init;
} Settings;

typedef struct Llama3Like {
    Initializer base;
    const Settings *settings;
} Llama3Like;

static Init truncated(double std, double bound)
{
    return (Init){ .kind = INIT_TRUNCATED, .std = std, .low = -bound, .high = bound };
}

static Init init_of(const Settings *s, const Graph *g, const Value *v)
{
    double layer = v->block >= 0 ? g->place[v->block].index : 0,
           depth = s->depth_init ? layer + 1 : (double)s->num_layers;
    double head = 1 / sqrt((double)s->n_embd);
    switch (v->role) {
    case ROLE_EMBEDDING:
        return (Init){ .kind = INIT_NORMAL, .std = 1 };
    case ROLE_HEAD:
        return truncated(head, 3 * head);
    case ROLE_LINEAR:
        return truncated(0.02, 2);
    case ROLE_UP:
    case ROLE_RESIDUAL:
        return truncated(0.02 / sqrt(2 * depth), 2);
    default:
        return v->init; /* as constructed */
    }
}

static Error *apply(const Initializer *self, Graph *g)
{
    static const Role needed[] = { ROLE_HEAD, ROLE_UP };
    const Settings *s = ((const Llama3Like *)self)->settings;
    bool has[N_ROLES] = { false };
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_PARAM) continue;
        if (v->is_bias)
            return error_new(
                "gpt2_llama3_like has no rule for biases, but the model has %s; set bias: false",
                v->name);
        has[v->role] = true;
        v->init = init_of(s, g, v);
    }
    for (int i = 0; i < 2; i++)
        if (!has[needed[i]])
            return error_new(
                "gpt2_llama3_like needs an untied head and swiglu, but the model has no %s",
                needed[i] == ROLE_HEAD ? "lm_head.weight" : "mlp.V.weight");
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
