/* decoder_joint.c - attention in which one vector of a token is its key and its value, of all
 * heads, and in which windows of earlier tokens stand for these (DeepSeek-AI 2026, DeepSeek V4).
 *
 * Positions turn that vector, so that what heads give is turned back by the position of the query:
 * then what a token adds depends on its distance alone. */
#include "models/decoder_build.h"
#include "ops/attention.h"
#include "ops/attention_join.h"
#include "ops/attention_sink.h"
#include "ops/cache_write.h"
#include "ops/compress.h"
#include "ops/contract.h"
#include "ops/repeat_heads.h"
#include "ops/reshape.h"
#include "ops/rope.h"
#include "ops/selected_attention.h"

static Value *turned_windows(Build *b, const DecoderLayer *layer, Value *x)
{
    for (int64_t i = 0; i < layer->n_rope; i++)
        x = rope_windows(b->g, x, decoder_rotary_table(b, &layer->rope[i], value_width(x), false),
                         layer->compress);
    return x;
}

static Value *turned_back(Build *b, const DecoderLayer *layer, Value *o)
{
    for (int64_t i = layer->n_rope; i-- > 0;)
        o = rope_back(b->g, o, decoder_rotary_table(b, &layer->rope[i], value_width(o), false));
    return o;
}

/* A product of x, "<name>_<what>". */
static Value *product(Build *b, const char *name, const char *what, Value *x, int64_t width,
                      bool is_frozen)
{
    const Linear l = { width, NULL, "embed", false, ROLE_LINEAR };
    const char *whole = arena_printf(b->g->arena, "%s_%s", name, what);
    Value *weight = linear_weight(b->g, whole, value_width(x), &l);
    weight->is_frozen = is_frozen;
    return contract(b->g, "*k,nk->*n", x, weight);
}

/* Of so many tokens, while a text is continued. */
static Value *tail(Build *b, const char *name, const char *what, Value *x, int64_t tokens)
{
    const Dim kept[] = { x->dim[0], { .size = 1 }, { .size = tokens }, { .size = value_width(x) } };
    return decoder_cache(b, arena_printf(b->g->arena, "%s_%s_tail", name, what), x, 4, kept);
}

static Value *cached_windows(Build *b, const char *name, Value *x, int64_t rate)
{
    Dim d[MAX_DIMS] = { 0 };
    for (int k = 0; k < x->n_dims; k++) d[k] = x->dim[k];
    d[1] = (Dim){ .size = (b->f->cache_length + rate - 1) / rate };
    const char *cache = arena_printf(b->g->arena, "%s_cache", name);
    return cache_write_windows(b->g, decoder_cache(b, cache, x, x->n_dims, d), x, rate);
}

Value *decoder_windows(Build *b, const DecoderLayer *layer, const char *name, Value *x,
                       const Norm *n, bool is_frozen)
{
    Graph *g = b->g;
    const Compress attrs = { layer->compress, layer->overlaps };
    const int64_t width = layer->overlaps ? 2 * n->width : n->width;
    const Dim places[] = { { .size = layer->compress }, { .size = width } };
    Value *rows = product(b, name, "k", x, width, is_frozen),
          *gate = product(b, name, "gate", x, width, is_frozen),
          *bias = graph_param(g, arena_printf(g->arena, "%s_bias", name), 2, places);
    bias->role = ROLE_TOKEN;
    bias->init = (Init){ .kind = INIT_ZEROS };
    bias->is_frozen = is_frozen;
    Value *y;
    if (b->f->cache_length) {
        const int64_t kept = compress_tail(&attrs);
        Value *tails[] = { tail(b, name, "k", rows, kept), tail(b, name, "gate", gate, kept) };
        y = compress_cached(g, tails, rows, gate, bias, &attrs);
    } else {
        y = compress(g, rows, gate, bias, &attrs);
    }
    const NormParams p = norm_params(g, arena_printf(g->arena, "%s_norm", name), n);
    if (p.weight) p.weight->is_frozen = is_frozen;
    if (p.bias) p.bias->is_frozen = is_frozen;
    y = reshape(g, "bt(gd)->btgd", "g=1", norm_by(g, p, y, n));
    y = turned_windows(b, layer, y);
    return b->f->cache_length ? cached_windows(b, name, y, layer->compress) : y;
}

/* What queries of all heads are made of: a narrow vector, or the token itself. */
static Value *query_vector(Build *b, Value *x)
{
    const Joint *j = b->d->joint;
    const Linear narrow = { j->query_rank, NULL, "embed", false, ROLE_LINEAR };
    if (!j->query_rank) return x;
    return norm(b->g, "q_latent_norm", linear(b->g, "q_latent", x, &narrow), j->query_norm);
}

static Value *queries(Build *b, const DecoderLayer *layer, Value *vector, int64_t n_keys)
{
    const Decoder *d = b->d;
    const bool is_narrow = d->joint->query_rank > 0;
    const Linear all = { d->head_width * d->n_head_q, "heads", is_narrow ? NULL : "embed", false,
                         ROLE_LINEAR };
    const char *groups =
        arena_printf(b->g->arena, "d=%lld g=%lld", (long long)d->head_width, (long long)n_keys);
    Value *q = linear(b->g, is_narrow ? "q_up" : "q_attn", vector, &all);
    q = norm_by(b->g, (NormParams){ 0 }, reshape(b->g, "bs(grd)->bsgrd", groups, q),
                d->joint->head_norm);
    return decoder_turned(b, layer, q, true);
}

static Value *repeated(Build *b, Value *x, int64_t n)
{
    return n > 1 ? repeat_heads(b->g, x, n) : x;
}

/* Attention to windows as well. */
static Value *with_windows(Build *b, const DecoderLayer *layer, const Attention *attrs, Value *x,
                           Value *vector, Value *q, Value *o)
{
    Graph *g = b->g;
    const SelectedAttention own = { attrs->scale, attrs->dropout, b->salt++ };
    const int64_t n = q->dim[2].size;
    Value *made = decoder_windows(b, layer, "window", x, b->d->joint->key_norm, false),
          *seen = layer->selects ? decoder_selected_windows(b, layer, x, vector)
                                 : ended_windows(g, x, made, layer->compress);
    Value *k = repeated(b, made, n);
    o = attention_join(g, o, selected_attention(g, q, k, k, seen, &own));
    o = decoder_with_sinks(b, layer, o);
    if (layer->selects) decoder_train_index(b, layer, o, q, k, own.scale);
    return o;
}

Value *joint_attention(Build *b, const DecoderLayer *layer, const Attention *attrs, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const int64_t n = decoder_key_heads(1, d->n_head_q, decoder_ranks(b, MESH_TP));
    const Linear key = { d->head_width, NULL, "embed", false, ROLE_LINEAR };
    Value *vector = query_vector(b, x), *q = queries(b, layer, vector, n);
    Value *k = norm(g, "k_norm", linear(g, "k_attn", x, &key), d->joint->key_norm);
    k = decoder_turned(b, layer, reshape(g, "bs(gd)->bsgd", "g=1", k), false);
    k = repeated(b, decoder_cached(b, "k_cache", k), n);
    Value *o = attention(g, q, k, k, b->documents, attrs);
    o = layer->compress ? with_windows(b, layer, attrs, x, vector, q, o)
                        : decoder_with_sinks(b, layer, o);
    return turned_back(b, layer, o);
}

Value *joint_outputs(Build *b, Value *o)
{
    const Joint *j = b->d->joint;
    Graph *g = b->g;
    if (!j || !j->output_groups) return o;
    const int64_t inputs = value_width(o) / j->output_groups;
    const Linear narrow = { j->output_groups * j->output_rank, "heads", NULL, false, ROLE_LINEAR };
    const char *groups = arena_printf(g->arena, "n=%lld", (long long)j->output_groups);
    Value *weight = reshape(g, "(nr)k->nrk", groups, linear_weight(g, "o_latent", inputs, &narrow));
    o = contract(g, "bsnk,nrk->bsnr", reshape(g, "bs(nk)->bsnk", groups, o), weight);
    return reshape(g, "bsnr->bs(nr)", NULL, o);
}
