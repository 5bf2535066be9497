/* deepseek_v32.c - what DeepSeek V3.2, GLM 5, A.X-K2 and Hy 4 have of their own: indexers, which
 * say what a token sees; those of GLM 5 and Hy 4 may be shared by layers. Norms of A.X-K2 have
 * gates, and so have its heads; Hy 4 has hyper-connections that do not mix streams. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

typedef struct Options {
    int64_t index_n_heads, index_head_dim, index_topk;
    const bool *indexer_rope_interleave;
    const StringList *indexer_types;
    const Yaml *index_topk_pattern;
    int64_t index_topk_freq, index_skip_topk_offset;
    int64_t gated_norm_rank, hc_mult;
    double hc_magnitude, hc_eps, swiglu_limit;
} Options;

/* clang-format off */
#define SIZES(heads) \
    HF_COUNT(Options, index_n_heads, heads, "heads of an indexer"), \
    HF_COUNT(Options, index_head_dim, "128", "width of each"), \
    HF_COUNT(Options, index_topk, "2048", "tokens that a token sees, at most"), \
    FIELD_BOOL(Options, indexer_rope_interleave, "null", "features of an indexer that turn together lie side by side")
static const Field deepseek_fields[] = { SIZES("64"), { 0 } };
static const Field glm_fields[] = {
    SIZES("32"),
    FIELD_LIST(Options, indexer_types, StringList, &field_string_item, "null", 0, 0, "of each layer: full, it has an indexer, or shared, it sees what the last one selected"),
    FIELD_ANY(Options, index_topk_pattern, "null", "the same as a letter for each layer, F or S, or as indexer_types"),
    FIELD_INT(Options, index_topk_freq, "1", -2147483647, 2147483647, "else: each so many layers have one"),
    FIELD_INT(Options, index_skip_topk_offset, "2", -2147483647, 2147483647, "from this layer on, counted from 1; those before it have one, too"),
    { 0 },
};
static const Field axk2_fields[] = {
    SIZES("16"),
    HF_COUNT(Options, gated_norm_rank, "16", "rank of the gates of norms"),
    { 0 },
};
/* clang-format on */

/* Of Hy 4. */
/* clang-format off */
static const Field hy_fields[] = {
    SIZES("16"),
    FIELD_LIST(Options, indexer_types, StringList, &field_string_item, "null", 0, 0, "of each layer: full, it has an indexer, or shared, it sees what the last one selected"),
    FIELD_INT(Options, hc_mult, "4", 2, 16, "streams of hyper-connections"),
    FIELD_FLOAT(Options, hc_magnitude, "2.0", 0, INFINITY, "multiplies weights by which they are written", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Options, hc_eps, "1e-6", 0, 1, "added to weights of streams", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Options, swiglu_limit, "10.0", 0, INFINITY, "bound of gates of experts", .flags = FIELD_OPEN_MIN),
    { 0 },
};
/* clang-format on */
static const HfSilent hy_silent[] = { { "hidden_size", "2816" },
                                      { "intermediate_size", "6912" },
                                      { "num_hidden_layers", "34" },
                                      { "kv_lora_rank", "512" },
                                      { "q_lora_rank", "1536" },
                                      { "qk_nope_head_dim", "192" },
                                      { "qk_rope_head_dim", "64" },
                                      { "v_head_dim", "256" },
                                      { "n_routed_experts", "256" },
                                      { "n_shared_experts", "1" },
                                      { "num_experts_per_tok", "8" },
                                      { "moe_intermediate_size", "768" },
                                      { 0 } };

/* Of A.X-K2, where config.json is silent. */
static const HfSilent axk2_silent[] = { { "hidden_size", "2048" },
                                        { "intermediate_size", "5120" },
                                        { "num_hidden_layers", "48" },
                                        { "kv_lora_rank", "128" },
                                        { "q_lora_rank", "384" },
                                        { "qk_nope_head_dim", "64" },
                                        { "qk_rope_head_dim", "32" },
                                        { "v_head_dim", "64" },
                                        { "n_routed_experts", "128" },
                                        { "n_shared_experts", "1" },
                                        { "num_experts_per_tok", "8" },
                                        { "moe_intermediate_size", "512" },
                                        { 0 } };

/* All layers are of one type, for which transformers has a name. */
static Error *read_types(HfReading *r)
{
    const StringList *list = r->c.layer_types;
    for (int64_t i = 0; list && i < list->n; i++)
        if (strcmp(list->item[i], "indexed_attention") != 0)
            return hf_unknown(r, "layer_types", "each layer is of type indexed_attention");
    r->c.layer_types = NULL;
    return NULL;
}

static Error *read_options(HfReading *r)
{
    const bool *given = ((const Options *)r->own)->indexer_rope_interleave;
    const bool of_class = r->family->shared_index;
    if (given && *given != of_class)
        return hf_unknown(r, "indexer_rope_interleave",
                          of_class ? "only true is" : "only false is");
    return read_types(r);
}

static Error *read_sizes_of(HfReading *r, const HfSilent *silent)
{
    static const HfRenamed none[] = { { 0 } };
    hf_rename_options(r, none, silent);
    return hf_read_fields(r, hf_config_fields, &r->c);
}

static Error *read_hy_options(HfReading *r)
{
    TRY(read_sizes_of(r, hy_silent));
    return read_options(r);
}

static Error *read_axk2_options(HfReading *r)
{
    const HfConfig *c = &r->c;
    TRY(read_sizes_of(r, axk2_silent));
    const int64_t groups = c->n_group ? *c->n_group : 1, top = c->topk_group ? *c->topk_group : 1;
    if (groups != top)
        return hf_unknown(r, "n_group",
                          "it must equal topk_group: the class may take experts of other groups");
    return read_options(r);
}

/* After the sizes. */
static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    if (o->index_head_dim % 2 || o->index_head_dim < r->d->latent->turning)
        return hf_unknown(r, "index_head_dim",
                          "it must be an even number, qk_rope_head_dim or "
                          "above");
    Norm *n = NEW(r->arena, Norm);
    *n = (Norm){ .type = NORM_LAYER,
                 .width = o->index_head_dim,
                 .eps = 1e-6,
                 .has_weight = true,
                 .has_bias = true };
    SparseAttention *s = NEW(r->arena, SparseAttention);
    *s = (SparseAttention){ o->index_n_heads, o->index_head_dim, o->index_topk, n, 0 };
    r->d->sparse = s;
    return NULL;
}

static Error *adjust_axk2(HfReading *r)
{
    Latent *l = arena_copy(r->arena, r->d->latent, sizeof *l);
    l->query_joined = true;
    r->d->latent = l;
    r->d->attention_gate = GATE_FEATURE;
    r->d->norm_gate_rank = ((const Options *)r->own)->gated_norm_rank;
    return adjust(r);
}

static Error *adjust_hy(HfReading *r)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    TRY(adjust(r));
    SparseAttention *s = arena_copy(r->arena, d->sparse, sizeof *s);
    Norm *of_index = arena_copy(r->arena, s->norm, sizeof *of_index),
         *of_streams = arena_copy(r->arena, d->usual_norm, sizeof *of_streams);
    of_index->eps = d->usual_norm->eps;
    s->norm = of_index;
    of_streams->has_weight = false;
    const HyperConnections hyper = { o->hc_mult, 0, o->hc_eps, of_streams, o->hc_magnitude };
    d->sparse = s;
    d->hyper = arena_copy(r->arena, &hyper, sizeof hyper);
    return NULL;
}

static Error *is_shared(const HfReading *r, const char *key, const char *type, bool *out)
{
    *out = !strcmp(type, "shared");
    if (*out || !strcmp(type, "full")) return NULL;
    return hf_unknown(r, key, "each layer is full or shared");
}

/* Letters, or the types themselves. */
static Error *read_pattern(const HfReading *r, const Yaml *pattern, int64_t i, bool *out)
{
    static const char key[] = "index_topk_pattern";
    const int64_t n = pattern->type == YAML_STRING ? (int64_t)strlen(pattern->text) : pattern->n;
    if (pattern->type != YAML_STRING && pattern->type != YAML_LIST)
        return hf_unknown(r, key, "allowed are letters F and S, and a list");
    if (i >= n) return hf_unknown(r, key, "it says something of each layer");
    if (pattern->type == YAML_LIST) {
        const Yaml *item = pattern->item[i];
        return is_shared(r, key, item->type == YAML_STRING ? item->text : "", out);
    }
    *out = pattern->text[i] == 'S';
    return *out || pattern->text[i] == 'F' ? NULL : hf_unknown(r, key, "its letters are F and S");
}

static Error *is_layer_shared(const HfReading *r, int64_t i, bool *out)
{
    const Options *o = r->own;
    const Yaml *pattern = o->index_topk_pattern;
    if (o->indexer_types) {
        const StringList *list = o->indexer_types;
        return is_shared(r, "indexer_types", i < list->n ? list->item[i] : "", out);
    }
    if (pattern && pattern->type != YAML_NULL) return read_pattern(r, pattern, i, out);
    const int64_t every = o->index_topk_freq > 1 ? o->index_topk_freq : 1,
                  behind = i - o->index_skip_topk_offset + 1;
    *out = behind > 0 && behind % every != 0;
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    for (int64_t i = 0; i < r->d->n_layer; i++) TRY(is_layer_shared(r, i, &layer[i].shared_index));
    if (!r->d->n_layer || !layer[0].shared_index) return NULL;
    return hf_unknown(r, "indexer_types", "no layer before the first has an indexer");
}

/* Where config.json is silent the first layer has an indexer, and then every fourth. */
static Error *read_hy_layers(HfReading *r, DecoderLayer *layer)
{
    const Options *o = r->own;
    Moe *m = arena_copy(r->arena, r->d->moe, sizeof *m);
    m->experts_bound = o->swiglu_limit;
    r->d->moe = m;
    if (o->indexer_types) return read_layers(r, layer);
    for (int64_t i = 0; i < r->d->n_layer; i++) layer[i].shared_index = i > 0 && (i - 1) % 4 != 0;
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    const SparseAttention *s = d->sparse;
    if (!s) return;
    hf_put_int(t, "index_n_heads", s->heads);
    hf_put_int(t, "index_head_dim", s->width);
    hf_put_int(t, "index_topk", s->top_k);
}

static void put_type(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_puts(item, l->shared_index ? "\"shared\"" : "\"full\"");
}

static void add_glm_members(Text *t, const Decoder *d)
{
    add_members(t, d);
    hf_put_of_layers(t, "indexer_types", d, put_type);
}

static void add_axk2_members(Text *t, const Decoder *d)
{
    add_members(t, d);
    if (d->norm_gate_rank) hf_put_int(t, "gated_norm_rank", d->norm_gate_rank);
}

static void add_hy_members(Text *t, const Decoder *d)
{
    add_glm_members(t, d);
    if (!d->hyper) return;
    hf_put_int(t, "hc_mult", d->hyper->n);
    hf_put_double(t, "hc_magnitude", d->hyper->write_scale != 0 ? d->hyper->write_scale : 2);
    hf_put_double(t, "hc_eps", d->hyper->eps);
    if (d->moe && d->moe->experts_bound > 0)
        hf_put_double(t, "swiglu_limit", d->moe->experts_bound);
}

/* transformers writes all gates by the name that those of attention have. */
static const HfRenamed hy_respelled[] = { { ".linear_gate.", ".gate_proj." }, { 0 } };

const HfDialect hf_hy_v4 = { .fields = hy_fields,
                             .size = sizeof(Options),
                             .respelled = hy_respelled,
                             .read = read_hy_options,
                             .adjust = adjust_hy,
                             .layers = read_hy_layers,
                             .add = add_hy_members };
const HfDialect hf_axk2 = { .fields = axk2_fields,
                            .size = sizeof(Options),
                            .read = read_axk2_options,
                            .adjust = adjust_axk2,
                            .add = add_axk2_members };
const HfDialect hf_deepseek_v32 = { .fields = deepseek_fields,
                                    .size = sizeof(Options),
                                    .read = read_options,
                                    .adjust = adjust,
                                    .add = add_members };
const HfDialect hf_glm_moe_dsa = { .fields = glm_fields,
                                   .size = sizeof(Options),
                                   .read = read_options,
                                   .adjust = adjust,
                                   .layers = read_layers,
                                   .add = add_glm_members };
