/* gpt2.c - the options of GPT-2, and of the classes that came from it: GPT-J, CodeGen and
 * GPTBigCode. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

const HfName hf_bigcode_names[] = {
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.attn.c_attn.*", HF_GROUP_QUERIES },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.attn.c_attn.*", HF_GROUP_KEYS },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.attn.c_attn.*", HF_GROUP_VALUES },
    { "transformer.h.%.attn.c_proj.*", "transformer.h.%.attn.c_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "transformer.h.%.mlp.c_fc.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "transformer.h.%.mlp.c_proj.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const int64_t *n_inner;
    const double *attn_pdrop;
    bool scale_attn_weights, scale_attn_by_inverse_layer_idx, reorder_and_upcast_attn, multi_query;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, n_inner, "null", "width of the feed-forward layer; null: 4 times the width"),
    FIELD_FLOAT(Options, attn_pdrop, "null", 0, 1, "dropout of probabilities"),
    FIELD_BOOL(Options, scale_attn_weights, "true", "scores are divided by the root of the head width"),
    FIELD_BOOL(Options, scale_attn_by_inverse_layer_idx, "false", "and by the number of the layer"),
    FIELD_BOOL(Options, reorder_and_upcast_attn, "false", "an order of computing"),
    FIELD_BOOL(Options, multi_query, "true", "GPTBigCode: one key head; else as many as query heads"),
    { 0 },
};
/* clang-format on */

static Error *read_options(HfReading *r)
{
    static const int64_t one = 1;
    const HfFamily *f = r->family;
    HfConfig *c = &r->c;
    const Options *o = r->own;
    int64_t *hidden = NEW(r->arena, int64_t);
    *hidden = o->n_inner ? *o->n_inner : 4 * c->hidden_size;
    c->intermediate_size = hidden;
    c->attention_dropout = o->attn_pdrop;
    c->num_key_value_heads = f->keys.multi_query && o->multi_query ? &one : NULL;
    if (!f->scale_by_layer) return NULL;
    r->d->attention_scale = o->scale_attn_weights ? 0 : 1;
    r->d->scale_by_layer = o->scale_attn_by_inverse_layer_idx;
    return NULL;
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_sizes(t, d, f, "n_embd", "n_layer", "n_head", "n_positions");
    hf_put_int(t, "n_inner", d->hidden);
    if (f->keys.multi_query) hf_put_bool(t, "multi_query", d->n_head_kv == 1);
    hf_put_text(t, "activation_function", hf_old_activation_name(d));
    hf_put_double(t, "attn_pdrop", d->attention_dropout);
    hf_put_dropout(t, d, f);
    const DecoderLayer *turning = hf_turning_layer(d);
    const int64_t width = turning ? turning->rope->width : 0;
    if (f->keys.rotary_dim) hf_put_int(t, "rotary_dim", width ? width : d->head_width);
    if (!f->scale_by_layer) return;
    hf_put_bool(t, "scale_attn_weights", d->attention_scale != 1);
    hf_put_bool(t, "scale_attn_by_inverse_layer_idx", d->scale_by_layer);
}

const HfDialect hf_gpt2 = {
    .fields = fields, .size = sizeof(Options), .read = read_options, .write = write_options
};
