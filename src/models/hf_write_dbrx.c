/* hf_write_dbrx.c - the members of config.json as DBRX has them. */
#include "models/hf_write_members.h"
#include "models/hf_write_values.h"

static void put_part(Text *t, const char *key, Text *part)
{
    hf_put_key(t, key);
    text_add(t, part->ptr, part->len);
    text_putc(t, '}');
    text_free(part);
}

static void put_experts(Text *t, const Moe *m, const char *activation)
{
    Text part = { 0 }, name = { 0 };
    text_putc(&part, '{');
    text_putc(&name, '{');
    hf_put_text(&name, "name", activation);
    put_part(&part, "ffn_act_fn", &name);
    hf_put_int(&part, "ffn_hidden_size", m->hidden);
    hf_put_int(&part, "moe_num_experts", m->n_experts);
    hf_put_int(&part, "moe_top_k", m->top_k);
    hf_put_double(&part, "moe_loss_weight", m->aux_loss);
    hf_put_optional(&part, "moe_normalize_expert_weights", m->normalize ? 1 : 0);
    put_part(t, "ffn_config", &part);
}

void hf_put_dbrx(Text *t, const Decoder *d, const HfFamily *f, const char *activation)
{
    const DecoderLayer *turning = hf_turning_layer(d);
    Text part = { 0 };
    hf_put_double(t, "resid_pdrop", d->dropout);
    text_putc(&part, '{');
    hf_put_double(&part, "attn_pdrop", d->attention_dropout);
    hf_put_optional(&part, "clip_qkv", d->qkv_clip);
    hf_put_int(&part, "kv_n_heads", d->n_head_kv);
    hf_put_double(&part, "rope_theta", turning ? turning->rope->base : f->theta);
    put_part(t, "attn_config", &part);
    if (d->moe) put_experts(t, d->moe, activation);
    hf_put_layers(t, d, f);
}
