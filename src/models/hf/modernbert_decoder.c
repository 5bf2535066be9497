/* modernbert_decoder.c - the options of ModernBERT's decoder, whose head reads a product of the
 * stream, and whose first block has no norm in front. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

const HfName hf_modernbert_names[] = {
    { "transformer.wte.*", "model.embeddings.tok_embeddings.*", HF_SAME },
    { "transformer.embedding_norm.*", "model.embeddings.norm.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "model.layers.%.attn_norm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.mlp_norm.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.attn.q_proj.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.attn.k_proj.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.attn.v_proj.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.attn.Wo.*", HF_SAME },
    { "transformer.h.%.mlp.W.*", "model.layers.%.mlp.Wi.*", HF_FIRST_HALF },
    { "transformer.h.%.mlp.V.*", "model.layers.%.mlp.Wi.*", HF_SECOND_HALF },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.mlp.Wo.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.final_norm.*", HF_SAME },
    { "transformer.head_transform.*", "lm_head.dense.*", HF_SAME },
    { "transformer.head_transform_norm.*", "lm_head.norm.*", HF_SAME },
    { "transformer.lm_head.*", "decoder.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const Yaml *local_attention;
    const double *global_rope_theta, *local_rope_theta;
    double embedding_dropout, attention_dropout, mlp_dropout;
    bool norm_bias, decoder_bias, classifier_bias;
    const char *classifier_activation;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_ANY(Options, local_attention, "128", "twice the tokens that a token sees in layers with a window"),
    FIELD_FLOAT(Options, global_rope_theta, "null", 0, INFINITY, "base of positions in layers that see all, where rope_parameters do not say it", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Options, local_rope_theta, "null", 0, INFINITY, "likewise, in layers with a window", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Options, embedding_dropout, "0.0", 0, 1, "dropout of embeddings", .flags = FIELD_OPEN_MAX),
    FIELD_FLOAT(Options, attention_dropout, "0.0", 0, 1, "dropout of probabilities, and behind attention"),
    FIELD_FLOAT(Options, mlp_dropout, "0.0", 0, 1, "dropout within feed-forward layers"),
    FIELD_BOOL(Options, norm_bias, "false", "biases of norms"),
    FIELD_BOOL(Options, decoder_bias, "true", "a bias of the head"),
    FIELD_BOOL(Options, classifier_bias, "false", "a bias of the product in front of the head"),
    FIELD_STRING(Options, classifier_activation, "gelu", "its activation"),
    { 0 },
};
/* clang-format on */

static const HfRenamed renamed[] = { { 0 } };

static const HfSilent silent[] = {
    { "hidden_size", "768" }, { "intermediate_size", "1152" }, { "num_hidden_layers", "22" }, { 0 }
};

/* rope_parameters of each type of layer, with what rope_scaling says of all, and a base: that of
 * the older options, or of the class, where they are silent. */
static Error *complete_ropes(const HfReading *r, Yaml *root)
{
    static const char *const type[] = { "full_attention", "sliding_attention" };
    const Options *o = r->own;
    const double *given[] = { o->global_rope_theta, o->local_rope_theta },
                 of_class[] = { r->family->theta, r->family->local_theta };
    const Yaml *ropes = yaml_get(root, "rope_parameters"),
               *scaling = yaml_get(root, "rope_scaling");
    Yaml *all;
    if (ropes && ropes->type != YAML_MAP && ropes->type != YAML_NULL)
        return hf_unknown(r, "rope_parameters", "allowed are null and an object");
    TRY(yaml_parse(r->arena, str_of("{full_attention: {}, sliding_attention: {}}"), r->path, &all));
    for (int i = 0; i < 2; i++) {
        const Yaml *own = yaml_get(ropes, type[i]);
        const double theta = given[i] ? *given[i] : of_class[i];
        if (own && own->type != YAML_NULL) hf_set_option(r->arena, all, type[i], own);
        Yaml *p = yaml_get(all, type[i]);
        if (p->type != YAML_MAP) continue; /* refused where it is read */
        for (int64_t k = 0; scaling && scaling->type == YAML_MAP && k < scaling->n; k++)
            hf_set_option(r->arena, p, scaling->key[k]->text, scaling->item[k]);
        if (!yaml_get(p, "rope_theta"))
            hf_put_option(r->arena, p, "rope_theta", arena_printf(r->arena, "%.17g", theta));
    }
    hf_set_option(r->arena, root, "rope_parameters", all);
    return NULL;
}

static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    Yaml *root = hf_rename_options(r, renamed, silent);
    const Yaml *local = o->local_attention;
    if (o->attention_dropout > 0)
        return hf_unknown(r, "attention_dropout", "only 0.0 is: it is behind attention, too");
    if (o->mlp_dropout > 0)
        return hf_unknown(r, "mlp_dropout", "only 0.0 is: it is within feed-forward layers");
    if (local->type != YAML_INT || local->integer < 2)
        return hf_unknown(r, "local_attention", "only integers from 2 on are: half of it is seen");
    hf_put_option(r->arena, root, "sliding_window",
                  arena_printf(r->arena, "%lld", (long long)local->integer / 2));
    TRY(complete_ropes(r, root));
    return hf_read_fields(r, hf_config_fields, &r->c);
}

static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    Norm n = *d->usual_norm;
    HeadTransform t = { .bias = o->classifier_bias };
    n.has_bias = o->norm_bias;
    d->usual_norm = arena_copy(r->arena, &n, sizeof n);
    d->embedding_norm = d->attention_norm = d->ffn_norm = d->head_norm = t.norm = d->usual_norm;
    TRY(hf_read_activation(r, "classifier_activation", o->classifier_activation, &t.activation));
    d->head_transform = arena_copy(r->arena, &t, sizeof t);
    d->head_bias = o->decoder_bias;
    d->embedding_dropout = o->embedding_dropout;
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    (void)r;
    layer[0].no_mixer_norm = true; /* embeddings have one */
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    int64_t window = 64;
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].window) window = d->layer[i].window;
    hf_put_int(t, "cls_token_id", d->vocab_size - 1); /* those of the class may be beyond */
    hf_put_int(t, "sep_token_id", d->vocab_size - 1);
    hf_put_int(t, "local_attention", 2 * window);
    hf_put_bool(t, "norm_bias", d->usual_norm->has_bias);
    hf_put_bool(t, "decoder_bias", d->head_bias);
    hf_put_double(t, "embedding_dropout", d->embedding_dropout);
    if (!d->head_transform) return;
    hf_put_bool(t, "classifier_bias", d->head_transform->bias);
    hf_put_text(t, "classifier_activation", hf_name_of_activation(d->head_transform->activation));
}

const HfDialect hf_modernbert_decoder = { .fields = fields,
                                          .size = sizeof(Options),
                                          .read = read_options,
                                          .adjust = adjust,
                                          .layers = read_layers,
                                          .add = add_members };
