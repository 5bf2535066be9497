/* llama4.c - what Llama 4 has of its own: chunks in the place of windows, queries that
 * grow where no position turns, and experts whose inputs are weighed. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <math.h>
#include <string.h>

const HfName hf_llama4_names[] = {
    { "transformer.h.%.mlp.W.*", "model.layers.%.feed_forward.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "model.layers.%.feed_forward.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.feed_forward.down_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.feed_forward.shared_expert.gate_proj.*",
      HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.feed_forward.shared_expert.up_proj.*",
      HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.feed_forward.shared_expert.down_proj.*",
      HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.feed_forward.router.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.weight", "model.layers.%.feed_forward.experts.gate_up_proj",
      HF_STACKED_FIRST_COLUMNS },
    { "transformer.h.%.mlp.experts.V.weight", "model.layers.%.feed_forward.experts.gate_up_proj",
      HF_STACKED_SECOND_COLUMNS },
    { "transformer.h.%.mlp.experts.W_2.weight", "model.layers.%.feed_forward.experts.down_proj",
      HF_STACKED },
    { 0 },
};

typedef struct Options {
    const Yaml *attention_chunk_size, *attn_temperature_tuning;
    int64_t floor_scale, interleave_moe_layer_step;
    double attn_scale;
    const IntList *moe_layers;
    const int64_t *intermediate_size_mlp;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_ANY(Options, attention_chunk_size, "absent", "keys of how many tokens stand together"),
    FIELD_ANY(Options, attn_temperature_tuning, "null", "queries grow where no position turns"),
    HF_COUNT(Options, floor_scale, "8192", "with each so many tokens"),
    FIELD_FLOAT(Options, attn_scale, "0.1", 0, INFINITY, "by that times the logarithm"),
    FIELD_LIST(Options, moe_layers, IntList, &field_int_item, "null", 0, 0, "layers that are sparse"),
    HF_COUNT(Options, interleave_moe_layer_step, "1", "each such layer is sparse, if there is no list"),
    HF_COUNT(Options, intermediate_size_mlp, "null", "width of the feed-forward layers that are not sparse"),
    { 0 },
};
/* clang-format on */

/* The first files have a number, of which any but 0 means true. */
static Error *is_tuned(const HfReading *r, bool *out)
{
    static const char key[] = "attn_temperature_tuning";
    const Yaml *v = ((const Options *)r->own)->attn_temperature_tuning;
    *out = !v || (v->type == YAML_BOOL ? v->boolean : v->integer != 0);
    if (!v || v->type == YAML_BOOL || v->type == YAML_INT) return NULL;
    return hf_unknown(r, key, "known are true and false");
}

static bool is_sparse(const HfReading *r, int64_t i)
{
    const Options *o = r->own;
    const IntList *list = o->moe_layers;
    if (!list) return (i + 1) % o->interleave_moe_layer_step == 0;
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

static Error *adjust(HfReading *r)
{
    Decoder *d = r->d;
    const int64_t *hidden = ((const Options *)r->own)->intermediate_size_mlp;
    const bool asked = r->c.use_qk_norm || !yaml_get(r->root, "use_qk_norm");
    d->hidden = hidden ? *hidden : 16384;
    d->qk_norm = NULL;
    d->qk_norm_before_rope = false;
    if (!asked) return NULL;
    Norm *n = arena_copy(r->arena, d->usual_norm, sizeof *n);
    n->width = d->head_width;
    n->has_weight = false;
    d->qk_norm = n;
    return NULL;
}

/* The class never takes router_aux_loss_coef into its loss. */
static Error *read_router(const HfReading *r, Moe *m)
{
    (void)r;
    m->has_biases = false;
    m->weigh_inputs = true;
    m->shared_hidden = m->hidden;
    m->aux_loss = 0;
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    const Options *o = r->own;
    const Decoder *d = r->d;
    bool tuned;
    TRY(is_tuned(r, &tuned));
    TRY(check_chunks(r, layer));
    RopeScaling *still = NEW(r->arena, RopeScaling);
    *still = (RopeScaling){ .base = 1,
                            .attention = 1,
                            .growth = o->attn_scale,
                            .growth_offset = 1,
                            .original = o->floor_scale,
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

/* Of queries in layers whose positions do not turn. */
static void put_growth(Text *t, const Decoder *d)
{
    const RopeScaling *s = NULL;
    for (int64_t i = 0; i < d->n_layer && !s; i++)
        if (d->layer[i].n_rope && d->layer[i].rope->still) s = d->layer[i].rope;
    hf_put_bool(t, "attn_temperature_tuning", s);
    if (!s) return;
    hf_put_double(t, "attn_scale", s->growth);
    hf_put_int(t, "floor_scale", s->original);
}

static void put_sparse_index(Text *item, const DecoderLayer *l, int64_t i)
{
    if (l->is_sparse) text_printf(item, "%lld", (long long)i);
}

static void add_members(Text *t, const Decoder *d)
{
    if (d->hidden) hf_put_int(t, "intermediate_size_mlp", d->hidden);
    put_growth(t, d);
    if (d->moe) hf_put_of_layers(t, "moe_layers", d, put_sparse_index);
}

const HfDialect hf_llama4 = { .fields = fields,
                              .size = sizeof(Options),
                              .adjust = adjust,
                              .router = read_router,
                              .layers = read_layers,
                              .add = add_members };
