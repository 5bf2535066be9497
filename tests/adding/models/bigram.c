/* bigram.c - model.bigram: the next token from the last one alone. */
#include "config/builder.h"
#include "models/layers.h"
#include "models/model.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/soft_cap.h"

typedef struct Settings {
    const char *sample_key, *prediction_key;
    int64_t sequence_length, vocab_size, n_embd;
    double cap;
} Settings;

typedef struct Bigram {
    Model base;
    const Settings *settings;
    ModelInput inputs[2];
} Bigram;

static Error *forward(const Model *self, Graph *g, const ForwardSettings *f, ModelOutput *out)
{
    const Settings *s = ((const Bigram *)self)->settings;
    const Linear head = { .width = s->vocab_size, .axis = "vocab", .role = ROLE_HEAD };
    Value *table = embedding_table(g, "wte", s->vocab_size, s->n_embd, "words", ROLE_EMBEDDING);
    Value *x = embed(g, model_input(g, &self->inputs[0], f), table);
    out->hidden = scale(g, soft_cap(g, x, s->cap), 1);
    out->head = linear_weight(g, "lm_head", s->n_embd, &head);
    return graph_finish(g);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Bigram *m = NEW(builder_arena(b), Bigram);
    *m = (Bigram){ .base = { .forward = forward,
                             .name = "bigram",
                             .inputs = m->inputs,
                             .prediction_key = s->prediction_key,
                             .vocab_size = s->vocab_size,
                             .sequence_length = s->sequence_length,
                             .width = s->n_embd,
                             .compute = F32,
                             .weights_dtype = F32,
                             .passes = { .arena = builder_arena(b) } },
                   .settings = s,
                   .inputs = { model_token_ids(s->sample_key, "sample_key", s->vocab_size) } };
    *out = m;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_STRING(Settings, sample_key, NULL, "name of the token ids in a batch"),
    FIELD_STRING(Settings, prediction_key, NULL, "name of the logits"),
    FIELD_INT(Settings, sequence_length, NULL, 1, INFINITY, "tokens of the longest sequence"),
    FIELD_INT(Settings, vocab_size, NULL, 1, INFINITY, "tokens that there are"),
    FIELD_INT(Settings, n_embd, NULL, 1, INFINITY, "width of the embedding"),
    FIELD_FLOAT(Settings, cap, "30.0", 0, INFINITY, "bound of what the head reads", .flags = FIELD_OPEN_MIN),
    { 0 },
};
/* clang-format on */

const ComponentDef model_bigram = {
    .kind = "model",
    .variant = "bigram",
    .doc = "the next token from the last one alone",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
