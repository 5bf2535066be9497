/* config_selective.c - selective state spaces (Mamba): their sizes, and which layers of Jamba
 * are of what kind. */
#include "models/hf/config_parts.h"
#include <string.h>

static Error *read_rank(const HfReading *r, const char *key, int64_t *out)
{
    const Yaml *v = yaml_get(r->root, key);
    *out = (r->d->width + 15) / 16;
    if (!v || (v->type == YAML_STRING && !strcmp(v->text, "auto"))) return NULL;
    if (v->type != YAML_INT || v->integer < 1 || v->integer > 2147483647)
        return hf_unknown(r, key, "it must be a number above 0, or auto");
    *out = v->integer;
    return NULL;
}

/* A file of a class without feed-forward layers that says the width itself is right, whatever its
 * `expand` gives. */
static Error *read_width(const HfReading *r, const HfSelectiveKeys *k, int64_t *out)
{
    const int64_t *given = k->own_width ? hf_count(r, "intermediate_size") : NULL,
                  expand = hf_size(r, k->expand, 2);
    if (!given && expand > 2147483647 / r->d->width)
        return hf_unknown(r, k->expand, "times hidden_size it must be at most 2147483647");
    *out = given ? *given : expand * r->d->width;
    return NULL;
}

static const Norm *norm_of(const HfReading *r, const HfSelectiveKeys *k)
{
    if (!k->norm_eps) return NULL;
    const Norm n = { .type = NORM_PYTORCH_RMS,
                     .eps = hf_number(r->root, k->norm_eps, 1e-6),
                     .has_weight = k->norm_weights };
    return arena_copy(r->arena, &n, sizeof n);
}

Error *hf_read_selective(HfReading *r)
{
    const HfSelectiveKeys *k = r->family->selective;
    Selective *s = NEW(r->arena, Selective);
    *s = (Selective){ .state_width = hf_size(r, k->state_width, 16),
                      .conv_width = hf_size(r, k->conv_width, 4),
                      .conv_bias = hf_flag(r, k->conv_bias, true),
                      .bias = hf_flag(r, k->bias, false),
                      .norm = norm_of(r, k) };
    TRY(read_width(r, k, &s->width));
    TRY(read_rank(r, k->step_rank, &s->step_rank));
    if (s->conv_width < 2)
        return hf_unknown(r, k->conv_width, "a convolution sees at least 2 tokens");
    if (r->d->activation != ACTIVATE_SILU)
        return hf_unknown(r, "hidden_act", "only silu is, behind convolutions");
    r->d->selective = s;
    return NULL;
}

Error *hf_read_periods(HfReading *r)
{
    static const int64_t experts_of_class = 16;
    HfConfig *c = &r->c;
    if (c->attn_layer_offset >= c->attn_layer_period)
        return hf_unknown(r, "attn_layer_offset", "it must be below attn_layer_period");
    if (c->expert_layer_offset >= c->expert_layer_period)
        return hf_unknown(r, "expert_layer_offset", "it must be below expert_layer_period");
    if (!c->num_experts && !c->num_local_experts) c->num_experts = &experts_of_class;
    return NULL;
}
