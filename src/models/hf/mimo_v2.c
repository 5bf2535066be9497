/* mimo_v2.c - what MiMo V2 has of its own: values of another width than keys, and layers with a
 * window, which have twice the key heads, and alone have sinks. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

typedef struct Options {
    const double *attention_value_scale;
    const int64_t *sliding_window_size;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_FLOAT(Options, attention_value_scale, "null", 0, INFINITY, "multiplies values; null: nothing does", .flags = FIELD_OPEN_MIN),
    FIELD_INT(Options, sliding_window_size, "null", 0, 2147483646, "earlier keys that a token sees; sliding_window counts its own, too"),
    { 0 },
};
/* clang-format on */

/* After the sizes. What multiplies all values multiplies what attention gives: there is no bias
 * behind it. */
static Error *adjust(HfReading *r)
{
    static const char scale_key[] = "attention_value_scale";
    const Options *o = r->own;
    Decoder *d = r->d;
    const int64_t values = r->c.v_head_dim ? *r->c.v_head_dim : 128;
    d->value_width = values == d->head_width ? 0 : values;
    Multipliers *m = arena_copy(r->arena, decoder_multipliers(d), sizeof *m);
    m->attention_out = o->attention_value_scale        ? *o->attention_value_scale
                       : !yaml_get(r->root, scale_key) ? 0.707
                                                       : 1;
    d->multipliers = m;
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    const int64_t *size = ((const Options *)r->own)->sliding_window_size;
    Decoder *d = r->d;
    bool any = false;
    for (int64_t i = 0; i < d->n_layer; i++) {
        DecoderLayer *l = &layer[i];
        l->no_sinks = !l->window;
        if (!l->window) continue;
        any = true;
        l->n_head_kv = 2 * d->n_head_kv;
        if (size) l->window = *size + 1;
        if (d->n_head_q % l->n_head_kv)
            return hf_unknown(r, "num_key_value_heads",
                              "twice of it, as layers with a window have, must divide "
                              "num_attention_heads");
    }
    d->attention_sinks = any;
    for (int64_t i = 0; i < d->n_layer && !any; i++) layer[i].no_sinks = false;
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    hf_put_double(t, "attention_value_scale", decoder_multipliers(d)->attention_out);
    hf_put_int(t, "v_head_dim", d->value_width ? d->value_width : d->head_width);
}

const HfDialect hf_mimo_v2 = { .fields = fields,
                               .size = sizeof(Options),
                               .adjust = adjust,
                               .layers = read_layers,
                               .add = add_members };
