/* aria.c - the options of Aria's language model: each layer is a mixture, with experts that every
 * token goes through beside it. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

const HfName hf_aria_names[] = {
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.mlp.shared_experts.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.mlp.shared_experts.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.mlp.shared_experts.down_proj.*",
      HF_SAME },
    { "transformer.h.%.mlp.router.*", "model.layers.%.mlp.router.*", HF_SAME },
    { "transformer.h.%.mlp.experts.W.weight", "model.layers.%.mlp.experts.fc1.weight",
      HF_STACKED_FIRST_COLUMNS },
    { "transformer.h.%.mlp.experts.V.weight", "model.layers.%.mlp.experts.fc1.weight",
      HF_STACKED_SECOND_COLUMNS },
    { "transformer.h.%.mlp.experts.W_2.weight", "model.layers.%.mlp.experts.fc2.weight",
      HF_STACKED },
    { 0 },
};

typedef struct Options {
    int64_t moe_num_shared_experts;
} Options;

static const Field fields[] = {
    FIELD_INT(Options, moe_num_shared_experts, "2", 0, 1000,
              "experts that every token goes through"),
    { 0 },
};

static const HfRenamed renamed[] = { { "moe_num_experts", "num_local_experts" },
                                     { "moe_topk", "num_experts_per_tok" },
                                     { 0 } },
                       respelled[] = { { "mlp.experts.gate_up_proj", "mlp.experts.fc1.weight" },
                                       { "mlp.experts.down_proj", "mlp.experts.fc2.weight" },
                                       { 0 } };

static const HfSilent silent[] = { { "num_local_experts", "8" },
                                   { "num_experts_per_tok", "2" },
                                   { 0 } };

static Error *read_options(HfReading *r)
{
    hf_rename_options(r, renamed, silent);
    return hf_read_fields(r, hf_config_fields, &r->c);
}

/* Its experts are as wide as intermediate_size says, whatever else the file has. */
static Error *read_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    if (r->d->activation != ACTIVATE_SILU)
        return hf_unknown(r, "hidden_act", "only silu is: experts always have it");
    if (c->mlp_bias && *c->mlp_bias)
        return hf_unknown(r, "mlp_bias", "only false is: shared experts have no biases");
    m->hidden = *c->intermediate_size;
    m->shared_hidden = ((const Options *)r->own)->moe_num_shared_experts * m->hidden;
    m->aux_loss = 0;
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    if (d->moe) hf_put_int(t, "moe_num_shared_experts", d->moe->shared_hidden / d->moe->hidden);
}

const HfDialect hf_aria = { .fields = fields,
                            .size = sizeof(Options),
                            .renamed = renamed,
                            .respelled = respelled,
                            .read = read_options,
                            .router = read_router,
                            .add = add_members };
