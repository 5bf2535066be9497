/* deepseek_v4.c - DeepSeek V4: attention of one key and value that sees windows of tokens, in three
 * kinds of layers, hyper-connections, and first layers whose experts go by token ids. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <math.h>
#include <string.h>

const HfName hf_deepseek_v4_names[] = {
    { "transformer.h.%.attention_norm.*", "model.layers.%.attn_norm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.ffn_norm.*", HF_SAME },
    { "transformer.h.%.hyper_mixer.weight", "model.layers.%.hc_attn_fn", HF_SAME },
    { "transformer.h.%.hyper_mixer.base", "model.layers.%.hc_attn_base", HF_SAME },
    { "transformer.h.%.hyper_mixer.scale", "model.layers.%.hc_attn_scale", HF_SAME },
    { "transformer.h.%.hyper_ffn.weight", "model.layers.%.hc_ffn_fn", HF_SAME },
    { "transformer.h.%.hyper_ffn.base", "model.layers.%.hc_ffn_base", HF_SAME },
    { "transformer.h.%.hyper_ffn.scale", "model.layers.%.hc_ffn_scale", HF_SAME },
    { "transformer.hyper_head.weight", "model.hc_head.hc_fn", HF_SAME },
    { "transformer.hyper_head.base", "model.hc_head.hc_base", HF_SAME },
    { "transformer.hyper_head.scale", "model.hc_head.hc_scale", HF_SAME },
    { "transformer.h.%.attn.sinks", "model.layers.%.attn.attn_sink", HF_SAME },
    { "transformer.h.%.attn.q_latent.*", "model.layers.%.attn.wq_a.*", HF_SAME },
    { "transformer.h.%.attn.q_latent_norm.*", "model.layers.%.attn.q_norm.*", HF_SAME },
    { "transformer.h.%.attn.q_up.*", "model.layers.%.attn.wq_b.*", HF_TURNING_ROWS },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.attn.wkv.*", HF_TURNING_ROWS },
    { "transformer.h.%.attn.k_norm.*", "model.layers.%.attn.norm.*", HF_TURNING_ROWS },
    { "transformer.h.%.attn.o_latent.*", "model.layers.%.attn.wo_a.*", HF_TURNING_COLUMNS },
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.attn.wo_b.*", HF_SAME },
    { "transformer.h.%.attn.window_k.*", "model.layers.%.attn.compressor.wkv.*", HF_TURNING_ROWS },
    { "transformer.h.%.attn.window_gate.*", "model.layers.%.attn.compressor.wgate.*",
      HF_TURNING_ROWS },
    { "transformer.h.%.attn.window_bias", "model.layers.%.attn.compressor.ape",
      HF_TURNING_COLUMNS },
    { "transformer.h.%.attn.window_norm.*", "model.layers.%.attn.compressor.norm.*",
      HF_TURNING_ROWS },
    { "transformer.h.%.attn.index_q.*", "model.layers.%.attn.indexer.wq_b.*", HF_TURNING_ROWS },
    { "transformer.h.%.attn.index_weights.*", "model.layers.%.attn.indexer.weights_proj.*",
      HF_SAME },
    { "transformer.h.%.attn.index_k.*", "model.layers.%.attn.indexer.compressor.wkv.*",
      HF_TURNING_ROWS },
    { "transformer.h.%.attn.index_gate.*", "model.layers.%.attn.indexer.compressor.wgate.*",
      HF_TURNING_ROWS },
    { "transformer.h.%.attn.index_bias", "model.layers.%.attn.indexer.compressor.ape",
      HF_TURNING_COLUMNS },
    { "transformer.h.%.attn.index_norm.*", "model.layers.%.attn.indexer.compressor.norm.*",
      HF_TURNING_ROWS },
    { "transformer.h.%.mlp.router.experts", "model.layers.%.ffn.gate.tid2eid", HF_SAME },
    { "transformer.h.%.mlp.router.balance", "model.layers.%.ffn.gate.bias", HF_SAME },
    { "transformer.h.%.mlp.router.weight", "model.layers.%.ffn.gate.weight", HF_SAME },
    { "transformer.h.%.mlp.experts.W.*", "model.layers.%.ffn.experts.#.w1.*", HF_EXPERTS },
    { "transformer.h.%.mlp.experts.V.*", "model.layers.%.ffn.experts.#.w3.*", HF_EXPERTS },
    { "transformer.h.%.mlp.experts.W_2.*", "model.layers.%.ffn.experts.#.w2.*", HF_EXPERTS },
    { "transformer.h.%.mlp.shared.W.*", "model.layers.%.ffn.shared_experts.w1.*", HF_SAME },
    { "transformer.h.%.mlp.shared.V.*", "model.layers.%.ffn.shared_experts.w3.*", HF_SAME },
    { "transformer.h.%.mlp.shared.W_2.*", "model.layers.%.ffn.shared_experts.w2.*", HF_SAME },
    { "transformer.lm_head.*", "head.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    int64_t q_lora_rank, o_groups, o_lora_rank, index_n_heads, index_head_dim, index_topk, hc_mult,
        hc_sinkhorn_iters, n_shared_experts;
    double hc_eps, compress_rope_theta;
    const double *partial_rotary_factor;
    const int64_t *qk_rope_head_dim, *compress_rate_csa, *compress_rate_hca, *num_hash_layers;
    const Yaml *compress_rates;
    IntList compress_ratios;
    const StringList *layer_types, *mlp_layer_types;
    const char *scoring_func;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, q_lora_rank, "1024", "width of what queries are products of"),
    HF_COUNT(Options, o_groups, "8", "groups of heads that the last product reads"),
    HF_COUNT(Options, o_lora_rank, "1024", "width of each"),
    HF_COUNT(Options, index_n_heads, "64", "heads of an indexer"),
    HF_COUNT(Options, index_head_dim, "128", "width of each"),
    HF_COUNT(Options, index_topk, "512", "windows that a token sees, at most"),
    FIELD_INT(Options, hc_mult, "4", 2, 16, "streams"),
    FIELD_INT(Options, hc_sinkhorn_iters, "20", 1, 1000, "how often sums of their mix are made 1"),
    FIELD_FLOAT(Options, hc_eps, "1e-6", 0, 1, "added to weights and sums", .flags = FIELD_OPEN_MIN),
    FIELD_INT(Options, n_shared_experts, "1", 0, 65536, "experts that every token goes through"),
    FIELD_FLOAT(Options, compress_rope_theta, "160000.0", 1, INFINITY, "base of layers that see windows"),
    FIELD_FLOAT(Options, partial_rotary_factor, "null", 0, 1, "share of a head that turns"),
    HF_COUNT(Options, qk_rope_head_dim, "null", "the same in features"),
    FIELD_ANY(Options, compress_rates, "null", "tokens of a window, by the type of the layer"),
    FIELD_INT(Options, compress_rate_csa, "null", 2, 65536, "the same of layers that select"),
    FIELD_INT(Options, compress_rate_hca, "null", 2, 65536, "and of those that see all"),
    FIELD_INTS(Options, compress_ratios, "[]", 0, 0, "the type of each layer, as a number"),
    FIELD_INT(Options, num_hash_layers, "null", 0, 1000, "first layers whose experts go by ids"),
    FIELD_LIST(Options, layer_types, StringList, &field_string_item, "null", 0, 0, "of each layer"),
    FIELD_LIST(Options, mlp_layer_types, StringList, &field_string_item, "null", 0, 0, "of each layer: hash_moe, or moe"),
    FIELD_STRING(Options, scoring_func, "sqrtsoftplus", "scores of the router"),
    { 0 },
};
/* clang-format on */

static const HfRenamed renamed[] = { { "n_routed_experts", "num_local_experts" }, { 0 } };

static const HfSilent silent[] = { { "hidden_size", "4096" },
                                   { "moe_intermediate_size", "2048" },
                                   { "num_hidden_layers", "43" },
                                   { "num_local_experts", "256" },
                                   { "swiglu_limit", "10.0" },
                                   { "sliding_window", "128" },
                                   { 0 } };

/* Types of layers; numbers of compress_ratios stand for them. */
enum { SLIDING, SELECTS, SEES_ALL, N_TYPES };
static const struct {
    const char *name;
    int64_t ratio, rate; /* tokens of a window, of the class */
} types[N_TYPES] = { { "sliding_attention", 0, 0 },
                     { "compressed_sparse_attention", 4, 4 },
                     { "heavily_compressed_attention", 128, 128 } };

static Error *read_options(HfReading *r)
{
    hf_rename_options(r, renamed, silent);
    TRY(hf_read_fields(r, hf_config_fields, &r->c));
    TRY(hf_read_fields(r, fields, r->own));
    r->c.layer_types = NULL; /* they are of other types */
    if (r->c.mlp_bias && *r->c.mlp_bias)
        return hf_unknown(r, "mlp_bias", "only false is: shared experts have no biases");
    if (((const Options *)r->own)->n_shared_experts != 1)
        return hf_unknown(r, "n_shared_experts", "only 1 is, as the class has it");
    return NULL;
}

/* Features of a head that turn. */
static int64_t turning_of(const HfReading *r)
{
    const Options *o = r->own;
    const double head = (double)r->d->head_width;
    if (o->partial_rotary_factor) return (int64_t)(head * *o->partial_rotary_factor);
    return o->qk_rope_head_dim ? *o->qk_rope_head_dim : (int64_t)(head * 64 / 512);
}

static Error *refuse(const HfReading *r)
{
    const Options *o = r->own;
    const Decoder *d = r->d;
    const int64_t turning = turning_of(r);
    if (d->n_head_kv != 1)
        return hf_unknown(r, "num_key_value_heads", "only 1 is, as the class has it");
    if (d->head_width % 2 || turning % 2 || turning < 2 || turning > d->head_width)
        return hf_unknown(r, "partial_rotary_factor",
                          "features turn in pairs, of a head of an even width");
    if (d->n_head_q % o->o_groups)
        return hf_unknown(r, "o_groups", "it must divide num_attention_heads");
    if (d->activation != ACTIVATE_SILU)
        return hf_unknown(r, "hidden_act", "only silu is, which the class bounds");
    return NULL;
}

static const Norm *norm_of_width(HfReading *r, int64_t width, bool has_weight)
{
    Norm *n = arena_copy(r->arena, r->d->usual_norm, sizeof *n);
    n->width = width;
    n->has_weight = has_weight;
    return n;
}

static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    TRY(refuse(r));
    const Joint joint = { .query_rank = o->q_lora_rank,
                          .output_groups = o->o_groups,
                          .output_rank = o->o_lora_rank,
                          .query_norm = norm_of_width(r, o->q_lora_rank, true),
                          .key_norm = norm_of_width(r, d->head_width, true),
                          .head_norm = norm_of_width(r, d->head_width, false) };
    const HyperConnections hyper = { o->hc_mult, o->hc_sinkhorn_iters, o->hc_eps,
                                     norm_of_width(r, d->width, false), 0 };
    d->joint = arena_copy(r->arena, &joint, sizeof joint);
    d->hyper = arena_copy(r->arena, &hyper, sizeof hyper);
    d->gate_bound = r->c.swiglu_limit;
    return NULL;
}

static Error *read_router(const HfReading *r, Moe *m)
{
    const char *score = ((const Options *)r->own)->scoring_func;
    const bool is_sigmoid = !strcmp(score, "sigmoid");
    if (!is_sigmoid && strcmp(score, "sqrtsoftplus") != 0)
        return hf_unknown(r, "scoring_func", "known are sqrtsoftplus and sigmoid");
    m->score = is_sigmoid ? SCORE_SIGMOID : SCORE_SQRT_SOFTPLUS;
    m->has_biases = true;
    m->sum_eps = 1e-20;
    m->shared_hidden = m->hidden;
    m->gate_bound = r->d->gate_bound;
    return NULL;
}

/* Of a layer, as transformers has it where config.json is silent. */
static Error *type_of(const HfReading *r, int64_t i, int *out)
{
    const Options *o = r->own;
    const StringList *list = o->layer_types;
    const bool by_ratio = !list && o->compress_ratios.n;
    if (!list && !by_ratio) {
        *out = i > 1 && i % 2 ? SELECTS : SEES_ALL;
        return NULL;
    }
    for (*out = 0; *out < N_TYPES; ++*out)
        if (by_ratio ? i < o->compress_ratios.n && o->compress_ratios.item[i] == types[*out].ratio
                     : i < list->n && !strcmp(list->item[i], types[*out].name))
            return NULL;
    return hf_unknown(r, by_ratio ? "compress_ratios" : "layer_types",
                      by_ratio ? "each layer has 0, 4 or 128"
                               : "each layer is of type sliding_attention, "
                                 "compressed_sparse_attention or heavily_compressed_attention");
}

static Error *rate_of(const HfReading *r, int type, int64_t *out)
{
    const Options *o = r->own;
    const Yaml *all =
        o->compress_rates && o->compress_rates->type == YAML_MAP ? o->compress_rates : NULL;
    const Yaml *given = yaml_get(all, types[type].name);
    const int64_t *old = type == SELECTS ? o->compress_rate_csa : o->compress_rate_hca;
    *out = old                                ? *old
           : !all                             ? types[type].rate
           : given && given->type == YAML_INT ? given->integer
                                              : 0;
    if (*out >= 2 && *out <= 65536) return NULL;
    return hf_unknown(r, "compress_rates",
                      "each type of layer with windows has a whole number of at least 2");
}

static Error *is_by_id(const HfReading *r, int64_t i, bool *out)
{
    const Options *o = r->own;
    const StringList *list = o->mlp_layer_types;
    *out = list ? i < list->n && !strcmp(list->item[i], "hash_moe")
                : i < (o->num_hash_layers ? *o->num_hash_layers : 3);
    if (!list || *out || (i < list->n && !strcmp(list->item[i], "moe"))) return NULL;
    return hf_unknown(r, "mlp_layer_types", "each layer is hash_moe or moe");
}

/* Layers that see windows turn by other frequencies. Parameters of one of them that has no name
 * are theirs, and YaRN then leaves cosines and sines as they are. */
static Error *read_ropes(const HfReading *r, RopeScaling *plain, RopeScaling *windows)
{
    const Yaml *v5 = r->c.rope_parameters, *v4 = r->c.rope_scaling;
    const Yaml *p = v5 && v5->type == YAML_MAP ? v5 : v4 && v4->type == YAML_MAP ? v4 : NULL;
    const Yaml *own = yaml_get(p, "main"), *other = yaml_get(p, "compress");
    const bool nested = own && other && own->type == YAML_MAP && other->type == YAML_MAP;
    const double of_windows = ((const Options *)r->own)->compress_rope_theta,
                 share = (double)turning_of(r) / (double)r->d->head_width;
    TRY(hf_read_rope(r, nested ? own : NULL, hf_number(r->root, "rope_theta", r->family->theta),
                     share, plain));
    TRY(hf_read_rope(r, nested ? other : p, of_windows, share, windows));
    if (!nested) windows->base = of_windows;
    if (!nested && windows->kind == ROPE_YARN)
        windows->attention = hf_number(p, "attention_factor", 1);
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    const Yaml *window = r->c.sliding_window;
    RopeScaling *rope = NEW_N(r->arena, RopeScaling, 2);
    bool selects = false;
    TRY(read_ropes(r, &rope[0], &rope[1]));
    if (!window || window->type != YAML_INT || window->integer < 1)
        return hf_unknown(r, "sliding_window", "only positive integers are");
    for (int64_t i = 0; i < d->n_layer; i++) {
        int type;
        TRY(type_of(r, i, &type));
        if (type != SLIDING) TRY(rate_of(r, type, &layer[i].compress));
        TRY(is_by_id(r, i, &layer[i].by_id));
        layer[i].window = window->integer;
        layer[i].overlaps = layer[i].selects = type == SELECTS;
        layer[i].rope = &rope[type != SLIDING];
        layer[i].n_rope = 1;
        selects |= type == SELECTS;
    }
    const SparseAttention sparse = { o->index_n_heads, o->index_head_dim, o->index_topk,
                                     norm_of_width(r, o->index_head_dim, true), 0 };
    const bool fits = o->index_head_dim % 2 == 0 && o->index_head_dim >= turning_of(r);
    if (selects && !fits)
        return hf_unknown(r, "index_head_dim",
                          "it must be an even number, and not below what turns of a head");
    if (selects) d->sparse = arena_copy(r->arena, &sparse, sizeof sparse);
    return NULL;
}

/* ---- out again ---- */

static int type_of_layer(const DecoderLayer *l)
{
    return !l->compress ? SLIDING : l->selects ? SELECTS : SEES_ALL;
}

static void put_type(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_printf(item, "\"%s\"", types[type_of_layer(l)].name);
}

static void put_experts(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_puts(item, l->by_id ? "\"hash_moe\"" : "\"moe\"");
}

static const DecoderLayer *layer_of_type(const Decoder *d, int type)
{
    for (int64_t i = 0; i < d->n_layer; i++)
        if (type_of_layer(&d->layer[i]) == type) return &d->layer[i];
    return NULL;
}

/* Of layers with windows, or of the others; the class has both, whatever layers there are. */
static const RopeScaling *rope_of(const Decoder *d, bool windows)
{
    for (int64_t i = 0; i < d->n_layer; i++)
        if (!d->layer[i].compress == !windows && d->layer[i].n_rope) return d->layer[i].rope;
    return NULL;
}

static void put_windows(Text *t, const Decoder *d)
{
    hf_put_key(t, "compress_rates");
    for (int type = SELECTS; type < N_TYPES; type++) {
        const DecoderLayer *l = layer_of_type(d, type);
        text_printf(t, "%s\"%s\": %lld", type == SELECTS ? "{" : ", ", types[type].name,
                    (long long)(l ? l->compress : types[type].rate));
    }
    text_putc(t, '}');
    hf_put_of_layers(t, "layer_types", d, put_type);
}

static void put_ropes(Text *t, const Decoder *d, const HfFamily *f)
{
    static const RopeScaling of_class[] = { { .base = 10000, .attention = 1 },
                                            { .base = 160000, .attention = 1 } };
    const RopeScaling *plain = rope_of(d, false), *windows = rope_of(d, true);
    const int64_t turning = plain ? plain->width : windows ? windows->width : 0;
    Text both = { 0 };
    text_putc(&both, '{');
    hf_put_rope(&both, "main", plain ? plain : &of_class[0], f, d);
    hf_put_rope(&both, "compress", windows ? windows : &of_class[1], f, d);
    hf_put_key(t, "rope_parameters");
    text_add(t, both.ptr, both.len);
    text_putc(t, '}');
    text_free(&both);
    hf_put_double(t, "partial_rotary_factor",
                  turning ? (double)turning / (double)d->head_width : 1);
    if (plain) hf_put_double(t, "rope_theta", plain->base);
    if (windows) hf_put_double(t, "compress_rope_theta", windows->base);
}

static void put_experts_of(Text *t, const Decoder *d)
{
    const Moe *m = d->moe;
    if (!m) return;
    hf_put_int(t, "n_routed_experts", m->n_experts);
    hf_put_int(t, "num_experts_per_tok", m->top_k);
    hf_put_int(t, "moe_intermediate_size", m->hidden);
    hf_put_int(t, "n_shared_experts", 1);
    hf_put_text(t, "scoring_func", m->score == SCORE_SIGMOID ? "sigmoid" : "sqrtsoftplus");
    hf_put_double(t, "routed_scaling_factor", m->factor != 0 ? m->factor : 1);
    hf_put_double(t, "router_aux_loss_coef", m->aux_loss);
    hf_put_of_layers(t, "mlp_layer_types", d, put_experts);
}

static void write_members(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_sizes(t, d, f, "hidden_size", "num_hidden_layers", "num_attention_heads",
                 "max_position_embeddings");
    hf_put_double(t, "rms_norm_eps", d->usual_norm->eps);
    hf_put_int(t, "num_key_value_heads", d->n_head_kv);
    hf_put_int(t, "head_dim", d->head_width);
    hf_put_text(t, "hidden_act", hf_activation_name(d));
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    if (d->joint) {
        hf_put_int(t, "q_lora_rank", d->joint->query_rank);
        hf_put_int(t, "o_groups", d->joint->output_groups);
        hf_put_int(t, "o_lora_rank", d->joint->output_rank);
    }
    if (d->sparse) {
        hf_put_int(t, "index_n_heads", d->sparse->heads);
        hf_put_int(t, "index_head_dim", d->sparse->width);
        hf_put_int(t, "index_topk", d->sparse->top_k);
    }
    if (d->hyper) {
        hf_put_int(t, "hc_mult", d->hyper->n);
        hf_put_int(t, "hc_sinkhorn_iters", d->hyper->iterations);
        hf_put_double(t, "hc_eps", d->hyper->eps);
    }
    hf_put_double(t, "swiglu_limit", d->gate_bound);
    hf_put_int(t, "sliding_window", d->layer[0].window);
    hf_put_int(t, "num_nextn_predict_layers", 0);
    put_windows(t, d);
    put_ropes(t, d, f);
    put_experts_of(t, d);
}

/* What transformers calls the modules, in the place of the authors' names, and what stands
 * outside of blocks in the authors' files. */
static const HfRenamed respelled[] = {
    { "lm_head.", "head." },
    { "embed.", "model.embed_tokens." },
    { "hc_head_", "model.hc_head.hc_" },
    { ".self_attn.compressor.indexer.scorer.weights_proj.", ".attn.indexer.weights_proj." },
    { ".self_attn.compressor.indexer.q_b_proj.", ".attn.indexer.wq_b." },
    { ".self_attn.compressor.indexer.kv_proj.", ".attn.indexer.compressor.wkv." },
    { ".self_attn.compressor.indexer.gate_proj.", ".attn.indexer.compressor.wgate." },
    { ".self_attn.compressor.indexer.kv_norm.", ".attn.indexer.compressor.norm." },
    { ".self_attn.compressor.indexer.position_bias", ".attn.indexer.compressor.ape" },
    { ".self_attn.compressor.kv_proj.", ".attn.compressor.wkv." },
    { ".self_attn.compressor.gate_proj.", ".attn.compressor.wgate." },
    { ".self_attn.compressor.kv_norm.", ".attn.compressor.norm." },
    { ".self_attn.compressor.position_bias", ".attn.compressor.ape" },
    { ".self_attn.q_a_proj.", ".attn.wq_a." },
    { ".self_attn.q_b_proj.", ".attn.wq_b." },
    { ".self_attn.kv_proj.", ".attn.wkv." },
    { ".self_attn.o_a_proj.", ".attn.wo_a." },
    { ".self_attn.o_b_proj.", ".attn.wo_b." },
    { ".self_attn.q_a_norm.", ".attn.q_norm." },
    { ".self_attn.kv_norm.", ".attn.norm." },
    { ".self_attn.sinks", ".attn.attn_sink" },
    { ".input_layernorm.", ".attn_norm." },
    { ".post_attention_layernorm.", ".ffn_norm." },
    { ".attn_hc.", ".hc_attn_" },
    { ".ffn_hc.", ".hc_ffn_" },
    { ".mlp.gate.e_score_correction_bias", ".ffn.gate.bias" },
    { ".mlp.gate.", ".ffn.gate." },
    { ".mlp.shared_experts.gate_proj.", ".ffn.shared_experts.w1." },
    { ".mlp.shared_experts.down_proj.", ".ffn.shared_experts.w2." },
    { ".mlp.shared_experts.up_proj.", ".ffn.shared_experts.w3." },
    { 0 },
};

const HfDialect hf_deepseek_v4 = { .fields = fields,
                                   .size = sizeof(Options),
                                   .respelled = respelled,
                                   .read = read_options,
                                   .adjust = adjust,
                                   .router = read_router,
                                   .layers = read_layers,
                                   .write = write_members,
                                   .own_ropes = true };
