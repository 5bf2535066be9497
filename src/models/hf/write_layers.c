/* write_layers.c - what config.json says layer by layer: windows, kinds of attention, how
 * positions turn. */
#include "base/json.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

/* A number that gives the width again: there the product is cut to an integer. */
static double turning_share(int64_t width, int64_t head)
{
    const double share = width ? (double)width / (double)head : 1;
    return (int64_t)(share * (double)head) < width ? nextafter(share, 1) : share;
}

/* What makes the scale of scores of the factor; 0: nothing does. Most are short numbers, which
 * rounding brings back. */
static double mscale_of(const Decoder *d, const RopeScaling *s)
{
    if (!d->latent || d->attention_scale <= 0 || s->factor <= 1) return 0;
    const double scale = sqrt(d->attention_scale * sqrt((double)d->head_width));
    return rint(1e9 * (scale - 1) / (0.1 * log(s->factor))) / 1e9;
}

/* An object of its own; with the base, as transformers 5 has it. Phi 3 wants of longrope no more
 * than the factors in it. */
static void put_rope(Text *t, const char *name, const RopeScaling *s, const HfFamily *f,
                     bool with_base, const Decoder *d)
{
    const double mscale = with_base ? 0 : mscale_of(d, s);
    const bool is_phi3 = f->phi3_rope;
    Text r = { 0 };
    text_putc(&r, '{');
    if (with_base) hf_put_double(&r, "rope_theta", s->base);
    if (f->ropes_by_type)
        hf_put_double(&r, "partial_rotary_factor", turning_share(s->width, d->head_width));
    hf_put_text(&r, "rope_type", s->kind == ROPE_PLAIN ? "default" : rope_scaling_choices[s->kind]);
    if (s->kind == ROPE_LONG) {
        hf_put_doubles(&r, "short_factor", &s->short_factors);
        hf_put_doubles(&r, "long_factor", &s->long_factors);
        if (!is_phi3) hf_put_double(&r, "attention_factor", s->attention);
        if (f->keys.mscale) hf_put_double(&r, "short_mscale", s->attention);
        if (f->keys.mscale) hf_put_double(&r, "long_mscale", s->attention);
    } else if (s->kind != ROPE_PLAIN)
        hf_put_double(&r, "factor", s->factor);
    if (f->grows) hf_put_double(&r, "llama_4_scaling_beta", s->growth);
    if (f->grows || s->kind == ROPE_LLAMA3 || s->kind == ROPE_YARN ||
        (s->kind == ROPE_LONG && !is_phi3)) /* what grows by 0 wants a number, too */
        hf_put_int(&r, "original_max_position_embeddings", s->original ? s->original : 1);
    if (s->kind == ROPE_LLAMA3) {
        hf_put_double(&r, "low_freq_factor", s->low_freq);
        hf_put_double(&r, "high_freq_factor", s->high_freq);
    }
    if (s->kind == ROPE_YARN) {
        hf_put_double(&r, "beta_fast", s->beta_fast);
        hf_put_double(&r, "beta_slow", s->beta_slow);
        hf_put_double(&r, "attention_factor", s->attention);
        hf_put_bool(&r, "truncate", s->truncate);
    }
    if (mscale != 0) hf_put_double(&r, "mscale_all_dim", mscale);
    if (mscale != 0 && s->kind == ROPE_LONG) hf_put_double(&r, "factor", s->factor);
    hf_put_key(t, name);
    text_add(t, r.ptr, r.len);
    text_putc(t, '}');
    text_free(&r);
}

void hf_put_rope(Text *t, const char *name, const RopeScaling *s, const HfFamily *f,
                 const Decoder *d)
{
    put_rope(t, name, s, f, true, d);
}

/* A layer with a window, or NULL. */
static const DecoderLayer *local_layer(const Decoder *d)
{
    int64_t i = d->n_layer - 1;
    while (i >= 0 && !d->layer[i].window) i--;
    return i < 0 ? NULL : &d->layer[i];
}

const DecoderLayer *hf_turning_layer(const Decoder *d)
{
    const DecoderLayer *found = NULL;
    for (int64_t i = 0; i < d->n_layer; i++)
        if (decoder_layer_turns(&d->layer[i]) && (!found || !d->layer[i].window))
            found = &d->layer[i];
    return found;
}

static void put_turns(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_puts(item, decoder_layer_turns(l) ? "1" : "0");
}

static void put_base(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_json_double(item, l->n_rope ? l->rope->base : 0);
}

static void put_attention_index(Text *item, const DecoderLayer *l, int64_t i)
{
    if (l->mixer != MIXER_LINEAR) text_printf(item, "%lld", (long long)i);
}

static void put_hybrid_type(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_puts(item, l->mixer == MIXER_LINEAR ? "\"mamba\"" : "\"attention\"");
}

static void put_attention_type(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_printf(item, "\"%s_attention\"",
                l->mixer == MIXER_LINEAR ? "linear"
                : l->chunks              ? "chunked"
                : l->window              ? "sliding"
                                         : "full");
}

static void put_conv_type(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_puts(item, l->mixer == MIXER_CONV ? "\"conv\""
                    : l->window            ? "\"sliding_attention\""
                                           : "\"full_attention\"");
}

static void put_block_type(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_puts(item, l->mixer == MIXER_LINEAR      ? "\"linear_attention\""
                    : l->mixer == MIXER_ATTENTION ? "\"full_attention\""
                    : l->is_sparse                ? "\"moe\""
                                                  : "\"mlp\"");
}

/* Which layers have which attention, in classes where they may differ. */
static void put_kinds(Text *t, const Decoder *d, const HfFamily *f)
{
    if (f->no_attention || f->both_mixers || f->keys.layer_periods) return;
    if (f->one_layer)
        hf_put_of_layers(t, "layers_block_type", d, put_block_type);
    else if (f->short_conv)
        hf_put_of_layers(t, "layer_types", d, put_conv_type);
    else if (f->keys.attn_layer_indices)
        hf_put_of_layers(t, "attn_layer_indices", d, put_attention_index);
    else if (f->state_space)
        hf_put_of_layers(t, "layer_types", d, put_hybrid_type);
    else if (f->linear)
        hf_put_of_layers(t, "layer_types", d, put_block_type);
    else if (f->windows > HF_WINDOW_EACH)
        hf_put_of_layers(t, "layer_types", d, put_attention_type);
}

/* Layers with a window may have another rope; NULL: none. */
static void put_both_ropes(Text *t, const Decoder *d, const RopeScaling *full,
                           const RopeScaling *local, const HfFamily *f)
{
    Text both = { 0 };
    text_putc(&both, '{');
    const RopeScaling *of_type[] = { full, local };
    for (int k = 0; k < 2; k++) {
        const char *type = k ? "sliding_attention" : "full_attention";
        if (of_type[k])
            put_rope(&both, type, of_type[k], f, true, d);
        else
            hf_put_null(&both, type);
    }
    hf_put_key(t, "rope_parameters");
    text_add(t, both.ptr, both.len);
    text_putc(t, '}');
    text_free(&both);
}

/* That of the first layer which turns, with a window or without; NULL: none does. */
static const RopeScaling *rope_of_type(const Decoder *d, bool local)
{
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].n_rope && (d->layer[i].window > 0) == local) return d->layer[i].rope;
    return NULL;
}

/* A share that gives the width again: there the product is cut to whole pairs. */
static double share_of(int64_t width, int64_t head)
{
    const double share = (double)width / (double)head;
    return 2 * (int64_t)(share * (double)head / 2) < width ? nextafter(share, 1) : share;
}

static void put_typed_rope(Text *t, const char *type, const RopeScaling *s, int64_t head)
{
    Text r = { 0 };
    const bool is_plain = s->kind == ROPE_PLAIN && !s->width;
    text_putc(&r, '{');
    hf_put_double(&r, "rope_theta", s->base);
    hf_put_text(&r, "rope_type", is_plain ? "default" : "proportional");
    if (!is_plain)
        hf_put_double(&r, "partial_rotary_factor", s->width ? share_of(s->width, head) : 1);
    if (s->kind == ROPE_LINEAR) hf_put_double(&r, "factor", s->factor);
    hf_put_key(t, type);
    text_add(t, r.ptr, r.len);
    text_putc(t, '}');
    text_free(&r);
}

int64_t hf_shared_layers(const Decoder *d)
{
    int64_t n = 0;
    for (int64_t i = 0; i < d->n_layer; i++) n += d->layer[i].shared_kv;
    return n;
}

void hf_put_typed_ropes(Text *t, const Decoder *d)
{
    const DecoderLayer *of_type[2] = { NULL, NULL }; /* with a window, and without */
    Text ropes = { 0 };
    for (int64_t i = d->n_layer - 1; i >= 0; i--)
        if (d->layer[i].n_rope) of_type[!d->layer[i].window] = &d->layer[i];
    text_putc(&ropes, '{');
    for (int k = 0; k < 2; k++) {
        const DecoderLayer *l = of_type[k];
        const RopeScaling plain = { .base = k ? 1e6 : 1e4 };
        put_typed_rope(&ropes, k ? "full_attention" : "sliding_attention", l ? l->rope : &plain,
                       l ? decoder_head_width_of(d, l) : d->head_width);
    }
    hf_put_key(t, "rope_parameters");
    text_add(t, ropes.ptr, ropes.len);
    text_putc(t, '}');
    text_free(&ropes);
}

void hf_put_layers(Text *t, const Decoder *d, const HfFamily *f)
{
    const DecoderLayer *local = local_layer(d), *full = hf_turning_layer(d);
    /* classes that have both kinds of layers want a window, even where none has it */
    const bool needs = f->needs_window ||
                       (f->windows >= HF_WINDOW_ALTERNATING && f->windows <= HF_WINDOW_PATTERN) ||
                       f->windows == HF_WINDOW_ROPE || (f->windows == HF_WINDOW_HYBRID && !full);
    const char *window = f->window_key ? f->window_key : "sliding_window";
    hf_put_optional_int(t, window, local ? local->window : needs ? f->window : 0);
    if (local) hf_put_bool(t, "use_sliding_window", true);
    put_kinds(t, d, f);
    if (f->dialect && f->dialect->own_ropes) return;
    if (f->keys.position_embedding_type)
        hf_put_text(t, "position_embedding_type", full ? "rope" : "nope");
    if (f->keys.layer_rope_theta) hf_put_of_layers(t, "layer_rope_theta", d, put_base);
    if (f->keys.no_rope_layers) hf_put_of_layers(t, "no_rope_layers", d, put_turns);
    if (f->ropes_may_be_null)
        put_both_ropes(t, d, rope_of_type(d, false), rope_of_type(d, true), f);
    if (!full || f->ropes_may_be_null) return;
    if (f->windows == HF_WINDOW_NAMED || f->ropes_by_type) {
        put_both_ropes(t, d, full->rope, local && local->n_rope ? local->rope : full->rope, f);
        return;
    }
    hf_put_double(t, f->theta_key ? f->theta_key : "rope_theta", full->rope->base);
    if (f->rotary_share > 0)
        hf_put_double(t, f->share_key ? f->share_key : "partial_rotary_factor",
                      turning_share(full->rope->width, d->head_width));
    if (full->rope->kind == ROPE_LONG && f->phi3_rope)
        hf_put_int(t, "original_max_position_embeddings", full->rope->original);
    if (full->rope->kind == ROPE_PLAIN && f->scaled_rope)
        put_rope(t, "rope_parameters", full->rope, f, true, d);
    if (full->rope->kind != ROPE_PLAIN) put_rope(t, "rope_scaling", full->rope, f, false, d);
    if (f->windows != HF_WINDOW_PATTERN || !local || !local->n_rope) return;
    if (f->local_theta != 0) {
        hf_put_double(t, "rope_local_base_freq", local->rope->base);
        return;
    }
    put_both_ropes(t, d, full->rope, local->rope, f);
}
