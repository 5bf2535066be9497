/* config_multipliers.c - the numbers that Falcon-H1 multiplies parts of its blocks by, and those
 * of MiniCPM. */
#include "models/hf/config_parts.h"

/* Number i of a list; without one it is 1. */
static double at(const FloatList *list, int64_t i)
{
    return list ? list->item[i] : 1;
}

static double unless_one(double x)
{
    return x == 1 ? 0 : x;
}

static Error *check(const HfReading *r, const char *key, const FloatList *list)
{
    for (int64_t i = 0; list && i < list->n; i++)
        if (!(list->item[i] > 0)) return hf_unknown(r, key, "only numbers above 0 are");
    return NULL;
}

Error *hf_read_multipliers(HfReading *r)
{
    const HfConfig *c = &r->c;
    Decoder *d = r->d;
    TRY(check(r, "ssm_multipliers", c->ssm_multipliers));
    TRY(check(r, "mlp_multipliers", c->mlp_multipliers));
    const Multipliers m = { .attention_in = c->attention_in_multiplier,
                            .attention_out = c->attention_out_multiplier,
                            .linear_in = c->ssm_in_multiplier,
                            .linear_out = c->ssm_out_multiplier,
                            .gates = at(c->ssm_multipliers, 0),
                            .values = at(c->ssm_multipliers, 1),
                            .keys = at(c->ssm_multipliers, 2),
                            .queries = at(c->ssm_multipliers, 3),
                            .steps = at(c->ssm_multipliers, 4),
                            .ffn_gate = at(c->mlp_multipliers, 0),
                            .ffn_out = at(c->mlp_multipliers, 1),
                            .attention_stream = 1,
                            .linear_stream = 1,
                            .ffn_stream = 1 };
    d->multipliers = arena_copy(r->arena, &m, sizeof m);
    d->embedding_scale = unless_one(c->embedding_multiplier);
    d->logit_divisor = unless_one(1 / c->lm_head_multiplier);
    /* scores follow their keys */
    if (c->key_multiplier != 1)
        d->attention_scale = c->key_multiplier / sqrt((double)d->head_width);
    return NULL;
}

/* Where the file says null, nothing is multiplied; where it is silent, the class has a number. */
void hf_read_scales(HfReading *r)
{
    const HfConfig *c = &r->c;
    Decoder *d = r->d;
    const double root = sqrt((double)d->n_layer), width = (double)d->width;
    const double depth = c->scale_depth                     ? *c->scale_depth
                         : yaml_get(r->root, "scale_depth") ? root
                                                            : 1.4;
    const double base = c->dim_model_base                     ? (double)*c->dim_model_base
                        : yaml_get(r->root, "dim_model_base") ? width
                                                              : 256;
    d->embedding_scale = unless_one(c->scale_emb);
    d->residual_scale = unless_one(depth / root);
    d->logit_divisor = unless_one(width / base);
}
