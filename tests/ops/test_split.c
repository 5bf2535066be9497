/* test_split.c - an op run on two halves gives what it gives on the whole.
 *
 * For every node of every case and every letter that its dims allow to be split, contiguous and
 * zig-zag: results with the letter are the halves, results without it are partial sums (maxima). */
#include "op_cases.h"
#include "op_run.h"
#include "op_split.h"
#include "ops/all_ops.h"
#include "test.h"
#include <string.h>

static bool same(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b))) return true;
    return fabs(a - b) <= 1e-12 * (1 + fabs(a));
}

static void check_result(const char *name, const NodeRun *w, int k, int slot, const Tensor *parts)
{
    const Node *n = w->node;
    bool is_max = n->out[k]->reduce == REDUCE_MAX,
         has_slot = op_dim_of(&n->dims->out[k], slot) >= 0;
    for (int64_t i = 0; i < tensor_count(&parts[0]); i++)
        for (int r = 0; r < 2; r++) {
            double x = op_get(&parts[0], i), y = op_get(&parts[1], i);
            double found = has_slot ? r ? y : x : is_max ? fmax(x, y) : x + y;
            int64_t at = has_slot ? global_element(&parts[r], i) : i;
            if (!same(op_get(&w->out[k], at), found))
                fail_msg("%s: %s split over slot %d of \"%s\": result %d[%d] is %.15g, not %.15g",
                         name, n->op->name, slot, n->dims->text, k, (int)at, found,
                         op_get(&w->out[k], at));
        }
}

static void check_split(const char *name, const NodeRun *w, int slot, Layout layout)
{
    Arena *a = arena_new();
    const Node *n = w->node;
    NodeRun half[2];
    for (int r = 0; r < 2; r++) {
        half[r] = op_half(a, w, slot, r, layout);
        Launch l = op_launch(n, half[r].in, half[r].out, &w->run->now);
        assert_int_equal(op_reference(a, n->op, l), KERNEL_OK);
    }
    for (int k = 0; k < n->n_out; k++) {
        Tensor parts[] = { half[0].out[k], half[1].out[k] };
        check_result(name, w, k, slot, parts);
    }
    arena_free(a);
}

/* Numbers of rows count within the part of a rank, which is not half of the whole. */
static bool is_counted(const Node *n, int slot)
{
    if (!(n->op->flags & OP_ROWS)) return false;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->dtype == I32 && dims_uses(&n->dims->in[k], slot)) return true;
    return false;
}

/* Such a split needs ranks that talk: test_split_vocabulary.c. */
static bool is_completed(const Node *n, int slot)
{
    bool lacks = false;
    for (int k = 0; k < n->n_out; k++)
        lacks |= n->op->completes >> k & 1 && !dims_uses(&n->dims->out[k], slot);
    return lacks;
}

/* Parts of the vocabulary of a loss lie one after the other (ops/vocabulary.h). */
static bool may_zigzag(const Node *n, int slot)
{
    const bool is_loss =
        !strncmp(n->op->name, "cross_entropy", 13) || !strncmp(n->op->name, "head_", 5);
    return !(is_loss && slot == 'v' - 'a') && op_can_split(n, slot, 4);
}

/* Counts the splits that were checked, by place in the list. */
static void check_case(const OpCase *c, int *n_splits)
{
    Arena *a = arena_new();
    CaseGraph made = op_case_build(a, c, c->n);
    OpRun *run = op_run_new(a, made.graph, c->position);
    for (int64_t i = 0; i < made.graph->n_nodes; i++) {
        NodeRun w = op_run_node(run, a, i);
        int op = 0;
        while (op_at(op) != w.node->op) op++;
        for (int slot = 0; slot < N_SLOTS; slot++) {
            const bool is_elsewhere = is_counted(w.node, slot) || is_completed(w.node, slot);
            if (!op_can_split(w.node, slot, 2) || is_elsewhere) continue;
            check_split(c->name, &w, slot, CONTIGUOUS);
            if (may_zigzag(w.node, slot)) check_split(c->name, &w, slot, ZIGZAG);
            n_splits[op]++;
        }
    }
    arena_free(a);
}

/* Scalars, tables that every rank makes whole, and weights in an order of their own. */
static bool is_never_split(const OpDef *op)
{
    static const char *const names[] = { "loss_seed",        "rope_table",  "rope_scaled_table",
                                         "norm_total",       "clip_factor", "moe_balance",
                                         "moe_balance_grad", "moe_rows",    "moe_limit",
                                         "moe_element",      "moe_even",    "nce",
                                         "nce_grad",         "unscale",     "logit_factors",
                                         "panels",           "exp_dot",     "exp_dot_grad" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(op->name, names[i])) return true;
    return false;
}

TEST(two_halves_equal_the_whole)
{
    int n_splits[256] = { 0 };
    for (int k = 0; k < op_case_count(); k++) check_case(op_case_at(k), n_splits);
    for (int i = 0; op_at(i); i++)
        if (!op_needs_ranks(op_at(i)) && (n_splits[i] == 0) != is_never_split(op_at(i)))
            fail_msg("%s: %d splits were checked", op_at(i)->name, n_splits[i]);
}
