/* weighted_sum_loss.c - loss.weighted_sum: a loss over targets, and weighted terms besides. */
#include "config/builder.h"
#include "models/loss.h"
#include "ops/elementwise.h"

typedef struct Settings {
    Loss *loss;
    ComponentList terms;
    FloatList weights;
} Settings;

typedef struct WeightedSum {
    Loss base;
    const Settings *settings;
} WeightedSum;

static Error *apply(const Loss *self, Graph *g, const ModelOutput *out, const ForwardSettings *f)
{
    const Settings *s = ((const WeightedSum *)self)->settings;
    ModelOutput with = *out;
    for (int64_t i = 0; i < s->terms.n; i++) {
        const Loss *l = s->terms.item[i];
        Value *v = NULL;
        TRY(l->term(l, g, out, &v));
        v = scale(g, v, s->weights.item[i]);
        with.penalty = with.penalty ? add(g, with.penalty, v) : v;
    }
    return s->loss->apply(s->loss, g, &with, f);
}

static Error *check(const void *settings)
{
    const Settings *s = settings;
    if (s->terms.n == s->weights.n) return NULL;
    return error_new("there are %lld terms, but %lld weights", (long long)s->terms.n,
                     (long long)s->weights.n);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    WeightedSum *w = NEW(builder_arena(b), WeightedSum);
    if (!s->loss->target_key) return error_new("loss: %s has no targets", s->loss->tag);
    for (int64_t i = 0; i < s->terms.n; i++)
        if (!((const Loss *)s->terms.item[i])->term)
            return error_new("terms.%lld: %s is no term: allowed are nce_loss and z_loss",
                             (long long)i, ((const Loss *)s->terms.item[i])->tag);
    *w = (WeightedSum){ .base = *s->loss, .settings = s };
    w->base.apply = apply;
    *out = w;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, loss, Loss, "loss", NULL, "the loss over targets, which is what is reported"),
    FIELD_COMPONENTS(Settings, terms, "loss", NULL, 1, INFINITY, "losses without targets: nce_loss, z_loss"),
    FIELD_FLOATS(Settings, weights, NULL, 1, INFINITY, "of each term"),
    { 0 },
};
/* clang-format on */

const ComponentDef loss_weighted_sum = {
    .kind = "loss",
    .variant = "weighted_sum",
    .doc = "a loss over targets, and weighted terms that are lowered with it",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
