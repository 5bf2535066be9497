/* molmo2.c - the language model of Molmo 2: that of Qwen 3, by its authors' names. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include <string.h>

const HfName hf_molmo2_names[] = {
    { "transformer.wte.weight", "model.transformer.wte.embedding", HF_CUT },
    { "transformer.h.%.attention_norm.*", "model.transformer.blocks.%.attn_norm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.transformer.blocks.%.ff_norm.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "model.transformer.blocks.%.self_attn.att_proj.*",
      HF_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "model.transformer.blocks.%.self_attn.att_proj.*", HF_KEYS },
    { "transformer.h.%.attn.v_attn.*", "model.transformer.blocks.%.self_attn.att_proj.*",
      HF_VALUES },
    { "transformer.h.%.attn.c_proj.*", "model.transformer.blocks.%.self_attn.attn_out.*", HF_SAME },
    { "transformer.h.%.attn.q_norm.*", "model.transformer.blocks.%.self_attn.q_norm.*", HF_SAME },
    { "transformer.h.%.attn.k_norm.*", "model.transformer.blocks.%.self_attn.k_norm.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "model.transformer.blocks.%.mlp.ff_proj.*", HF_FIRST_HALF },
    { "transformer.h.%.mlp.W.*", "model.transformer.blocks.%.mlp.ff_proj.*", HF_SECOND_HALF },
    { "transformer.h.%.mlp.W_2.*", "model.transformer.blocks.%.mlp.ff_out.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.transformer.ln_f.*", HF_SAME },
    { 0 },
};

static bool is_true(const Yaml *v)
{
    return v && v->type == YAML_BOOL && v->boolean;
}

/* Layers whose positions are not scaled, where others' are. */
static bool leaves_some_unscaled(const Yaml *root)
{
    static const char *const keys[] = { "rope_parameters", "rope_scaling" };
    const Yaml *list = yaml_get(root, "rope_scaling_layers"),
               *n = yaml_get(root, "num_hidden_layers");
    bool scaled = false;
    for (int i = 0; i < 2; i++) {
        const Yaml *type = yaml_get(yaml_get(root, keys[i]), "rope_type");
        scaled |= type && type->type == YAML_STRING && strcmp(type->text, "default") != 0;
    }
    if (!scaled || !list || list->type == YAML_NULL) return false;
    bool all = list->type == YAML_LIST && n->type == YAML_INT;
    for (int64_t i = 0; all && i < n->integer; i++) {
        all = false;
        for (int64_t k = 0; !all && k < list->n; k++)
            all = list->item[k]->type == YAML_INT && list->item[k]->integer == i;
    }
    return !all;
}

/* Token ids that the head cannot give, additional_vocab_size of them, are those of images. */
Error *hf_take_molmo2(HfReading *r, Yaml *root)
{
    const Yaml *norms = yaml_get(root, "qk_norm_type"),
               *more = yaml_get(root, "additional_vocab_size"),
               *tied = yaml_get(r->whole, "tie_word_embeddings");
    if (norms && (norms->type != YAML_STRING || strcmp(norms->text, "qwen3") != 0))
        return hf_unknown(r, "qk_norm_type", "only qwen3 is: norms of each head");
    if (is_true(yaml_get(root, "norm_after")))
        return hf_unknown(r, "norm_after", "only false is: Qwen 3 has norms in front of layers");
    if (is_true(yaml_get(root, "attention_bias")))
        return hf_unknown(r, "attention_bias",
                          "only false is: Qwen 3 has a bias behind attention, too");
    if (is_true(tied))
        return error_new("%s: tie_word_embeddings: true is not known; only false is: the class "
                         "does not tie them",
                         yaml_place(r->arena, tied));
    if (leaves_some_unscaled(root))
        return hf_unknown(r, "rope_scaling_layers", "only all layers are: Qwen 3 scales all");
    hf_put_option(r->arena, root, "tie_word_embeddings", "false");
    if (more && (more->type != YAML_INT || more->integer < 0))
        return hf_unknown(r, "additional_vocab_size", "allowed are whole numbers from 0 on");
    r->rows_beyond = more ? more->integer : 128;
    return NULL;
}
