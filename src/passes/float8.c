/* float8.c - puts factors of eight bits and their scales before products with weights, forward and
 * backward; model.float8 asks for it.
 *
 * Scales follow from the numbers at hand, in each microbatch. Weights are rounded anew for the
 * forward and the backward pass, so that nothing of a gathered weight is kept; activations with one
 * scale are kept in eight bits for the gradient of the weight. Ranks that divide a factor take the
 * maximum of what each found. */
#include "passes/float8.h"
#include "config/builder.h"
#include "models/adapter_names.h"
#include "models/model.h"
#include "models/parameter_pattern.h"
#include "ops/contract.h"
#include "ops/float8.h"
#include "ops/hyper.h"
#include "ops/moe_route.h"
#include "passes/all_passes.h"
#include "passes/average.h"
#include <string.h>

enum { UNIT = 16, MOST_LETTERS = 8 }; /* what products of eight bits are made of on GPUs */

/* A factor in eight bits. */
typedef struct Rounded {
    Value *value, *scale;
    const char *text, *kept; /* its letters, and those that have scales of their own */
    int dtype, block;
    Phase phase;
    struct Rounded *next;
} Rounded;

typedef struct Rewrite {
    Graph *g;
    const Float8 *s;
    bool *is_chosen;   /* by id of a parameter */
    Rounded **rounded; /* by id of a value */
    int64_t n_values, n_changed;
} Rewrite;

/* ---- which weights ---- */

/* Its name without what evaluation puts in front of averages. */
static const Value *by_own_name(Arena *a, const Value *v)
{
    if (strncmp(v->name, AVERAGE, strlen(AVERAGE)) != 0) return v;
    Value *named = arena_copy(a, v, sizeof *v);
    named->name += strlen(AVERAGE);
    return named;
}

static bool is_at_an_end(const Graph *g, const Float8 *s, int block)
{
    const BlockPlace *p = &g->place[block];
    int n = 0;
    for (int64_t b = 0; b < g->n_blocks; b++)
        if (!strcmp(g->place[b].stack, p->stack) && g->place[b].index >= n)
            n = g->place[b].index + 1;
    return p->index < s->first_layers || p->index >= n - s->last_layers;
}

static bool is_meant(const Graph *g, const Float8 *s, const Value *v)
{
    if (v->kind != VALUE_PARAM || v->n_dims != 2 || v->is_bias || parameter_is_adapter(v->name) ||
        v->dim[0].size % UNIT || v->dim[1].size % UNIT || parameter_matches(s->excluded, v))
        return false;
    return v->role <= ROLE_RESIDUAL && v->block >= 0 && !is_at_an_end(g, s, v->block);
}

static Error *choose(Rewrite *w)
{
    Graph *g = w->g;
    const Value **named = NEW_N(g->arena, const Value *, g->n_values);
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        named[i] = v->kind == VALUE_PARAM ? by_own_name(g->arena, v) : v;
        w->is_chosen[i] = is_meant(g, w->s, named[i]);
    }
    return parameter_patterns_match(w->s->excluded, named, g->n_values);
}

/* The chosen weight that a factor is, or a copy of; NULL: it is none. */
static const Value *weight_of(const Rewrite *w, const Value *v)
{
    while (v->from && v->from->phase == PREPARE && v->from->n_in == 1) v = v->from->in[0];
    return v->kind == VALUE_PARAM && w->is_chosen[v->id] ? v : NULL;
}

/* What decides between experts, and what streams are read and written by, stays as exact as it was.
 */
static void leave_routers(const Rewrite *w)
{
    for (int64_t i = 0; i < w->g->n_nodes; i++) {
        const Node *n = w->g->node[i];
        const bool decides = n->op == &op_moe_route || n->op == &op_hyper_weights;
        if (!decides || n->phase != FORWARD) continue;
        const Node *from = n->in[0]->from;
        while (from && !(from->op->flags & OP_MATMUL)) from = from->in[0]->from;
        const Value *weight = from ? weight_of(w, from->in[1]) : NULL;
        if (weight) w->is_chosen[weight->id] = false;
    }
}

/* Whether a node is the product of a chosen weight, or of one of its gradients. */
static bool is_changed(const Rewrite *w, const Node *n)
{
    const char *text = n->dims->text;
    const Value *of = n->out[0]->grad_of;
    if (n->op != &op_contract) return false;
    if (!strcmp(text, "*n,*k->nk")) return of && of->kind == VALUE_PARAM && w->is_chosen[of->id];
    return !strcmp(text, n->phase == FORWARD ? "*k,nk->*n" : "*n,nk->*k") && weight_of(w, n->in[1]);
}

/* ---- their factors ---- */

/* The dims of a contraction: a,b->c. */
typedef struct Texts {
    const char *a, *b, *c;
} Texts;

static Texts texts_of(Arena *arena, const char *text)
{
    const char *comma = strchr(text, ','), *arrow = strstr(text, "->");
    CHECK(comma && arrow);
    return (Texts){ .a = arena_string_n(arena, text, (size_t)(comma - text)),
                    .b = arena_string_n(arena, comma + 1, (size_t)(arrow - comma - 1)),
                    .c = arrow + 2 };
}

/* The letters of an operand that the result has. */
static const char *kept_letters(Arena *a, const char *operand, const char *result)
{
    char kept[MOST_LETTERS + 1] = { 0 };
    int n = 0;
    for (const char *p = operand; *p; p++)
        if (strchr(result, *p)) kept[n++] = *p;
    return arena_string(a, kept);
}

/* One of an earlier phase does; of a weight only one of the same unit, which has it whole. */
static const Rounded *find(const Rewrite *w, const Value *x, const Rounded *wanted)
{
    const bool is_weight = weight_of(w, x) != NULL;
    for (const Rounded *r = w->rounded[x->id]; r; r = r->next) {
        if (r->dtype != wanted->dtype || strcmp(r->text, wanted->text) ||
            strcmp(r->kept, wanted->kept))
            continue;
        if (is_weight ? r->phase == wanted->phase && r->block == wanted->block
                      : r->phase <= wanted->phase)
            return r;
    }
    return NULL;
}

/* The factor x of a product, rounded for it where it was not before. */
static const Rounded *rounded(Rewrite *w, Value *x, const char *text, const char *result,
                              Dtype dtype)
{
    Graph *g = w->g;
    Arena *a = g->arena;
    const bool by_rows = w->s->recipe == FLOAT8_ROWWISE;
    const Float8Format f = { .dtype = (int)dtype, .power_of_two = by_rows };
    Rounded r = { .kept = by_rows ? kept_letters(a, text, result) : "",
                  .text = text,
                  .dtype = (int)dtype,
                  .block = g->block,
                  .phase = g->phase };
    if (!by_rows) r.text = ""; /* one scale, whatever the letters are called */
    CHECK(x->id < w->n_values);
    const Rounded *before = find(w, x, &r);
    if (before) return before;
    r.scale = float8_scale(g, arena_printf(a, "%s->%s", text, r.kept), x, &f);
    r.value = float8_quantize(g, arena_printf(a, "%s,%s->%s", text, r.kept, text), x, r.scale, &f);
    r.next = w->rounded[x->id];
    return w->rounded[x->id] = arena_copy(a, &r, sizeof r);
}

static void change(Rewrite *w, Node *n)
{
    Graph *g = w->g;
    Arena *a = g->arena;
    const Texts t = texts_of(a, n->dims->text);
    const bool of_gradient = n->phase != FORWARD && w->s->recipe == FLOAT8_TENSORWISE;
    g->phase = n->phase;
    g->block = n->block;
    g->stage = n->stage;
    g->module = node_module(a, n);
    const Rounded *x = rounded(w, n->in[0], t.a, t.c, of_gradient ? F8_E5M2 : F8_E4M3),
                  *y = rounded(w, n->in[1], t.b, t.c, F8_E4M3);
    const char *dims = arena_printf(a, "%s,%s,%s,%s->%s", t.a, t.b, x->kept, y->kept, t.c);
    float8_contract(g, dims, x->value, y->value, x->scale, y->scale, n->out[0]->dtype, n->out[0]);
    w->n_changed++;
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    Rewrite w = { .g = g, .s = settings, .n_values = g->n_values };
    w.is_chosen = NEW_N(g->arena, bool, g->n_values);
    w.rounded = NEW_N(g->arena, Rounded *, g->n_values);
    TRY(error_wrap(choose(&w), "model.float8: excluded"));
    leave_routers(&w);
    const int64_t n = g->n_nodes;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n; i++)
        if (is_changed(&w, old[i]))
            change(&w, old[i]);
        else
            graph_keep(g, old[i]);
    g->phase = FORWARD;
    g->block = -1;
    g->stage = 0;
    g->module = NULL;
    if (w.n_changed) return NULL;
    return error_new(
        "model.float8: no product is left for it: the head, the first %lld and the last "
        "%lld layers, what is excluded, and weights whose sizes are no multiples of %d stay "
        "as they are",
        (long long)w.s->first_layers, (long long)w.s->last_layers, UNIT);
}

const PassDef pass_float8 = {
    .name = "float8",
    .doc = "factors of linear layers and of their gradients in eight bits",
    .run = run,
};

/* ---- the component ---- */

static const char *const recipes[] = { "tensorwise", "rowwise", NULL };

typedef struct Settings {
    Model *model;
    int recipe;
    StringList excluded;
    int64_t first_layers, last_layers;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *arena = builder_arena(b);
    Float8 *f = NEW(arena, Float8);
    *f = (Float8){ .recipe = (Float8Recipe)s->recipe,
                   .first_layers = s->first_layers,
                   .last_layers = s->last_layers };
    for (int64_t i = 0; i < s->model->passes.n; i++)
        if (s->model->passes.use[i].pass == &pass_float8)
            return error_new("model: its products are in float8 already");
    TRY(parameter_patterns(arena, "excluded", &s->excluded, &f->excluded));
    passes_add(&s->model->passes, &pass_float8, f);
    *out = s->model;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_CHOICE(Settings, recipe, "tensorwise", recipes, "one scale for a factor, and E5M2 for gradients; or one scale, a power of two, for each row that is summed over, and E4M3 throughout"),
    FIELD_STRINGS(Settings, excluded, "[]", 0, 0, "patterns of further weights whose products stay as they are: names, as *.attn.*"),
    FIELD_INT(Settings, first_layers, "1", 0, INFINITY, "layers at the beginning that stay as they are"),
    FIELD_INT(Settings, last_layers, "1", 0, INFINITY, "layers at the end that stay as they are"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_float8 = {
    .kind = "model",
    .variant = "float8",
    .doc =
        "the model with products of linear layers in float8, forward and backward; the head stays "
        "as it is",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
