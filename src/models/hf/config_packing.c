/* config_packing.c - how a folder's weights are packed: quantization_config. Inputs of products
 * are not rounded, whatever it says of activations, but for those of ternary weights. */
#include "config/field_read.h"
#include "models/hf/config_parts.h"
#include "models/hf/source.h"
#include <string.h>

typedef struct Fp8Options {
    const char *fmt, *activation_scheme, *scale_fmt, *expert_dtype;
    const IntList *weight_block_size;
} Fp8Options;

/* Of the weights in a group of compressed-tensors. */
typedef struct WeightOptions {
    int64_t num_bits;
    const char *type, *strategy;
    bool symmetric;
    const IntList *block_structure;
} WeightOptions;

/* Of BitNet; rms_norm_eps is of use_rms_norm. */
typedef struct TernaryOptions {
    const char *linear_class, *quantization_mode;
    bool use_rms_norm;
} TernaryOptions;

/* clang-format off */
static const Field fp8_fields[] = {
    FIELD_STRING(Fp8Options, fmt, "e4m3", "format of the numbers"),
    FIELD_STRING(Fp8Options, activation_scheme, "dynamic", "how inputs of products are rounded"),
    FIELD_STRING(Fp8Options, scale_fmt, "float", "format of scales"),
    FIELD_STRING(Fp8Options, expert_dtype, "fp8", "format of experts"),
    FIELD_INTS(Fp8Options, weight_block_size, "null", 0, 0, "rows and columns that share a scale; null: all do"),
    { 0 },
};
static const Field weight_fields[] = {
    FIELD_INT(WeightOptions, num_bits, NULL, 0, 0, "bits of a number"),
    FIELD_STRING(WeightOptions, type, NULL, "kind of number"),
    FIELD_STRING(WeightOptions, strategy, NULL, "what shares a scale"),
    FIELD_BOOL(WeightOptions, symmetric, "true", "nothing is added to a number"),
    FIELD_INTS(WeightOptions, block_structure, "null", 0, 0, "rows and columns of a block"),
    { 0 },
};
static const Field ternary_fields[] = {
    FIELD_STRING(TernaryOptions, linear_class, "bitlinear", "layer that does it"),
    FIELD_STRING(TernaryOptions, quantization_mode, "offline", "weights are rounded before, or whenever they are multiplied"),
    FIELD_BOOL(TernaryOptions, use_rms_norm, "false", "a norm in front of each linear layer"),
    { 0 },
};
/* clang-format on */

static Error *unknown(const HfReading *r, const Yaml *map, const char *key, const char *allowed)
{
    const Yaml *v = yaml_get(map, key);
    if (!v)
        return error_new("%s: quantization_config: %s is missing; %s", yaml_place(r->arena, map),
                         key, allowed);
    return error_new("%s: quantization_config: %s: %s is not known; %s", yaml_place(r->arena, v),
                     key, yaml_show(r->arena, v), allowed);
}

static Error *fill(const HfReading *r, const Field *fields, const Yaml *map, void *out)
{
    Problems problems = { .arena = r->arena };
    FieldReader reader = { .arena = r->arena, .problems = &problems };
    fields_fill(&reader, fields, map, true, out);
    return problems_error(&problems);
}

static bool is_one_of(const char *name, const char *const *allowed)
{
    while (*allowed && strcmp(*allowed, name) != 0) allowed++;
    return *allowed;
}

static bool read_block(const IntList *list, int64_t *block)
{
    if (!list || list->n != 2 || list->item[0] < 1 || list->item[1] < 1) return false;
    block[0] = list->item[0], block[1] = list->item[1];
    return true;
}

static Error *read_fp8(const HfReading *r, const Yaml *q, HfPacking *out)
{
    static const char *const formats[] = { "e4m3", "float8_e4m3fn", NULL }, *const schemes[] = {
        "dynamic", "static", NULL
    };
    static const char *const scales[] = { "float", "ue8m0", NULL }, *const experts[] = { "fp8",
                                                                                         "fp4",
                                                                                         NULL };
    const Yaml *beside = yaml_get(r->root, "expert_dtype");
    Fp8Options o = { 0 };
    TRY(fill(r, fp8_fields, q, &o));
    *out = (HfPacking){ .format = HF_FP8, .has_halves = true };
    if (!is_one_of(o.fmt, formats)) return unknown(r, q, "fmt", "only e4m3 is");
    if (!is_one_of(o.activation_scheme, schemes))
        return unknown(r, q, "activation_scheme", "known are dynamic and static");
    if (!is_one_of(o.scale_fmt, scales))
        return unknown(r, q, "scale_fmt", "known are float and ue8m0");
    if (!is_one_of(o.expert_dtype, experts))
        return unknown(r, q, "expert_dtype", "known are fp8 and fp4");
    if (beside && beside->type != YAML_NULL &&
        (beside->type != YAML_STRING || !is_one_of(beside->text, experts)))
        return hf_unknown(r, "expert_dtype", "known are fp8 and fp4");
    if (o.weight_block_size && !read_block(o.weight_block_size, out->block))
        return unknown(r, q, "weight_block_size", "known are two sizes above 0, and null");
    return NULL;
}

/* All weights must be of one kind, so that there is one group. */
static Error *read_compressed(const HfReading *r, const Yaml *q, HfPacking *out)
{
    static const char groups[] = "config_groups";
    const Yaml *format = yaml_get(q, "format"), *all = yaml_get(q, groups),
               *cache = yaml_get(q, "kv_cache_scheme");
    if (!format || format->type != YAML_STRING || strcmp(format->text, "float-quantized") != 0)
        return unknown(r, q, "format", "of compressed-tensors only float-quantized is");
    if (cache && cache->type != YAML_NULL)
        return unknown(r, q, "kv_cache_scheme", "only null is: keys and values are not rounded");
    if (!all || all->type != YAML_MAP || all->n != 1)
        return unknown(r, q, groups, "only one group of weights is");
    const Yaml *weights = yaml_get(all->item[0], "weights");
    if (!weights || weights->type != YAML_MAP)
        return unknown(r, all->item[0], "weights", "they are the ones that are read");
    WeightOptions o = { 0 };
    TRY(fill(r, weight_fields, weights, &o));
    *out = (HfPacking){ .format = HF_FP8 };
    if (o.num_bits != 8) return unknown(r, weights, "num_bits", "only 8 are");
    if (strcmp(o.type, "float") != 0) return unknown(r, weights, "type", "only float is");
    if (!o.symmetric) return unknown(r, weights, "symmetric", "only true is");
    if (!strcmp(o.strategy, "tensor")) return NULL;
    if (!strcmp(o.strategy, "channel")) {
        out->block[0] = 1;
        return NULL;
    }
    if (strcmp(o.strategy, "block") != 0)
        return unknown(r, weights, "strategy", "known are tensor, channel and block");
    return read_block(o.block_structure, out->block)
               ? NULL
               : unknown(r, weights, "block_structure", "known are two sizes above 0");
}

/* A parameter of the first block that lies in a tensor with others, which have a size together
 * there, but each its own here; NULL: none does. */
static const char *joined_weight(const HfReading *r)
{
    const Decoder *d = r->d;
    const DecoderLayer *l = d->layer;
    const struct {
        const char *name;
        int64_t rows;
    } weight[] = {
        { "transformer.h.0.attn.q_attn.weight", d->n_head_q * decoder_head_width_of(d, l) },
        { d->is_gated ? "transformer.h.0.mlp.W.weight" : "transformer.h.0.mlp.c_fc.weight",
          decoder_hidden_of(d, l) }
    };
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++) {
        const int64_t size[] = { weight[i].rows, d->width };
        HfSource s;
        Error *e = hf_source(r->arena, r->family, d, weight[i].name, 2, size, &s);
        const bool has_place = !e;
        error_free(e);
        if (!has_place || s.size[0] != size[0] || s.size[1] != size[1] || s.column_stride != 1)
            return weight[i].name;
    }
    return NULL;
}

/* Layers that are no such weights, or not all of them. */
static Error *check_ternary(const HfReading *r, const Yaml *q)
{
    const Decoder *d = r->d;
    bool is_plain = !d->moe && !d->latent && !d->per_layer;
    for (int64_t i = 0; i < d->n_layer; i++)
        is_plain &= d->layer[i].mixer == MIXER_ATTENTION && !d->layer[i].no_ffn;
    if (!is_plain)
        return unknown(r, q, "quant_method",
                       "blocks that are not of attention and a dense feed-forward layer have no "
                       "ternary weights here");
    if (joined_weight(r))
        return unknown(r, q, "quant_method",
                       "the class joins weights that are rounded by themselves here, or has them "
                       "transposed");
    const Yaml *left = yaml_get(q, "modules_to_not_convert");
    if (!left || left->type == YAML_NULL) return NULL;
    bool has_head = false, has_other = left->type != YAML_LIST;
    for (int64_t i = 0; !has_other && i < left->n; i++) {
        const Yaml *x = left->item[i];
        const bool is_head = x->type == YAML_STRING && !strcmp(x->text, "lm_head");
        has_head |= is_head;
        has_other |= !is_head;
    }
    return has_head && !has_other
               ? NULL
               : unknown(r, q, "modules_to_not_convert", "known are null and [\"lm_head\"]");
}

static Error *read_ternary(const HfReading *r, const Yaml *q, HfPacking *out)
{
    static const char *const classes[] = { "bitlinear", "autobitlinear", NULL }, *const modes[] = {
        "offline", "online", NULL
    };
    TernaryOptions o = { 0 };
    TRY(fill(r, ternary_fields, q, &o));
    if (!is_one_of(o.linear_class, classes))
        return unknown(r, q, "linear_class", "known are bitlinear and autobitlinear");
    if (!is_one_of(o.quantization_mode, modes))
        return unknown(r, q, "quantization_mode", "known are offline and online");
    if (o.use_rms_norm)
        return unknown(r, q, "use_rms_norm",
                       "only false is: linear layers have no norms of their own here");
    TRY(check_ternary(r, q));
    r->d->is_ternary = true;
    const bool divides = !strcmp(o.linear_class, "bitlinear"),
               is_packed = divides || !strcmp(o.quantization_mode, "offline");
    *out = (HfPacking){ .format = is_packed ? HF_TERNARY : HF_UNPACKED, .divides = divides };
    return NULL;
}

Error *hf_read_packing(const HfReading *r, HfPacking *out)
{
    const Yaml *q = r->c.quantization_config;
    if (!q || q->type == YAML_NULL) q = yaml_get(r->whole, "quantization_config");
    *out = (HfPacking){ .format = HF_UNPACKED };
    if (!q || q->type == YAML_NULL) return NULL;
    const Yaml *method = q->type == YAML_MAP ? yaml_get(q, "quant_method") : NULL;
    const char *name = method && method->type == YAML_STRING ? method->text : "";
    if (!strcmp(name, "fp8")) return read_fp8(r, q, out);
    if (!strcmp(name, "compressed-tensors")) return read_compressed(r, q, out);
    if (!strcmp(name, "bitnet")) return read_ternary(r, q, out);
    if (!strcmp(name, "mxfp4") && r->family->mxfp4) {
        out->format = HF_MXFP4;
        return NULL;
    }
    return unknown(r, q, "quant_method",
                   "known are fp8, compressed-tensors of 8 bits, bitnet, and mxfp4 of gpt_oss");
}
