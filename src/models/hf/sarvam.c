/* sarvam.c - what Sarvam 30B and 105B call otherwise than GLM 4.5 and DeepSeek V3, which compute
 * the same. */
#include "models/hf/config_parts.h"
#include <string.h>

typedef struct Options {
    const char *score_function;
    bool moe_router_enable_expert_bias;
    double embedding_dropout, output_dropout;
} Options;

static const Field fields[] = {
    FIELD_STRING(Options, score_function, "null", "of the router's logits"),
    FIELD_BOOL(Options, moe_router_enable_expert_bias, "true", "routers have biases"),
    FIELD_FLOAT(Options, embedding_dropout, "0.0", 0, 1, "dropout of embeddings"),
    FIELD_FLOAT(Options, output_dropout, "0.0", 0, 1, "dropout of layers"),
    { 0 },
};

/* What the authors' files say beside the options of transformers, which counts on it. */
static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    if (o->score_function && strcmp(o->score_function, "sigmoid") != 0)
        return hf_unknown(r, "score_function", "only sigmoid is");
    if (!o->moe_router_enable_expert_bias)
        return hf_unknown(r, "moe_router_enable_expert_bias", "only true is");
    if (r->c.use_bias && *r->c.use_bias) return hf_unknown(r, "use_bias", "only false is");
    if (o->embedding_dropout > 0) return hf_unknown(r, "embedding_dropout", "only 0.0 is");
    if (o->output_dropout > 0) return hf_unknown(r, "output_dropout", "only 0.0 is");
    return NULL;
}

static Error *read_grouped(HfReading *r)
{
    if (!yaml_get(r->root, "use_qk_norm")) r->c.use_qk_norm = true;
    return read_options(r);
}

/* transformers reads the files as models of these classes, and writes their names. */
const HfDialect hf_sarvam_moe = { .fields = fields,
                                  .size = sizeof(Options),
                                  .read = read_grouped,
                                  .other_class = "Glm4MoeForCausalLM" },
                hf_sarvam_mla = { .fields = fields,
                                  .size = sizeof(Options),
                                  .read = read_options,
                                  .other_class = "DeepseekV3ForCausalLM" };
