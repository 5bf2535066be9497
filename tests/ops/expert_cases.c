/* expert_cases.c - cases of mixtures of experts. */
#include "case_leaves.h"
#include "ops/elementwise.h"
#include "ops/fill.h"
#include "ops/grouped_bias.h"
#include "ops/grouped_linear.h"
#include "ops/moe_bias.h"
#include "ops/moe_mixer.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"
#include "ops/moe_transfer.h"
#include "ops/repeat_heads.h"

/* batch, sequence, experts */
static Value *build_moe_route(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *expert;
    return moe_route(g, floats(g, "logits", 3, n), NULL, c->attrs, &expert);
}

static Value *build_moe_mixer(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *expert;
    return moe_mixer(g, floats(g, "logits", 3, n), c->attrs, &expert);
}

static Value *build_biased_moe_route(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *expert;
    return moe_route(g, floats(g, "logits", 3, n), floats(g, "bias", 1, n + 2), c->attrs, &expert);
}

/* batch, sequence, experts, choices; ids are below the number of experts, and so is the table */
static Value *build_moe_hash(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *table = uniform(floats(g, "table", 2, n + 2), 0, (double)n[2]);
    Value *expert = moe_hash(g, ids(g, "ids", n[2], 2, n), table, n[2]);
    return moe_weigh(g, floats(g, "logits", 3, n), expert, c->attrs);
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
    return moe_rows(g, expert, n_experts, 0);
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

/* Likewise, where weights count in front of the experts. */
static Value *build_moe_weighted(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *x = floats(g, "x", 3, (int64_t[]){ n[0], n[1], n[4] });
    Value *weight = floats(g, "weight", 3, n), *expert = ids(g, "expert", n[3], 3, n);
    const MoeRows rows = rows_of_experts(g, expert, n[3], *(const double *)c->attrs);
    Value *y = moe_gather_weighted(g, x, weight, &rows);
    return moe_combine(g, mul(g, y, y), fill(g, weight, 1), &rows);
}

/* batch, sequence, choices; experts; width; of the experts half have neither weights nor a
 * capacity; attributes: the capacity of the others */
static Value *build_moe_identity(Graph *g, const OpCase *c, const int64_t *n)
{
    const MoeLimit limit = { .n_experts = n[3] / 2,
                             .n_zero = n[3] - n[3] / 2,
                             .capacity = *(const double *)c->attrs };
    Value *x = floats(g, "x", 3, (int64_t[]){ n[0], n[1], n[4] }), *dropped;
    Value *weight = floats(g, "weight", 3, n), *expert = ids(g, "expert", n[3], 3, n);
    Value *taken = limit.capacity > 0 ? moe_limit(g, expert, &limit, &dropped) : expert;
    const MoeRows rows = moe_rows(g, taken, limit.n_experts, limit.n_zero);
    Value *y = moe_gather(g, x, &rows);
    y = moe_combine(g, mul(g, y, y), weight, &rows);
    return add(g, y, moe_identity(g, x, weight, taken, limit.n_experts));
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

/* tokens, choices, experts, width */
static Value *build_grouped_bias(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *expert = ids(g, "expert", n[2], 3, (int64_t[]){ 1, n[0], n[1] });
    const MoeRows rows = rows_of_experts(g, expert, n[2], *(const double *)c->attrs);
    const MoeMeeting at = moe_meet(g, rows.of, n[2], n[0] * n[1], 1);
    Value *x = floats(g, "x", 3, (int64_t[]){ 1, n[0] * n[1], n[3] });
    return grouped_bias(g, x, floats(g, "bias", 2, n + 2), at.at);
}

/* clang-format off */
const OpCase expert_cases[] = {
    { "moe_route", build_moe_route, .attrs = &(const MoeRoute){ .top_k = 2, .factor = 1 }, .n = { 2, 4, 5 }, .large = { 4, 1024, 64 } },
    { "moe_route with weights of sum 1", build_moe_route, .attrs = &(const MoeRoute){ .top_k = 3, .normalize = true, .factor = 0.7 }, .n = { 2, 4, 5 } },
    { "moe_route by sigmoids", build_moe_route, .attrs = &(const MoeRoute){ .top_k = 2, .sigmoid = true, .factor = 1 }, .n = { 2, 4, 5 } },
    { "moe_route by sigmoids with weights of sum 1", build_moe_route, .attrs = &(const MoeRoute){ .top_k = 2, .sigmoid = true, .normalize = true, .factor = 2.5 }, .n = { 2, 4, 5 } },
    { "moe_route with a part of the sum", build_moe_route, .attrs = &(const MoeRoute){ .top_k = 2, .sigmoid = true, .normalize = true, .sum_eps = 0.3, .factor = 1.5 }, .n = { 2, 4, 5 } },
    { "moe_route by roots of softplus", build_biased_moe_route, .attrs = &(const MoeRoute){ .top_k = 2, .sqrt_softplus = true, .normalize = true, .factor = 1.5 }, .n = { 2, 4, 6 }, .large = { 4, 1024, 256 } },
    { "moe_hash", build_moe_hash, .attrs = &(const MoeRoute){ .sqrt_softplus = true, .normalize = true, .factor = 1.5 }, .n = { 2, 4, 6, 3 }, .large = { 4, 1024, 256, 6 } },
    { "moe_weigh by a softmax", build_moe_hash, .attrs = &(const MoeRoute){ .factor = 0.7 }, .n = { 2, 30, 4, 3 } },
    { "moe_mixer", build_moe_mixer, .attrs = &(const MoeMixer){ .top_k = 2, .near = 0.3 }, .n = { 2, 16, 6 }, .large = { 4, 1024, 64 } },
    { "moe_mixer of three", build_moe_mixer, .attrs = &(const MoeMixer){ .top_k = 3, .near = 1 }, .n = { 2, 9, 4 } },
    { "moe_route with biases", build_biased_moe_route, .attrs = &(const MoeRoute){ .top_k = 2, .sigmoid = true, .normalize = true, .factor = 1 }, .n = { 2, 4, 6 } },
    { "moe_route with biases of logits", build_biased_moe_route, .attrs = &(const MoeRoute){ .top_k = 2, .sigmoid = true, .by_logits = true, .factor = 1 }, .n = { 2, 4, 6 } },
    { "moe_route by groups", build_moe_route, .attrs = &(const MoeRoute){ .top_k = 3, .factor = 1, .n_groups = 4, .top_groups = 2 }, .n = { 2, 32, 12 }, .large = { 4, 1024, 64 } },
    { "moe_route by groups with biases", build_biased_moe_route, .attrs = &(const MoeRoute){ .top_k = 4, .sigmoid = true, .normalize = true, .factor = 2.5, .n_groups = 3, .top_groups = 2 }, .n = { 2, 40, 9 } },
    { "repeat_heads", build_repeat_heads, .n = { 2, 4, 2, 3, 4 } },
    { "repeat_heads, wide", build_repeat_heads, .n = { 2, 37, 1, 67, 8 } },
    { "moe_bias", build_moe_bias, .n = { 2, 4, 2, 6 } },
    { "moe_balance", build_moe_balance, .n = { 2, 6, 5, 2 } },
    { "moe_rows", build_moe_rows, .attrs = &(const double){ 0 }, .n = { 2, 4, 2, 3, 4 }, .large = { 4, 1024, 2, 8, 768 } },
    { "moe_gather_weighted", build_moe_weighted, .attrs = &(const double){ 0 }, .n = { 2, 4, 2, 3, 4 }, .large = { 4, 1024, 2, 8, 768 } },
    { "moe_gather_weighted with a capacity", build_moe_weighted, .attrs = &(const double){ 0.9 }, .n = { 2, 50, 2, 3, 37 } },
    { "moe_identity", build_moe_identity, .attrs = &(const double){ 0 }, .n = { 2, 4, 2, 6, 5 }, .large = { 4, 1024, 4, 16, 768 } },
    { "moe_identity with a capacity", build_moe_identity, .attrs = &(const double){ 0.6 }, .n = { 2, 30, 3, 5, 37 } },
    { "moe_rows, wide", build_moe_rows, .attrs = &(const double){ 0.9 }, .n = { 2, 50, 2, 3, 37 } },
    { "moe_rows with a capacity", build_moe_rows, .attrs = &(const double){ 0.9 }, .n = { 2, 6, 2, 3, 5 } },
    { "grouped_linear", build_grouped_linear, .attrs = &(const double){ 0 }, .n = { 7, 2, 3, 4, 6 } },
    { "grouped_linear with a capacity", build_grouped_linear, .attrs = &(const double){ 0.8 }, .n = { 9, 2, 3, 4, 6 } },
    { "grouped_linear of many features", build_grouped_linear, .attrs = &(const double){ 0 }, .n = { 61, 2, 5, 133, 150 }, .large = { 2048, 2, 8, 768, 3072 } },
    { "grouped_linear in tiles", build_grouped_linear, .attrs = &(const double){ 0 }, .n = { 131, 1, 3, 40, 136 } },
    { "grouped_linear of f32 in tiles", build_grouped_linear, .attrs = &(const double){ 0 }, .n = { 170, 1, 3, 56, 136 } },
    { "grouped_linear in tiles with a capacity", build_grouped_linear, .attrs = &(const double){ 0.7 }, .n = { 10, 2, 3, 72, 16 } },
    { "grouped_linear of long groups", build_grouped_linear, .attrs = &(const double){ 0 }, .n = { 1100, 2, 2, 5, 3 } },
    { "grouped_bias", build_grouped_bias, .attrs = &(const double){ 0 }, .n = { 7, 2, 3, 4 } },
    { "grouped_bias with a capacity", build_grouped_bias, .attrs = &(const double){ 0.6 }, .n = { 65, 2, 5, 67 }, .large = { 2048, 4, 32, 2880 } },
    { 0 },
};
/* clang-format on */
