/* initializer_composed.c - model_initialization.composed: normal weights, zero biases; what writes
 * to the residual stream may be scaled down with depth, embeddings have their own width. */
#include "config/builder.h"
#include "models/initializer.h"
#include <math.h>
#include <string.h>

enum { PLAIN, SCALED, SCALED_EMBED };
enum { GPT2, COCA };

typedef struct Std {
    int which; /* 0 a number, 1 a word */
    double number;
    const char *word;
} Std;

typedef struct Settings {
    int model_type, weight_init_type;
    double mean;
    Std std;
    const int64_t *hidden_dim, *num_layers;
} Settings;

typedef struct Composed {
    Initializer base;
    const Settings *settings;
} Composed;

static bool is_table(Role r)
{
    return r == ROLE_EMBEDDING || r == ROLE_POSITION || r == ROLE_HEAD;
}

static double base_std(const Settings *s)
{
    return s->std.which == 0 ? s->std.number : sqrt(2 / (5 * (double)*s->hidden_dim));
}

static Error *apply(const Initializer *self, Graph *g)
{
    const Settings *s = ((const Composed *)self)->settings;
    double std = base_std(s);
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_PARAM || v->role == ROLE_NORM || v->role == ROLE_TOKEN) continue;
        if (v->is_bias) {
            v->init = (Init){ .kind = INIT_ZEROS };
            continue;
        }
        double width = std;
        const bool is_scaled = s->model_type != COCA; /* the original has no such rules for it */
        if (is_scaled && s->weight_init_type >= SCALED && v->role == ROLE_RESIDUAL)
            width = std / sqrt(2 * (double)*s->num_layers);
        if (is_scaled && s->weight_init_type == SCALED_EMBED && is_table(v->role))
            width = sqrt(0.4);
        v->init = (Init){ .kind = INIT_NORMAL, .mean = s->mean, .std = width };
    }
    return NULL;
}

static Error *check(const void *settings)
{
    const Settings *s = settings;
    if (s->std.which == 1 && strcmp(s->std.word, "auto"))
        return error_new("std \"%s\": allowed are a number and \"auto\"", s->std.word);
    if (s->std.which == 1 && !s->hidden_dim) return error_new("std auto needs hidden_dim");
    if (s->std.which == 0 && s->hidden_dim)
        return error_new("hidden_dim is for std auto only, not for std %g", s->std.number);
    if (s->weight_init_type == PLAIN && s->num_layers)
        return error_new("num_layers is not for weight_init_type plain");
    if (s->weight_init_type != PLAIN && !s->num_layers)
        return error_new("weight_init_type scaled and scaled_embed need num_layers");
    return NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    Composed *c = NEW(builder_arena(b), Composed);
    *c = (Composed){ .base = { .apply = apply }, .settings = settings };
    *out = c;
    return NULL;
}

static const char *const model_types[] = { "gpt2", "coca", NULL };
static const char *const init_types[] = { "plain", "scaled", "scaled_embed", NULL };
/* clang-format off */
static const Field std_fields[] = {
    FIELD_FLOAT(Std, number, NULL, 0, INFINITY, "standard deviation", .flags = FIELD_STRICT),
    FIELD_STRING(Std, word, NULL, "auto: sqrt(2 / (5 hidden_dim))"),
    { 0 },
};
static const Field fields[] = {
    FIELD_CHOICE(Settings, model_type, NULL, model_types, "whose parameter names the rules know"),
    FIELD_CHOICE(Settings, weight_init_type, NULL, init_types, "plain; scaled: projections into the residual stream by 1/sqrt(2 num_layers); scaled_embed: also embeddings sqrt(0.4)"),
    FIELD_FLOAT(Settings, mean, NULL, 0, 0, "mean of the weights"),
    FIELD_UNION(Settings, std, Std, std_fields, NULL, "standard deviation of the weights"),
    FIELD_INT(Settings, hidden_dim, "null", 1, INFINITY, "width of the model, for std auto", .flags = FIELD_STRICT),
    FIELD_INT(Settings, num_layers, "null", 1, INFINITY, "blocks, for scaled and scaled_embed", .flags = FIELD_STRICT),
    { 0 },
};
/* clang-format on */

const ComponentDef model_initialization_composed = {
    .kind = "model_initialization",
    .variant = "composed",
    .doc = "normal weights and zero biases, optionally scaled with depth",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
