/* ernie_vl.c - the language model of ERNIE 4.5 VL: that of ernie4_5_moe, whose tensors share files
 * with experts that images go through. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include <string.h>

/* Experts are numbered through, those of text first. */
const HfName hf_ernie_vl_names[] = {
    { "transformer.h.%.mlp.router.weight", "model.layers.%.mlp.gate.weight", HF_TRANSPOSED },
    { "transformer.h.%.mlp.router.balance",
      "model.layers.%.mlp.moe_statics.e_score_correction_bias", HF_FIRST_ROW },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_experts.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_experts.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_experts.down_proj.*",
      HF_SAME },
    { 0 },
};

/* Widths of the experts of text and of images. */
static Error *take_width(HfReading *r, Yaml *root)
{
    static const char key[] = "moe_intermediate_size";
    const Yaml *list = yaml_get(root, key);
    if (list->type != YAML_LIST) return NULL;
    if (list->n != 2) return hf_unknown(r, key, "it has a number for text and one for images");
    hf_set_option(r->arena, root, key, list->item[0]);
    return NULL;
}

/* Where mlp_layer_types are silent the first layer is dense. The class of text knows no list: its
 * sparse layers are those of an interval, from one on and up to another. */
static Error *take_types(HfReading *r, Yaml *root)
{
    static const char key[] = "mlp_layer_types";
    const Yaml *list = yaml_get(root, key);
    int64_t first = 1, last = -1, interval = 1, n = 0;
    if (list && list->type == YAML_NULL) list = NULL;
    if (list && list->type != YAML_LIST) return hf_unknown(r, key, "it is a list");
    bool *sparse = NEW_N(r->arena, bool, list ? list->n : 0);
    for (int64_t i = 0; list && i < list->n; i++) {
        const Yaml *type = list->item[i];
        sparse[i] = type->type == YAML_STRING && !strcmp(type->text, "sparse");
        if (!sparse[i] && (type->type != YAML_STRING || strcmp(type->text, "dense") != 0))
            return hf_unknown(r, key, "each layer is dense or sparse");
        if (!sparse[i]) continue;
        if (n == 1) interval = i - first;
        if (!n++) first = i;
        last = i;
    }
    for (int64_t i = 0; list && i < list->n; i++)
        if (!n || sparse[i] != (i >= first && i <= last && (i + 1) % interval == 0))
            return hf_unknown(r, key,
                              "allowed are sparse layers of an interval, as ernie4_5_moe has them");
    const struct {
        const char *key;
        int64_t value;
    } ours[] = { { "moe_layer_start_index", first },
                 { "moe_layer_end_index", last },
                 { "moe_layer_interval", interval } };
    for (int i = 0; i < 3; i++)
        hf_put_option(r->arena, root, ours[i].key,
                      arena_printf(r->arena, "%lld", (long long)ours[i].value));
    return NULL;
}

Error *hf_take_ernie_vl(HfReading *r, Yaml *root)
{
    TRY(take_width(r, root));
    return take_types(r, root);
}
