/* openai_gpt.c - the options of the first GPT, whose norms are of sums. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

const HfName hf_openai_gpt_names[] = {
    { "transformer.wte.*", "transformer.tokens_embed.*", HF_SAME },
    { "transformer.wpe.*", "transformer.positions_embed.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const char *afn;
    const double *attn_pdrop;
} Options;

static const Field fields[] = {
    FIELD_STRING(Options, afn, "gelu", "activation"),
    FIELD_FLOAT(Options, attn_pdrop, "null", 0, 1, "dropout of probabilities"),
    { 0 },
};

static Error *read_options(HfReading *r)
{
    HfConfig *c = &r->c;
    int64_t *hidden = NEW(r->arena, int64_t);
    *hidden = 4 * c->hidden_size;
    c->intermediate_size = hidden;
    c->attention_dropout = ((const Options *)r->own)->attn_pdrop;
    r->d->residual = RESIDUAL_NORM_OF_SUM;
    return NULL;
}

/* What the class calls gelu is the form with tanh. */
static Error *adjust(HfReading *r)
{
    const char *name = ((const Options *)r->own)->afn;
    Decoder *d = r->d;
    d->head_norm = NULL;
    if (!strcmp(name, "gelu")) d->activation = ACTIVATE_GELU_TANH;
    const bool is_known = !strcmp(name, "gelu") || !strcmp(name, "relu") || !strcmp(name, "silu") ||
                          !strcmp(name, "swish");
    return is_known ? NULL : hf_unknown(r, "afn", "known are gelu, relu, silu and swish");
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    const bool is_gelu = d->activation == ACTIVATE_GELU_TANH;
    hf_put_sizes(t, d, f, "n_embd", "n_layer", "n_head", "n_positions");
    hf_put_text(t, "afn", is_gelu ? "gelu" : hf_activation_name(d));
    hf_put_double(t, "attn_pdrop", d->attention_dropout);
    hf_put_dropout(t, d, f);
}

const HfDialect hf_openai_gpt = { .fields = fields,
                                  .size = sizeof(Options),
                                  .read = read_options,
                                  .adjust = adjust,
                                  .write = write_options };
