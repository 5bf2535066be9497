/* loss_cases.c - cases of losses. */
#include "case_leaves.h"
#include "ops/cross_entropy.h"
#include "ops/head_loss.h"
#include "ops/mean_valid.h"
#include "ops/moe_route.h"
#include "ops/nce.h"

static Value *build_nce(Graph *g, const OpCase *c, const int64_t *n)
{
    return nce(g, floats(g, "x", 2, n), floats(g, "y", 2, n), c->attrs);
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

/* clang-format off */
const OpCase loss_cases[] = {
    { "nce", build_nce, .attrs = &(const Nce){ 0.7, false }, .n = { 4, 3 } },
    { "nce both ways", build_nce, .attrs = &(const Nce){ 0.5, true }, .n = { 4, 3 } },
    { "mean_square_lse", build_unary, .unary = mean_square_lse, .n = { 4, 6, 5 } },
    { "cross_entropy", build_cross_entropy, .n = { 2, 4, 7 }, .large = { 1, 256, 16384 } },
    { "cross_entropy, wide", build_cross_entropy, .n = { 2, 17, 301 } },
    { "cross_entropy, rows of 16 bytes", build_cross_entropy, .n = { 2, 17, 304 } },
    { "cross_entropy, long", build_cross_entropy, .n = { 1, 2, 16600 } },
    { "cross_entropy, long and odd", build_cross_entropy, .n = { 1, 2, 4301 } },
    { "head_loss", build_head_loss, .n = { 2, 4, 3, 7 }, .large = { 1, 256, 768, 16384 } },
    { "head_loss, wide", build_head_loss, .n = { 2, 17, 33, 301 } },
    { "head_step", build_head_step, .n = { 2, 4, 3, 7 }, .large = { 1, 512, 768, 16384 } },
    { "head_step, wide", build_head_step, .n = { 2, 17, 33, 301 } },
    { "head_step, rows that are kept", build_head_step, .n = { 2, 9, 8, 304 } },
    { "head_step, rows that are kept in part", build_head_step, .n = { 1, 5, 2, 13000 } },
    { "head_step, long and odd", build_head_step, .n = { 1, 2, 3, 4301 } },
    { "mean_valid", build_valid, .binary = mean_valid, .n = { 4, 5 }, .large = { 16, 1024 } },
    { "mean_valid of many tokens", build_valid, .binary = mean_valid, .n = { 4, 700 } },
    { "sum_valid", build_valid, .binary = sum_valid, .n = { 4, 5 } },
    { 0 },
};
/* clang-format on */
