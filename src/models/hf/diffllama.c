/* diffllama.c - the options of DiffLlama, whose heads come in pairs. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <math.h>

const HfName hf_diffllama_names[] = {
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.self_attn.q_proj.*", HF_PAIRED_HEADS },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.self_attn.k_proj.*", HF_PAIRED_HEADS },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.self_attn.v_proj.*", HF_PAIRED_HEADS },
    { "transformer.h.%.attn.lambda_q1", "model.layers.%.self_attn.lambda_q1", HF_SAME },
    { "transformer.h.%.attn.lambda_k1", "model.layers.%.self_attn.lambda_k1", HF_SAME },
    { "transformer.h.%.attn.lambda_q2", "model.layers.%.self_attn.lambda_q2", HF_SAME },
    { "transformer.h.%.attn.lambda_k2", "model.layers.%.self_attn.lambda_k2", HF_SAME },
    { 0 },
};

typedef struct Options {
    double lambda_std_dev;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_FLOAT(Options, lambda_std_dev, "0.1", 0, INFINITY, "that the vectors of the share begin with"),
    { 0 },
};
/* clang-format on */

static Error *adjust(HfReading *r)
{
    Decoder *d = r->d;
    Differential *x = NEW(r->arena, Differential);
    Norm *n = arena_copy(r->arena, d->usual_norm, sizeof *n);
    if (d->n_head_kv % 2)
        return hf_unknown(r, "num_key_value_heads", "only even numbers are: heads come in pairs");
    if (d->attention_dropout > 0)
        return hf_unknown(r, "attention_dropout", "only 0.0 is: the class has none");
    n->width = 2 * d->head_width;
    n->has_weight = false;
    *x = (Differential){ ((const Options *)r->own)->lambda_std_dev, n };
    d->differential = x;
    return NULL;
}

static void write_options(Text *t, const Decoder *d)
{
    hf_put_double(t, "lambda_std_dev", d->differential ? d->differential->std : 0.1);
}

const HfDialect hf_diffllama = {
    .fields = fields, .size = sizeof(Options), .adjust = adjust, .add = write_options
};
