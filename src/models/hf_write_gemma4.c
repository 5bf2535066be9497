/* hf_write_gemma4.c - the members of config.json that Gemma 4 alone has. */
#include "models/hf_write_members.h"
#include "models/hf_write_values.h"

/* A share that gives the width again: there the product is cut to whole pairs. */
static double share_of(int64_t width, int64_t head)
{
    const double share = (double)width / (double)head;
    return 2 * (int64_t)(share * (double)head / 2) < width ? nextafter(share, 1) : share;
}

static void put_rope(Text *t, const char *type, const RopeScaling *s, int64_t head)
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

void hf_put_gemma4(Text *t, const Decoder *d)
{
    const DecoderLayer *of_type[2] = { NULL, NULL }; /* with a window, and without */
    Text ropes = { 0 };
    for (int64_t i = d->n_layer - 1; i >= 0; i--) of_type[!d->layer[i].window] = &d->layer[i];
    const DecoderLayer *full = of_type[1];
    hf_put_int(t, "hidden_size_per_layer_input", 0);
    hf_put_int(t, "num_kv_shared_layers", 0);
    hf_put_bool(t, "attention_k_eq_v", full && full->keys_as_values);
    if (full) {
        hf_put_int(t, "global_head_dim", decoder_head_width_of(d, full));
        hf_put_int(t, "num_global_key_value_heads", decoder_key_heads_of(d, full));
    }
    text_putc(&ropes, '{');
    for (int k = 0; k < 2; k++) {
        const DecoderLayer *l = of_type[k] && of_type[k]->n_rope ? of_type[k] : NULL;
        const RopeScaling plain = { .base = k ? 1e6 : 1e4 };
        put_rope(&ropes, k ? "full_attention" : "sliding_attention", l ? l->rope : &plain,
                 l ? decoder_head_width_of(d, l) : d->head_width);
    }
    hf_put_key(t, "rope_parameters");
    text_add(t, ropes.ptr, ropes.len);
    text_putc(t, '}');
    text_free(&ropes);
    hf_put_bool(t, "enable_moe_block", d->moe);
    if (!d->moe) return;
    hf_put_int(t, "num_experts", d->moe->n_experts);
    hf_put_int(t, "top_k_experts", d->moe->top_k);
    hf_put_int(t, "moe_intermediate_size", d->moe->hidden);
}
