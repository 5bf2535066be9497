/* ctrl.c - the options of CTRL, whose positions are sines and cosines. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

const HfName hf_ctrl_names[] = {
    { "transformer.wte.*", "transformer.w.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "transformer.h.%.layernorm1.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "transformer.h.%.layernorm2.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.multi_head_attention.Wq.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.multi_head_attention.Wk.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.multi_head_attention.Wv.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "transformer.h.%.multi_head_attention.dense.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "transformer.h.%.ffn.0.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "transformer.h.%.ffn.2.*", HF_SAME },
    { "transformer.lm_head_norm.*", "transformer.layernorm.*", HF_SAME },
    { "transformer.lm_head.*", "lm_head.*", HF_SAME },
    { 0 },
};

static const HfRenamed renamed[] = { { "dff", "intermediate_size" }, { 0 } };

static const HfSilent silent[] = { { "intermediate_size", "8192" }, { 0 } };

static Error *read_options(HfReading *r)
{
    static const double none = 0;
    Yaml *root = hf_rename_options(r, renamed, silent);
    hf_put_option(r->arena, root, "hidden_act", "relu"); /* always */
    TRY(hf_read_fields(r, hf_config_fields, &r->c));
    r->c.attention_dropout = &none;
    return NULL;
}

/* The epsilon is that of the norm in front of the head alone. */
static Error *adjust(HfReading *r)
{
    Decoder *d = r->d;
    Norm n = *d->head_norm;
    if (d->width % 2)
        return hf_unknown(r, yaml_get(r->root, "n_embd") ? "n_embd" : "hidden_size",
                          "only even numbers are");
    if (r->c.layer_norm_epsilon) n.eps = *r->c.layer_norm_epsilon;
    d->head_norm = arena_copy(r->arena, &n, sizeof n);
    d->sinusoidal_base = 10000;
    d->embedding_scale = sqrt((double)d->width);
    return NULL;
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_sizes(t, d, f, "n_embd", "n_layer", "n_head", "n_positions");
    hf_put_int(t, "dff", d->hidden);
    hf_put_dropout(t, d, f);
    hf_put_double(t, "layer_norm_epsilon", d->head_norm ? d->head_norm->eps : f->eps);
}

const HfDialect hf_ctrl = {
    .renamed = renamed, .read = read_options, .adjust = adjust, .write = write_options
};
