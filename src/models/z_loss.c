/* z_loss.c - loss.z_loss: keeps the logarithm of the softmax's sum near 0, so that logits do not
 * drift (Chowdhery et al. 2022). A term beside the cross entropy. */
#include "config/builder.h"
#include "models/loss.h"
#include "ops/moe_route.h"

static Error *term(const Loss *self, Graph *g, const ModelOutput *out, Value **value)
{
    (void)self;
    *value = mean_square_lse(g, model_logits(g, out));
    return graph_finish(g);
}

static Error *apply(const Loss *self, Graph *g, const ModelOutput *out, const ForwardSettings *f)
{
    (void)self, (void)g, (void)out, (void)f;
    return error_new("z_loss has no targets: it is a term of loss.weighted_sum, beside "
                     "clm_cross_entropy_loss");
}

static Error *build(Builder *b, const void *settings, void **out)
{
    (void)settings;
    Loss *l = NEW(builder_arena(b), Loss);
    *l = (Loss){ .apply = apply, .term = term, .tag = "ZLoss" };
    *out = l;
    return NULL;
}

static const Field fields[] = { { 0 } };

const ComponentDef loss_z_loss = {
    .kind = "loss",
    .variant = "z_loss",
    .doc = "the mean square of the log-sum-exp of logits, over all tokens",
    .fields = fields,
    .build = build,
};
