/* gemma3n.c - what Gemma 3n has of its own: several streams, embeddings of each layer, upper layers
 * that read keys and values of lower ones, and layers whose activation reads a few numbers alone.
 */
#include "base/json.h"
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <math.h>

typedef struct Options {
    int64_t vocab_size_per_layer_input, hidden_size_per_layer_input, altup_active_idx,
        altup_num_inputs, num_kv_shared_layers, laurel_rank;
    double altup_coef_clip;
    bool altup_correct_scale;
    const FloatList *activation_sparsity_pattern;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, vocab_size_per_layer_input, "262144", "rows of the table of each layer's embeddings"),
    HF_COUNT(Options, hidden_size_per_layer_input, "256", "their width"),
    FIELD_INT(Options, altup_num_inputs, "4", 2, 64, "streams"),
    FIELD_INT(Options, altup_active_idx, "0", 0, 63, "the one that layers read"),
    FIELD_FLOAT(Options, altup_coef_clip, "120.0", 0, INFINITY, "bound of weights of what predicts and corrects streams", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(Options, altup_correct_scale, "true", "gates of embeddings read the active stream times learned numbers"),
    FIELD_INT(Options, num_kv_shared_layers, "15", 0, 1000, "the last layers, which read keys and values of others"),
    HF_COUNT(Options, laurel_rank, "64", "rank of the product beside attention"),
    FIELD_FLOATS(Options, activation_sparsity_pattern, "null", 0, 0, "of each layer, what share of its gates is 0"),
    { 0 },
};
/* clang-format on */

static Error *refuse(const HfReading *r)
{
    const Options *o = r->own;
    if (o->altup_active_idx >= o->altup_num_inputs)
        return hf_unknown(r, "altup_active_idx", "it must be below altup_num_inputs");
    if (!o->altup_correct_scale)
        return hf_unknown(r, "altup_correct_scale",
                          "only true is: else files have numbers that nothing reads");
    if (o->num_kv_shared_layers >= r->d->n_layer)
        return hf_unknown(r, "num_kv_shared_layers",
                          "it leaves no layer that makes keys and values");
    if (r->d->logit_cap == 0)
        return hf_unknown(r, "final_logit_softcapping", "the class needs a number above 0");
    return NULL;
}

static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    TRY(refuse(r));
    Norm *n = arena_copy(r->arena, d->usual_norm, sizeof *n),
         *of_values = arena_copy(r->arena, d->usual_norm, sizeof *n);
    n->width = o->hidden_size_per_layer_input;
    of_values->has_weight = false;
    of_values->width = d->head_width;
    d->value_norm = of_values;
    const PerLayerEmbedding made = { .width = n->width,
                                     .vocab_size = o->vocab_size_per_layer_input,
                                     .scale = sqrt((double)n->width),
                                     .norm = n,
                                     .post_norm = d->usual_norm };
    d->per_layer = arena_copy(r->arena, &made, sizeof made);
    const Streams streams = { o->altup_num_inputs, o->altup_active_idx, o->altup_coef_clip,
                              o->altup_correct_scale };
    d->streams = arena_copy(r->arena, &streams, sizeof streams);
    d->laurel_rank = o->laurel_rank;
    return NULL;
}

static Error *read_sparsity(const HfReading *r, DecoderLayer *layer)
{
    static const char key[] = "activation_sparsity_pattern";
    const FloatList *list = ((const Options *)r->own)->activation_sparsity_pattern;
    const int64_t n = r->d->n_layer;
    if (list && list->n != n) return hf_unknown(r, key, "it must have a number for each layer");
    for (int64_t i = 0; i < n; i++) {
        const double share = list ? list->item[i] : n > 10 && i < 10 ? 0.95 : 0;
        if (!(share < 1)) return hf_unknown(r, key, "each is a number below 1");
        layer[i].sparsity = share > 0 ? share : 0;
    }
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    Decoder *d = r->d;
    TRY(read_sparsity(r, layer));
    d->layer = layer;
    for (int64_t i = d->n_layer - ((const Options *)r->own)->num_kv_shared_layers; i < d->n_layer;
         i++) {
        layer[i].shared_kv = true;
        if (!decoder_keys_of(d, &layer[i]))
            return hf_unknown(r, "num_kv_shared_layers",
                              "each type of layer needs one that makes keys and values");
    }
    return NULL;
}

static void put_sparsity(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_json_double(item, l->sparsity);
}

static void put_streams(Text *t, const Streams *s)
{
    if (!s) return;
    hf_put_int(t, "altup_num_inputs", s->n);
    hf_put_int(t, "altup_active_idx", s->active);
    hf_put_double(t, "altup_coef_clip", s->bound);
    hf_put_bool(t, "altup_correct_scale", s->scales);
}

static void add_members(Text *t, const Decoder *d)
{
    const PerLayerEmbedding *p = d->per_layer;
    if (p) hf_put_int(t, "hidden_size_per_layer_input", p->width);
    if (p) hf_put_int(t, "vocab_size_per_layer_input", p->vocab_size);
    put_streams(t, d->streams);
    hf_put_int(t, "num_kv_shared_layers", hf_shared_layers(d));
    hf_put_int(t, "laurel_rank", d->laurel_rank);
    hf_put_of_layers(t, "activation_sparsity_pattern", d, put_sparsity);
}

const HfDialect hf_gemma3n = { .fields = fields,
                               .size = sizeof(Options),
                               .adjust = adjust,
                               .layers = read_layers,
                               .add = add_members };
