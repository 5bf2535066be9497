/* decoder_sparse.c - the lightning indexer of sparse attention (DeepSeek-AI 2025, DeepSeek Sparse
 * Attention): which earlier tokens a token sees.
 *
 * Its queries are products of the narrow vector that those of attention come from, its one key of a
 * token is a product of the token behind a layer norm, and each of its heads counts by a product of
 * the token. Of both the first features turn, as those of attention do. What it computes goes into
 * a choice, through which no gradient flows: training keeps its parameters. */
#include "models/decoder_build.h"
#include "ops/contract.h"
#include "ops/features.h"
#include "ops/reshape.h"
#include "ops/select_keys.h"

static Value *frozen_linear(Build *b, const char *name, Value *x, int64_t width, const char *from)
{
    const Linear l = { width, NULL, from, false, ROLE_LINEAR };
    Value *weight = linear_weight(b->g, name, value_width(x), &l);
    weight->is_frozen = true;
    return contract(b->g, "*k,nk->*n", x, weight);
}

static Value *frozen_norm(Build *b, const char *name, Value *x, const Norm *n)
{
    const NormParams p = norm_params(b->g, name, n);
    p.weight->is_frozen = p.bias->is_frozen = true;
    return norm_by(b->g, p, x, n);
}

/* x [b s h d], of which the first features turn. */
static Value *turned(Build *b, const DecoderLayer *layer, Value *x, bool is_query)
{
    const int64_t turning = b->d->latent->turning, rest = value_width(x) - turning;
    Graph *g = b->g;
    if (!rest) return decoder_turned(b, layer, x, is_query);
    Value *front = decoder_turned(b, layer, slice_features(g, x, 0, turning), is_query);
    return joined_heads(g, slice_features(g, x, turning, rest), front);
}

Value *decoder_selected(Build *b, const DecoderLayer *layer, Value *x, Value *query_vector)
{
    const SparseAttention *s = b->d->sparse;
    Graph *g = b->g;
    if (!s || layer->shared_index) return s ? b->selected : NULL;
    const char *heads = arena_printf(g->arena, "h=%lld", (long long)s->heads);
    Value *q = frozen_linear(b, "index_q", query_vector, s->heads * s->width, NULL);
    q = turned(b, layer, reshape(g, "bs(hd)->bshd", heads, q), true);
    Value *k = frozen_linear(b, "index_k", x, s->width, "embed");
    k = reshape(g, "bs(hd)->bshd", "h=1", frozen_norm(b, "index_norm", k, s->norm));
    k = reshape(g, "bshd->bs(hd)", NULL, turned(b, layer, k, false));
    Value *w = frozen_linear(b, "index_weights", x, s->heads, "embed");
    k = decoder_cached(b, "index_cache", k);
    return b->selected = select_keys(g, q, k, w, b->documents, s->top_k);
}
