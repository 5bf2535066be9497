/* attention_cases.c - cases of rotary positions, attention and its caches. */
#include "case_leaves.h"
#include "ops/attention.h"
#include "ops/attention_join.h"
#include "ops/attention_sink.h"
#include "ops/cache_write.h"
#include "ops/compress.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/index_loss.h"
#include "ops/qk_clip.h"
#include "ops/rope.h"
#include "ops/rope_scaled.h"
#include "ops/select_keys.h"
#include "ops/selected_attention.h"

/* positions, width */
static Value *build_rope_table(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    rope_table(g, F64, n[0], n[1], 10000, false);
    return NULL;
}

static Value *build_rope_scaled_table(Graph *g, const OpCase *c, const int64_t *n)
{
    rope_scaled_table(g, F64, n[0], n[1], c->attrs, false);
    return NULL;
}

/* positions of the table; sizes of x */
static Value *build_rope(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    int last = count(n + 1) - 1;
    Value *table = floats(g, "table", 2, (int64_t[]){ n[0], n[1 + last] });
    return rope(g, floats(g, "x", last + 1, n + 1), table);
}

/* b, s, t, g, r, d; 1 for documents */
static Value *build_attention(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *q = floats(g, "q", 5, (int64_t[]){ n[0], n[1], n[3], n[4], n[5] });
    int64_t keys[] = { n[0], n[2], n[3], n[5] };
    Value *documents = n[6] ? ids(g, "documents", 1, 2, n) : NULL;
    return attention(g, q, floats(g, "k", 4, keys), floats(g, "v", 4, keys), documents, c->attrs);
}

static Value *build_attention_sink(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *sink = floats(g, "sink", 1, (int64_t[]){ n[3] * n[4] });
    return attention_sink(g, build_attention(g, c, n), sink);
}

/* Some `top_k` keys of each of s queries, of t. */
static Value *lists(Graph *g, int64_t b, int64_t s, int64_t t, int64_t top_k)
{
    const int64_t small[] = { b, s, 3, 4 };
    return select_keys(g, floats(g, "list_q", 4, small),
                       floats(g, "list_k", 3, (int64_t[]){ b, t, 4 }),
                       floats(g, "list_w", 3, small), NULL, &(SelectKeys){ top_k, 1 });
}

/* b, s, t, g, r, d; keys of a query among as many others; 1 for a sink */
static Value *build_attention_join(Graph *g, const OpCase *c, const int64_t *n)
{
    const int64_t keys[] = { n[0], n[2], n[3], n[5] };
    Value *q = floats(g, "q", 5, (int64_t[]){ n[0], n[1], n[3], n[4], n[5] });
    Value *o = attention(g, q, floats(g, "k", 4, keys), floats(g, "v", 4, keys), NULL, c->attrs);
    Value *more =
        selected_attention(g, q, floats(g, "more_k", 4, keys), floats(g, "more_v", 4, keys),
                           lists(g, n[0], n[1], n[2], n[6]), &(SelectedAttention){ 0 });
    o = attention_join(g, o, more);
    return n[7] ? attention_sink(g, o, floats(g, "sink", 1, (int64_t[]){ n[3] * n[4] })) : o;
}

/* b, s, c; tokens of a window, which overlap or not */
static Value *build_compress(Graph *g, const OpCase *c, const int64_t *n)
{
    const Compress *a = c->attrs;
    return compress(g, floats(g, "x", 3, n), floats(g, "gate", 3, n),
                    floats(g, "bias", 2, (int64_t[]){ a->rate, n[2] }), a);
}

/* The same of a text that goes on; windows of its cache */
static Value *build_compress_cached(Graph *g, const OpCase *c, const int64_t *n)
{
    const Compress *a = c->attrs;
    const int64_t kept[] = { n[0], 1, compress_tail(a), n[2] };
    Value *tail[] = { state(g, "tail_x", 4, kept), state(g, "tail_gate", 4, kept) };
    Value *y = compress_cached(g, tail, floats(g, "x", 3, n), floats(g, "gate", 3, n),
                               floats(g, "bias", 2, (int64_t[]){ a->rate, n[2] }), a);
    Value *cache = state(g, "cache", 3, (int64_t[]){ n[0], n[3], value_width(y) });
    cache_write_windows(g, cache, y, a->rate);
    ended_windows(g, floats(g, "of_tokens", 3, n), cache, a->rate);
    return NULL;
}

/* positions of the table; sizes of x; tokens of a window */
static Value *build_rope_windows(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *table = floats(g, "table", 2, (int64_t[]){ n[0], n[4] });
    return rope_windows(g, floats(g, "x", 4, n + 1), table, n[5]);
}

static Value *build_attention_max(Graph *g, const OpCase *c, const int64_t *n)
{
    const Value *o = build_attention(g, c, n);
    attention_max(g, o->from);
    return NULL;
}

/* b, s, t; heads and their width; keys of a query; 1 for documents; tokens of a key */
static Value *build_select_keys(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *q = floats(g, "index_q", 4, (int64_t[]){ n[0], n[1], n[3], n[4] }),
          *k = floats(g, "index_k", 3, (int64_t[]){ n[0], n[2], n[4] });
    Value *w = floats(g, "index_w", 3, (int64_t[]){ n[0], n[1], n[3] });
    const SelectKeys a = { n[5], n[7] ? n[7] : 1 };
    select_keys(g, q, k, w, n[6] ? ids(g, "documents", 2, 2, n) : NULL, &a);
    return NULL;
}

/* b, s, t, g, r, d; keys of a query; 1 for the sums of the probabilities */
static Value *build_selected_attention(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *q = floats(g, "q", 5, (int64_t[]){ n[0], n[1], n[3], n[4], n[5] });
    const int64_t keys[] = { n[0], n[2], n[3], n[5] };
    Value *k = floats(g, "k", 4, keys), *selected = lists(g, n[0], n[1], n[2], n[6]);
    const SelectedAttention *a = c->attrs;
    Value *o = selected_attention(g, q, k, floats(g, "v", 4, keys), selected, a);
    if (n[7]) selected_shares(g, q, k, o->from->out[1], selected, a->scale);
    return o;
}

/* b, s, t; heads and their width; keys of a query */
static Value *build_index_loss(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *q = floats(g, "index_q", 4, (int64_t[]){ n[0], n[1], n[3], n[4] }),
          *k = floats(g, "index_k", 3, (int64_t[]){ n[0], n[2], n[4] });
    Value *w = floats(g, "index_w", 3, (int64_t[]){ n[0], n[1], n[3] });
    Value *selected = lists(g, n[0], n[1], n[2], n[5]);
    Value *share =
        uniform(floats(g, "share", 3, (int64_t[]){ n[0], n[1], selected->dim[2].size }), 0.1, 2);
    (void)c;
    return index_loss(g, q, k, w, selected, share, 0.4);
}

/* rows, columns (0: none); heads, heads of keys */
static Value *build_qk_clip(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *kept = state(g, "kept", 1, n + 2);
    keep_largest(g, uniform(floats(g, "x", 1, n + 2), -3, 3), kept);
    Value *f = logit_factors(g, uniform(floats(g, "logit", 1, n + 2), 0, 5), n[0],
                             &(LogitClip){ 2, 0.3, n[3] });
    (void)c;
    scale_param_rows(g, state(g, "w", n[1] ? 2 : 1, n), f);
    return NULL;
}

/* batch, rows of the cache, new rows, heads, width */
static Value *build_cache_write(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *cache = state(g, "cache", 4, (int64_t[]){ n[0], n[1], n[3], n[4] });
    cache_write(g, cache, floats(g, "x", 4, (int64_t[]){ n[0], n[2], n[3], n[4] }));
    return NULL;
}

/* clang-format off */
#define THREE(...) { (double[]){ __VA_ARGS__ }, 3 }
#define TEXTS(...) (const int64_t[CASE_TEXTS]){ __VA_ARGS__ }
#define ATTENTION(...) &(const Attention){ __VA_ARGS__ }
#define SELECTED(...) &(const SelectedAttention){ __VA_ARGS__ }

const OpCase attention_cases[] = {
    { "rope_table", build_rope_table, .n = { 7, 6 } },
    { "rope_scaled_table", build_rope_scaled_table, .attrs = &(const RopeScaling){ 10000, ROPE_LINEAR, 4, 8, .attention = 1 }, .n = { 7, 6 } },
    { "rope_scaled_table by factors", build_rope_scaled_table, .attrs = &(const RopeScaling){ 10000, ROPE_LONG, 4, 5, .attention = 1.5, .short_factors = THREE(1, 1.5, 2), .long_factors = THREE(2, 4, 8) }, .n = { 7, 6 } },
    { "rope_scaled_table of a part", build_rope_scaled_table, .attrs = &(const RopeScaling){ 10000, ROPE_LINEAR, 4, 8, .attention = 1.5, .width = 4 }, .n = { 7, 8 } },
    { "rope_scaled_table of a part, by the whole", build_rope_scaled_table, .attrs = &(const RopeScaling){ 10000, ROPE_LINEAR, 4, 8, .attention = 1.5, .width = 4, .proportional = true }, .n = { 7, 8 } },
    { "rope_scaled_table that grows", build_rope_scaled_table, .attrs = &(const RopeScaling){ 10000, ROPE_LINEAR, 4, 3, .attention = 1.5, .growth = 0.5, .width = 4 }, .n = { 10, 8 } },
    { "rope_scaled_table that grows alone", build_rope_scaled_table, .attrs = &(const RopeScaling){ 10000, .original = 3, .attention = 1, .growth = 0.5, .growth_offset = 1, .still = true }, .n = { 10, 8 } },
    { "rope of queries", build_rope, .n = { 8, 2, 4, 2, 3, 6 }, .large = { 1024, 4, 1024, 12, 1, 64 } },
    { "rope of keys after others", build_rope, .position = 5, .n = { 9, 2, 4, 2, 6 } },
    { "rope of texts of their own lengths", build_rope, .texts = TEXTS(7, 0, 3), .n = { 9, 3, 1, 2, 6 } },
    { "rope, wide", build_rope, .n = { 9, 2, 8, 3, 32 } },
    { "rope, many heads", build_rope, .n = { 9, 2, 3, 5, 2, 16 } },
    { "attention", build_attention, .attrs = ATTENTION(0), .n = { 2, 4, 5, 2, 2, 3 } },
    { "causal attention", build_attention, .attrs = ATTENTION(.causal = true), .n = { 2, 4, 4, 2, 2, 3 },
      .large = { 1, 1024, 1024, 12, 1, 64 } },
    { "causal attention, long", build_attention, .attrs = ATTENTION(.causal = true), .n = { 1, 150, 150, 1, 2, 16 } },
    { "causal attention, wide heads", build_attention, .attrs = ATTENTION(.causal = true), .n = { 1, 70, 70, 2, 1, 64 } },
    { "causal attention, odd sizes", build_attention, .attrs = ATTENTION(.causal = true), .n = { 1, 131, 131, 1, 3, 40 } },
    { "attention with dropout, odd rows", build_attention, .attrs = ATTENTION(.dropout = 0.4, .salt = 2), .n = { 1, 7, 5, 1, 1, 6 } },
    { "attention with window", build_attention, .attrs = ATTENTION(.causal = true, .window = 3),
      .n = { 1, 8, 8, 1, 2, 3 } },
    { "attention with window, long", build_attention, .attrs = ATTENTION(.causal = true, .window = 40),
      .n = { 1, 150, 150, 1, 1, 16 } },
    { "attention in chunks", build_attention, .attrs = ATTENTION(.causal = true, .window = 3, .chunks = true), .n = { 2, 8, 8, 1, 2, 3 } },
    { "attention in chunks, long", build_attention, .attrs = ATTENTION(.causal = true, .window = 40, .chunks = true),
      .n = { 1, 150, 150, 2, 2, 16 }, .large = { 1, 1024, 1024, 12, 1, 64 } },
    { "attention in chunks with documents and dropout", build_attention,
      .attrs = ATTENTION(.causal = true, .window = 33, .chunks = true, .dropout = 0.2, .salt = 2), .n = { 2, 100, 100, 1, 2, 16, 1 } },
    { "attention in chunks of texts of their own lengths", build_attention, .attrs = ATTENTION(.causal = true, .window = 16, .chunks = true),
      .texts = TEXTS(69, 1, 40), .n = { 3, 6, 75, 2, 2, 16 } },
    { "attention of one token in a chunk", build_attention, .attrs = ATTENTION(.causal = true, .window = 24, .chunks = true), .position = 50,
      .n = { 1, 1, 64, 3, 1, 20 } },
    { "attention of few tokens about the border of chunks", build_attention, .attrs = ATTENTION(.causal = true, .window = 8, .chunks = true),
      .position = 22, .n = { 1, 4, 26, 2, 1, 40 } },
    { "attention with soft cap and scale", build_attention,
      .attrs = ATTENTION(.causal = true, .soft_cap = 1.5, .scale = 0.7), .n = { 1, 4, 4, 2, 1, 3 } },
    { "attention with documents", build_attention, .attrs = ATTENTION(.causal = true), .n = { 2, 8, 8, 2, 1, 3, 1 } },
    { "attention with documents, long", build_attention, .attrs = ATTENTION(.causal = true),
      .n = { 2, 100, 100, 1, 1, 16, 1 } },
    { "attention with documents, whole tiles", build_attention, .attrs = ATTENTION(.causal = true),
      .n = { 1, 128, 128, 1, 2, 16, 1 } },
    { "attention with documents both ways, whole tiles", build_attention, .attrs = ATTENTION(0),
      .n = { 1, 128, 128, 2, 1, 16, 1 } },
    { "attention with documents and shared keys", build_attention, .attrs = ATTENTION(0), .n = { 2, 6, 6, 2, 2, 8, 1 } },
    { "attention with dropout", build_attention, .attrs = ATTENTION(.causal = true, .dropout = 0.4, .salt = 2),
      .n = { 2, 4, 4, 2, 2, 3 } },
    { "attention with dropout, long", build_attention, .attrs = ATTENTION(.causal = true, .dropout = 0.2, .salt = 2),
      .n = { 1, 70, 70, 1, 2, 16 } },
    { "attention_sink", build_attention_sink, .attrs = ATTENTION(.causal = true), .n = { 2, 4, 4, 2, 3, 5 },
      .large = { 1, 1024, 1024, 12, 1, 64 } },
    { "attention_sink of many rows", build_attention_sink, .attrs = ATTENTION(.causal = true, .window = 7), .n = { 1, 70, 70, 2, 1, 20 } },
    { "attention_sink, rows without keys", build_attention_sink, .attrs = ATTENTION(.causal = true), .position = -2, .n = { 1, 4, 4, 1, 2, 3 } },
    { "attention_join", build_attention_join, .attrs = ATTENTION(.causal = true, .window = 2), .n = { 2, 6, 6, 2, 2, 3, 3 } },
    { "attention_join of many rows, with a sink", build_attention_join, .attrs = ATTENTION(.causal = true, .window = 7), .n = { 1, 50, 50, 1, 3, 20, 9, 1 },
      .large = { 1, 1024, 1024, 12, 1, 64, 256, 1 } },
    { "attention_join, rows without keys", build_attention_join, .attrs = ATTENTION(.causal = true), .position = -2, .n = { 1, 5, 5, 1, 2, 3, 2, 1 } },
    { "compress", build_compress, .attrs = &(const Compress){ 3, false }, .n = { 2, 8, 5 }, .large = { 1, 4096, 512 } },
    { "compress of windows that overlap", build_compress, .attrs = &(const Compress){ 2, true }, .n = { 2, 7, 6 }, .large = { 1, 4096, 1024 } },
    { "compress of wide windows that overlap", build_compress, .attrs = &(const Compress){ 4, true }, .n = { 3, 45, 70 } },
    { "compress of one window", build_compress, .attrs = &(const Compress){ 9, false }, .n = { 2, 4, 3 } },
    { "compress_cached", build_compress_cached, .attrs = &(const Compress){ 3, false }, .position = 7, .n = { 2, 4, 5, 5 } },
    { "compress_cached at the beginning", build_compress_cached, .attrs = &(const Compress){ 3, true }, .position = 1, .n = { 2, 5, 6, 5 } },
    { "compress_cached of texts of their own lengths", build_compress_cached, .attrs = &(const Compress){ 4, true }, .texts = TEXTS(7, 0, 38), .n = { 3, 1, 38, 10 } },
    { "compress_cached, wide", build_compress_cached, .attrs = &(const Compress){ 4, false }, .position = 14, .n = { 2, 9, 37, 6 } },
    { "rope_windows", build_rope_windows, .position = 5, .n = { 9, 2, 3, 2, 6, 3 } },
    { "rope_windows of many", build_rope_windows, .n = { 64, 2, 13, 3, 32, 5 } },
    { "attention_max", build_attention_max, .attrs = ATTENTION(0), .n = { 2, 4, 5, 2, 2, 3 } },
    { "attention_max, causal, long", build_attention_max, .attrs = ATTENTION(.causal = true, .soft_cap = 1.5, .scale = 0.7),
      .n = { 2, 150, 150, 2, 3, 16 }, .large = { 1, 1024, 1024, 12, 1, 64 } },
    { "attention_max with window and documents", build_attention_max, .attrs = ATTENTION(.causal = true, .window = 30),
      .n = { 2, 100, 100, 1, 2, 16, 1 } },
    { "attention_max in chunks", build_attention_max, .attrs = ATTENTION(.causal = true, .window = 30, .chunks = true), .n = { 1, 100, 100, 1, 2, 16 } },
    { "qk_clip of a weight", build_qk_clip, .n = { 24, 10, 6, 2 } },
    { "qk_clip of a bias", build_qk_clip, .n = { 12, 0, 4, 4 } },
    { "attention to a cache", build_attention, .attrs = ATTENTION(.causal = true), .position = 5,
      .n = { 2, 2, 9, 2, 2, 4 } },
    { "attention to caches of texts of their own lengths", build_attention, .attrs = ATTENTION(.causal = true),
      .texts = TEXTS(8, 0, 3), .n = { 3, 1, 9, 2, 2, 4 } },
    { "attention in a window of texts of their own lengths", build_attention, .attrs = ATTENTION(.causal = true, .window = 3),
      .texts = TEXTS(69, 1, 40), .n = { 3, 6, 75, 2, 2, 16 } },
    { "attention of many tokens to caches of texts of their own lengths", build_attention, .attrs = ATTENTION(.causal = true),
      .texts = TEXTS(150, 0, 61), .n = { 3, 50, 230, 2, 2, 16 } },
    { "attention of one token, many keys", build_attention, .attrs = ATTENTION(.causal = true),
      .texts = TEXTS(69, 1, 40), .n = { 3, 1, 75, 2, 2, 64 } },
    { "attention of one token in a window", build_attention, .attrs = ATTENTION(.causal = true, .window = 21), .position = 50,
      .n = { 1, 1, 64, 3, 1, 20 } },
    { "attention of one token, odd width and many heads", build_attention,
      .attrs = ATTENTION(.causal = true, .soft_cap = 1.5, .scale = 0.7), .position = 37, .n = { 2, 1, 40, 18, 1, 7 } },
    { "attention of one token, many heads and one wide key", build_attention, .attrs = ATTENTION(.causal = true),
      .texts = TEXTS(38, 7), .n = { 2, 1, 40, 1, 18, 264 }, .large = { 1, 1, 2048, 1, 16, 576 } },
    { "attention of one token, heads of 64", build_attention, .attrs = ATTENTION(.causal = true), .texts = TEXTS(69, 1, 40), .n = { 3, 1, 75, 3, 2, 64 } },
    { "attention of few tokens, heads of 128", build_attention, .attrs = ATTENTION(.causal = true, .window = 30), .position = 40, .n = { 2, 2, 50, 5, 1, 128 } },
    { "attention of few tokens, one very wide key", build_attention,
      .attrs = ATTENTION(.causal = true, .window = 9, .soft_cap = 1.5, .scale = 0.3), .position = 20, .n = { 1, 5, 25, 1, 3, 300 } },
    { "attention of few tokens with documents", build_attention, .attrs = ATTENTION(0), .n = { 2, 4, 4, 3, 1, 24, 1 } },
    { "attention with alibi", build_attention, .attrs = ATTENTION(.causal = true, .alibi = 8), .n = { 2, 5, 5, 2, 2, 3 } },
    { "attention with alibi, long", build_attention, .attrs = ATTENTION(.causal = true, .alibi = 8), .n = { 1, 150, 150, 3, 1, 16 },
      .large = { 1, 1024, 1024, 12, 1, 64 } },
    { "attention with alibi, shared keys, documents and a window", build_attention,
      .attrs = ATTENTION(.causal = true, .alibi = 3.5, .alibi_scale = 0.4, .window = 60), .n = { 2, 100, 100, 2, 3, 16, 1 } },
    { "attention with alibi and dropout", build_attention, .attrs = ATTENTION(.causal = true, .alibi = 6, .dropout = 0.2, .salt = 2, .scale = 0.7),
      .n = { 1, 70, 70, 1, 5, 20 } },
    { "attention with alibi of one token", build_attention, .attrs = ATTENTION(.causal = true, .alibi = 8),
      .texts = TEXTS(69, 1, 40), .n = { 3, 1, 75, 3, 2, 40 } },
    { "attention with alibi of few tokens with documents", build_attention, .attrs = ATTENTION(.causal = true, .alibi = 8, .scale = 0.5),
      .n = { 2, 4, 4, 3, 1, 24, 1 } },
    { "attention with alibi, one very wide key", build_attention, .attrs = ATTENTION(.causal = true, .alibi = 8), .position = 20,
      .n = { 1, 5, 25, 1, 3, 300 } },
    { "attention_max with alibi", build_attention_max, .attrs = ATTENTION(.causal = true, .alibi = 8), .n = { 1, 20, 20, 2, 2, 16 } },
    { "attention without keys", build_attention, .attrs = ATTENTION(.causal = true), .position = -2,
      .n = { 1, 4, 4, 1, 1, 3 } },
    { "select_keys", build_select_keys, .n = { 2, 6, 6, 3, 4, 3 } },
    { "select_keys of many", build_select_keys, .n = { 2, 70, 70, 20, 24, 17 }, .large = { 1, 1024, 1024, 16, 128, 256 } },
    { "select_keys of windows", build_select_keys, .n = { 2, 20, 5, 3, 4, 2, 0, 4 } },
    { "select_keys of windows of texts of their own lengths", build_select_keys, .texts = TEXTS(69, 1, 40), .n = { 3, 6, 19, 4, 16, 5, 0, 4 } },
    { "select_keys where all are", build_select_keys, .n = { 1, 6, 6, 2, 4, 8 } },
    { "select_keys of documents", build_select_keys, .n = { 2, 40, 40, 4, 8, 5, 1 } },
    { "select_keys of texts of their own lengths", build_select_keys, .texts = TEXTS(69, 1, 40), .n = { 3, 6, 75, 4, 16, 9 } },
    { "select_keys of a cache", build_select_keys, .position = 50, .n = { 1, 1, 64, 16, 16, 7 } },
    { "selected_attention", build_selected_attention, .attrs = SELECTED(0), .n = { 2, 6, 6, 2, 2, 3, 3, 1 } },
    { "selected_attention, long", build_selected_attention, .attrs = SELECTED(.scale = 0.4), .n = { 1, 70, 70, 2, 1, 40, 9 },
      .large = { 1, 1024, 1024, 12, 1, 64, 256 } },
    { "selected_attention with dropout", build_selected_attention, .attrs = SELECTED(.dropout = 0.3, .salt = 2), .n = { 2, 20, 20, 1, 3, 16, 18 } },
    { "selected_attention of one token, one wide key", build_selected_attention, .attrs = SELECTED(0), .texts = TEXTS(69, 1, 40),
      .n = { 3, 1, 75, 1, 18, 70, 33 } },
    { "selected_attention, queries without keys", build_selected_attention, .attrs = SELECTED(0), .position = -2, .n = { 1, 5, 5, 1, 2, 20, 3 } },
    { "selected_shares, long", build_selected_attention, .attrs = SELECTED(.scale = 0.4), .n = { 1, 70, 70, 2, 1, 40, 9, 1 },
      .large = { 1, 1024, 1024, 12, 1, 64, 256, 1 } },
    { "selected_shares of queries without keys", build_selected_attention, .attrs = SELECTED(0), .position = -2, .n = { 1, 5, 5, 1, 2, 20, 3, 1 } },
    { "index_loss", build_index_loss, .n = { 2, 6, 6, 3, 4, 3 } },
    { "index_loss of many", build_index_loss, .n = { 2, 70, 70, 20, 24, 17 }, .large = { 1, 1024, 1024, 16, 128, 256 } },
    { "index_loss of all keys", build_index_loss, .n = { 1, 6, 6, 2, 36, 8 } },
    { "index_loss of queries without keys", build_index_loss, .position = -2, .n = { 1, 5, 5, 5, 12, 3 } },
    { "cache_write", build_cache_write, .position = 3, .n = { 2, 8, 2, 2, 3 } },
    { "cache_write of texts of their own lengths", build_cache_write, .texts = TEXTS(6, 0, 3), .n = { 3, 8, 2, 2, 3 } },
    { 0 },
};
/* clang-format on */
