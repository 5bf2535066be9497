/* nce_loss.c - loss.nce_loss: contrasts two predictions of a batch, such as CoCa's class tokens. */
#include "config/builder.h"
#include "models/loss.h"
#include "ops/nce.h"
#include "ops/reshape.h"
#include <string.h>

typedef struct Settings {
    const char *prediction_key1, *prediction_key2;
    bool is_asymmetric;
    double temperature;
} Settings;

typedef struct NceLoss {
    Loss base;
    const Settings *settings;
} NceLoss;

/* [b d], or [b 1 d] without the dimension in the middle. */
static Value *find(Graph *g, const ModelOutput *out, const char *key)
{
    for (int i = 0; i < out->n_named; i++)
        if (!strcmp(out->named[i].key, key))
            return out->named[i].value->n_dims == 3
                       ? reshape(g, "bsd->(bs)d", NULL, out->named[i].value)
                       : out->named[i].value;
    graph_fail(g, error_new("the model has no prediction %s, which nce_loss compares", key));
    return NULL;
}

static Error *term(const Loss *self, Graph *g, const ModelOutput *out, Value **value)
{
    const Settings *s = ((const NceLoss *)self)->settings;
    Value *x = find(g, out, s->prediction_key1), *y = find(g, out, s->prediction_key2);
    TRY(graph_finish(g));
    *value = nce(g, x, y, &(Nce){ s->temperature, !s->is_asymmetric });
    return NULL;
}

static Error *apply(const Loss *self, Graph *g, const ModelOutput *out, const ForwardSettings *f)
{
    (void)self, (void)g, (void)out, (void)f;
    return error_new("nce_loss compares predictions and has no targets: it is a term of "
                     "loss.weighted_sum, beside clm_cross_entropy_loss");
}

static Error *build(Builder *b, const void *settings, void **out)
{
    NceLoss *l = NEW(builder_arena(b), NceLoss);
    *l = (NceLoss){ .base = { .apply = apply, .term = term, .tag = "NCELoss" },
                    .settings = settings };
    *out = l;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_STRING(Settings, prediction_key1, NULL, "name of a prediction [batch, width]"),
    FIELD_STRING(Settings, prediction_key2, NULL, "name of the one that it is compared with"),
    FIELD_BOOL(Settings, is_asymmetric, "true", "which of the second belongs to each of the first; false: also the other way, added up"),
    FIELD_FLOAT(Settings, temperature, "1.0", 0, INFINITY, "divides the similarities", .flags = FIELD_OPEN_MIN),
    { 0 },
};
/* clang-format on */

const ComponentDef loss_nce_loss = {
    .kind = "loss",
    .variant = "nce_loss",
    .doc = "contrasts two predictions: each row of the one belongs to one of the other",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
