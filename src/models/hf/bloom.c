/* bloom.c - the options of BLOOM, which has few. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

const HfName hf_bloom_names[] = {
    { "transformer.embedding_norm.*", "transformer.word_embeddings_layernorm.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const int64_t *n_embed, *seq_length;
    bool apply_residual_connection_post_layernorm;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, n_embed, "null", "hidden_size"),
    HF_COUNT(Options, seq_length, "null", "longest sequence"),
    FIELD_BOOL(Options, apply_residual_connection_post_layernorm, "false", "the stream goes on behind norms"),
    { 0 },
};
/* clang-format on */

static Error *read_options(HfReading *r)
{
    HfConfig *c = &r->c;
    const Options *o = r->own;
    int64_t *hidden = NEW(r->arena, int64_t);
    if (o->apply_residual_connection_post_layernorm)
        return hf_unknown(r, "apply_residual_connection_post_layernorm", "only false is");
    if (o->n_embed) c->hidden_size = *o->n_embed;
    *hidden = 4 * c->hidden_size;
    c->intermediate_size = hidden;
    c->max_position_embeddings = o->seq_length;
    c->hidden_act = NULL; /* the class has one activation */
    return NULL;
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_sizes(t, d, f, "hidden_size", "n_layer", "n_head", "seq_length");
    hf_put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
}

const HfDialect hf_bloom = {
    .fields = fields, .size = sizeof(Options), .read = read_options, .write = write_options
};
