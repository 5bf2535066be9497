/* qk_clip.c - after an update, weights of queries and keys follow the largest logits of the step;
 * model.qk_clip asks for it.
 *
 * Logits are linear in the queries' weights and in the keys', so that with a head's largest logit m
 * above the threshold, factors (threshold / m)^alpha and (threshold / m)^(1 - alpha) would have
 * made it the threshold. Query heads that share keys are scaled alike, by the largest of them. Keys
 * of latent attention have features that all heads share, so that queries take the whole factor. */
#include "passes/qk_clip.h"
#include "config/builder.h"
#include "models/model.h"
#include "ops/attention.h"
#include "ops/collective.h"
#include "ops/features.h"
#include "ops/gradient_norm.h"
#include "ops/qk_clip.h"
#include "ops/selected_attention.h"
#include "passes/all_passes.h"
#include "passes/data_parallel.h"
#include <string.h>

/* The state "logit_max.QUERY,KEY" [heads] names the weights whose products these logits are; KEY is
 * empty where keys are no product of one. */
#define LOGIT_MAX "logit_max."

/* ---- watching ---- */

/* The weight that queries or keys are a product with. Errors: they are not linear in it, or it is
 * not trained. */
static Error *find_weight(const Value *v, const char *what, const char **weight)
{
    while (v->from && !(v->from->op->flags & OP_MATMUL)) {
        const Node *n = v->from;
        const bool adds_bias = n->n_in == 2 && n->in[1]->kind == VALUE_PARAM && n->in[1]->is_bias;
        if (!adds_bias && !(n->op->flags & OP_LINEAR))
            return error_new("model.qk_clip: %s of %s go through %s, so that smaller weights would "
                             "not make logits smaller (a norm of queries and keys bounds them "
                             "itself)",
                             what, n->module, n->op->name);
        v = n->in[0];
    }
    if (!v->from || v->from->in[1]->kind != VALUE_PARAM)
        return error_new("model.qk_clip: %s are no product with a weight", what);
    const Value *w = v->from->in[1];
    *weight = w->name;
    if (w->is_frozen)
        return error_new("model.qk_clip: %s is not trained, so it cannot be scaled", w->name);
    return NULL;
}

/* Keys: of latent attention; queries: of differential attention. */
static bool have_features_of_others(const Value *heads)
{
    while (heads->from && heads->from->op->flags & OP_LINEAR &&
           !(heads->from->op->flags & OP_MATMUL))
        heads = heads->from->in[0];
    return heads->from && heads->from->op == &op_join_features;
}

static Error *watch(Graph *g, const Node *n)
{
    const char *query, *key = "";
    if (have_features_of_others(n->in[0]))
        return error_new("model.qk_clip: %s joins pairs of heads (differential), whose logits are "
                         "not kept apart by heads of keys",
                         n->module);
    TRY(find_weight(n->in[0], "queries", &query));
    if (!have_features_of_others(n->in[1])) TRY(find_weight(n->in[1], "keys", &key));
    g->block = n->block;
    g->stage = n->stage;
    g->module = n->module;
    Value *logit = attention_max(g, n);
    const Dim heads = { .size = value_count(logit), .axis = "heads" };
    const char *name = arena_printf(g->arena, LOGIT_MAX "%s,%s", query, key);
    keep_largest(g, logit, graph_cache(g, name, logit->dtype, 1, &heads));
    return NULL;
}

/* Whether one of the n nodes reads the same keys. */
static bool shares_keys(Node *const *attention, int64_t n, const Node *other)
{
    for (int64_t i = 0; i < n; i++)
        if (attention[i]->in[1] == other->in[1]) return true;
    return false;
}

static Error *run_watch(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    const int64_t n = g->n_nodes;
    int64_t n_layers = 0;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n),
         **attention = NEW_N(g->arena, Node *, n);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n; i++) {
        graph_keep(g, old[i]);
        if (old[i]->op == &op_selected_attention)
            return error_new("model.qk_clip: attention to selected tokens (sparse_attention) keeps "
                             "no logits");
        if (old[i]->op != &op_attention) continue;
        if (shares_keys(attention, n_layers, old[i]))
            return error_new("model.qk_clip: %s reads keys of an earlier layer (shared_kv), whose "
                             "weight would be scaled for both",
                             old[i]->module);
        TRY(watch(g, old[i]));
        attention[n_layers++] = old[i];
    }
    g->block = -1;
    g->stage = 0;
    g->module = NULL;
    return n_layers ? NULL : error_new("model.qk_clip: the model has no attention");
}

static bool is_clipped(const Purpose *p, const void **settings)
{
    *settings = p->model->qk_clip;
    return p->model->qk_clip && p->optimize;
}

const PassDef pass_watch_logits = {
    .name = "watch_logits",
    .doc = "each attention layer keeps the largest logit of each head",
    .run = run_watch,
    .wanted = is_clipped,
};

/* ---- clipping ---- */

/* Largest logits of the step over all ranks and heads, by layer of this rank. */
typedef struct Logits {
    const char **name; /* of the states */
    Value **of;        /* [heads] */
    int n;
} Logits;

static Logits find_logits(Graph *g)
{
    Logits l = { .name = NEW_N(g->arena, const char *, g->n_nodes),
                 .of = NEW_N(g->arena, Value *, g->n_nodes) };
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        if (n->op != &op_keep_largest || n->out[0]->kind != VALUE_STATE) continue;
        l.name[l.n] = n->out[0]->name;
        n->out[0]->reduce = REDUCE_MAX;
        l.of[l.n++] = n->out[0];
    }
    return l;
}

static void join_ranks(Graph *g, const Mesh *mesh, Logits *l)
{
    const unsigned axes = mesh ? mesh_data_axes(mesh) : 0;
    if (axes && l->n) {
        Value **sent = arena_copy(g->arena, l->of, sizeof *l->of * (size_t)l->n);
        reduce_list(graph_from(g, HERE), l->n, sent, axes, l->of);
    }
    for (int k = 0; k < l->n; k++)
        for (int i = MAX_MESH_AXES - 1; i >= 0; i--)
            if (l->of[k]->dim[0].mesh[i])
                l->of[k] =
                    all_gather(graph_from(g, HERE), l->of[k], 0, 1u << l->of[k]->dim[0].mesh[i]);
}

static void report(Graph *g, const Logits *l)
{
    Value **most = NEW_N(g->arena, Value *, l->n + 1);
    if (!l->n) return;
    for (int k = 0; k < l->n; k++) most[k] = norm_partial(g, l->of[k], 0);
    graph_output(g, ATTENTION_LOGIT_MAX, norm_total(g, l->n, most, 0));
}

static void clip_rows(Graph *g, Value *logit, Value *param, const LogitClip *c)
{
    Value *f = logit_factors(g, logit, param->dim[0].size, c);
    scale_param_rows(g, param, slice_as(graph_from(g, HERE), f, 0, &param->dim[0]));
}

/* A weight and its bias, unless that is not trained. */
static void clip(Graph *g, Value *logit, Value *weight, const LogitClip *c)
{
    const char *end = strrchr(weight->name, '.');
    Value *bias =
        graph_find(g, arena_printf(g->arena, "%.*s.bias", (int)(end - weight->name), weight->name));
    clip_rows(g, logit, weight, c);
    if (bias && bias->grad) clip_rows(g, logit, bias, c);
}

static void clip_layer(Graph *g, Value *logit, const char *name, const QkClip *s)
{
    const char *names = name + strlen(LOGIT_MAX), *comma = strchr(names, ',');
    Value *query = graph_find(g, arena_printf(g->arena, "%.*s", (int)(comma - names), names)),
          *key = graph_find(g, comma + 1);
    const int64_t n_heads = value_count(logit), width = query->dim[0].size / n_heads;
    const LogitClip of_query = { s->threshold, key ? s->alpha : 1,
                                 key ? key->dim[0].size / width : n_heads },
                    of_key = { s->threshold, 1 - s->alpha, of_query.groups };
    clip(g, logit, query, &of_query);
    if (key) clip(g, logit, key, &of_key);
}

static Error *run_clip(Graph *g, const struct Mesh *mesh, const void *settings)
{
    Logits l = find_logits(g);
    g->phase = REDUCE;
    join_ranks(g, mesh, &l);
    report(g, &l);
    g->phase = UPDATE;
    for (int k = 0; k < l.n; k++) clip_layer(g, l.of[k], l.name[k], settings);
    g->phase = FORWARD;
    return NULL;
}

const PassDef pass_qk_clip = {
    .name = "qk_clip",
    .doc = "weights of queries and keys scaled down where logits grew too large",
    .run = run_clip,
    .wanted = is_clipped,
};

/* ---- the component ---- */

typedef struct Settings {
    Model *model;
    double threshold, alpha;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    QkClip *c = NEW(builder_arena(b), QkClip);
    *c = (QkClip){ s->threshold, s->alpha };
    s->model->qk_clip = c;
    *out = s->model;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_FLOAT(Settings, threshold, "100.0", 0, INFINITY, "the largest logit of a head in a step that changes nothing", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Settings, alpha, "0.5", 0, 1, "with a larger logit m, weights of queries are multiplied by (threshold / m)^alpha, those of keys by (threshold / m)^(1 - alpha); with latent attention queries take all of it"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_qk_clip = {
    .kind = "model",
    .variant = "qk_clip",
    .doc = "after each update, weights of queries and keys are scaled down where attention logits "
           "grew too large",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
