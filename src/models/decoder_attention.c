/* decoder_attention.c - the attention layers of decoders: heads of queries, keys and values from
 * one product each, or keys and values from a narrow vector of the token, the latent one
 * (DeepSeek-AI 2024, Multi-Head Latent Attention). */
#include "comm/mesh.h"
#include "models/decoder_build.h"
#include "ops/attention.h"
#include "ops/cache_write.h"
#include "ops/features.h"
#include "ops/repeat_heads.h"
#include "ops/reshape.h"
#include "ops/rope.h"
#include "ops/sigmoid_gate.h"

const char *const attention_gates[] = { "none", "head", "feature", NULL };

/* Of heads of a width: all of it, or what turns of it, alone. */
static Value *rotary_table(Build *b, const RopeScaling *s, int64_t width)
{
    for (int64_t i = 0; i < b->n_tables; i++)
        if (b->table[i].of == s && b->table[i].width == width) return b->table[i].value;
    const int64_t n = b->f->cache_length ? b->f->cache_length : b->f->sequence;
    const bool rounded = b->f->rounded_buffers;
    if (s->kind == ROPE_DYNAMIC && b->f->cache_length > s->original)
        graph_fail(b->g, error_new("rope scaling dynamic changes all positions as a text grows, so "
                                   "texts can be continued up to %lld tokens, not %lld",
                                   (long long)s->original, (long long)b->f->cache_length));
    Value *v = s->kind == ROPE_PLAIN && (!s->width || s->width == width)
                   ? rope_table(b->g, F32, n, width, s->base, rounded)
                   : rope_scaled_table(b->g, F32, n, width, s, rounded);
    b->table = arena_grow(b->g->arena, b->table, b->n_tables, &b->cap_tables, sizeof *b->table);
    b->table[b->n_tables++] = (Table){ s, width, v };
    return v;
}

static Value *transform(Build *b, const DecoderLayer *layer, Value *x)
{
    for (int64_t i = 0; i < layer->n_rope; i++)
        x = rope(b->g, x, rotary_table(b, &layer->rope[i], value_width(x)));
    return x;
}

static Value *cached(Build *b, const char *name, Value *x)
{
    if (!b->f->cache_length) return x;
    Dim d[] = { x->dim[0], { .size = b->f->cache_length }, x->dim[2], x->dim[3] };
    /* several texts have caches beside that of a single one, from which they are filled */
    const long long n = (long long)x->dim[0].size;
    if (n > 1) name = arena_printf(b->g->arena, "%s.%lld", name, n);
    Value *cache = graph_cache(b->g, graph_name(b->g, name), x->dtype, 4, d);
    return cache_write(b->g, cache, x);
}

/* One of queries and keys, not yet split into heads. */
static Value *wide_norm(Build *b, const char *name, Value *x)
{
    if (!b->d->qk_norm_width) return x;
    Norm n = *b->d->qk_norm_width;
    n.width = value_width(x);
    return norm(b->g, name, x, &n);
}

/* Where more ranks share matrices than there are heads of keys, each has one of its own: the keys
 * of all are computed by everyone, and repeated. */
static int64_t key_heads(const Build *b)
{
    const Decoder *d = b->d;
    const int64_t ranks = b->g->mesh ? b->g->mesh->size[MESH_TP] : 1;
    const bool fits = ranks % d->n_head_kv == 0 && d->n_head_q % ranks == 0;
    return ranks > d->n_head_kv && fits ? ranks : d->n_head_kv;
}

static Value *repeated(Build *b, Value *x, int64_t n)
{
    return n == b->d->n_head_kv ? x : repeat_heads(b->g, x, n);
}

double decoder_attention_scale(const Decoder *d)
{
    return d->attention_scale != 0 ? d->attention_scale : 1 / sqrt((double)d->head_width);
}

/* 0: the usual one of heads that are not widened */
static double score_scale(const Decoder *d, const DecoderLayer *layer)
{
    if (!d->scale_by_layer && !d->latent) return d->attention_scale;
    return decoder_attention_scale(d) / (d->scale_by_layer ? (double)(layer - d->layer + 1) : 1);
}

/* What heads o [b s g r d] give to the next product, behind the gates that x opens. */
static Value *gated(Build *b, Value *o, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const bool of_heads = d->attention_gate == GATE_HEAD;
    const Linear gates = { of_heads ? d->n_head_q : value_width(o) * d->n_head_q, "heads", "embed",
                           false, ROLE_LINEAR };
    if (d->attention_gate == GATE_NONE) return reshape(g, "bsgrd->bs(grd)", NULL, o);
    Value *gate = linear(g, "g_attn", x, &gates);
    if (of_heads) {
        const char *groups = arena_printf(g->arena, "g=%lld", (long long)o->dim[2].size);
        o = sigmoid_gate(g, o, reshape(g, "bs(gr)->bsgr", groups, gate));
        return reshape(g, "bsgrd->bs(grd)", NULL, o);
    }
    Value *flat = reshape(g, "bsgrd->bs(grd)", NULL, o);
    flat = sigmoid_gate(g, reshape(g, "bs(no)->bsno", "o=1", flat), gate);
    return reshape(g, "bsno->bs(no)", NULL, flat);
}

/* Queries [b s g r d], keys and values [b t g d] of a layer. */
typedef struct Heads {
    Value *q, *k, *v;
} Heads;

static Heads plain_heads(Build *b, const DecoderLayer *layer, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const int64_t n_keys = key_heads(b);
    const char *axis = n_keys == d->n_head_kv ? "heads" : NULL;
    const char *groups =
        arena_printf(g->arena, "d=%lld g=%lld", (long long)d->head_width, (long long)n_keys);
    const char *sizes =
        arena_printf(g->arena, "d=%lld g=%lld", (long long)d->head_width, (long long)d->n_head_kv);
    const Linear queries = { d->head_width * d->n_head_q, "heads", "embed", d->qkv_bias,
                             ROLE_LINEAR },
                 keys = { d->head_width * d->n_head_kv, axis, "embed", d->qkv_bias, ROLE_LINEAR };
    Value *q = reshape(g, "bs(grd)->bsgrd", groups,
                       wide_norm(b, "q_norm", linear(g, "q_attn", x, &queries)));
    Value *k =
        reshape(g, "bs(gd)->bsgd", sizes, wide_norm(b, "k_norm", linear(g, "k_attn", x, &keys)));
    Value *v = reshape(g, "bs(gd)->bsgd", sizes, linear(g, "v_attn", x, &keys));
    if (!d->qk_norm_before_rope) q = transform(b, layer, q), k = transform(b, layer, k);
    q = maybe_norm(g, "q_norm", q, d->qk_norm);
    k = maybe_norm(g, "k_norm", k, d->qk_norm);
    if (d->qk_norm_before_rope) q = transform(b, layer, q), k = transform(b, layer, k);
    v = repeated(b, cached(b, "v_cache", v), n_keys);
    return (Heads){ q, repeated(b, cached(b, "k_cache", k), n_keys), v };
}

static Value *latent_queries(Build *b, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const Latent *l = d->latent;
    const int64_t width = d->head_width * d->n_head_q;
    const Linear narrow = { l->query_rank, NULL, "embed", d->qkv_bias, ROLE_LINEAR },
                 wide = { width, "heads", NULL, false, ROLE_LINEAR },
                 direct = { width, "heads", "embed", false, ROLE_LINEAR };
    if (!l->query_rank) return linear(g, "q_attn", x, &direct);
    Value *latent = norm(g, "q_latent_norm", linear(g, "q_latent", x, &narrow), l->query_norm);
    return linear(g, "q_up", latent, &wide);
}

/* Heads as wide as the wider of keys and values: attention has one width. */
static Value *widened(Build *b, Value *x)
{
    const int64_t keys = b->d->head_width, values = b->d->latent->value_width,
                  width = keys > values ? keys : values;
    return value_width(x) == width ? x : pad_features(b->g, x, width);
}

/* The pairs of features that turn come first in each half of a head, so that half a head apart are
 * those of one pair; keys get them from one product that all heads share. */
static Heads latent_heads(Build *b, const DecoderLayer *layer, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const Latent *l = d->latent;
    const int64_t n = d->n_head_q, own = d->head_width - l->turning;
    const Linear latent = { l->key_rank, NULL, "embed", d->qkv_bias, ROLE_LINEAR },
                 turning = { l->turning, NULL, "embed", d->qkv_bias, ROLE_LINEAR },
                 keys = { own * n, "heads", NULL, false, ROLE_LINEAR },
                 values = { l->value_width * n, "heads", NULL, false, ROLE_LINEAR };
    const char *heads = arena_printf(g->arena, "g=%lld", (long long)n),
               *halves = arena_printf(g->arena, "g=%lld c=2", (long long)n),
               *alone = arena_printf(g->arena, "g=%lld r=1", (long long)n);
    Value *c = norm(g, "kv_latent_norm", linear(g, "kv_latent", x, &latent), l->key_norm);
    Value *shared = reshape(g, "bs(gd)->bsgd", "g=1", linear(g, "k_rope", x, &turning));
    shared = reshape(g, "bsg(cd)->bsgcd", "c=2", transform(b, layer, shared));
    Value *k = reshape(g, "bs(gcd)->bsgcd", halves, linear(g, "k_attn", c, &keys));
    k = reshape(g, "bsgcd->bsg(cd)", NULL, join_features(g, k, shared));
    Value *v = reshape(g, "bs(gd)->bsgd", heads, linear(g, "v_attn", c, &values));
    Value *q = reshape(g, "bs(grd)->bsgrd", alone, latent_queries(b, x));
    return (Heads){ widened(b, transform(b, layer, q)), cached(b, "k_cache", widened(b, k)),
                    cached(b, "v_cache", widened(b, v)) };
}

Value *attention_layer(Build *b, const DecoderLayer *layer, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const Heads h = d->latent ? latent_heads(b, layer, x) : plain_heads(b, layer, x);
    const int64_t width = d->latent ? d->latent->value_width : d->head_width;
    const Linear out = { d->width, "embed", "heads", d->out_bias, ROLE_RESIDUAL };
    const Attention attrs = { .causal = true,
                              .scale = score_scale(d, layer),
                              .soft_cap = d->attention_cap,
                              .window = layer->window,
                              .dropout = b->f->training ? d->attention_dropout : 0,
                              .salt = b->salt++ };
    Value *o = attention(g, h.q, h.k, h.v, b->documents, &attrs);
    if (value_width(o) != width) o = slice_features(g, o, 0, width);
    Value *y = linear(g, "c_proj", gated(b, o, x), &out);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}
