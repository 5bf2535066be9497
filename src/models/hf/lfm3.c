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

/* Every second layer from the third on has attention, which sees all keys in the third, and in
 * every fourth from there on. */
static const char *type_of_layer(int64_t i, int64_t n)
{
    (void)n;
    return i % 4 == 2 ? "full_attention" : i && i % 4 == 0 ? "sliding_attention" : "conv";
}

static Error *read_options(HfReading *r)
{
    if (!yaml_get(r->root, "conv_L_cache")) r->c.conv_L_cache = 7;
    return hf_types_of_class(r, type_of_layer);
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
