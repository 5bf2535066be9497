/* element_cases.c - cases of ops on elements, rows, shapes and norms. */
#include "case_leaves.h"
#include "op_run.h"
#include "ops/accumulate.h"
#include "ops/cast.h"
#include "ops/clamped_swiglu.h"
#include "ops/clip.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/exp_dot.h"
#include "ops/features.h"
#include "ops/fill.h"
#include "ops/gaussian_top_k.h"
#include "ops/gelu_tanh.h"
#include "ops/host_copy.h"
#include "ops/hyper.h"
#include "ops/logit_cap.h"
#include "ops/match_size.h"
#include "ops/norm.h"
#include "ops/offset.h"
#include "ops/patches.h"
#include "ops/relu.h"
#include "ops/reshape.h"
#include "ops/row_gate.h"
#include "ops/sequence.h"
#include "ops/xielu.h"

static Value *build_add_bias(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    int last = count(n) - 1;
    return add_bias(g, floats(g, "x", last + 1, n), floats(g, "bias", 1, n + last));
}

/* the sizes of the rows, the last one of each */
static Value *build_sigmoid_gate(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    const int last = count(n) - 1;
    return sigmoid_gate(g, floats(g, "x", last + 1, n), floats(g, "gate", last, n));
}

static Value *build_softplus_gate(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    return softplus_gate(g, floats(g, "x", count(n), n), floats(g, "gate", count(n) - 1, n));
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

static Value *swiglu_of_gpt_oss(Graph *g, Value *gate, Value *up)
{
    return clamped_swiglu(g, gate, up, 0.9);
}

static Value *swiglu_within(Graph *g, Value *gate, Value *up)
{
    return bounded_swiglu(g, gate, up, 0.7);
}

static Value *third_of_rows(Graph *g, Value *x)
{
    return gaussian_top_k(g, x, 0.66);
}

static Value *most_of_rows(Graph *g, Value *x)
{
    return gaussian_top_k(g, x, 0.2);
}

static Value *as_large(Graph *g, Value *x, Value *like)
{
    return match_size(g, x, like, 1e-5);
}

/* Numbers of x count as larger than most are. */
static Value *as_large_at_most(Graph *g, Value *x, Value *like)
{
    return match_size(g, x, like, 0.9);
}

/* batch, tokens; streams */
static Value *build_hyper_weights(Graph *g, const OpCase *c, const int64_t *n)
{
    const HyperWeights *a = c->attrs;
    const int64_t x[] = { n[0], n[1], hyper_width(a) }, scales = hyper_scales(a);
    return hyper_weights(g, floats(g, "x", 3, x), floats(g, "base", 1, x + 2),
                         floats(g, "scale", 1, &scales), a);
}

/* batch, tokens, streams, width */
static Value *build_hyper_read(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    return hyper_read(g, floats(g, "x", 4, n), floats(g, "w", 3, (int64_t[]){ n[0], n[1], n[4] }));
}

/* likewise; no weights: those that mix streams, too */
static Value *build_hyper_write(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    const int64_t y[] = { n[0], n[1], n[3] }, w[] = { n[0], n[1], n[4] ? n[4] : (n[2] + 2) * n[2] };
    return hyper_write(g, floats(g, "x", 4, n), floats(g, "y", 3, y), floats(g, "w", 3, w));
}

static Value *build_xielu(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    const int64_t one[] = { 1 };
    Value *p = floats(g, "alpha_p", 1, one), *q = floats(g, "alpha_n", 1, one);
    return xielu(g, floats(g, "x", count(n), n), p, q);
}

static Value *build_exp_dot(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    return exp_dot(g, floats(g, "a", 1, n), floats(g, "b", 1, n));
}

static Value *some_features(Graph *g, Value *x)
{
    return slice_features(g, x, 3, 5);
}

static Value *first_features(Graph *g, Value *x)
{
    return slice_features(g, x, 0, 128);
}

static Value *widened(Graph *g, Value *x)
{
    return pad_features(g, x, value_width(x) + value_width(x) / 2);
}

/* batch, sequence */
static Value *build_later_ids(Graph *g, const OpCase *c, const int64_t *n)
{
    later_ids(g, ids(g, "ids", 9, 2, n), c->position, -100);
    return NULL;
}

static Value *build_ids_below(Graph *g, const OpCase *c, const int64_t *n)
{
    ids_below(g, ids(g, "ids", 9, 2, n), c->position);
    return NULL;
}

/* tokens, heads, parts, width; width of what heads share */
static Value *build_join_features(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *front = floats(g, "front", 4, (int64_t[]){ n[0], 1, n[2], n[4] });
    return join_features(g, floats(g, "x", 4, n), front);
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

static Value *offset_by_one(Graph *g, Value *x)
{
    return offset(g, x, 1);
}

static Value *cap_some(Graph *g, Value *x)
{
    return logit_cap(g, x, 0.8);
}

static Value *clip_some(Graph *g, Value *x)
{
    return clip(g, x, 0.6);
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

static Value *build_detached(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    detached(g, floats(g, "x", count(n), n));
    return NULL;
}

static Value *build_reshape(Graph *g, const OpCase *c, const int64_t *n)
{
    return reshape(g, c->dims, c->sizes, floats(g, "x", count(n), n));
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

/* Its gradient with a sum, with a copy of that, and with the sums of its columns. */
static Value *build_norm_grad_add(Graph *g, const OpCase *c, const int64_t *n)
{
    const int n_dims = count(n);
    Value *y = build_norm(g, c, n), *other = floats(g, "other", n_dims, n);
    const Node *forward = y->from;
    op_differentiate(g, y, floats(g, "dy", n_dims, n));
    const Node *grad = g->node[g->n_nodes - 1];
    CHECK(grad->in[0] == forward->in[0]);
    for (int k = 0; k < 4; k++) norm_grad_add(g, grad, other, k & 1, k & 2);
    return NULL;
}

static Value *dropout_some(Graph *g, Value *x)
{
    return dropout(g, x, 0.3, 5);
}

/* clang-format off */
#define HYPER(...) &(const HyperWeights){ __VA_ARGS__ }
#define NORM(...) &(const NormCase){ __VA_ARGS__ }

const OpCase element_cases[] = {
    { "add", build_binary, .binary = add, .n = { 4, 3, 5 }, .large = { 4096, 768 } },
    { "add of many rows", build_binary, .binary = add, .n = { 131, 67 } },
    { "add of many elements", build_binary, .binary = add, .n = { 123, 45 } },
    { "mul", build_binary, .binary = mul, .n = { 4, 3, 5 }, .large = { 4096, 768 } },
    { "scale", build_unary, .unary = scale_down, .n = { 6, 7 }, .large = { 4096, 768 } },
    { "add_bias", build_add_bias, .n = { 2, 3, 5 }, .large = { 4096, 768 } },
    { "add_bias of many rows", build_add_bias, .n = { 261, 38 } },
    { "add_bias of many rows, eights", build_add_bias, .n = { 83, 264 } },
    { "silu", build_unary, .unary = silu, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "gelu", build_unary, .unary = gelu, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "gelu of many elements", build_unary, .unary = gelu, .n = { 123, 45 } },
    { "gelu_tanh", build_unary, .unary = gelu_tanh, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "gelu_tanh of many elements", build_unary, .unary = gelu_tanh, .n = { 123, 45 } },
    { "relu", build_unary, .unary = relu, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "relu of many elements", build_unary, .unary = relu, .n = { 123, 45 } },
    { "relu_squared", build_unary, .unary = relu_squared, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "relu_squared of many elements", build_unary, .unary = relu_squared, .n = { 123, 45 } },
    { "offset", build_unary, .unary = offset_by_one, .n = { 6, 8 } },
    { "logit_cap", build_unary, .unary = cap_some, .n = { 6, 8 }, .large = { 256, 16384 } },
    { "logit_cap of many elements", build_unary, .unary = cap_some, .n = { 123, 45 } },
    { "clip", build_unary, .unary = clip_some, .n = { 6, 8 }, .large = { 4096, 2048 } },
    { "clip of many elements", build_unary, .unary = clip_some, .n = { 123, 45 } },
    { "swiglu", build_binary, .binary = swiglu, .n = { 6, 7 }, .large = { 4096, 2048 } },
    { "clamped_swiglu", build_binary, .binary = swiglu_of_gpt_oss, .n = { 6, 7 }, .large = { 4096, 2880 } },
    { "clamped_swiglu of many elements", build_binary, .binary = swiglu_of_gpt_oss, .n = { 123, 45 } },
    { "bounded_swiglu", build_binary, .binary = swiglu_within, .n = { 6, 7 }, .large = { 4096, 2048 } },
    { "bounded_swiglu of many elements", build_binary, .binary = swiglu_within, .n = { 123, 45 } },
    { "xielu", build_xielu, .n = { 6, 7 }, .large = { 4096, 14336 } },
    { "xielu of many elements", build_xielu, .n = { 123, 345 } },
    { "exp_dot", build_exp_dot, .n = { 7 } },
    { "exp_dot of a head", build_exp_dot, .n = { 128 } },
    { "row_gate by sigmoids", build_sigmoid_gate, .n = { 3, 5, 7 }, .large = { 16, 256, 1024 } },
    { "row_gate of wide rows", build_sigmoid_gate, .n = { 4, 2, 72 } },
    { "row_gate of elements", build_sigmoid_gate, .n = { 3, 45, 1 }, .large = { 16, 262144, 1 } },
    { "row_gate by softplus", build_softplus_gate, .n = { 3, 5, 72 } },
    { "row_gate of elements by softplus", build_softplus_gate, .n = { 3, 45, 1 } },
    { "gaussian_top_k", build_unary, .unary = third_of_rows, .n = { 3, 2, 9 }, .large = { 4096, 2048 } },
    { "gaussian_top_k of wide rows", build_unary, .unary = most_of_rows, .n = { 13, 345 } },
    { "match_size", build_binary, .binary = as_large, .n = { 3, 2, 7 }, .large = { 4096, 2048 } },
    { "match_size of wide rows", build_binary, .binary = as_large_at_most, .n = { 13, 345 } },
    { "hyper_weights", build_hyper_weights, .attrs = HYPER(.streams = 3, .iterations = 4, .eps = 1e-3, .write_scale = 2), .n = { 2, 4 } },
    { "hyper_weights of many", build_hyper_weights, .attrs = HYPER(.streams = 4, .iterations = 20, .eps = 1e-6, .write_scale = 2), .n = { 3, 37 }, .large = { 4, 1024 } },
    { "hyper_weights of reading alone", build_hyper_weights, .attrs = HYPER(.streams = 5, .iterations = 1, .eps = 1e-3, .write_scale = 2, .reads_alone = true), .n = { 2, 6 } },
    { "hyper_weights without a mix", build_hyper_weights, .attrs = HYPER(.streams = 3, .eps = 1e-3, .write_scale = 1.5), .n = { 3, 23 } },
    { "hyper_read", build_hyper_read, .n = { 2, 4, 3, 5, 15 }, .large = { 4, 1024, 4, 2048, 24 } },
    { "hyper_read by weights of reading alone", build_hyper_read, .n = { 3, 23, 4, 70, 4 } },
    { "hyper_write", build_hyper_write, .n = { 2, 4, 3, 5 }, .large = { 4, 1024, 4, 2048 } },
    { "hyper_write of many", build_hyper_write, .n = { 3, 23, 4, 70 } },
    { "hyper_write without a mix", build_hyper_write, .n = { 3, 23, 4, 70, 8 } },
    { "swiglu of many elements", build_binary, .binary = swiglu, .n = { 123, 45 } },
    { "split heads", build_reshape, .dims = "bs(grd)->bsgrd", .sizes = "g=2 d=4", .n = { 2, 3, 24 } },
    { "detach", build_detached, .n = { 2, 3 } },
    { "merge heads", build_reshape, .dims = "bsgrd->bs(grd)", .n = { 2, 4, 2, 3, 4 } },
    { "host_copy", build_unary, .unary = through_host, .n = { 6, 7 } },
    { "cast", build_unary, .unary = cast_down, .n = { 6, 7 }, .large = { 4096, 3072 } },
    { "fill", build_unary, .unary = fill_like, .n = { 6, 7 } },
    { .name = "loss_seed", .build = build_loss_seed },
    { "cast of many elements", build_unary, .unary = cast_down, .n = { 123, 45 } },
    { "accumulate", build_accumulate, .n = { 6, 7 }, .large = { 4096, 768 } },
    { "rms_norm", build_norm, .attrs = NORM(.norm = rms_norm), .n = { 4, 3, 5 } },
    { "rms_norm with weight", build_norm, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 4, 3, 5 }, .large = { 4096, 768 } },
    { "rms_norm with weight, wide", build_norm, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 37, 70 } },
    { "rms_norm with weight and bias", build_norm, .attrs = NORM(.norm = rms_norm, .weight = true, .bias = true), .n = { 4, 3, 5 } },
    { "layer_norm", build_norm, .attrs = NORM(.norm = layer_norm), .n = { 4, 3, 5 } },
    { "layer_norm with weight", build_norm, .attrs = NORM(.norm = layer_norm, .weight = true), .n = { 4, 3, 5 } },
    { "layer_norm with bias", build_norm, .attrs = NORM(.norm = layer_norm, .bias = true), .n = { 4, 3, 5 } },
    { "layer_norm with weight and bias", build_norm, .attrs = NORM(.norm = layer_norm, .weight = true, .bias = true), .n = { 4, 3, 5 },
      .large = { 4096, 768 } },
    { "rms_norm with weight of rows in units", build_norm, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 9, 804 } },
    { "layer_norm with weight of narrow rows in units", build_norm, .attrs = NORM(.norm = layer_norm, .weight = true), .n = { 4, 5, 36 } },
    { "rms_norm with weight of very wide rows", build_norm, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 5, 4100 } },
    { "layer_norm with weight and bias of rows in units", build_norm, .attrs = NORM(.norm = layer_norm, .weight = true, .bias = true), .n = { 23, 264 } },
    { "layer_norm with weight and bias, wide", build_norm, .attrs = NORM(.norm = layer_norm, .weight = true, .bias = true), .n = { 37, 70 } },
    { "rms_norm its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = rms_norm), .n = { 4, 3, 5 } },
    { "rms_norm with weight, its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 37, 70 }, .large = { 4096, 768 } },
    { "rms_norm with weight of rows in units, its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 9, 804 } },
    { "rms_norm with weight of very wide rows, its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = rms_norm, .weight = true), .n = { 5, 4100 } },
    { "layer_norm its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = layer_norm), .n = { 4, 3, 5 } },
    { "layer_norm with bias, its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = layer_norm, .bias = true), .n = { 4, 3, 8 } },
    { "layer_norm with weight and bias, its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = layer_norm, .weight = true, .bias = true), .n = { 4, 3, 5 }, .large = { 4096, 768 } },
    { "layer_norm with weight and bias of rows in units, its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = layer_norm, .weight = true, .bias = true), .n = { 23, 264 } },
    { "rms_norm with weight and bias, its gradient with a sum", build_norm_grad_add, .attrs = NORM(.norm = rms_norm, .weight = true, .bias = true), .n = { 4, 3, 5 } },
    { "layer_norm with weight of narrow rows in units, its gradient with a sum", build_norm_grad_add,
      .attrs = NORM(.norm = layer_norm, .weight = true), .n = { 4, 5, 36 } },
    { "join_row in front", build_join_row, .n = { 2, 3, 4 } },
    { "join_row after", build_join_row, .position = 1, .n = { 2, 3, 4 } },
    { "slice_rows", build_unary, .unary = middle_rows, .n = { 2, 5, 4 } },
    { "mean_rows", build_unary, .unary = mean_rows, .n = { 2, 5, 4 } },
    { "repeat_rows", build_unary, .unary = for_each_of_four, .n = { 6, 4 } },
    { "slice_features", build_unary, .unary = some_features, .n = { 3, 2, 9 } },
    { "slice_features of many rows", build_unary, .unary = first_features, .n = { 201, 3, 192 }, .large = { 4096, 16, 192 } },
    { "pad_features", build_unary, .unary = widened, .n = { 4, 7 }, .large = { 4096, 16, 128 } },
    { "pad_features of many rows", build_unary, .unary = widened, .n = { 301, 66 } },
    { "join_features", build_join_features, .n = { 3, 4, 2, 5, 3 }, .large = { 4096, 16, 2, 64, 32 } },
    { "join_features of many rows", build_join_features, .n = { 67, 5, 2, 33, 32 } },
    { "later_ids", build_later_ids, .position = 2, .n = { 4, 7 } },
    { "ids_below", build_ids_below, .position = 5, .n = { 4, 7 } },
    { "patches", build_patches, .n = { 2, 3, 7, 8, 3, 2 } },
    { "dropout", build_unary, .unary = dropout_some, .n = { 6, 8 }, .large = { 4096, 768 } },
    { "dropout of many elements", build_unary, .unary = dropout_some, .n = { 77, 51 } },
    { 0 },
};
/* clang-format on */
