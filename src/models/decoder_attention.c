/* decoder_attention.c - the attention layers of decoders: heads of queries, keys and values from
 * one product each, and what attention has in common wherever they come from. */
#include "comm/mesh.h"
#include "models/decoder_build.h"
#include "ops/attention.h"
#include "ops/attention_sink.h"
#include "ops/cache_write.h"
#include "ops/clip.h"
#include "ops/features.h"
#include "ops/repeat_heads.h"
#include "ops/reshape.h"
#include "ops/rope.h"
#include "ops/row_gate.h"
#include "ops/scale_heads.h"
#include "ops/selected_attention.h"
#include <string.h>

const char *const attention_gates[] = { "none", "head", "feature", NULL };

/* Of heads of a width: all of it, or what turns of it, alone. */
Value *decoder_rotary_table(Build *b, const RopeScaling *s, int64_t width, bool grows)
{
    for (int64_t i = 0; i < b->n_tables; i++)
        if (b->table[i].of == s && b->table[i].width == width && b->table[i].grows == grows)
            return b->table[i].value;
    const int64_t n = b->f->cache_length ? b->f->cache_length : b->f->sequence;
    const bool rounded = b->f->rounded_buffers;
    if (s->kind == ROPE_DYNAMIC && b->f->cache_length > s->original)
        graph_fail(b->g, error_new("rope scaling dynamic changes all positions as a text grows, so "
                                   "texts can be continued up to %lld tokens, not %lld",
                                   (long long)s->original, (long long)b->f->cache_length));
    RopeScaling own = *s;
    if (!grows) own.growth = 0;
    /* of an indexer's wider queries and keys as many features turn as of those of attention */
    if (b->d->joint && !s->width) own.width = b->d->head_width;
    Value *v = s->kind == ROPE_PLAIN && !grows && (!own.width || own.width == width)
                   ? rope_table(b->g, F32, n, width, s->base, rounded)
                   : rope_scaled_table(b->g, F32, n, width, &own, rounded);
    b->table = arena_grow(b->g->arena, b->table, b->n_tables, &b->cap_tables, sizeof *b->table);
    b->table[b->n_tables++] = (Table){ s, width, grows, v };
    return v;
}

Value *decoder_turned(Build *b, const DecoderLayer *layer, Value *x, bool is_query)
{
    for (int64_t i = 0; i < layer->n_rope; i++) {
        const RopeScaling *s = &layer->rope[i];
        if (s->still && !is_query) continue;
        x = rope(b->g, x, decoder_rotary_table(b, s, value_width(x), is_query && s->growth != 0));
    }
    return x;
}

Value *decoder_cache(Build *b, const char *name, const Value *x, int n_dims, const Dim *dims)
{
    /* several texts have caches beside that of a single one, from which they are filled */
    const long long n = (long long)x->dim[0].size;
    if (n > 1) name = arena_printf(b->g->arena, "%s.%lld", name, n);
    return graph_cache(b->g, graph_name(b->g, name), x->dtype, n_dims, dims);
}

Value *decoder_cached(Build *b, const char *name, Value *x)
{
    if (!b->f->cache_length) return x;
    Dim d[MAX_DIMS];
    memcpy(d, x->dim, sizeof d);
    d[1] = (Dim){ .size = b->f->cache_length };
    return cache_write(b->g, decoder_cache(b, name, x, x->n_dims, d), x);
}

/* One of queries and keys, not yet split into heads. */
static Value *wide_norm(Build *b, const DecoderLayer *layer, const char *name, Value *x)
{
    if (!b->d->qk_norm_width || layer->no_qk_norm) return x;
    Norm n = *b->d->qk_norm_width;
    n.width = value_width(x);
    return norm(b->g, name, x, &n);
}

/* One of queries and keys [... d], of n features in all heads, which ranks divide by `axis`. */
static Value *head_norm(Build *b, const DecoderLayer *layer, const char *name, Value *x, int64_t n,
                        const char *axis)
{
    Graph *g = b->g;
    if (!b->d->qk_norm) return x;
    Norm own = *b->d->qk_norm;
    const Norm *s = &own;
    if (layer->head_width) own.width = layer->head_width;
    if (!b->d->qk_norm_by_head) return norm(g, name, x, s);
    const Dim d = { .size = n, .axis = axis };
    const char *groups =
        arena_printf(g->arena, "g=%lld d=%lld", (long long)x->dim[2].size, (long long)own.width);
    const bool grouped = x->n_dims == 5; /* [b s g r d] */
    x = norm_by(g, (NormParams){ 0 }, x, s);
    if (!s->has_weight) return x;
    Value *weight = layer_param(g, name, "weight", 1, &d, ROLE_NORM, (Init){ .kind = INIT_ONES });
    x = reshape(g, grouped ? "bsgrd->bs(grd)o" : "bsgd->bs(gd)o", "o=1", x);
    x = reshape(g, "bsho->bs(ho)", NULL, scale_heads(g, x, weight));
    return reshape(g, grouped ? "bs(grd)->bsgrd" : "bs(gd)->bsgd", groups, x);
}

static Value *clipped(Build *b, Value *x)
{
    return b->d->qkv_clip > 0 ? clip(b->g, x, b->d->qkv_clip) : x;
}

int64_t decoder_ranks(const Build *b, MeshAxis axis)
{
    return b->g->mesh ? b->g->mesh->size[axis] : 1;
}

int64_t decoder_key_heads(int64_t n, int64_t readers, int64_t ranks)
{
    return ranks > n && ranks % n == 0 && readers % ranks == 0 ? ranks : n;
}

/* So many neighbouring heads of keys are one to the op, as wide as all of them. */
static int64_t joined(const Decoder *d)
{
    return d->differential ? 2 : 1;
}

/* Heads of keys of a block, as the op has them. Ranks that share matrices have one each. */
static int64_t key_heads_of(const Build *b, const DecoderLayer *layer)
{
    const int64_t n = decoder_key_heads_of(b->d, layer) / joined(b->d),
                  readers = decoder_query_heads_of(b->d, layer) / joined(b->d);
    return decoder_key_heads(n, readers, decoder_ranks(b, MESH_TP));
}

/* Heads of keys or values [b s g d], as n. */
static Value *repeated(Build *b, Value *x, int64_t n)
{
    return n == x->dim[2].size ? x : repeat_heads(b->g, x, n);
}

int64_t decoder_head_width_of(const Decoder *d, const DecoderLayer *layer)
{
    return layer->head_width ? layer->head_width : d->head_width;
}

int64_t decoder_query_heads_of(const Decoder *d, const DecoderLayer *layer)
{
    return layer->n_head_q ? layer->n_head_q : d->n_head_q;
}

int64_t decoder_key_heads_of(const Decoder *d, const DecoderLayer *layer)
{
    return layer->n_head_kv ? layer->n_head_kv : d->n_head_kv;
}

static bool sees_alike(const DecoderLayer *x, const DecoderLayer *y)
{
    return x->window == y->window && x->chunks == y->chunks;
}

const DecoderLayer *decoder_keys_of(const Decoder *d, const DecoderLayer *layer)
{
    if (!layer->shared_kv) return layer;
    for (const DecoderLayer *l = layer; l-- > d->layer;) {
        const bool attends = l->mixer == MIXER_ATTENTION || l->mixer == MIXER_BOTH;
        if (attends && !l->shared_kv && sees_alike(l, layer)) return l;
    }
    return NULL;
}

double decoder_attention_scale(const Decoder *d)
{
    return d->attention_scale != 0 ? d->attention_scale : 1 / sqrt((double)d->head_width);
}

/* 0: the usual one of heads that are not widened */
static double score_scale(const Decoder *d, const DecoderLayer *layer)
{
    const bool usual = !d->scale_by_layer && !d->latent && !d->value_width && !d->differential;
    if (usual) return d->attention_scale;
    return decoder_attention_scale(d) / (d->scale_by_layer ? (double)(layer - d->layer + 1) : 1);
}

typedef Value *GateRows(Graph *g, Value *x, Value *gate);

/* What heads o [b s g r d] give to the next product, behind the gates that x [b s n] opens. */
static Value *gated(Build *b, Value *o, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const bool of_heads = d->attention_gate == GATE_HEAD;
    const int64_t n = o->dim[2].size * o->dim[3].size;
    const bool is_narrow = d->latent && d->latent->query_joined;
    const Linear gates = { of_heads ? n : n * value_width(o), "heads", is_narrow ? NULL : "embed",
                           false, ROLE_LINEAR };
    if (d->attention_gate == GATE_NONE) return reshape(g, "bsgrd->bs(grd)", NULL, o);
    GateRows *gate_rows = d->softplus_gates ? softplus_gate : sigmoid_gate;
    Value *gate = linear(g, "g_attn", x, &gates);
    if (of_heads) {
        const char *groups = arena_printf(g->arena, "g=%lld", (long long)o->dim[2].size);
        o = gate_rows(g, o, reshape(g, "bs(gr)->bsgr", groups, gate));
        return reshape(g, "bsgrd->bs(grd)", NULL, o);
    }
    Value *flat = reshape(g, "bsgrd->bs(grd)", NULL, o);
    flat = gate_rows(g, reshape(g, "bs(no)->bsno", "o=1", flat), gate);
    return reshape(g, "bsno->bs(no)", NULL, flat);
}

static Value *sink(Build *b, const DecoderLayer *layer, Value *o)
{
    const Dim heads = { .size = decoder_query_heads_of(b->d, layer), .axis = "heads" };
    const Init zeros = { .kind = INIT_ZEROS };
    Value *sinks = graph_param(b->g, "sinks", 1, &heads);
    sinks->role = ROLE_TOKEN;
    sinks->init = zeros;
    return attention_sink(b->g, o, sinks);
}

Value *decoder_with_sinks(Build *b, const DecoderLayer *layer, Value *o)
{
    return b->d->attention_sinks && !layer->no_sinks ? sink(b, layer, o) : o;
}

/* Of the keys that an indexer has selected. */
static Value *attended_to(Build *b, const DecoderLayer *layer, Value *q, Value *k, Value *v,
                          Value *selected, const Attention *attrs)
{
    const SelectedAttention own = { attrs->scale, attrs->dropout, attrs->salt };
    Value *o = decoder_with_sinks(b, layer, selected_attention(b->g, q, k, v, selected, &own));
    decoder_train_index(b, layer, o, q, k, own.scale);
    return o;
}

Value *decoder_attended(Build *b, const DecoderLayer *layer, Value *q, Value *k, Value *v,
                        Value *selected, const Attention *attrs)
{
    Graph *g = b->g;
    if (selected) return attended_to(b, layer, q, k, v, selected, attrs);
    return decoder_with_sinks(b, layer, attention(g, q, k, v, b->documents, attrs));
}

static Value *value_norm(Build *b, Value *v)
{
    if (!b->d->value_norm) return v;
    Norm n = *b->d->value_norm;
    n.width = value_width(v);
    return norm_by(b->g, (NormParams){ 0 }, v, &n);
}

static int64_t value_width_of(const Decoder *d, const DecoderLayer *layer)
{
    if (d->latent) return d->latent->value_width;
    return d->value_width ? d->value_width : decoder_head_width_of(d, layer);
}

Value *decoder_widened(Build *b, const DecoderLayer *layer, Value *x)
{
    const int64_t keys = decoder_head_width_of(b->d, layer), values = value_width_of(b->d, layer),
                  width = joined(b->d) * (keys > values ? keys : values);
    return value_width(x) == width ? x : pad_features(b->g, x, width);
}

Value *decoder_narrowed(Build *b, const DecoderLayer *layer, Value *o)
{
    const int64_t width = joined(b->d) * value_width_of(b->d, layer);
    return value_width(o) == width ? o : slice_features(b->g, o, 0, width);
}

/* Of a block, before positions turn; keys and values are NULL where they are those of another. */
typedef struct Heads {
    Value *q, *k, *v;
} Heads;

static Heads heads_of(Build *b, const DecoderLayer *layer, Value *x, const Linear *queries,
                      const Linear *keys, const Linear *values)
{
    Graph *g = b->g;
    const int64_t width = decoder_head_width_of(b->d, layer),
                  own_keys = decoder_key_heads_of(b->d, layer);
    const char *groups = arena_printf(g->arena, "d=%lld g=%lld", (long long)width,
                                      (long long)key_heads_of(b, layer));
    const char *sizes =
        arena_printf(g->arena, "d=%lld g=%lld", (long long)width, (long long)own_keys);
    const char *of_values = arena_printf(
        g->arena, "d=%lld g=%lld", (long long)value_width_of(b->d, layer), (long long)own_keys);
    Value *q = clipped(b, wide_norm(b, layer, "q_norm", linear(g, "q_attn", x, queries)));
    q = reshape(g, "bs(grd)->bsgrd", groups, q);
    if (layer->shared_kv) return (Heads){ .q = q };
    Value *made = linear(g, "k_attn", x, keys);
    Value *k = clipped(b, wide_norm(b, layer, "k_norm", made));
    k = reshape(g, "bs(gd)->bsgd", sizes, k);
    Value *v = clipped(b, layer->keys_as_values ? made : linear(g, "v_attn", x, values));
    return (Heads){ q, k, value_norm(b, reshape(g, "bs(gd)->bsgd", of_values, v)) };
}

static void turn(Build *b, const DecoderLayer *layer, Heads *h)
{
    h->q = decoder_turned(b, layer, h->q, true);
    if (h->k) h->k = decoder_turned(b, layer, h->k, false);
}

/* The block's own keys and values, or those of another one, which have been turned and cached. What
 * may be sent to another stage of a pipeline is not repeated before. */
static KeysValues keys_and_values(Build *b, const DecoderLayer *layer, const Heads *h)
{
    const Decoder *d = b->d;
    const int64_t n = key_heads_of(b, layer);
    const bool own = h->k && h->v;
    KeysValues kv, all;
    if (!own)
        kv = b->made[decoder_keys_of(d, layer) - d->layer];
    else
        kv.v = decoder_cached(b, "v_cache", h->v), kv.k = decoder_cached(b, "k_cache", h->k);
    all.v = repeated(b, kv.v, n);
    all.k = repeated(b, kv.k, n);
    if (b->made && own && layer - d->layer < d->n_layer)
        b->made[layer - d->layer] = decoder_ranks(b, MESH_PP) > 1 ? kv : all;
    return all;
}

static Value *plain_attention(Build *b, const DecoderLayer *layer, const Attention *attrs, Value *x)
{
    const Decoder *d = b->d;
    const int64_t width = decoder_head_width_of(d, layer),
                  own_keys = decoder_key_heads_of(d, layer);
    const char *axis = key_heads_of(b, layer) * joined(d) == own_keys ? "heads" : NULL;
    const int64_t n_queries = decoder_query_heads_of(d, layer);
    const Linear queries = { width * n_queries, "heads", "embed", d->qkv_bias, ROLE_LINEAR },
                 keys = { width * own_keys, axis, "embed", d->qkv_bias, ROLE_LINEAR },
                 values = { value_width_of(d, layer) * own_keys, axis, "embed", d->qkv_bias,
                            ROLE_LINEAR };
    Heads h = heads_of(b, layer, x, &queries, &keys, &values);
    if (!d->qk_norm_before_rope) turn(b, layer, &h);
    if (!layer->no_qk_norm) {
        h.q = head_norm(b, layer, "q_norm", h.q, queries.width, queries.axis);
        if (h.k) h.k = head_norm(b, layer, "k_norm", h.k, keys.width, keys.axis);
    }
    if (d->qk_norm_before_rope) turn(b, layer, &h);
    if (d->differential) {
        h.q = differential_queries(b, h.q);
        if (h.k) h.k = differential_keys(b, h.k), h.v = differential_keys(b, h.v);
    }
    h.q = decoder_widened(b, layer, h.q);
    if (h.k) h.k = decoder_widened(b, layer, h.k), h.v = decoder_widened(b, layer, h.v);
    const KeysValues kv = keys_and_values(b, layer, &h);
    Value *o = decoder_narrowed(b, layer, decoder_attended(b, layer, h.q, kv.k, kv.v, NULL, attrs));
    return d->differential ? differential_heads(b, layer, o) : o;
}

Value *joined_heads(Graph *g, Value *own, Value *front)
{
    own = reshape(g, "bsh(ocd)->bshocd", "o=1 c=1", own);
    front = reshape(g, "bsh(ocd)->bshocd", "o=1 c=1", front);
    return reshape(g, "bshocd->bsh(ocd)", NULL, join_features(g, own, front));
}

Value *attention_layer(Build *b, const DecoderLayer *layer, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const Linear out = { d->width, "embed", "heads", d->out_bias && !layer->no_out_bias,
                         ROLE_RESIDUAL };
    const Attention attrs = { .causal = true,
                              .scale = score_scale(d, layer),
                              .soft_cap = d->attention_cap,
                              .alibi = d->alibi,
                              .alibi_scale = d->alibi_scale,
                              .window = layer->window,
                              .chunks = layer->chunks,
                              .dropout = b->f->training ? d->attention_dropout : 0,
                              .salt = b->salt++ };
    Value *gates = x, /* what products for gates read */
        *o = d->joint    ? joint_attention(b, layer, &attrs, x)
             : d->latent ? latent_attention(b, layer, &attrs, x, &gates)
                         : plain_attention(b, layer, &attrs, x);
    o = inner_norm(b, "attn", "heads_norm", joint_outputs(b, gated(b, o, gates)));
    Value *y = linear(g, "c_proj", o, &out);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}
