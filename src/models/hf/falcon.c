/* falcon.c - the options of Falcon, which are called and combined as in no other class. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <math.h>

/* The least slope is 2 to minus that. */
#define ALIBI 8

typedef struct Options {
    bool alibi, new_decoder_architecture, multi_query, parallel_attn, bias;
    const int64_t *num_kv_heads, *ffn_hidden_size, *num_ln_in_parallel_attn;
    const char *activation;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_BOOL(Options, alibi, "false", "scores fall with the distance of keys"),
    FIELD_BOOL(Options, new_decoder_architecture, "false", "key heads by number, layers side by side"),
    FIELD_BOOL(Options, multi_query, "true", "one key head; else as many as query heads"),
    FIELD_BOOL(Options, parallel_attn, "true", "attention and feed-forward layers side by side"),
    FIELD_BOOL(Options, bias, "false", "biases in all linear layers"),
    HF_COUNT(Options, num_kv_heads, "null", "key and value heads; null: as query heads"),
    HF_COUNT(Options, ffn_hidden_size, "null", "width of the feed-forward layer; null: 4 times the width"),
    HF_COUNT(Options, num_ln_in_parallel_attn, "null", "norms in front of the layers of a block"),
    FIELD_STRING(Options, activation, "null", "of feed-forward layers"),
    { 0 },
};
/* clang-format on */

/* Whose layers lie side by side in any case, with as many key heads as it says. */
static Error *check_new(const HfReading *r, const Options *o)
{
    const HfConfig *c = &r->c;
    const int64_t *n = o->num_ln_in_parallel_attn;
    if (!o->parallel_attn)
        return hf_unknown(r, "parallel_attn", "with new_decoder_architecture only true is");
    if (o->num_kv_heads && c->num_attention_heads && *c->num_attention_heads % *o->num_kv_heads)
        return hf_unknown(r, "num_kv_heads", "it must divide num_attention_heads");
    if (n && *n != 1 && *n != 2)
        return hf_unknown(r, "num_ln_in_parallel_attn", "known are 1 and 2");
    return NULL;
}

static Error *check_old(const HfReading *r, const Options *o)
{
    const HfConfig *c = &r->c;
    const int64_t *n = o->num_ln_in_parallel_attn;
    if (n && *n != 1)
        return hf_unknown(r, "num_ln_in_parallel_attn",
                          "without new_decoder_architecture only 1 and null are");
    if (!o->parallel_attn && c->attention_dropout && *c->attention_dropout > 0)
        return hf_unknown(r, "attention_dropout",
                          "where parallel_attn is false only 0.0 is: it is behind attention, too");
    return NULL;
}

static Residual residual_of(const Options *o)
{
    const int64_t *n = o->num_ln_in_parallel_attn;
    if (!o->parallel_attn) return RESIDUAL_SERIAL;
    return o->new_decoder_architecture && (!n || *n == 2) ? RESIDUAL_TWO_NORMS : RESIDUAL_ONE_NORM;
}

static Error *read_options(HfReading *r)
{
    static const int64_t one = 1;
    HfConfig *c = &r->c;
    const Options *o = r->own;
    const bool is_new = o->new_decoder_architecture;
    TRY(is_new ? check_new(r, o) : check_old(r, o));
    int64_t *hidden = NEW(r->arena, int64_t);
    *hidden = o->ffn_hidden_size ? *o->ffn_hidden_size : 4 * c->hidden_size;
    c->intermediate_size = hidden;
    c->num_key_value_heads = is_new           ? o->num_kv_heads
                             : o->multi_query ? &one
                                              : c->num_attention_heads;
    c->hidden_act = o->activation;
    c->use_bias = &o->bias;
    r->d->residual = residual_of(o);
    return NULL;
}

/* Distances are added to the products of queries and keys, which are scaled afterwards. */
static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    if (!o->alibi) return NULL;
    r->d->alibi = ALIBI;
    r->d->alibi_scale = 1 / sqrt((double)r->d->head_width);
    return NULL;
}

/* The old class has one key head or as many as query heads, and one norm for layers side by side.
 */
static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    const bool two_norms = d->residual == RESIDUAL_TWO_NORMS,
               is_old = d->n_head_kv == 1 || d->n_head_kv == d->n_head_q,
               is_new = d->residual != RESIDUAL_SERIAL && (two_norms || !is_old);
    hf_put_sizes(t, d, f, "hidden_size", "num_hidden_layers", "num_attention_heads",
                 "max_position_embeddings");
    hf_put_int(t, "ffn_hidden_size", d->hidden);
    hf_put_int(t, "num_kv_heads", d->n_head_kv);
    hf_put_text(t, "activation", hf_activation_name(d));
    hf_put_bool(t, "bias", d->ffn_bias);
    hf_put_bool(t, "alibi", d->alibi > 0);
    hf_put_bool(t, "new_decoder_architecture", is_new);
    hf_put_bool(t, "multi_query", !is_new && d->n_head_kv == 1);
    hf_put_bool(t, "parallel_attn", d->residual != RESIDUAL_SERIAL);
    hf_put_int(t, "num_ln_in_parallel_attn", two_norms ? 2 : 1);
    hf_put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    hf_put_layers(t, d, f);
}

const HfDialect hf_falcon = { .fields = fields,
                              .size = sizeof(Options),
                              .read = read_options,
                              .adjust = adjust,
                              .write = write_options };
