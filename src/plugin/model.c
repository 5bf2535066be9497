/* model.c - a plugin's model: its forward pass is called with a graph to append to. */
#include "models/model.h"
#include "plugin/parts.h"

typedef struct Own {
    const char *sample_key, *prediction_key;
    int64_t vocab_size, sequence_length;
} Own;
_Static_assert(sizeof(Own) <= OWN_SETTINGS, "the program's settings fit in front");

typedef struct PluginModel {
    ComponentDef component;
    const ModalitiesModel *from;
    const PluginOps *ops;
} PluginModel;

typedef struct Made {
    Model base;
    const PluginModel *def;
    const Own *settings;
    ModelInput inputs[2];
    BlockClass blocks[2];
} Made;

static Error *forward(const Model *self, Graph *g, const ForwardSettings *f, ModelOutput *out)
{
    const Made *m = (const Made *)self;
    if (f->cache_length)
        return error_new("model.%s comes from a plugin and keeps no keys and values, so that it "
                         "cannot continue a text",
                         self->name);
    ModalitiesGraph graph = plugin_graph(g, m->def->ops);
    const ModalitiesForward with = {
        .batch = f->batch,
        .sequence = f->sequence,
        .training = f->training,
        .vocab_size = m->settings->vocab_size,
        .sequence_length = m->settings->sequence_length,
        .ids = (ModalitiesValue *)model_input(g, &m->inputs[0], f),
    };
    out->logits = (Value *)m->def->from->forward(&graph, plugin_settings(m->settings), &with);
    TRY(graph_finish(g));
    const Value *v = out->logits;
    bool is_right = v && v->n_dims == 3 && v->dim[0].size == f->batch &&
                    v->dim[1].size == f->sequence && v->dim[2].size == self->vocab_size;
    if (is_right) return NULL;
    return error_new("the forward pass of model.%s must give logits [batch sequence vocab_size], "
                     "here [%lld %lld %lld]; it gives %s",
                     self->name, (long long)f->batch, (long long)f->sequence,
                     (long long)self->vocab_size, v ? "another shape" : "nothing");
}

static const DecayGroup *groups_of(Arena *a, const ModalitiesDecayGroup *from)
{
    int n = 0;
    if (!from) return NULL;
    while (from[n].name) n++;
    DecayGroup *group = NEW_N(a, DecayGroup, n + 1);
    for (int i = 0; i < n; i++) group[i] = (DecayGroup){ from[i].name, from[i].parts };
    return group;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Own *s = settings;
    Arena *a = builder_arena(b);
    const PluginModel *def = (const PluginModel *)builder_self(b)->def;
    const ModalitiesModel *from = def->from;
    int64_t width = 0, n_blocks = 0;
    const char *wrong = from->check ? from->check(plugin_settings(s), &width, &n_blocks) : NULL;
    if (wrong) return error_new("%s", wrong);
    Made *m = NEW(a, Made);
    *m = (Made){ .base = { .forward = forward,
                           .name = from->variant,
                           .inputs = m->inputs,
                           .blocks = from->block_class ? m->blocks : NULL,
                           .prediction_key = s->prediction_key,
                           .vocab_size = s->vocab_size,
                           .sequence_length = s->sequence_length,
                           .n_layer = n_blocks,
                           .width = width,
                           .groups = groups_of(a, from->groups),
                           .compute = F32,
                           .weights_dtype = F32,
                           .passes = { .arena = a } },
                 .def = def,
                 .settings = s,
                 .inputs = { model_token_ids(s->sample_key, "sample_key", s->vocab_size) },
                 .blocks = { { from->block_class, from->block_stack } } };
    *out = m;
    return NULL;
}

/* clang-format off */
static const Field own[] = {
    FIELD_STRING(Own, sample_key, NULL, "name of the token ids in a batch"),
    FIELD_STRING(Own, prediction_key, NULL, "name of the logits"),
    FIELD_INT(Own, vocab_size, NULL, 1, INFINITY, "tokens that there are"),
    FIELD_INT(Own, sequence_length, NULL, 1, INFINITY, "tokens of the longest sequence"),
    { 0 },
};
/* clang-format on */

Error *plugin_model(Arena *a, const ModalitiesModel *from, const PluginOps *ops,
                    const ComponentDef **out)
{
    if (!from->variant || !from->forward) return error_new("a model needs variant and forward");
    if (!from->block_class != !from->block_stack)
        return error_new("model %s has only one of block_class and block_stack", from->variant);
    PluginModel *m = NEW(a, PluginModel);
    const ComponentDef self = {
        .kind = "model", .variant = from->variant, .doc = from->doc, .fields = own, .build = build
    };
    TRY(plugin_component(a, self, from->settings, from->settings_size, &m->component));
    m->from = from;
    m->ops = ops;
    *out = &m->component;
    return NULL;
}
