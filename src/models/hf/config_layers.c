/* config_layers.c - what differs from layer to layer: windows, whether positions turn, experts,
 * linear attention. */
#include "models/hf/config_parts.h"
#include <string.h>

/* What sliding_window says; 0: no window. */
static Error *read_window(const HfReading *r, int64_t *out)
{
    const bool *use = r->c.use_sliding_window;
    const char *key = r->family->window_key ? r->family->window_key : "sliding_window";
    const Yaml *v = yaml_get(r->root, key);
    const bool asks = r->family->keys.use_sliding_window;
    *out = 0;
    if (r->family->windows == HF_NO_WINDOW || (asks && !(use && *use))) return NULL;
    *out = !v ? r->family->window : v->type == YAML_INT ? v->integer : 0;
    if (*out <= 0 && r->family->needs_window)
        return hf_unknown(r, key, "only positive integers are");
    if (!v || v->type == YAML_NULL || *out > 0) return NULL;
    return hf_unknown(r, key, "allowed are a positive integer and null");
}

static bool turns(const HfReading *r, int64_t i)
{
    const HfConfig *c = &r->c;
    if (r->family->keys.position_embedding_type)
        return c->position_embedding_type && !strcmp(c->position_embedding_type, "rope");
    if (!r->family->keys.no_rope_layers)
        return !r->family->learned_positions && !r->family->no_rope && r->d->alibi == 0;
    if (c->no_rope_layers.n) return c->no_rope_layers.item[i] != 0;
    return (i + 1) % c->no_rope_layer_interval != 0;
}

/* Each such layer sees all; 0: what the file says is no number. Letters for layers (EXAONE's
 * "LLLG") come with layer_types alone. */
static int64_t pattern_of(const HfReading *r)
{
    const char *own = r->family->pattern_key;
    const Yaml *v = own ? yaml_get(r->root, own) : r->c.sliding_window_pattern;
    if (!v || v->type == YAML_NULL) return r->family->pattern;
    return v->type == YAML_INT && v->integer > 0 ? v->integer : 0;
}

static Error *is_local(const HfReading *r, int64_t i, bool *out)
{
    const HfConfig *c = &r->c;
    const int64_t pattern = pattern_of(r);
    const int64_t bound = c->max_window_layers     ? *c->max_window_layers
                          : r->family->pattern > 0 ? r->family->pattern
                                                   : 28;
    if (c->layer_types) {
        const char *type = i < c->layer_types->n ? c->layer_types->item[i] : "";
        const bool chunks = r->family->windows == HF_WINDOW_CHUNKS;
        *out = !strcmp(type, chunks ? "chunked_attention" : "sliding_attention");
        if (*out || !strcmp(type, "full_attention")) return NULL;
        return hf_unknown(r, "layer_types",
                          chunks ? "each layer is of type full_attention or chunked_attention"
                                 : "each layer is of type full_attention or sliding_attention");
    }
    switch (r->family->windows) {
    case HF_WINDOW_ALTERNATING:
        *out = i % 2 == 0;
        break;
    case HF_WINDOW_BEHIND:
    case HF_WINDOW_PATTERN:
    case HF_WINDOW_ROPE:
    case HF_WINDOW_HYBRID:
        if (pattern <= 0)
            return hf_unknown(
                r, r->family->pattern_key ? r->family->pattern_key : "sliding_window_pattern",
                "known are positive integers");
        *out = (r->family->windows == HF_WINDOW_BEHIND ? i : i + 1) % pattern != 0;
        break;
    case HF_WINDOW_INNER:
        *out = i > 1 && i % r->family->pattern != 1 && i != r->d->n_layer - 1;
        break;
    case HF_WINDOW_BUT_FIRST:
        *out = i && (i + 1) % r->family->pattern != 0;
        break;
    case HF_WINDOW_NAMED:
        *out = false;
        break;
    case HF_WINDOW_UPPER:
        *out = i >= bound;
        break;
    case HF_WINDOW_LOWER:
        *out = i % 2 == 0 && i < bound;
        break;
    case HF_WINDOW_NO_ROPE:
    case HF_WINDOW_CHUNKS:
        *out = turns(r, i) == (r->family->windows == HF_WINDOW_CHUNKS);
        break;
    default:
        *out = true;
    }
    return NULL;
}

int64_t hf_n_ahead(const HfReading *r)
{
    const int64_t *n = r->c.num_nextn_predict_layers;
    return r->family->keys.num_nextn_predict_layers && n ? *n : 0;
}

static bool is_sparse(const HfReading *r, int64_t i)
{
    const HfConfig *c = &r->c;
    if (!r->d->moe) return false;
    if (r->family->no_dense) return true;
    if (r->family->keys.layer_periods) return i % c->expert_layer_period == c->expert_layer_offset;
    if (r->family->keys.mlp_layer_types && c->mlp_layer_types)
        return !strcmp(c->mlp_layer_types->item[i], "sparse");
    if (r->family->first_sparse_key) {
        const int64_t *first = hf_count(r, r->family->first_sparse_key);
        return i >= (first ? *first : r->family->first_sparse);
    }
    if (r->family->keys.mlp_layer_types) return i >= r->family->first_sparse;
    if (r->family->ernie_moe)
        return (i + 1) % c->moe_layer_interval == 0 && i >= c->moe_layer_start_index &&
               (c->moe_layer_end_index < 0 || i <= c->moe_layer_end_index);
    const IntList *dense = c->mlp_only_layers;
    if (!dense && i < r->family->first_sparse) return false;
    for (int64_t k = 0; dense && k < dense->n; k++)
        if (dense->item[k] == i) return false;
    return (i + 1) % c->decoder_sparse_step == 0;
}

static Error *check_layer_types(const HfReading *r)
{
    const StringList *list = r->c.mlp_layer_types;
    if (!r->family->keys.mlp_layer_types || !list) return NULL;
    bool fits = list->n >= r->d->n_layer;
    for (int64_t i = 0; fits && i < list->n; i++)
        fits = !strcmp(list->item[i], "dense") || !strcmp(list->item[i], "sparse");
    return fits ? NULL : hf_unknown(r, "mlp_layer_types", "each layer is dense or sparse");
}

static DecoderLayer layer_alone(char letter)
{
    return (DecoderLayer){ .mixer = letter == 'M'   ? MIXER_LINEAR
                                    : letter == '*' ? MIXER_ATTENTION
                                                    : MIXER_NONE,
                           .is_sparse = letter == 'E',
                           .no_ffn = letter == 'M' || letter == '*' };
}

/* Widths of feed-forward layers. */
static Error *read_hidden(const HfReading *r, DecoderLayer *layer)
{
    const Yaml *list = r->hidden;
    if (!list) return NULL;
    if (list->n != r->d->n_layer)
        return error_new("%s: intermediate_size: it must have a number for each layer",
                         yaml_place(r->arena, list));
    for (int64_t i = 0; i < list->n; i++)
        if (list->item[i]->integer != r->d->hidden) layer[i].hidden = list->item[i]->integer;
    return NULL;
}

/* In classes whose layers each have a base of their own. */
static Error *read_bases(const HfReading *r, DecoderLayer *layer)
{
    static const char key[] = "layer_rope_theta";
    const FloatList *base = r->c.layer_rope_theta;
    const int64_t n = r->d->n_layer;
    if (!r->family->keys.layer_rope_theta || !base) return NULL;
    if (base->n < n) return hf_unknown(r, key, "it must have a number for each layer");
    RopeScaling *rope = NEW_N(r->arena, RopeScaling, n);
    for (int64_t i = 0; i < n; i++) {
        if (!(base->item[i] >= 0 && isfinite(base->item[i])))
            return hf_unknown(r, key, "each is a number above 0, or 0: no position turns");
        rope[i] = *layer[i].rope;
        rope[i].base = base->item[i];
        layer[i].rope = &rope[i];
        layer[i].n_rope = base->item[i] > 0;
    }
    return NULL;
}

/* A type of layer that has no rope in rope_parameters. */
static Error *check_ropes(const HfReading *r, const DecoderLayer *layer)
{
    const bool reads_own = r->family->dialect && r->family->dialect->own_ropes;
    for (int64_t i = 0; r->family->ropes_by_type && !reads_own && i < r->d->n_layer; i++)
        if (layer[i].n_rope && !(layer[i].rope->base > 0))
            return hf_unknown(r, "rope_parameters",
                              "each type of layer needs an object in it, full_attention and "
                              "sliding_attention");
    return NULL;
}

/* rope_parameters say null of a type of layer. */
static bool has_no_rope(const HfReading *r, bool local)
{
    const Yaml *p = yaml_get(r->c.rope_parameters, local ? "sliding_attention" : "full_attention");
    return r->family->ropes_may_be_null && p && p->type == YAML_NULL;
}

Error *hf_read_layers(HfReading *r)
{
    Decoder *d = r->d;
    RopeScaling *rope = NEW_N(r->arena, RopeScaling, 2);
    const int64_t n_ahead = hf_n_ahead(r);
    DecoderLayer *layer = NEW_N(r->arena, DecoderLayer, d->n_layer + n_ahead);
    int64_t window;
    if (r->family->keys.no_rope_layers && r->c.no_rope_layers.n &&
        r->c.no_rope_layers.n < d->n_layer)
        return hf_unknown(r, "no_rope_layers", "it must have a number for each layer");
    TRY(check_layer_types(r));
    TRY(hf_read_ropes(r, &rope[0], &rope[1]));
    TRY(read_window(r, &window));
    if (r->family->keys.attn_layer_indices && 2 * rope[0].width != d->head_width)
        return hf_unknown(r, "partial_rotary_factor", "only 0.5 is: the class asks for no other");
    const bool all_turn =
        r->family->windows < HF_WINDOW_ROPE || (r->family->windows == HF_WINDOW_HYBRID && !window);
    for (int64_t i = 0; i < d->n_layer; i++) {
        bool local = false;
        Mixer mixer = MIXER_ATTENTION;
        if (r->blocks) {
            layer[i] = layer_alone(r->blocks[i]);
            continue;
        }
        const HfFamily *f = r->family;
        const bool has_mixers = f->linear || f->state_space || f->selective || f->short_conv;
        if (has_mixers) TRY(hf_read_mixer(r, i, &mixer));
        if (!has_mixers || (f->windows && mixer == MIXER_ATTENTION)) TRY(is_local(r, i, &local));
        const int64_t own = local ? window : 0;
        layer[i] =
            (DecoderLayer){ .mixer = mixer,
                            .window = own,
                            .rope = &rope[local],
                            .n_rope = (mixer == MIXER_ATTENTION || mixer == MIXER_BOTH) &&
                                      turns(r, i) && (all_turn || own) && !has_no_rope(r, local),
                            .is_sparse = is_sparse(r, i) };
    }
    TRY(read_bases(r, layer));
    TRY(read_hidden(r, layer));
    TRY(check_ropes(r, layer));
    const HfDialect *dialect = r->family->dialect;
    if (dialect && dialect->layers) TRY(dialect->layers(r, layer));
    for (int64_t i = d->n_layer; i < d->n_layer + n_ahead; i++) {
        layer[i] = layer[i - 1];
        layer[i].is_sparse = true;
        layer[i].shared_index = false;
    }
    d->layer = layer;
    if (rope[0].kind != ROPE_DYNAMIC) return NULL;
    const double longest = rope[0].factor * (double)rope[0].original;
    if (!(longest >= 1 && longest <= 2147483647))
        return hf_unknown(r, "max_position_embeddings", "no text is of that length times factor");
    d->sequence_length = (int64_t)longest;
    return NULL;
}
