/* config_packing.c - how a folder's weights are packed: quantization_config. Inputs of products
 * are not rounded here, whatever it says of activations. */
#include "config/field_read.h"
#include "models/hf/config_parts.h"
#include <string.h>

typedef struct Fp8Options {
    const char *fmt, *activation_scheme, *expert_dtype;
    const IntList *weight_block_size;
} Fp8Options;

/* Of the weights in a group of compressed-tensors. */
typedef struct WeightOptions {
    int64_t num_bits;
    const char *type, *strategy;
    bool symmetric;
    const IntList *block_structure;
} WeightOptions;

/* clang-format off */
static const Field fp8_fields[] = {
    FIELD_STRING(Fp8Options, fmt, "e4m3", "format of the numbers"),
    FIELD_STRING(Fp8Options, activation_scheme, "dynamic", "how inputs of products are rounded"),
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
    Fp8Options o = { 0 };
    TRY(fill(r, fp8_fields, q, &o));
    *out = (HfPacking){ .format = HF_FP8 };
    if (!is_one_of(o.fmt, formats)) return unknown(r, q, "fmt", "only e4m3 is");
    if (!is_one_of(o.activation_scheme, schemes))
        return unknown(r, q, "activation_scheme", "known are dynamic and static");
    if (strcmp(o.expert_dtype, "fp8") != 0) return unknown(r, q, "expert_dtype", "only fp8 is");
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
    if (!strcmp(name, "mxfp4") && r->family->mxfp4) {
        out->format = HF_MXFP4;
        return NULL;
    }
    return unknown(r, q, "quant_method",
                   "known are fp8, compressed-tensors of 8 bits, and mxfp4 of gpt_oss");
}
