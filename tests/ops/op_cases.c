/* op_cases.c - the table of cases and the functions that build them.
 *
 * Sizes are small and mostly odd; some are even so that the split-equals-whole test finds
 * something to split, and some exceed the tiles of tuned kernels. */
#include "op_cases.h"
#include "op_run.h"
#include "ops/accumulate.h"
#include "ops/adam.h"
#include "ops/attention.h"
#include "ops/average.h"
#include "ops/cache_write.h"
#include "ops/cast.h"
#include "ops/contract.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/fill.h"
#include "ops/gelu_tanh.h"
#include "ops/gradient_norm.h"
#include "ops/grouped_linear.h"
#include "ops/head_loss.h"
#include "ops/host_copy.h"
#include "ops/logit_cap.h"
#include "ops/mean_valid.h"
#include "ops/moe_bias.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"
#include "ops/moe_transfer.h"
#include "ops/muon.h"
#include "ops/nce.h"
#include "ops/norm.h"
#include "ops/offset.h"
#include "ops/patches.h"
#include "ops/positions.h"
#include "ops/qk_clip.h"
#include "ops/repeat_heads.h"
#include "ops/reshape.h"
#include "ops/rope.h"
#include "ops/rope_scaled.h"
#include "ops/sequence.h"
#include "ops/stack.h"
#include <stdio.h>
#include <string.h>

/* `dims` has MAX_DIMS zeros. */
static void set_sizes(Dim *dims, int n_dims, const int64_t *size)
{
    for (int d = 0; d < n_dims; d++) dims[d].size = size[d];
}

static Value *leaf(Graph *g, const char *name, Dtype t, int n_dims, const int64_t *size)
{
    Dim dims[MAX_DIMS] = { 0 };
    set_sizes(dims, n_dims, size);
    return graph_input(g, name, t, n_dims, dims);
}

static Value *floats(Graph *g, const char *name, int n_dims, const int64_t *size)
{
    return leaf(g, name, F64, n_dims, size);
}

static Value *uniform(Value *v, double low, double high)
{
    v->init = (Init){ .kind = INIT_UNIFORM, .low = low, .high = high };
    return v;
}

/* Integers in [0, below). */
static Value *ids(Graph *g, const char *name, int64_t below, int n_dims, const int64_t *size)
{
    return uniform(leaf(g, name, I32, n_dims, size), 0, (double)below);
}

static Value *state(Graph *g, const char *name, int n_dims, const int64_t *size)
{
    Dim dims[MAX_DIMS] = { 0 };
    set_sizes(dims, n_dims, size);
    return graph_state(g, name, F64, n_dims, dims);
}

/* The number of sizes that are given. */
static int count(const int64_t *n)
{
    int k = 0;
    while (k < MAX_DIMS && n[k]) k++;
    return k;
}

static Value *build_unary(Graph *g, const OpCase *c, const int64_t *n)
{
    return c->unary(g, floats(g, "x", count(n), n));
}

static Value *build_binary(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *x = floats(g, "x", count(n), n);
    return c->binary(g, x, floats(g, "y", count(n), n));
}

static Value *build_add_bias(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    int last = count(n) - 1;
    return add_bias(g, floats(g, "x", last + 1, n), floats(g, "bias", 1, n + last));
}

static Value *scale_down(Graph *g, Value *x)
{
    return scale(g, x, -0.37);
}

static Value *middle_rows(Graph *g, Value *x)
{
    return slice_rows(g, x, 1, 2);
}

static Value *for_each_of_four(Graph *g, Value *rows)
{
    return repeat_rows(g, rows, 4);
}

/* batch, rows, width; the place of the row */
static Value *build_join_row(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *row = floats(g, "row", 3, (int64_t[]){ 1, 1, n[2] });
    return join_row(g, floats(g, "x", 3, n), row, c->position == 0);
}

/* batch, channels, height, width; size and stride of a patch */
static Value *build_patches(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    patches(g, floats(g, "images", 4, n), n[4], n[5]);
    return NULL;
}

static Value *build_nce(Graph *g, const OpCase *c, const int64_t *n)
{
    return nce(g, floats(g, "x", 2, n), floats(g, "y", 2, n), c->attrs);
}

static Value *offset_by_one(Graph *g, Value *x)
{
    return offset(g, x, 1);
}

static Value *cap_some(Graph *g, Value *x)
{
    return logit_cap(g, x, 0.8);
}

static Value *through_host(Graph *g, Value *x)
{
    return host_copy(g, host_copy(g, x, true), false);
}

static Value *cast_down(Graph *g, Value *x)
{
    return cast(g, x, F64);
}

static Value *fill_like(Graph *g, Value *x)
{
    fill(g, x, 1.5);
    return NULL;
}

static Value *build_loss_seed(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c, (void)n;
    loss_seed(g, F64);
    return NULL;
}

static Value *build_accumulate(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *x = floats(g, "x", count(n), n);
    Dim dims[MAX_DIMS] = { 0 };
    set_sizes(dims, count(n), n);
    Value *param = graph_param(g, "param", count(n), dims);
    param->dtype = F64;
    accumulate(g, x, graph_accumulator(g, param));
    return NULL;
}

static Value *build_reshape(Graph *g, const OpCase *c, const int64_t *n)
{
    return reshape(g, c->dims, c->sizes, floats(g, "x", count(n), n));
}

/* Sizes belong to the letters in order of appearance; `*` is two dimensions, n[0] and n[1]. */
static Value *build_contract(Graph *g, const OpCase *c, const int64_t *n)
{
    int64_t size[2][MAX_DIMS], of_letter[N_LETTERS] = { 0 };
    int n_dims[2] = { 0 }, operand = 0;
    const int64_t *next = strchr(c->dims, '*') ? n + 2 : n;
    for (const char *p = c->dims; *p && *p != '-'; p++) {
        if (*p == ',') {
            operand++;
        } else if (*p == '*') {
            size[operand][n_dims[operand]++] = n[0];
            size[operand][n_dims[operand]++] = n[1];
        } else {
            int64_t *letter = &of_letter[*p - 'a'];
            if (!*letter) *letter = *next++;
            size[operand][n_dims[operand]++] = *letter;
        }
    }
    Value *a = floats(g, "a", n_dims[0], size[0]), *b = floats(g, "b", n_dims[1], size[1]);
    return contract(g, c->dims, a, b);
}

/* batch, sequence, vocabulary, width */
static Value *build_embed(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    return embed(g, ids(g, "ids", n[2], 2, n), floats(g, "table", 2, n + 2));
}

/* batch, sequence, width; positions in the table */
static Value *build_positions(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *table = floats(g, "table", 2, (int64_t[]){ n[3], n[2] });
    return add_positions(g, floats(g, "x", 3, n), table);
}

/* batch, sequence */
static Value *build_document_positions(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    document_positions(g, ids(g, "documents", 1, 2, n));
    return NULL;
}

/* Which of the optional inputs a norm has. */
typedef struct NormCase {
    Value *(*norm)(Graph *g, Value *x, Value *weight, Value *bias, double eps);
    bool weight, bias;
} NormCase;

static Value *build_norm(Graph *g, const OpCase *c, const int64_t *n)
{
    const NormCase *a = c->attrs;
    int last = count(n) - 1;
    Value *weight = a->weight ? floats(g, "weight", 1, n + last) : NULL;
    Value *bias = a->bias ? floats(g, "bias", 1, n + last) : NULL;
    return a->norm(g, floats(g, "x", last + 1, n), weight, bias, 0.01);
}

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

/* batch, sequence, experts */
static Value *build_moe_route(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *expert;
    return moe_route(g, floats(g, "logits", 3, n), NULL, c->attrs, &expert);
}

static Value *build_biased_moe_route(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *expert;
    return moe_route(g, floats(g, "logits", 3, n), floats(g, "bias", 1, n + 2), c->attrs, &expert);
}

/* sizes of x; heads of the result */
static Value *build_repeat_heads(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    return repeat_heads(g, floats(g, "x", 4, n), n[4]);
}

/* batch, sequence, choices; experts */
static Value *build_moe_bias(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *bias = state(g, "bias", 1, n + 3), *load = graph_accumulator_named(g, "load", bias);
    moe_count(g, ids(g, "expert", n[3], 3, n), load);
    g->phase = UPDATE;
    moe_shift(g, moe_even(g, state(g, "total", 1, n + 3), load, 0.1), bias);
    return NULL;
}

/* batch, sequence, experts, choices; the probabilities through the penalty */
static Value *build_moe_balance(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *share, *probability, *logits = floats(g, "logits", 3, n);
    Value *expert = ids(g, "expert", n[2], 3, (int64_t[]){ n[0], n[1], n[3] });
    moe_share(g, logits, expert, &share, &probability);
    moe_element(g, share, 1);
    return moe_balance(g, share, probability, 2);
}

/* Experts with a capacity, or all. */
static MoeRows rows_of_experts(Graph *g, Value *expert, int64_t n_experts, double capacity)
{
    Value *dropped;
    const MoeLimit limit = { .n_experts = n_experts, .capacity = capacity };
    if (capacity > 0) expert = moe_limit(g, expert, &limit, &dropped);
    return moe_rows(g, expert, n_experts);
}

/* batch, sequence, choices; experts; width; attributes: the capacity */
static Value *build_moe_rows(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *x = floats(g, "x", 3, (int64_t[]){ n[0], n[1], n[4] });
    Value *weight = floats(g, "weight", 3, n), *expert = ids(g, "expert", n[3], 3, n);
    const MoeRows rows = rows_of_experts(g, expert, n[3], *(const double *)c->attrs);
    Value *y = moe_gather(g, x, &rows);
    return moe_combine(g, mul(g, y, y), weight, &rows);
}

/* tokens, choices, experts, width, width of the result */
static Value *build_grouped_linear(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *expert = ids(g, "expert", n[2], 3, (int64_t[]){ 1, n[0], n[1] });
    const MoeRows rows = rows_of_experts(g, expert, n[2], *(const double *)c->attrs);
    const MoeMeeting at = moe_meet(g, rows.of, n[2], n[0] * n[1], 1);
    Value *x = floats(g, "x", 3, (int64_t[]){ 1, n[0] * n[1], n[3] });
    Value *weight = floats(g, "weight", 3, (int64_t[]){ n[2], n[4], n[3] });
    return grouped_linear(g, x, weight, at.at, n[0] * n[1]);
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

static Value *build_attention_max(Graph *g, const OpCase *c, const int64_t *n)
{
    const Value *o = build_attention(g, c, n);
    attention_max(g, o->from);
    return NULL;
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

static Value *dropout_some(Graph *g, Value *x)
{
    return dropout(g, x, 0.3, 5);
}

/* batch, sequence, vocabulary */
static Value *build_cross_entropy(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    return cross_entropy(g, floats(g, "logits", 3, n), ids(g, "targets", n[2], 2, n));
}

/* batch, sequence, width, vocabulary */
static Value *build_head_loss(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *weight = floats(g, "weight", 2, (int64_t[]){ n[3], n[2] });
    return head_loss(g, floats(g, "x", 3, n), weight, ids(g, "targets", n[3], 2, n));
}

static Value *build_head_step(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *x = floats(g, "x", 3, n), *weight = floats(g, "weight", 2, (int64_t[]){ n[3], n[2] });
    head_step(g, x, weight, ids(g, "targets", n[3], 2, n), floats(g, "loss_grad", 2, n));
    return NULL;
}

static Value *build_valid(Graph *g, const OpCase *c, const int64_t *n)
{
    return c->binary(g, floats(g, "loss", 2, n), ids(g, "targets", 9, 2, n));
}

/* Attributes: the order p of the norm, 0 for the largest element. */
static Value *build_norm_partial(Graph *g, const OpCase *c, const int64_t *n)
{
    norm_partial(g, floats(g, "x", count(n), n), *(const int64_t *)c->attrs);
    return NULL;
}

/* n[0] partials */
static Value *build_norm_total(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *partial[MAX_CASE_SIZES];
    for (int64_t k = 0; k < n[0]; k++)
        partial[k] = uniform(floats(g, arena_printf(g->arena, "part%d", (int)k), 0, NULL), 0, 4);
    norm_total(g, n[0], partial, *(const int64_t *)c->attrs);
    return NULL;
}

static Value *build_unscale(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    (void)n;
    unscale(g, uniform(floats(g, "norm", 0, NULL), 1, 3));
    return NULL;
}

static Value *build_clip_factor(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)n;
    double max_norm = (double)c->position / 2;
    clip_factor(g, uniform(floats(g, "norm", 0, NULL), 1, 3), max_norm);
    return NULL;
}

static Value *build_adam(Graph *g, const OpCase *c, const int64_t *n)
{
    int k = count(n);
    Value *param = state(g, "param", k, n), *grad = state(g, "grad", k, n);
    Value *m = state(g, "m", k, n), *v = uniform(state(g, "v", k, n), 0, 1);
    Value *factor = uniform(floats(g, "factor", 0, NULL), 0, 1);
    g->phase = UPDATE;
    adam(g, param, grad, m, v, factor, c->attrs);
    return NULL;
}

static Value *build_muon_momentum(Graph *g, const OpCase *c, const int64_t *n)
{
    int k = count(n);
    Value *grad = state(g, "grad", k, n), *m = state(g, "m", k, n);
    Value *factor = uniform(floats(g, "factor", 0, NULL), 0, 1);
    g->phase = UPDATE;
    return muon_momentum(g, grad, m, factor, c->attrs);
}

/* rows, columns */
static Value *build_stack(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *x[] = { floats(g, "x", 2, n), floats(g, "y", 2, n), floats(g, "z", 2, n) }, *out[3];
    (void)c;
    unstack_matrices(g, stack_matrices(g, 3, x), out);
    return NULL;
}

static Value *build_muon_update(Graph *g, const OpCase *c, const int64_t *n)
{
    int k = count(n);
    Value *param = state(g, "param", k, n), *direction = state(g, "direction", k, n);
    g->phase = UPDATE;
    muon_update(g, param, direction, c->attrs);
    return NULL;
}

static Value *build_average(Graph *g, const OpCase *c, const int64_t *n)
{
    int k = count(n);
    Value *x = state(g, "x", k, n), *kept = state(g, "kept", k, n);
    (void)c;
    g->phase = UPDATE;
    average(g, x, kept, 0.9);
    return NULL;
}

static Value *unit(Graph *g, Value *x)
{
    return unit_matrix(g, x, 1e-7);
}

static Value *blend_some(Graph *g, Value *x, Value *y)
{
    return blend(g, -4.775, x, 2.0315, y);
}

/* clang-format off */
#define TEXTS(...) (const int64_t[CASE_TEXTS]){ __VA_ARGS__ }
#define ATTENTION(...) &(const Attention){ __VA_ARGS__ }
#define NORM(...) &(const NormCase){ __VA_ARGS__ }

const OpCase op_cases[] = {
    { "add", build_binary, .binary = add, .n = { 4, 3, 5 }, .large = { 4096, 768 } },
    { "add of many rows", build_binary, .binary = add, .n = { 131, 67 } },
    { "mul", build_binary, .binary = mul, .n = { 4, 3, 5 }, .large = { 4096, 768 } },
    { "scale", build_unary, .unary = scale_down, .n = { 6, 7 }, .large = { 4096, 768 } },
    { "add_bias", build_add_bias, .n = { 2, 3, 5 }, .large = { 4096, 768 } },
    { "add_bias of many rows", build_add_bias, .n = { 261, 38 } },
    { "silu", build_unary, .unary = silu, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "gelu", build_unary, .unary = gelu, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "gelu of many elements", build_unary, .unary = gelu, .n = { 123, 45 } },
    { "gelu_tanh", build_unary, .unary = gelu_tanh, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "gelu_tanh of many elements", build_unary, .unary = gelu_tanh, .n = { 123, 45 } },
    { "offset", build_unary, .unary = offset_by_one, .n = { 6, 8 } },
    { "logit_cap", build_unary, .unary = cap_some, .n = { 6, 8 }, .large = { 256, 16384 } },
    { "logit_cap of many elements", build_unary, .unary = cap_some, .n = { 123, 45 } },
    { "swiglu", build_binary, .binary = swiglu, .n = { 6, 7 }, .large = { 4096, 2048 } },
    { "swiglu of many elements", build_binary, .binary = swiglu, .n = { 123, 45 } },
    { "split heads", build_reshape, .dims = "bs(grd)->bsgrd", .sizes = "g=2 d=4", .n = { 2, 3, 24 } },
    { "merge heads", build_reshape, .dims = "bsgrd->bs(grd)", .n = { 2, 4, 2, 3, 4 } },
    { "host_copy", build_unary, .unary = through_host, .n = { 6, 7 } },
    { "cast", build_unary, .unary = cast_down, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "fill", build_unary, .unary = fill_like, .n = { 6, 7 } },
    { .name = "loss_seed", .build = build_loss_seed },
    { "accumulate", build_accumulate, .n = { 6, 7 }, .large = { 4096, 768 } },

    { "linear", build_contract, .dims = "*k,nk->*n", .n = { 2, 3, 7, 5 }, .large = { 1, 1024, 768, 2304 } },
    { "linear of many features", build_contract, .dims = "*k,nk->*n", .n = { 3, 29, 150, 133 } },
    { "linear with whole tiles", build_contract, .dims = "*k,nk->*n", .n = { 1, 96, 128, 192 } },
    { "linear, transposed weight", build_contract, .dims = "*n,nk->*k", .n = { 2, 3, 7, 5 } },
    { "outer product", build_contract, .dims = "*n,*k->nk", .n = { 2, 6, 7, 5 } },
    { "product of batches", build_contract, .dims = "bik,bjk->bij", .n = { 2, 3, 8, 5 } },
    { "sum over two letters", build_contract, .dims = "sgd,ngd->sn", .n = { 3, 2, 4, 5 } },
    { "dot product", build_contract, .dims = "k,k->", .n = { 6 } },
    { "weighted sum of rows", build_contract, .dims = "bst,btd->bsd", .n = { 2, 4, 4, 3 } },

    { "embed", build_embed, .n = { 2, 6, 8, 3 }, .large = { 16, 256, 4096, 768 } },
    { "embed, more ids than rows", build_embed, .n = { 4, 50, 7, 33 } },
    { "add_positions", build_positions, .n = { 2, 4, 3, 8 }, .large = { 16, 256, 768, 256 } },
    { "document_positions", build_document_positions, .n = { 4, 11 } },
    { "add_positions after others", build_positions, .position = 5, .n = { 2, 4, 3, 9 } },

    { "add_positions of texts of their own lengths", build_positions, .texts = TEXTS(5, 0, 3), .n = { 3, 1, 5, 9 } },

    { "rms_norm", build_norm, .attrs = NORM(.norm = rms_norm), .n = { 4, 3, 5 } },
    { "rms_norm with weight", build_norm, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 4, 3, 5 }, .large = { 4096, 768 } },
    { "rms_norm with weight, wide", build_norm, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 37, 70 } },
    { "rms_norm with weight and bias", build_norm, .attrs = NORM(.norm = rms_norm, .weight = true, .bias = true), .n = { 4, 3, 5 } },
    { "layer_norm", build_norm, .attrs = NORM(.norm = layer_norm), .n = { 4, 3, 5 } },
    { "layer_norm with weight", build_norm, .attrs = NORM(.norm = layer_norm, .weight = true), .n = { 4, 3, 5 } },
    { "layer_norm with bias", build_norm, .attrs = NORM(.norm = layer_norm, .bias = true), .n = { 4, 3, 5 } },
    { "layer_norm with weight and bias", build_norm, .attrs = NORM(.norm = layer_norm, .weight = true, .bias = true), .n = { 4, 3, 5 },
      .large = { 4096, 768 } },
    { "layer_norm with weight and bias, wide", build_norm, .attrs = NORM(.norm = layer_norm, .weight = true, .bias = true), .n = { 37, 70 } },

    { "rope_table", build_rope_table, .n = { 7, 6 } },
    { "rope_scaled_table", build_rope_scaled_table, .attrs = &(const RopeScaling){ 10000, ROPE_LINEAR, 4, 8, .attention = 1 }, .n = { 7, 6 } },
    { "rope of queries", build_rope, .n = { 8, 2, 4, 2, 3, 6 }, .large = { 1024, 4, 1024, 12, 1, 64 } },
    { "rope of keys after others", build_rope, .position = 5, .n = { 9, 2, 4, 2, 6 } },
    { "rope of texts of their own lengths", build_rope, .texts = TEXTS(7, 0, 3), .n = { 9, 3, 1, 2, 6 } },
    { "rope, wide", build_rope, .n = { 9, 2, 8, 3, 32 } },

    { "attention", build_attention, .attrs = ATTENTION(0), .n = { 2, 4, 5, 2, 2, 3 } },
    { "causal attention", build_attention, .attrs = ATTENTION(.causal = true), .n = { 2, 4, 4, 2, 2, 3 },
      .large = { 1, 1024, 1024, 12, 1, 64 } },
    { "causal attention, long", build_attention, .attrs = ATTENTION(.causal = true), .n = { 1, 150, 150, 1, 2, 16 } },
    { "causal attention, wide heads", build_attention, .attrs = ATTENTION(.causal = true), .n = { 1, 70, 70, 2, 1, 64 } },
    { "attention with window", build_attention, .attrs = ATTENTION(.causal = true, .window = 3),
      .n = { 1, 8, 8, 1, 2, 3 } },
    { "attention with window, long", build_attention, .attrs = ATTENTION(.causal = true, .window = 40),
      .n = { 1, 150, 150, 1, 1, 16 } },
    { "attention with soft cap and scale", build_attention,
      .attrs = ATTENTION(.causal = true, .soft_cap = 1.5, .scale = 0.7), .n = { 1, 4, 4, 2, 1, 3 } },
    { "attention with documents", build_attention, .attrs = ATTENTION(.causal = true), .n = { 2, 8, 8, 2, 1, 3, 1 } },
    { "attention with documents, long", build_attention, .attrs = ATTENTION(.causal = true),
      .n = { 2, 100, 100, 1, 1, 16, 1 } },
    { "attention with documents and shared keys", build_attention, .attrs = ATTENTION(0), .n = { 2, 6, 6, 2, 2, 8, 1 } },
    { "attention with dropout", build_attention, .attrs = ATTENTION(.causal = true, .dropout = 0.4, .salt = 2),
      .n = { 2, 4, 4, 2, 2, 3 } },
    { "attention with dropout, long", build_attention, .attrs = ATTENTION(.causal = true, .dropout = 0.2, .salt = 2),
      .n = { 1, 70, 70, 1, 2, 16 } },
    { "attention_max", build_attention_max, .attrs = ATTENTION(0), .n = { 2, 4, 5, 2, 2, 3 } },
    { "attention_max, causal, long", build_attention_max, .attrs = ATTENTION(.causal = true, .soft_cap = 1.5, .scale = 0.7),
      .n = { 2, 150, 150, 2, 3, 16 }, .large = { 1, 1024, 1024, 12, 1, 64 } },
    { "attention_max with window and documents", build_attention_max, .attrs = ATTENTION(.causal = true, .window = 30),
      .n = { 2, 100, 100, 1, 2, 16, 1 } },
    { "qk_clip of a weight", build_qk_clip, .n = { 24, 10, 6, 2 } },
    { "qk_clip of a bias", build_qk_clip, .n = { 12, 0, 4, 4 } },
    { "attention to a cache", build_attention, .attrs = ATTENTION(.causal = true), .position = 5,
      .n = { 2, 2, 9, 2, 2, 4 } },
    { "attention to caches of texts of their own lengths", build_attention, .attrs = ATTENTION(.causal = true),
      .texts = TEXTS(8, 0, 3), .n = { 3, 1, 9, 2, 2, 4 } },
    { "attention in a window of texts of their own lengths", build_attention, .attrs = ATTENTION(.causal = true, .window = 3),
      .texts = TEXTS(69, 1, 40), .n = { 3, 6, 75, 2, 2, 16 } },
    { "attention without keys", build_attention, .attrs = ATTENTION(.causal = true), .position = -2,
      .n = { 1, 4, 4, 1, 1, 3 } },

    { "join_row in front", build_join_row, .n = { 2, 3, 4 } },
    { "join_row after", build_join_row, .position = 1, .n = { 2, 3, 4 } },
    { "slice_rows", build_unary, .unary = middle_rows, .n = { 2, 5, 4 } },
    { "mean_rows", build_unary, .unary = mean_rows, .n = { 2, 5, 4 } },
    { "repeat_rows", build_unary, .unary = for_each_of_four, .n = { 6, 4 } },
    { "patches", build_patches, .n = { 2, 3, 7, 8, 3, 2 } },
    { "nce", build_nce, .attrs = &(const Nce){ 0.7, false }, .n = { 4, 3 } },
    { "nce both ways", build_nce, .attrs = &(const Nce){ 0.5, true }, .n = { 4, 3 } },
    { "moe_route", build_moe_route, .attrs = &(const MoeRoute){ 2, false, false, 1 }, .n = { 2, 4, 5 }, .large = { 4, 1024, 64 } },
    { "moe_route with weights of sum 1", build_moe_route, .attrs = &(const MoeRoute){ 3, false, true, 0.7 }, .n = { 2, 4, 5 } },
    { "moe_route by sigmoids", build_moe_route, .attrs = &(const MoeRoute){ 2, true, false, 1 }, .n = { 2, 4, 5 } },
    { "moe_route by sigmoids with weights of sum 1", build_moe_route, .attrs = &(const MoeRoute){ 2, true, true, 2.5 }, .n = { 2, 4, 5 } },
    { "moe_route with biases", build_biased_moe_route, .attrs = &(const MoeRoute){ 2, true, true, 1 }, .n = { 2, 4, 6 } },
    { "repeat_heads", build_repeat_heads, .n = { 2, 4, 2, 3, 4 } },
    { "moe_bias", build_moe_bias, .n = { 2, 4, 2, 6 } },
    { "moe_balance", build_moe_balance, .n = { 2, 6, 5, 2 } },
    { "mean_square_lse", build_unary, .unary = mean_square_lse, .n = { 4, 6, 5 } },
    { "moe_rows", build_moe_rows, .attrs = &(const double){ 0 }, .n = { 2, 4, 2, 3, 4 }, .large = { 4, 1024, 2, 8, 768 } },
    { "moe_rows, wide", build_moe_rows, .attrs = &(const double){ 0.9 }, .n = { 2, 50, 2, 3, 37 } },
    { "moe_rows with a capacity", build_moe_rows, .attrs = &(const double){ 0.9 }, .n = { 2, 6, 2, 3, 5 } },
    { "grouped_linear", build_grouped_linear, .attrs = &(const double){ 0 }, .n = { 7, 2, 3, 4, 6 } },
    { "grouped_linear with a capacity", build_grouped_linear, .attrs = &(const double){ 0.8 }, .n = { 9, 2, 3, 4, 6 } },
    { "grouped_linear of many features", build_grouped_linear, .attrs = &(const double){ 0 }, .n = { 61, 2, 5, 133, 150 }, .large = { 2048, 2, 8, 768, 3072 } },
    { "grouped_linear of long groups", build_grouped_linear, .attrs = &(const double){ 0 }, .n = { 1100, 2, 2, 5, 3 } },
    { "cache_write", build_cache_write, .position = 3, .n = { 2, 8, 2, 2, 3 } },
    { "cache_write of texts of their own lengths", build_cache_write, .texts = TEXTS(6, 0, 3), .n = { 3, 8, 2, 2, 3 } },
    { "dropout", build_unary, .unary = dropout_some, .n = { 6, 8 }, .large = { 4096, 768 } },
    { "dropout of many elements", build_unary, .unary = dropout_some, .n = { 77, 51 } },

    { "cross_entropy", build_cross_entropy, .n = { 2, 4, 7 }, .large = { 1, 256, 16384 } },
    { "cross_entropy, wide", build_cross_entropy, .n = { 2, 17, 301 } },
    { "head_loss", build_head_loss, .n = { 2, 4, 3, 7 }, .large = { 1, 256, 768, 16384 } },
    { "head_loss, wide", build_head_loss, .n = { 2, 17, 33, 301 } },
    { "head_step", build_head_step, .n = { 2, 4, 3, 7 }, .large = { 1, 512, 768, 16384 } },
    { "head_step, wide", build_head_step, .n = { 2, 17, 33, 301 } },
    { "mean_valid", build_valid, .binary = mean_valid, .n = { 4, 5 }, .large = { 16, 1024 } },
    { "sum_valid", build_valid, .binary = sum_valid, .n = { 4, 5 } },

    { "norm_partial 1", build_norm_partial, .attrs = &(const int64_t){ 1 }, .n = { 6, 7 } },
    { "norm_partial 2", build_norm_partial, .attrs = &(const int64_t){ 2 }, .n = { 6, 7 }, .large = { 768, 3072 } },
    { "norm_partial 2 of many elements", build_norm_partial, .attrs = &(const int64_t){ 2 }, .n = { 123, 457 } },
    { "norm_partial infinity", build_norm_partial, .attrs = &(const int64_t){ 0 }, .n = { 6, 7 } },
    { "norm_total 2", build_norm_total, .attrs = &(const int64_t){ 2 }, .n = { 3 } },
    { "norm_total of one", build_norm_total, .attrs = &(const int64_t){ 1 }, .n = { 1 } },
    { "norm_total infinity", build_norm_total, .attrs = &(const int64_t){ 0 }, .n = { 3 } },
    { "unscale", build_unscale, .position = 0 },
    { "clip_factor", build_clip_factor, .position = 1 },
    { "adam", build_adam, .attrs = &(const AdamSettings){ 0.9, 0.95, 1e-3, 0.1, false, 0 }, .n = { 6, 7 } },
    { "average", build_average, .n = { 122, 457 }, .large = { 768, 3072 } },
    { "muon_momentum", build_muon_momentum, .attrs = &(const MuonMomentum){ 0.95, true }, .n = { 123, 457 }, .large = { 768, 3072 } },
    { "muon_momentum without Nesterov", build_muon_momentum, .attrs = &(const MuonMomentum){ 0.9, false }, .n = { 6, 7 } },
    { "unit_matrix", build_unary, .unary = unit, .n = { 2, 6, 7 }, .large = { 1, 768, 3072 } },
    { "unit_matrix of several", build_unary, .unary = unit, .n = { 3, 123, 157 } },
    { "blend", build_binary, .binary = blend_some, .n = { 124, 57 }, .large = { 768, 3072 } },
    { "stack of matrices, and apart", build_stack, .n = { 122, 456 } },
    { "muon_update", build_muon_update, .attrs = &(const MuonUpdate){ 0.1, 1.5, 0 }, .n = { 122, 457 }, .large = { 768, 3072 } },
    { "adam, decoupled", build_adam, .attrs = &(const AdamSettings){ 0.9, 0.95, 1e-3, 0.1, true, 0 }, .n = { 6, 7 },
      .large = { 768, 3072 } },
    { "adam of many elements", build_adam, .attrs = &(const AdamSettings){ 0.9, 0.95, 1e-3, 0.1, true, 0 }, .n = { 123, 457 } },
};
/* clang-format on */
const int n_op_cases = sizeof op_cases / sizeof *op_cases;

static void must(Error *e)
{
    if (e) fprintf(stderr, "%s\n", error_text(e));
    CHECK(e == NULL);
}

CaseGraph op_case_build(Arena *a, const OpCase *c, const int64_t *n)
{
    Graph *g = graph_new(a);
    CaseGraph made = { .graph = g, .result = c->build(g, c, n), .n_forward = g->n_nodes };
    g->phase = BACKWARD_INPUT;
    if (made.result) {
        Value *y = made.result;
        made.result_grad = graph_input(g, "result_grad", F64, y->n_dims, y->dim);
        made.grad = op_differentiate(g, y, made.result_grad);
    }
    must(graph_finish(g));
    must(graph_verify(g));
    return made;
}

bool op_needs_ranks(const OpDef *op)
{
    return op->flags & OP_COMM || !strncmp(op->name, "ring_", 5);
}
