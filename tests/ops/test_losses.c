/* test_losses.c - losses, norms of gradients and optimizer steps, against numbers computed by other
 * means. */
#include "op_sheet.h"
#include "ops/adam.h"
#include "ops/contract.h"
#include "ops/cross_entropy.h"
#include "ops/gradient_norm.h"
#include "ops/head_loss.h"
#include "ops/mean_valid.h"
#include "tensor/target.h"
#include "test.h"
#include <string.h>

TEST(cross_entropy_by_hand)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *logits = give(s, "logits", SIZES(3, 3), NUMBERS(1, -1, 0.5, 2, 0, -3, 5, 5, 5));
    Value *targets = give_ints(s, "targets", SIZES(3), NUMBERS(2, 0, IGNORED_TARGET));
    Value *ones = give(s, "ones", SIZES(3), NUMBERS(1, 1, 1));
    Value *loss = cross_entropy(g, logits, targets);
    Value *grad = op_differentiate(g, loss, ones)[logits->id];
    expect(s, loss, ARE(1.05495691964199, 0.132845233727576, 0));
    expect(s, loss->from->out[1], ARE(1.55495691964199, 2.13284523372758, 5 + log(3)));
    expect(s, grad,
           ARE(0.574096992967695, 0.0776955791485706, -0.651792572116265, -0.124399404936912,
               0.11849965453501, 0.00589975040190278, 0, 0, 0));
    sheet_free(s);
}

TEST(cross_entropy_of_large_logits_does_not_overflow)
{
    Sheet *s = sheet_new();
    Value *logits = give(s, "logits", SIZES(2, 2), NUMBERS(1e4, 0, -1e4, -1e4));
    Value *targets = give_ints(s, "targets", SIZES(2), NUMBERS(1, 0));
    expect(s, cross_entropy(s->graph, logits, targets), ARE(1e4, log(2)));
    sheet_free(s);
}

/* What a broken model makes must reach the guard of the update. */
TEST(losses_of_logits_that_are_no_numbers_are_none)
{
    Sheet *s = sheet_new();
    Value *logits = give(s, "logits", SIZES(2, 2), NUMBERS(NAN, 0, 1, NAN));
    Value *targets = give_ints(s, "targets", SIZES(2), NUMBERS(1, 0));
    expect(s, cross_entropy(s->graph, logits, targets), ARE(NAN, NAN));
    sheet_free(s);
}

TEST(targets_outside_of_the_vocabulary_are_reported)
{
    static const double bad[] = { 2, -1, -99 };
    for (int i = 0; i < 3; i++)
        for (int fused = 0; fused < 2; fused++) {
            Sheet *s = sheet_new();
            Value *x = give(s, "x", SIZES(1, 2), NUMBERS(1, 2));
            Value *targets = give_ints(s, "targets", SIZES(1), &bad[i]);
            Value *weight = give(s, "weight", SIZES(2, 2), NUMBERS(1, 2, 3, 4));
            if (fused)
                head_loss(s->graph, x, weight, targets);
            else
                cross_entropy(s->graph, x, targets);
            assert_int_equal(sheet_status(s), KERNEL_BAD_INDEX);
            sheet_free(s);
        }
}

TEST(head_loss_equals_linear_layer_and_cross_entropy)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *x = op_input(g, "x", F64, SIZES(2, 3, 4)),
          *weight = op_input(g, "weight", F64, SIZES(7, 4));
    Value *targets = op_input(g, "targets", I32, SIZES(2, 3)),
          *dy = op_input(g, "dy", F64, SIZES(2, 3));
    targets->init = (Init){ .low = 0, .high = 7 };
    Value *one = head_loss(g, x, weight, targets);
    Value *two = cross_entropy(g, contract(g, "*k,nk->*n", x, weight), targets);
    Value **grad_one = op_differentiate(g, one, dy), **grad_two = op_differentiate(g, two, dy);
    Value *pairs[][2] = { { one, two },
                          { one->from->out[1], two->from->out[1] },
                          { grad_one[x->id], grad_two[x->id] },
                          { grad_one[weight->id], grad_two[weight->id] } };
    OpRun *r = op_run_new(a, g, 0);
    op_run_nodes(r, 0, g->n_nodes);
    for (int p = 0; p < 4; p++) {
        const Tensor *t = &r->tensor[pairs[p][0]->id], *u = &r->tensor[pairs[p][1]->id];
        for (int64_t i = 0; i < tensor_count(t); i++)
            assert_close(op_get(t, i), op_get(u, i), 1e-13);
    }
    arena_free(a);
}

TEST(mean_and_sum_leave_out_ignored_tokens)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *loss = give(s, "loss", SIZES(2, 2), NUMBERS(1, 2, 4, 8));
    Value *targets = give_ints(s, "targets", SIZES(2, 2), NUMBERS(3, IGNORED_TARGET, 0, 1));
    Value *one = give(s, "one", SIZES(0), NUMBERS(6));
    Value *mean = mean_valid(g, loss, targets), *sum = sum_valid(g, loss, targets);
    Value *dmean = op_differentiate(g, mean, one)[loss->id];
    Value *dsum = op_differentiate(g, sum, one)[loss->id];
    expect(s, mean, ARE(13.0 / 3));
    expect(s, sum, ARE(13));
    expect(s, dmean, ARE(2, 0, 2, 2));
    expect(s, dsum, ARE(6, 0, 6, 6));
    sheet_free(s);
}

TEST(no_valid_token_gives_zero_with_zero_gradient)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *logits = give(s, "logits", SIZES(2, 2), NUMBERS(1, 2, 3, 4));
    Value *targets = give_ints(s, "targets", SIZES(2), NUMBERS(IGNORED_TARGET, IGNORED_TARGET));
    Value *one = give(s, "one", SIZES(0), NUMBERS(1));
    Value *mean = mean_valid(g, cross_entropy(g, logits, targets), targets);
    Value *grad = op_differentiate(g, mean, one)[logits->id];
    expect(s, mean, ARE(0));
    expect(s, grad, ARE(0, 0, 0, 0));
    sheet_free(s);
}

TEST(norms_of_gradients_and_the_clipping_factor)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(2), NUMBERS(3, -4)), *y = give(s, "y", SIZES(1), NUMBERS(-12));
    static const double partial[3][2] = { { 4, 12 }, { 7, 12 }, { 25, 144 } };
    static const double total[] = { 12, 19, 13 };
    Value *part[3][2], *norm[3];
    for (int p = 0; p < 3; p++) {
        part[p][0] = norm_partial(g, x, p);
        part[p][1] = norm_partial(g, y, p);
        norm[p] = norm_total(g, 2, part[p], p);
        assert_int_equal(part[p][0]->reduce, p == 0 ? REDUCE_MAX : REDUCE_SUM);
    }
    Value *never = clip_factor(g, norm[2], 0), *above = clip_factor(g, norm[2], 20);
    Value *clipped = clip_factor(g, norm[2], 1.3), *smaller = unscale(g, norm[2]);
    for (int p = 0; p < 3; p++) {
        for (int i = 0; i < 2; i++) expect(s, part[p][i], 1, &partial[p][i]);
        expect(s, norm[p], 1, &total[p]);
    }
    expect(s, never, ARE(1));
    expect(s, above, ARE(1));
    expect(s, clipped, ARE(1.3 / 13.000001));
    expect(s, smaller, ARE(13. / 8));
    sheet_free(s);
}

/* A NaN must reach the guard of the update through every norm, and a factor must not hide it. */
TEST(a_nan_gradient_gives_a_nan_norm)
{
    for (int p = 0; p < 3; p++) {
        Sheet *s = sheet_new();
        Value *x = give(s, "x", SIZES(3), NUMBERS(1, NAN, 5)),
              *y = give(s, "y", SIZES(1), NUMBERS(9));
        Value *part[] = { norm_partial(s->graph, x, p), norm_partial(s->graph, y, p) };
        Value *total = norm_total(s->graph, 2, part, p);
        Value *factor = clip_factor(s->graph, total, 1);
        expect(s, total, ARE(NAN));
        expect(s, factor, ARE(NAN));
        sheet_free(s);
    }
}

static void check_adam(bool decoupled, const double *param, const double *m, const double *v)
{
    Sheet *s = sheet_new();
    Value *state[4];
    static const char *const names[] = { "param", "grad", "m", "v" };
    static const double start[4][2] = { { 1, -2 }, { 0.5, -0.25 }, { 0.1, 0 }, { 0.04, 0.01 } };
    for (int i = 0; i < 4; i++) state[i] = give(s, names[i], SIZES(2), start[i]);
    for (int i = 0; i < 4; i++) state[i]->kind = VALUE_STATE; /* given, then written in place */
    Value *factor = give(s, "factor", SIZES(0), NUMBERS(0.5));
    AdamSettings attrs = { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1 };
    attrs.decoupled = decoupled;
    adam(s->graph, state[0], state[1], state[2], state[3], factor, &attrs);
    expect(s, state[0], 2, param);
    expect(s, state[1], ARE(0, 0));
    expect(s, state[2], 2, m);
    expect(s, state[3], 2, v);
    sheet_free(s);
}

TEST(adam_adds_the_decay_to_the_gradient)
{
    check_adam(false, NUMBERS(0.992562780724686, -1.99666401201525), NUMBERS(0.125, -0.0325),
               NUMBERS(0.044125, 0.01478125));
}

TEST(adam_w_decays_the_parameter)
{
    check_adam(true, NUMBERS(0.991913105344447, -1.99646262886176), NUMBERS(0.115, -0.0125),
               NUMBERS(0.041125, 0.01028125));
}
