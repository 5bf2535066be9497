/* clm_cross_entropy_loss.c - loss.clm_cross_entropy_loss: next-token cross entropy. */
#include "config/builder.h"
#include "models/loss.h"

enum { MICROBATCH_MEAN, GLOBAL_TOKENS };

typedef struct Settings {
    const char *target_key, *prediction_key;
    int normalization;
} Settings;

static Error *apply(const Loss *self, Graph *g, const ModelOutput *out, const ForwardSettings *f)
{
    ModelInput targets = model_token_ids(self->target_key, "target_key", 0);
    if (out->logits) targets.n_dims = out->logits->n_dims - 1; /* of a class: [batch] */
    model_loss(g, out, model_input(g, &targets, f), self->global_tokens);
    return graph_finish(g);
}

Loss loss_of_tokens(const char *target_key)
{
    return (Loss){ .apply = apply, .target_key = target_key, .tag = "CLMCrossEntropyLoss" };
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Loss *l = NEW(builder_arena(b), Loss);
    *l = loss_of_tokens(s->target_key);
    l->prediction_key = s->prediction_key;
    l->global_tokens = s->normalization == GLOBAL_TOKENS;
    *out = l;
    return NULL;
}

static const char *const normalizations[] = { "microbatch_mean", "global_tokens", NULL };
/* clang-format off */
static const Field fields[] = {
    FIELD_STRING(Settings, target_key, NULL, "name of the targets in a batch; -100 does not count"),
    FIELD_STRING(Settings, prediction_key, NULL, "name of the logits"),
    FIELD_CHOICE(Settings, normalization, "microbatch_mean", normalizations,
                 "mean over the valid tokens of each microbatch, then over microbatches and ranks; or over all valid tokens of a step"),
    { 0 },
};
/* clang-format on */

const ComponentDef loss_clm_cross_entropy_loss = {
    .kind = "loss",
    .variant = "clm_cross_entropy_loss",
    .doc = "cross entropy of the next token",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
    .is_light = true,
};
