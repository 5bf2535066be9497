/* decoder_latent.c - attention whose keys and values are products of a narrow vector of the token,
 * and so may queries be (DeepSeek-AI 2024, Multi-Head Latent Attention). */
#include "comm/mesh.h"
#include "models/decoder_build.h"
#include "ops/attention.h"
#include "ops/contract.h"
#include "ops/features.h"
#include "ops/repeat_heads.h"
#include "ops/reshape.h"

static Value *latent_scaled(Graph *g, Value *x, double factor)
{
    return multiplied(g, x, factor != 0 ? factor : 1);
}

/* Both narrow vectors of a token in one, `front` first. */
static Value *joined_vectors(Graph *g, Value *front, Value *own)
{
    front = reshape(g, "bs(hd)->bshd", "h=1", front);
    own = reshape(g, "bs(hd)->bshd", "h=1", own);
    return reshape(g, "bshd->bs(hd)", NULL, joined_heads(g, own, front));
}

/* What queries of all heads are made of: a narrow vector, or the token itself. */
typedef struct QueryVector {
    Value *of_index; /* behind its norm, as indexers read it */
    Value *read;     /* as products for queries do */
} QueryVector;

static QueryVector query_vector(Build *b, Value *x)
{
    Graph *g = b->g;
    const Latent *l = b->d->latent;
    const Linear narrow = { l->query_rank, NULL, "embed", b->d->qkv_bias, ROLE_LINEAR };
    if (!l->query_rank) return (QueryVector){ x, x };
    Value *raw = linear(g, "q_latent", x, &narrow),
          *vector = latent_scaled(g, norm(g, "q_latent_norm", raw, l->query_norm), l->query_scale);
    return (QueryVector){ vector, l->query_joined ? joined_vectors(g, vector, raw) : vector };
}

static Value *latent_queries(Build *b, Value *vector)
{
    const bool is_narrow = b->d->latent->query_rank > 0;
    const Linear queries = { b->d->head_width * b->d->n_head_q, "heads", is_narrow ? NULL : "embed",
                             false, ROLE_LINEAR };
    return linear(b->g, is_narrow ? "q_up" : "q_attn", vector, &queries);
}

/* What keys and values of all heads are made of. */
typedef struct LatentKeys {
    Value *vector; /* [b s key_rank], behind its norm and scale */
    Value *shared; /* [b s 1 turning], turned */
    Value *up[2];  /* weights of keys and of values [heads*width key_rank] */
} LatentKeys;

static LatentKeys latent_keys(Build *b, const DecoderLayer *layer, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const Latent *l = d->latent;
    const int64_t n = d->n_head_q, own = d->head_width - l->turning;
    const Linear latent = { l->key_rank, NULL, "embed", d->qkv_bias, ROLE_LINEAR },
                 turning = { l->turning, NULL, "embed", d->qkv_bias, ROLE_LINEAR },
                 keys = { own * n, "heads", NULL, false, ROLE_LINEAR },
                 values = { l->value_width * n, "heads", NULL, false, ROLE_LINEAR };
    Value *vector = norm(g, "kv_latent_norm", linear(g, "kv_latent", x, &latent), l->key_norm);
    Value *shared = reshape(g, "bs(gd)->bsgd", "g=1", linear(g, "k_rope", x, &turning));
    return (LatentKeys){ latent_scaled(g, vector, l->key_scale),
                         decoder_turned(b, layer, shared, false),
                         { linear_weight(g, "k_attn", l->key_rank, &keys),
                           linear_weight(g, "v_attn", l->key_rank, &values) } };
}

static Value *turned_queries(Build *b, const DecoderLayer *layer, Value *vector)
{
    const char *alone = arena_printf(b->g->arena, "g=%lld r=1", (long long)b->d->n_head_q);
    return decoder_turned(b, layer,
                          reshape(b->g, "bs(grd)->bsgrd", alone, latent_queries(b, vector)), true);
}

/* The pairs of features that turn come first in each half of a head, so that half a head apart are
 * those of one pair; keys get them from one product that all heads share. */
static Value *whole_attention(Build *b, const DecoderLayer *layer, const Attention *attrs, Value *x,
                              QueryVector of)
{
    Graph *g = b->g;
    const LatentKeys m = latent_keys(b, layer, x);
    const int64_t n = b->d->n_head_q;
    const char *heads = arena_printf(g->arena, "g=%lld", (long long)n),
               *halves = arena_printf(g->arena, "g=%lld c=2", (long long)n);
    Value *shared = reshape(g, "bsg(cd)->bsgcd", "c=2", m.shared);
    Value *k = reshape(g, "bs(gcd)->bsgcd", halves, contract(g, "*k,nk->*n", m.vector, m.up[0]));
    k = reshape(g, "bsgcd->bsg(cd)", NULL, join_features(g, k, shared));
    Value *v = reshape(g, "bs(gd)->bsgd", heads, contract(g, "*k,nk->*n", m.vector, m.up[1]));
    Value *q = turned_queries(b, layer, of.read),
          *selected = decoder_selected(b, layer, x, of.of_index);
    k = decoder_cached(b, "k_cache", decoder_widened(b, layer, k));
    v = decoder_cached(b, "v_cache", decoder_widened(b, layer, v));
    return decoder_narrowed(
        b, layer, decoder_attended(b, layer, decoder_widened(b, layer, q), k, v, selected, attrs));
}

/* The weights of heads, one matrix for each. */
static Value *by_head(Build *b, Value *weight)
{
    const char *heads = arena_printf(b->g->arena, "h=%lld", (long long)b->d->n_head_q);
    return reshape(b->g, "(hn)k->hnk", heads, weight);
}

/* While a text is continued nothing but the vectors and what turns is kept of earlier tokens: keys
 * of one head. A score q (W c) is (q W) c, and a head's result W (sum of p c): its queries go
 * through the weights of keys first, and its results through those of values last. Not where these
 * have adapters beside them. */
static Value *absorbed_attention(Build *b, const DecoderLayer *layer, const Attention *attrs,
                                 Value *x, QueryVector of)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const int64_t turning = d->latent->turning, rank = d->latent->key_rank,
                  own = d->head_width - turning,
                  n_keys = decoder_key_heads(1, d->n_head_q, decoder_ranks(b, MESH_TP));
    const LatentKeys m = latent_keys(b, layer, x);
    Value *selected = decoder_selected(b, layer, x, of.of_index);
    Value *q = reshape(g, "bsgrd->bs(gr)d", NULL, turned_queries(b, layer, of.read));
    q = reshape(g, "bsh(cd)->bshcd", "c=2", q);
    Value *turned = reshape(g, "bshcd->bsh(cd)", NULL, slice_features(g, q, 0, turning / 2)),
          *rest = reshape(g, "bshcd->bsh(cd)", NULL, slice_features(g, q, turning / 2, own / 2));
    rest = contract(g, "bshn,hnk->bshk", rest, by_head(b, m.up[0]));
    const char *groups = arena_printf(g->arena, "g=%lld", (long long)n_keys);
    q = reshape(g, "bs(gr)d->bsgrd", groups, joined_heads(g, rest, turned));
    Value *vector = reshape(g, "bs(gd)->bsgd", "g=1", m.vector);
    Value *k = decoder_cached(b, "latent_cache", joined_heads(g, vector, m.shared));
    if (n_keys > 1) k = repeat_heads(g, k, n_keys);
    Value *o =
        slice_features(g, decoder_attended(b, layer, q, k, k, selected, attrs), turning, rank);
    o = reshape(g, "bsgrd->bs(gr)d", NULL, o);
    o = contract(g, "bshk,hnk->bshn", o, by_head(b, m.up[1]));
    return reshape(g, "bs(gr)d->bsgrd", groups, o);
}

Value *latent_attention(Build *b, const DecoderLayer *layer, const Attention *attrs, Value *x,
                        Value **gates)
{
    const QueryVector of = query_vector(b, x);
    const bool absorbs = b->f->cache_length && !b->has_adapters;
    if (b->d->latent->query_joined) *gates = of.read;
    return absorbs ? absorbed_attention(b, layer, attrs, x, of)
                   : whole_attention(b, layer, attrs, x, of);
}
