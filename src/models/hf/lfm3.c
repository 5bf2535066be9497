/* lfm3.c - what LFM 3 has beside the layers of LFM 2: windows, gates of heads, norms behind. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

typedef struct Options {
    bool use_sandwich_norm, use_attention_gate;
} Options;

static const Field fields[] = {
    FIELD_BOOL(Options, use_sandwich_norm, "true", "norms behind layers, too"),
    FIELD_BOOL(Options, use_attention_gate, "true", "what heads give is gated"),
    { 0 },
};

/* Without layer_types every second layer from the third on has attention, which sees all keys in
 * the third, and in every fourth from there on. */
static Error *read_options(HfReading *r)
{
    const int64_t n = r->c.num_hidden_layers ? *r->c.num_hidden_layers : 0;
    if (!yaml_get(r->root, "conv_L_cache")) r->c.conv_L_cache = 7;
    if (r->c.layer_types) return NULL;
    StringList *types = NEW(r->arena, StringList);
    *types = (StringList){ NEW_N(r->arena, const char *, n), n };
    for (int64_t i = 0; i < n; i++)
        types->item[i] = i % 4 == 2        ? "full_attention"
                         : i && i % 4 == 0 ? "sliding_attention"
                                           : "conv";
    r->c.layer_types = types;
    return NULL;
}

static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    if (!o->use_sandwich_norm) d->attention_post_norm = d->ffn_post_norm = NULL;
    if (o->use_attention_gate) d->attention_gate = GATE_HEAD;
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    const int64_t n = r->d->n_layer, head = r->d->head_width;
    RopeScaling *rope = NEW_N(r->arena, RopeScaling, 2);
    const HfTypedRope silent[] = { { "full_attention", 1e6, 0.5 },
                                   { "sliding_attention", 1e4, 0 } };
    for (int64_t i = 0; i < n; i++) {
        RopeScaling *own = &rope[layer[i].window > 0];
        layer[i].rope = own;
        if (layer[i].n_rope && own->base == 0)
            TRY(hf_read_typed_rope(r, &silent[layer[i].window > 0], head, own));
    }
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    hf_put_bool(t, "use_sandwich_norm", d->attention_post_norm);
    hf_put_bool(t, "use_attention_gate", d->attention_gate != GATE_NONE);
    hf_put_typed_ropes(t, d);
}

const HfDialect hf_lfm3 = { .fields = fields,
                            .size = sizeof(Options),
                            .read = read_options,
                            .adjust = adjust,
                            .layers = read_layers,
                            .add = add_members,
                            .own_ropes = true };
