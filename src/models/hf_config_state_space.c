/* hf_config_state_space.c - state spaces (Mamba-2) of hybrids: their sizes. */
#include "models/hf_config_parts.h"
#include <string.h>

static int64_t size_of(const int64_t *given, int64_t of_class)
{
    return given ? *given : of_class;
}

/* A bound of steps; *out 0: there is none. */
static bool read_bound(const Yaml *v, double *out)
{
    const Yaml *special = v->type == YAML_MAP ? yaml_get(v, "__float__") : NULL;
    const bool is_infinite =
        special && special->type == YAML_STRING && !strcmp(special->text, "Infinity");
    *out = 0;
    if (is_infinite || (v->type == YAML_FLOAT && isinf(v->number) && v->number > 0)) return true;
    if (v->type != YAML_INT && v->type != YAML_FLOAT) return false;
    *out = v->number;
    return *out >= 0;
}

static Error *read_steps(const HfReading *r, LinearAttention *l)
{
    const Yaml *v = r->c.time_step_limit;
    if (!v || v->type == YAML_NULL) return NULL;
    double bound[2];
    const bool is_pair = v->type == YAML_LIST && v->n == 2 && read_bound(v->item[0], &bound[0]) &&
                         read_bound(v->item[1], &bound[1]);
    /* 0 as the upper one would mean none here */
    const bool is_bound = is_pair && (v->item[1]->type == YAML_MAP || v->item[1]->number > 0) &&
                          (bound[1] == 0 || bound[0] <= bound[1]);
    if (!is_bound)
        return hf_unknown(r, "time_step_limit",
                          "known are a smallest step and a larger one, or "
                          "infinity");
    l->least_step = bound[0];
    l->most_step = bound[1];
    return NULL;
}

/* Of a head; 0: it is no number. */
static int64_t head_width(const HfReading *r, int64_t all, int64_t heads)
{
    const Yaml *v = r->c.mamba_d_head;
    if (!v || v->type == YAML_NULL || (v->type == YAML_STRING && !strcmp(v->text, "auto")))
        return all / heads;
    return v->type == YAML_INT && v->integer > 0 ? v->integer : 0;
}

Error *hf_read_state_space(HfReading *r)
{
    const HfConfig *c = &r->c;
    const int64_t heads = size_of(c->mamba_n_heads, 128),
                  all = size_of(c->mamba_expand, 2) * r->d->width,
                  groups = size_of(c->mamba_n_groups, 1), width = head_width(r, all, heads);
    if (all % heads || width != all / heads)
        return hf_unknown(r, "mamba_d_head",
                          "times mamba_n_heads it must be mamba_expand times hidden_size");
    if (heads % groups) return hf_unknown(r, "mamba_n_groups", "it must divide mamba_n_heads");
    LinearAttention *l = NEW(r->arena, LinearAttention);
    Norm *n = arena_copy(r->arena, r->d->head_norm, sizeof *n);
    *l = (LinearAttention){ .key_heads = groups,
                            .value_heads = heads,
                            .key_width = size_of(c->mamba_d_state, 256),
                            .value_width = width,
                            .conv_width = size_of(c->mamba_d_conv, 4),
                            .norm = n,
                            .is_state_space = true,
                            .conv_bias = !c->mamba_conv_bias || *c->mamba_conv_bias,
                            .bias = c->mamba_proj_bias && *c->mamba_proj_bias,
                            .has_skip = true };
    n->width = all / groups;
    if (l->conv_width < 2)
        return hf_unknown(r, "mamba_d_conv", "a convolution sees at least 2 tokens");
    if (r->d->activation != ACTIVATE_SILU)
        return hf_unknown(r, "hidden_act", "only silu is, behind convolutions");
    r->d->linear = l;
    return read_steps(r, l);
}
