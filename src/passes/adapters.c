/* adapters.c - puts adapters beside products with weights, freezes the rest; model.lora asks for
 * it. */
#include "passes/adapters.h"
#include "config/builder.h"
#include "models/adapter_names.h"
#include "models/layers.h"
#include "models/model.h"
#include "models/parameter_pattern.h"
#include "ops/clip.h"
#include "ops/contract.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/grouped_linear.h"
#include "ops/head_loss.h"
#include "passes/all_passes.h"
#include <string.h>

typedef struct Adapting {
    Graph *g;
    const Adapters *s;
    Value **now; /* by id: what stands for a value from here on */
    int64_t n_old, n_adapted;
} Adapting;

/* The weight of a product, which may be bounded while a model is trained. */
static const Value *weight_of(const Node *n)
{
    const Value *v = n->in[1];
    return v->kind == VALUE_RESULT && v->from->op == &op_clip ? v->from->in[0] : v;
}

static bool is_linear(const Node *n)
{
    return (n->op->flags & OP_MATMUL) && n->n_in == 2 && n->n_out == 1 &&
           !strcmp(n->dims->text, "*k,nk->*n") && weight_of(n)->n_dims == 2;
}

/* A product with a weight as linear layers have it, or with one of those of experts; also the one
 * that a loss makes of the head. Embeddings have none, whoever multiplies by them. */
static bool is_adapted(const Adapting *w, const Node *n)
{
    if (!is_linear(n) && n->op != &op_grouped_linear && n->op != &op_head_loss) return false;
    const Value *weight = weight_of(n);
    if (weight->kind != VALUE_PARAM || !parameter_matches(w->s->parameters, weight)) return false;
    if (weight->role == ROLE_EMBEDDING) return false;
    return !weight->is_frozen; /* by the model: nothing flows back to it */
}

/* Experts have adapters each, stacked as their weights are. */
static Value *factor(Graph *g, const Value *weight, const char *what, Dim rows, Dim columns,
                     Init init)
{
    const Dim dims[] = { weight->dim[0], rows, columns };
    const int n = weight->n_dims;
    Value *v = graph_param(g, adapter_name(g->arena, weight->name, what), n, dims + 3 - n);
    v->role = ROLE_LINEAR;
    v->init = init;
    v->block = weight->block;
    return v;
}

static Value *product(Graph *g, const Node *of, Value *x, Value *weight)
{
    if (of->op != &op_grouped_linear) return contract(g, "*k,nk->*n", x, weight);
    const GroupedLinear *a = of->attrs;
    return grouped_linear(g, x, weight, of->in[2], a->n_rows);
}

/* Appends what an adapter adds to the result of a product. */
static Value *adapted(const Adapting *w, const Node *n)
{
    Graph *g = w->g;
    const Value *weight = weight_of(n);
    const Dim rank = { .size = w->s->rank }, *rows = &weight->dim[weight->n_dims - 2],
              *columns = &weight->dim[weight->n_dims - 1];
    Value *a = factor(g, weight, ADAPTER_A, rank, *columns, init_of_linear(columns->size)),
          *b = factor(g, weight, ADAPTER_B, *rows, rank, (Init){ .kind = INIT_ZEROS });
    Value *low = product(g, n, n->in[0], a);
    Value *more = scale(g, product(g, n, low, b), w->s->alpha / (double)w->s->rank);
    return add(g, n->out[0], more);
}

/* Keeps a node with what its adapter adds; a loss that makes the product itself is written as the
 * product, whose result the adapter adds to, and the loss of that. */
static void adapt(Adapting *w, Node *n)
{
    Graph *g = w->g;
    g->block = n->block;
    g->stage = n->stage;
    g->module = n->module;
    w->n_adapted++;
    if (n->op != &op_head_loss) {
        graph_keep(g, n);
        w->now[n->out[0]->id] = adapted(w, n);
        return;
    }
    const Value *logits = contract(g, "*k,nk->*n", n->in[0], n->in[1]);
    const Value *loss = cross_entropy(g, adapted(w, logits->from), n->in[2]);
    for (int i = 0; i < n->n_out; i++) w->now[n->out[i]->id] = loss->from->out[i];
}

static void freeze_rest(const Adapting *w)
{
    for (int64_t i = 0; i < w->g->n_values; i++) {
        Value *v = w->g->value[i];
        if (v->kind == VALUE_PARAM && !parameter_is_adapter(v->name) &&
            !parameter_matches(w->s->also_trained, v))
            v->is_frozen = true;
    }
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    Adapting w = { .g = g, .s = settings, .n_old = g->n_values };
    TRY(error_wrap(parameter_patterns_check(w.s->parameters, g), "model.lora: parameters"));
    TRY(error_wrap(parameter_patterns_check(w.s->also_trained, g), "model.lora: also_trained"));
    w.now = NEW_N(g->arena, Value *, w.n_old);
    const int64_t n = g->n_nodes;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < old[i]->n_in; k++) {
            const Value *v = old[i]->in[k];
            if (v->id < w.n_old && w.now[v->id]) old[i]->in[k] = w.now[v->id];
        }
        if (is_adapted(&w, old[i]))
            adapt(&w, old[i]);
        else
            graph_keep(g, old[i]);
    }
    for (int64_t i = 0; i < g->n_outputs; i++) {
        Value **v = &g->output[i].value;
        if ((*v)->id < w.n_old && w.now[(*v)->id]) *v = w.now[(*v)->id];
    }
    g->block = -1;
    g->stage = 0;
    g->module = NULL;
    freeze_rest(&w);
    if (w.n_adapted) return NULL;
    return error_new("model.lora: parameters mean no weight of a linear layer");
}

const PassDef pass_adapters = {
    .name = "adapters",
    .doc = "low-rank adapters beside frozen weights",
    .run = run,
};

typedef struct Settings {
    Model *model;
    int64_t rank;
    double alpha;
    StringList parameters, also_trained;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *arena = builder_arena(b);
    if (s->model->adapters) return error_new("model: it has adapters already");
    Adapters *a = NEW(arena, Adapters);
    *a = (Adapters){ .rank = s->rank, .alpha = s->alpha };
    TRY(parameter_patterns(arena, "parameters", &s->parameters, &a->parameters));
    TRY(parameter_patterns(arena, "also_trained", &s->also_trained, &a->also_trained));
    s->model->adapters = a;
    passes_add(&s->model->passes, &pass_adapters, a);
    *out = s->model;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_INT(Settings, rank, "8", 1, INFINITY, "rows of A and columns of B"),
    FIELD_FLOAT(Settings, alpha, "16.0", 0, INFINITY, "what adapters add is scaled by alpha / rank", .flags = FIELD_OPEN_MIN),
    FIELD_STRINGS(Settings, parameters, "[\"@matrices\"]", 1, INFINITY, "patterns of the weights that get adapters: names (*.attn.*), or @matrices, @head"),
    FIELD_STRINGS(Settings, also_trained, "[]", 0, 0, "patterns of what is trained beside the adapters, as @norms"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_lora = {
    .kind = "model",
    .variant = "lora",
    .doc = "the model with low-rank adapters, which are trained in the place of its weights",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
