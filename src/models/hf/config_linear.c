/* config_linear.c - linear attention: its sizes, and which layers are of it. */
#include "models/hf/config_parts.h"
#include <string.h>

/* What the class has where config.json is silent. */
static int64_t size_of(const int64_t *given, int64_t of_class)
{
    return given ? *given : of_class;
}

Error *hf_read_linear(HfReading *r)
{
    const HfConfig *c = &r->c;
    LinearAttention *l = NEW(r->arena, LinearAttention);
    Norm *n = arena_copy(r->arena, r->d->usual_norm, sizeof *n);
    *l = (LinearAttention){ .key_heads = size_of(c->linear_num_key_heads, 16),
                            .value_heads = size_of(c->linear_num_value_heads, 32),
                            .key_width = size_of(c->linear_key_head_dim, 128),
                            .value_width = size_of(c->linear_value_head_dim, 128),
                            .conv_width = size_of(c->linear_conv_kernel_dim, 4),
                            .most_rate = 1,
                            .norm = n };
    n->width = l->value_width;
    n->from_one = false;
    if (l->value_heads % l->key_heads)
        return hf_unknown(r, "linear_num_value_heads", "it must be a multiple of the key heads");
    if (l->conv_width < 2)
        return hf_unknown(r, "linear_conv_kernel_dim", "a convolution sees at least 2 tokens");
    if (r->d->activation != ACTIVATE_SILU)
        return hf_unknown(r, "hidden_act", "only silu is, of queries, keys and values");
    if (r->family->gated_attention && c->attention_bias && *c->attention_bias)
        return hf_unknown(r, "attention_bias", "only false is: gates would have biases, too");
    r->d->linear = l;
    return NULL;
}

static bool has(const IntList *list, int64_t i)
{
    for (int64_t k = 0; k < list->n; k++)
        if (list->item[k] == i) return true;
    return false;
}

/* Short convolutions, but for layers that are listed; without a list there are none. */
static Error *conv_or_attention(const HfReading *r, int64_t i, Mixer *out)
{
    const StringList *list = r->c.layer_types;
    const char *type = list && i < list->n ? list->item[i] : "";
    const IntList *attention = r->c.full_attn_idxs;
    *out = list ? (strcmp(type, "conv") != 0 ? MIXER_ATTENTION : MIXER_CONV)
                : (!attention || has(attention, i) ? MIXER_ATTENTION : MIXER_CONV);
    if (!list || *out == MIXER_CONV || !strcmp(type, "full_attention")) return NULL;
    const bool windows = r->family->windows != HF_NO_WINDOW;
    if (windows && !strcmp(type, "sliding_attention")) return NULL;
    return hf_unknown(r, "layer_types",
                      windows ? "each layer is of type full_attention, sliding_attention or conv"
                              : "each layer is of type full_attention or conv");
}

Error *hf_read_mixer(const HfReading *r, int64_t i, Mixer *out)
{
    *out = MIXER_ATTENTION;
    if (r->family->both_mixers) {
        *out = MIXER_BOTH;
        return NULL;
    }
    if (r->family->keys.layer_periods) {
        const bool attends = i % r->c.attn_layer_period == r->c.attn_layer_offset;
        *out = attends ? MIXER_ATTENTION : MIXER_LINEAR;
        return NULL;
    }
    if (r->family->short_conv) return conv_or_attention(r, i, out);
    if (r->family->keys.attn_layer_indices) {
        *out = has(&r->c.attn_layer_indices, i) ? MIXER_ATTENTION : MIXER_LINEAR;
        return NULL;
    }
    const StringList *list = r->c.layer_types;
    const char *type = list && i < list->n ? list->item[i] : "";
    const bool of_spaces = r->family->state_space;
    const bool is_linear =
        !list ? of_spaces || (i + 1) % r->c.full_attention_interval != 0
              : !strcmp(type, "linear_attention") || (of_spaces && !strcmp(type, "mamba"));
    if (is_linear) *out = MIXER_LINEAR;
    if (!list || is_linear || !strcmp(type, "full_attention")) return NULL;
    if (of_spaces && !strcmp(type, "attention")) return NULL;
    return hf_unknown(r, "layer_types",
                      of_spaces ? "each layer is of type attention or mamba"
                                : "each layer is of type full_attention or linear_attention");
}

Error *hf_types_of_class(HfReading *r, const char *(*type)(int64_t i, int64_t n))
{
    if (r->c.layer_types) return NULL;
    if (!r->c.num_hidden_layers) return hf_unknown(r, "num_hidden_layers", "it is needed");
    StringList *types = NEW(r->arena, StringList);
    types->n = *r->c.num_hidden_layers;
    types->item = NEW_N(r->arena, const char *, types->n);
    for (int64_t i = 0; i < types->n; i++) types->item[i] = type(i, types->n);
    r->c.layer_types = types;
    return NULL;
}
