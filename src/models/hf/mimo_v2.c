/* mimo_v2.c - what MiMo V2 has of its own: values of another width than keys, and layers with a
 * window, which have twice the key heads, and alone have sinks. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

const HfName hf_mimo_v2_names[] = {
    { "transformer.h.%.attn.sinks", "model.layers.%.self_attn.attention_sink_bias", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "model.layers.%.mlp.gate.e_score_correction_bias",
      HF_SAME },
    { 0 },
};

typedef struct Options {
    const double *attention_value_scale;
    const int64_t *sliding_window_size;
    const Yaml *hybrid_layer_pattern;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_FLOAT(Options, attention_value_scale, "null", 0, INFINITY, "multiplies values; null: nothing does", .flags = FIELD_OPEN_MIN),
    FIELD_INT(Options, sliding_window_size, "null", 0, 2147483646, "earlier keys that a token sees; sliding_window counts its own, too"),
    FIELD_ANY(Options, hybrid_layer_pattern, "null", "of each layer: 0, it sees all keys, or 1, it has a window"),
    { 0 },
};
/* clang-format on */

/* What the authors' file lists as 0 or 1 for each layer, by the names that transformers has for
 * them; stays as it is where the file has those. */
static Error *read_list(const HfReading *r, const char *key, const Yaml *from,
                        const char *const names[2], const StringList **to)
{
    if (!from || from->type == YAML_NULL) return NULL;
    const int64_t n = r->c.num_hidden_layers ? *r->c.num_hidden_layers : 0;
    StringList *list = NEW(r->arena, StringList);
    bool fits = from->type == YAML_LIST && from->n == n;
    if (fits) list->item = NEW_N(r->arena, const char *, n);
    for (int64_t i = 0; fits && i < n; i++) {
        const Yaml *item = from->item[i];
        fits = item->type == YAML_INT && (item->integer == 0 || item->integer == 1);
        if (fits) list->item[list->n++] = names[item->integer];
    }
    if (!fits) return hf_unknown(r, key, "it is a list of 0 or 1 for each layer");
    if (!*to) *to = list;
    return NULL;
}

static Error *read_lists(HfReading *r)
{
    static const char *const experts[] = { "dense", "sparse" }, *const windows[] = {
        "full_attention", "sliding_attention"
    };
    HfConfig *c = &r->c;
    const Options *o = r->own;
    TRY(read_list(r, "moe_layer_freq", c->moe_layer_freq, experts, &c->mlp_layer_types));
    c->moe_layer_freq = NULL;
    return read_list(r, "hybrid_layer_pattern", o->hybrid_layer_pattern, windows, &c->layer_types);
}

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
                               .read = read_lists,
                               .adjust = adjust,
                               .layers = read_layers,
                               .add = add_members };
