/* hf_config_llama4.c - what Llama 4 has of its own: chunks in the place of windows, queries that
 * grow where no position turns, and experts whose inputs are weighed. */
#include "models/hf_config_parts.h"
#include <string.h>

/* The first files have a number, of which any but 0 means true. */
static Error *is_tuned(const HfReading *r, bool *out)
{
    static const char key[] = "attn_temperature_tuning";
    const Yaml *v = r->c.attn_temperature_tuning;
    *out = !v || (v->type == YAML_BOOL ? v->boolean : v->integer != 0);
    if (!v || v->type == YAML_BOOL || v->type == YAML_INT) return NULL;
    return hf_unknown(r, key, "known are true and false");
}

static bool is_sparse(const HfReading *r, int64_t i)
{
    const IntList *list = r->c.moe_layers;
    if (!list) return (i + 1) % r->c.interleave_moe_layer_step == 0;
    for (int64_t k = 0; k < list->n; k++)
        if (list->item[k] == i) return true;
    return false;
}

static Error *check_chunks(const HfReading *r, const DecoderLayer *layer)
{
    const StringList *types = r->c.layer_types;
    for (int64_t i = 0; types && i < r->d->n_layer; i++)
        if (!strcmp(types->item[i], "chunked_attention") && !layer[i].window)
            return hf_unknown(r, "attention_chunk_size", "layers of chunked_attention need it");
    return NULL;
}

void hf_read_llama4(HfReading *r)
{
    Decoder *d = r->d;
    const int64_t *hidden = r->c.intermediate_size_mlp;
    const bool asked = r->c.use_qk_norm || !yaml_get(r->root, "use_qk_norm");
    d->hidden = hidden ? *hidden : 16384;
    d->qk_norm = NULL;
    d->qk_norm_before_rope = false;
    if (!asked) return;
    Norm *n = arena_copy(r->arena, d->head_norm, sizeof *n);
    n->width = d->head_width;
    n->has_weight = false;
    d->qk_norm = n;
}

/* The class never takes router_aux_loss_coef into its loss. */
void hf_read_llama4_router(Moe *m)
{
    m->has_biases = false;
    m->weigh_inputs = true;
    m->shared_hidden = m->hidden;
    m->aux_loss = 0;
}

Error *hf_read_llama4_layers(HfReading *r, DecoderLayer *layer)
{
    const Decoder *d = r->d;
    bool tuned;
    TRY(is_tuned(r, &tuned));
    TRY(check_chunks(r, layer));
    RopeScaling *still = NEW(r->arena, RopeScaling);
    *still = (RopeScaling){ .base = 1,
                            .attention = 1,
                            .growth = r->c.attn_scale,
                            .growth_offset = 1,
                            .original = r->c.floor_scale,
                            .still = true };
    for (int64_t i = 0; i < d->n_layer; i++) {
        layer[i].is_sparse = d->moe && is_sparse(r, i);
        layer[i].chunks = layer[i].window > 0;
        if (layer[i].n_rope) continue;
        layer[i].no_qk_norm = d->qk_norm;
        if (!tuned || still->growth == 0) continue;
        layer[i].rope = still;
        layer[i].n_rope = 1;
    }
    return NULL;
}
