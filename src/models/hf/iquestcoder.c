/* iquestcoder.c - IQuest-Coder, which computes what Llama does unless one of two options says
 * otherwise. */
#include "models/hf/config_parts.h"

static const Field fields[] = { { 0 } };

static Error *read_options(HfReading *r)
{
    const HfConfig *c = &r->c;
    if (c->clip_qkv) return hf_unknown(r, "clip_qkv", "only null is, as in transformers");
    if (c->use_sliding_window && *c->use_sliding_window)
        return hf_unknown(r, "use_sliding_window", "only false is, as in transformers");
    return NULL;
}

const HfDialect hf_iquestcoder = { .fields = fields,
                                   .read = read_options,
                                   .other_class = "LlamaForCausalLM" };
