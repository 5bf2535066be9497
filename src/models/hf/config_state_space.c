/* config_state_space.c - state spaces (Mamba-2): their sizes. */
#include "models/hf/config_parts.h"
#include <string.h>

int64_t hf_size(const HfReading *r, const char *key, int64_t of_class)
{
    const int64_t *given = hf_count(r, key);
    return given ? *given : of_class;
}

bool hf_flag(const HfReading *r, const char *key, bool of_class)
{
    const Yaml *v = yaml_get(r->root, key);
    return v && v->type == YAML_BOOL ? v->boolean : of_class;
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
    const char *least = r->family->state_space->least_step;
    if (least) {
        l->least_step = hf_number(r->root, least, 0.001);
        return NULL;
    }
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
static int64_t head_width(const HfReading *r, int64_t of_class)
{
    const Yaml *v = yaml_get(r->root, r->family->state_space->head_width);
    if (!v || v->type == YAML_NULL || (v->type == YAML_STRING && !strcmp(v->text, "auto")))
        return of_class;
    return v->type == YAML_INT && v->integer > 0 ? v->integer : 0;
}

/* Convolutions have silu behind them, whatever feed-forward layers have. */
static Error *check_activation(const HfReading *r)
{
    const char *key = r->family->state_space->activation, *name = key ? hf_text(r, key) : NULL;
    const bool is_silu = key ? !name || !strcmp(name, "silu") || !strcmp(name, "swish")
                             : r->d->activation == ACTIVATE_SILU;
    return is_silu ? NULL
                   : hf_unknown(r, key ? key : "hidden_act", "only silu is, behind convolutions");
}

/* Of all heads; 0: it is as their own says. */
static int64_t width_of_all(const HfReading *r)
{
    const HfSpaceKeys *k = r->family->state_space;
    const int64_t *given = k->all ? hf_count(r, k->all) : NULL;
    if (given) return *given;
    if (k->all && !yaml_get(r->root, k->all)) return k->n_all;
    return k->expand ? hf_size(r, k->expand, 2) * r->d->width : 0;
}

/* What Falcon-H1 has of its own. */
static Error *read_both(const HfReading *r, LinearAttention *l)
{
    const HfConfig *c = &r->c;
    if (c->projectors_bias != l->bias)
        return hf_unknown(r, "projectors_bias",
                          "it must be as mamba_proj_bias: state spaces have both biases or none");
    if (!c->mamba_rms_norm) l->norm = NULL;
    l->norm_first = l->norm && c->mamba_norm_before_gate;
    return NULL;
}

Error *hf_read_state_space(HfReading *r)
{
    const HfSpaceKeys *k = r->family->state_space;
    const int64_t heads = hf_size(r, k->heads, k->n_heads),
                  groups = hf_size(r, k->groups, k->n_groups), wide = width_of_all(r),
                  width = head_width(r, k->width ? k->width : wide / heads),
                  all = k->expand ? wide : heads * width;
    if (k->expand && width * heads != all)
        return hf_unknown(r, k->head_width,
                          arena_printf(r->arena, "times %s it must be %s%s", k->heads,
                                       k->all ? k->all : k->expand,
                                       k->all ? "" : " times hidden_size"));
    if (!width) return hf_unknown(r, k->head_width, "it must be a number above 0");
    if (heads % groups)
        return hf_unknown(r, k->groups, arena_printf(r->arena, "it must divide %s", k->heads));
    LinearAttention *l = NEW(r->arena, LinearAttention);
    Norm *n = arena_copy(r->arena, r->d->usual_norm, sizeof *n);
    *l = (LinearAttention){ .key_heads = groups,
                            .value_heads = heads,
                            .key_width = hf_size(r, k->state_width, k->n_state),
                            .value_width = width,
                            .conv_width = hf_size(r, k->conv_width, 4),
                            .norm = n,
                            .is_state_space = true,
                            .conv_bias = hf_flag(r, k->conv_bias, true),
                            .bias = hf_flag(r, k->bias, false),
                            .has_skip = true };
    n->width = all / groups;
    if (l->conv_width < 2)
        return hf_unknown(r, k->conv_width, "a convolution sees at least 2 tokens");
    TRY(check_activation(r));
    if (r->family->both_mixers) TRY(read_both(r, l));
    r->d->linear = l;
    return read_steps(r, l);
}
