/* config_rope.c - how positions turn, by the options of transformers 4 and 5. */
#include "models/hf/config_parts.h"
#include <string.h>

/* The list of numbers above 0, one for each pair that turns. */
static Error *read_factors(const HfReading *r, const Yaml *p, const char *key, FloatList *out)
{
    const Yaml *v = yaml_get(p, key);
    const int64_t width = r->d->head_width, n = (out->n ? out->n : width) / 2;
    bool fits = v && v->type == YAML_LIST && v->n == n;
    if (fits) *out = (FloatList){ NEW_N(r->arena, double, n), n };
    for (int64_t i = 0; fits && i < n; i++) {
        const Yaml *x = v->item[i];
        fits = (x->type == YAML_INT || x->type == YAML_FLOAT) && x->number > 0;
        if (fits) out->item[i] = x->number;
    }
    if (fits) return NULL;
    return error_new("%s: rope scaling longrope needs a list %s of %lld numbers above 0",
                     yaml_place(r->arena, v ? v : p), key, (long long)n);
}

/* Of a text; 0: there is no such text. */
static int64_t length(double tokens)
{
    return tokens >= 1 && tokens <= 2147483647 ? (int64_t)tokens : 0;
}

static Error *missing(const HfReading *r, const Yaml *map, const char *key, const char *kind)
{
    return error_new("%s: rope scaling %s needs the number %s", yaml_place(r->arena, map), kind,
                     key);
}

/* YaRN's own rule, unless the file says otherwise. */
static double yarn_attention(const Yaml *p, double factor)
{
    const double given = hf_number(p, "attention_factor", -1), mscale = hf_number(p, "mscale", 0),
                 all = hf_number(p, "mscale_all_dim", 0);
    if (given >= 0) return given;
    if (mscale != 0 && all != 0)
        return rope_yarn_attention(factor, mscale) / rope_yarn_attention(factor, all);
    return rope_yarn_attention(factor, 1);
}

/* How many features of a head turn, as RopeScaling.width. */
static Error *read_width(const HfReading *r, const Yaml *p, double of_class, int64_t *out)
{
    const HfFamily *f = r->family;
    const char *key = f->share_key ? f->share_key : "partial_rotary_factor";
    const Latent *latent = r->d->latent;
    const int64_t head = latent ? latent->turning : r->d->head_width;
    const Yaml *map = f->ropes_by_type ? p : r->root; /* what may say it beside p */
    double share =
        hf_number(p, "partial_rotary_factor", hf_number(map, key, of_class > 0 ? of_class : 1));
    int64_t width = share > 0 && share <= 1 ? (int64_t)((double)head * share) : 0;
    const Yaml *at = yaml_get(p, "partial_rotary_factor");
    if (!at) at = yaml_get(map, key);
    const int64_t *features = f->keys.rotary_dim ? r->c.rotary_dim : NULL;
    if (features) {
        key = "rotary_dim";
        at = yaml_get(r->root, key);
        width = *features;
        share = (double)width / (double)head;
    } else if (f->own_rope)
        return hf_unknown(r, "rotary_dim", "the class needs a number of features that turn");
    *out = width == head && !latent ? 0 : width;
    if (share == 1 || (of_class > 0 && width >= 2 && width <= head && width % 2 == 0)) return NULL;
    return error_new("%s: %s %g of a head of %lld is not known; %s",
                     yaml_place(r->arena, at ? at : r->root), key, features ? (double)width : share,
                     (long long)head,
                     of_class > 0 ? "so many that turn must be an even number of them"
                                  : "whole heads turn in this class");
}

/* Without a factor it is that of the longest sequence to the original one, which some files have
 * beside the parameters. */
static Error *read_longrope(const HfReading *r, const Yaml *p, RopeScaling *out)
{
    static const char key[] = "original_max_position_embeddings";
    const double otherwise = hf_number(r->root, key, 0);
    out->original = length(hf_number(p, key, otherwise));
    if (out->original <= 1) return missing(r, p, key, "longrope");
    if (!(out->factor > 0)) out->factor = (double)r->d->sequence_length / (double)out->original;
    out->attention =
        hf_number(p, "attention_factor", rope_long_attention(out->factor, out->original));
    if (r->family->keys.mscale) {
        const double of_short = hf_number(p, "short_mscale", -1);
        if (of_short < 0) return missing(r, p, "short_mscale", "longrope");
        if (hf_number(p, "long_mscale", -1) != of_short)
            return error_new("%s: long_mscale must be the same number as short_mscale",
                             yaml_place(r->arena, p));
        out->attention = of_short;
    }
    out->short_factors.n = out->long_factors.n = out->width;
    TRY(read_factors(r, p, "short_factor", &out->short_factors));
    return read_factors(r, p, "long_factor", &out->long_factors);
}

/* The first files of Phi 3 have other names for what it does, those of Sarvam one for YaRN,
 * and those of HunyuanOCR one for what Hunyuan calls dynamic. */
static int kind_of(const HfReading *r, const char *name)
{
    const bool is_phi3 = r->family->phi3_rope;
    int kind = 1;
    if (!strcmp(name, "deepseek_yarn")) return ROPE_YARN;
    if (r->family->alpha_rope && !strcmp(name, "xdrope")) return ROPE_DYNAMIC;
    if (!strcmp(name, "su") || (is_phi3 && !strcmp(name, "yarn"))) return ROPE_LONG;
    while (rope_scaling_choices[kind] && strcmp(rope_scaling_choices[kind], name)) kind++;
    return kind;
}

/* One set of parameters; `p` may be NULL. */
static Error *read_rope(const HfReading *r, const Yaml *p, double theta, double share,
                        RopeScaling *out)
{
    const Yaml *type = yaml_get(p, "rope_type");
    if (!type) type = yaml_get(p, "type");
    *out = (RopeScaling){ .base = hf_number(p, "rope_theta", theta), .attention = 1 };
    TRY(read_width(r, p, share, &out->width));
    if (r->family->grows) {
        out->growth = hf_number(p, "llama_4_scaling_beta", 0);
        out->original = length(hf_number(p, "original_max_position_embeddings", 0));
        if (out->growth != 0 && out->original <= 0)
            return missing(r, p, "original_max_position_embeddings", "by position");
    }
    if (!type || type->type != YAML_STRING || !strcmp(type->text, "default") ||
        !strcmp(type->text, "mrope")) /* several coordinates, which text alone has equal */
        return NULL;
    const int kind = kind_of(r, type->text);
    const double alpha = hf_number(p, "alpha", 0), turning = (double)r->d->head_width;
    if (kind == ROPE_DYNAMIC && r->family->alpha_rope && alpha > 0) {
        /* Hunyuan says dynamic where a fixed factor makes the base larger */
        out->base *= pow(alpha, turning / (turning - 2));
        if (out->base >= 1 && isfinite(out->base)) return NULL;
        return error_new("%s: alpha %g makes the base of the frequencies %g; only finite ones from "
                         "1 on are known",
                         yaml_place(r->arena, yaml_get(p, "alpha")), alpha, out->base);
    }
    if (r->family->keys.mscale && kind != ROPE_LONG)
        return error_new("%s: rope scaling %s is not known; the class has numbers for default and "
                         "longrope",
                         yaml_place(r->arena, type), type->text);
    if (!rope_scaling_choices[kind])
        return error_new("%s: rope scaling %s is not known; known are default, linear, dynamic, "
                         "llama3, yarn, longrope",
                         yaml_place(r->arena, type), type->text);
    out->kind = kind;
    out->factor = hf_number(p, "factor", 0);
    if (kind == ROPE_LONG) return read_longrope(r, p, out);
    if (!(out->factor > 0)) return missing(r, p, "factor", type->text);
    out->original = length(hf_number(p, "original_max_position_embeddings", 0));
    if (kind == ROPE_LLAMA3) {
        out->low_freq = hf_number(p, "low_freq_factor", 0);
        out->high_freq = hf_number(p, "high_freq_factor", 0);
        if (!(out->low_freq > 0)) return missing(r, p, "low_freq_factor", type->text);
        if (!(out->high_freq > 0)) return missing(r, p, "high_freq_factor", type->text);
        if (out->original <= 0)
            return missing(r, p, "original_max_position_embeddings", type->text);
    }
    if (out->original <= 0) out->original = r->d->sequence_length;
    if (kind == ROPE_YARN) {
        const Yaml *truncate = yaml_get(p, "truncate");
        out->beta_fast = hf_number(p, "beta_fast", 32);
        out->beta_slow = hf_number(p, "beta_slow", 1);
        out->truncate = !truncate || truncate->type != YAML_BOOL || truncate->boolean;
        out->attention = yarn_attention(p, out->factor);
    }
    return NULL;
}

Error *hf_read_rope(const HfReading *r, const Yaml *p, double theta, double share, RopeScaling *out)
{
    return read_rope(r, p, theta, share, out);
}

/* Scores of latent attention grow with the length that its YaRN is for. */
static void scale_scores(const HfReading *r, const Yaml *p, const RopeScaling *s)
{
    const double all = hf_number(p, "mscale_all_dim", 0),
                 of_yarn = rope_yarn_attention(s->factor, all);
    if (!r->d->latent || all == 0 || s->kind == ROPE_PLAIN) return;
    r->d->attention_scale = of_yarn * of_yarn / sqrt((double)r->d->head_width);
}

/* Those of a type of layer, by `all`; the class's where that is NULL. One that no layer has may be
 * missing. */
static Error *read_of_type(const HfReading *r, const Yaml *all, const char *type, double theta,
                           double share, RopeScaling *out)
{
    const Yaml *p = yaml_get(all, type);
    if (r->family->ropes_may_be_null && p && p->type == YAML_NULL) p = NULL;
    const bool is_map = p && p->type == YAML_MAP;
    if (all && p && (!is_map || hf_number(p, "rope_theta", 0) <= 0))
        return error_new("%s: rope_parameters: %s needs an object with a rope_theta above 0",
                         yaml_place(r->arena, p), type);
    const Yaml *kind = yaml_get(p, "rope_type");
    if (!kind) kind = yaml_get(p, "type");
    const bool plain = !kind || kind->type != YAML_STRING || !strcmp(kind->text, "default");
    *out = (RopeScaling){ 0 };
    return all && !p ? NULL : read_rope(r, p, theta, plain ? share : 1, out);
}

static Error *read_by_type(const HfReading *r, const Yaml *all, RopeScaling *full,
                           RopeScaling *local)
{
    const HfFamily *f = r->family;
    if (all && !all->n) all = NULL;
    TRY(read_of_type(r, all, "full_attention", f->theta, f->rotary_share, full));
    return read_of_type(r, all, "sliding_attention", f->local_theta, f->local_share, local);
}

static Error *wrong_rope(const HfReading *r, const Yaml *p, const char *why)
{
    return error_new("%s: rope_parameters: %s", yaml_place(r->arena, p), why);
}

Error *hf_read_typed_rope(const HfReading *r, const HfTypedRope *silent, int64_t head,
                          RopeScaling *out)
{
    const Yaml *all = r->c.rope_parameters, *p = yaml_get(all, silent->type);
    const bool is_silent = !all || all->type != YAML_MAP;
    const Yaml *kind = yaml_get(p, "rope_type");
    const char *type = kind && kind->type == YAML_STRING ? kind->text : "default";
    if (is_silent && silent->share > 0) type = "proportional";
    const double theta = hf_number(r->root, "rope_theta", r->family->theta),
                 of_whole = hf_number(r->root, "partial_rotary_factor", 1);
    *out = (RopeScaling){ .attention = 1 };
    out->base = hf_number(p, "rope_theta", is_silent ? silent->theta : theta);
    if (!is_silent && (!p || p->type != YAML_MAP))
        return wrong_rope(r, all, "each type of layer needs its own");
    if (!(out->base > 0)) return wrong_rope(r, p, "rope_theta must be above 0");
    if (!strcmp(type, "default")) return NULL;
    if (strcmp(type, "proportional") != 0)
        return wrong_rope(r, kind, "rope_type: known are default and proportional");
    const double share =
        hf_number(p, "partial_rotary_factor", is_silent ? silent->share : of_whole);
    const int64_t turning = share > 0 && share <= 1 ? 2 * (int64_t)(share * (double)head / 2) : 0;
    if (!turning)
        return wrong_rope(r, p ? p : r->root, "partial_rotary_factor must leave what turns");
    if (turning < head) out->width = turning, out->proportional = true;
    out->factor = hf_number(p, "factor", 1);
    if (!(out->factor > 0)) return wrong_rope(r, p, "factor must be above 0");
    if (out->factor != 1) out->kind = ROPE_LINEAR;
    return NULL;
}

/* transformers 5 keeps the parameters of each type of layer apart where they differ. */
Error *hf_read_ropes(const HfReading *r, RopeScaling *full, RopeScaling *local)
{
    const HfConfig *c = &r->c;
    const double share = r->family->rotary_share;
    if (r->family->dialect && r->family->dialect->own_ropes) return NULL;
    if (r->family->own_rope) {
        TRY(read_rope(r, NULL, r->family->theta, share, full));
        *local = *full;
        return NULL;
    }
    const Yaml *v5 =
        c->rope_parameters && c->rope_parameters->type == YAML_MAP ? c->rope_parameters : NULL;
    const Yaml *v4 = c->rope_scaling && c->rope_scaling->type == YAML_MAP ? c->rope_scaling : NULL;
    if (r->family->scaled_rope && !v5 && !v4)
        return hf_unknown(r, "rope_parameters", "the class needs them");
    if (r->family->ropes_by_type) return read_by_type(r, v5 ? v5 : v4, full, local);
    const char *key = r->family->theta_key ? r->family->theta_key : "rope_theta";
    const double silent = r->theta != 0 ? r->theta : r->family->theta,
                 theta = hf_number(r->root, key, silent);
    const Yaml *of_full = yaml_get(v5, "full_attention"),
               *of_local = yaml_get(v5, "sliding_attention");
    const double of_class = r->family->local_theta,
                 local_theta = c->rope_local_base_freq ? *c->rope_local_base_freq : of_class;
    if (of_full || of_local) {
        TRY(read_rope(r, of_full, theta, share, full));
        return read_rope(r, of_local, of_class != 0 ? local_theta : theta, share, local);
    }
    TRY(read_rope(r, v5 ? v5 : v4, theta, share, full));
    scale_scores(r, v5 ? v5 : v4, full);
    *local = *full;
    if (r->family->windows != HF_WINDOW_PATTERN) return NULL;
    *local = (RopeScaling){ .base = local_theta != 0 ? local_theta : full->base, .attention = 1 };
    return NULL;
}
