/* decoder_sparse.c - the lightning indexer of sparse attention (DeepSeek-AI 2025, DeepSeek Sparse
 * Attention): which earlier tokens a token sees.
 *
 * Its queries are products of the narrow vector that those of attention come from, its one key of a
 * token is a product of the token behind a layer norm, and each of its heads counts by a product of
 * the token. Of both the first features turn, as those of attention do.
 *
 * No gradient flows through the choice. An indexer is trained by a loss of its own, in the units of
 * its scores as they are published, and by nothing else: what it reads is detached. Its target is
 * the attention of all blocks that see what it selects (Bai et al. 2026, IndexCache), so its loss
 * is made in the last of these. */
#include "models/decoder_build.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/features.h"
#include "ops/index_loss.h"
#include "ops/reshape.h"
#include "ops/select_keys.h"
#include "ops/selected_attention.h"
#include <math.h>

/* Whether indexers are trained as part of the model. Adapters leave them as they are. */
static bool is_trained(const Build *b)
{
    return b->d->sparse->index_loss > 0 && !b->has_adapters;
}

/* Whether this program trains them. */
static bool trains(const Build *b)
{
    return is_trained(b) && b->f->training && !b->f->inspect;
}

static Value *index_linear(Build *b, const char *name, Value *x, int64_t width, const char *from)
{
    const Linear l = { width, NULL, from, false, ROLE_LINEAR };
    Value *weight = linear_weight(b->g, name, value_width(x), &l);
    weight->is_frozen = !is_trained(b);
    return contract(b->g, "*k,nk->*n", x, weight);
}

static Value *index_norm(Build *b, const char *name, Value *x, const Norm *n)
{
    const NormParams p = norm_params(b->g, name, n);
    p.weight->is_frozen = p.bias->is_frozen = !is_trained(b);
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
    if (!s || layer->shared_index) return s ? b->index.selected : NULL;
    if (trains(b)) x = detached(g, x), query_vector = detached(g, query_vector);
    const char *heads = arena_printf(g->arena, "h=%lld", (long long)s->heads);
    Value *q = index_linear(b, "index_q", query_vector, s->heads * s->width, NULL);
    q = turned(b, layer, reshape(g, "bs(hd)->bshd", heads, q), true);
    Value *k = index_linear(b, "index_k", x, s->width, "embed");
    k = reshape(g, "bs(hd)->bshd", "h=1", index_norm(b, "index_norm", k, s->norm));
    k = reshape(g, "bshd->bs(hd)", NULL, turned(b, layer, k, false));
    Value *w = index_linear(b, "index_weights", x, s->heads, "embed");
    k = decoder_cached(b, "index_cache", k);
    b->index = (Index){ select_keys(g, q, k, w, b->documents, &(SelectKeys){ s->top_k, 1 }), q, k,
                        w, NULL };
    return b->index.selected;
}

/* Its keys are windows, and so as many of their features turn as of those of attention. */
Value *decoder_selected_windows(Build *b, const DecoderLayer *layer, Value *x, Value *query_vector)
{
    const SparseAttention *s = b->d->sparse;
    const SelectKeys attrs = { s->top_k, layer->compress };
    Graph *g = b->g;
    if (trains(b)) x = detached(g, x), query_vector = detached(g, query_vector);
    const char *heads = arena_printf(g->arena, "h=%lld", (long long)s->heads);
    Value *q = index_linear(b, "index_q", query_vector, s->heads * s->width, NULL);
    q = decoder_turned(b, layer, reshape(g, "bs(hd)->bshd", heads, q), true);
    Value *k = decoder_windows(b, layer, "index", x, s->norm, !is_trained(b));
    k = reshape(g, "bthd->bt(hd)", NULL, k);
    Value *w = index_linear(b, "index_weights", x, s->heads, "embed");
    b->index = (Index){ select_keys(g, q, k, w, NULL, &attrs), q, k, w, NULL };
    return b->index.selected;
}

/* Whether a later block sees the tokens that this one sees. */
static bool is_shared_later(const Decoder *d, const DecoderLayer *layer)
{
    for (const DecoderLayer *l = layer + 1; l < d->layer + d->n_layer; l++)
        if (l->mixer == MIXER_ATTENTION || l->mixer == MIXER_BOTH) return l->shared_index;
    return false;
}

void decoder_train_index(Build *b, const DecoderLayer *layer, const Value *o, Value *q, Value *k,
                         double scale)
{
    const SparseAttention *s = b->d->sparse;
    Index *x = &b->index;
    Graph *g = b->g;
    if (!trains(b)) return;
    Value *share = selected_shares(g, q, k, o->from->out[1], x->selected, scale);
    x->share = x->share ? add(g, x->share, share) : share;
    if (is_shared_later(b->d, layer)) return;
    Value *loss = index_loss(g, x->q, x->k, x->w, x->selected, x->share,
                             1 / sqrt((double)s->heads * (double)s->width));
    b->index_losses.sum = b->index_losses.sum ? add(g, b->index_losses.sum, loss) : loss;
    b->index_losses.n++;
}

void decoder_finish_index(Build *b, ModelOutput *out)
{
    const IndexLosses *x = &b->index_losses;
    Graph *g = b->g;
    if (!x->sum) return;
    graph_output(g, INDEX_LOSS, scale(g, x->sum, 1 / (double)x->n));
    Value *penalty = scale(g, x->sum, b->d->sparse->index_loss);
    out->penalty = out->penalty ? add(g, out->penalty, penalty) : penalty;
}
