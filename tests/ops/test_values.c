/* test_values.c - results of ops against numbers computed by other means. */
#include "op_sheet.h"
#include "ops/accumulate.h"
#include "ops/cache_write.h"
#include "ops/cast.h"
#include "ops/contract.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/dropout_mask.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/features.h"
#include "ops/fill.h"
#include "ops/gaussian_top_k.h"
#include "ops/gradient_norm.h"
#include "ops/match_size.h"
#include "ops/mean_valid.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"
#include "ops/norm.h"
#include "ops/positions.h"
#include "ops/reshape.h"
#include "ops/rope.h"
#include "ops/rope_scaled.h"
#include "ops/sequence.h"
#include "test.h"
#include <string.h>

TEST(sums_products_and_scales)
{
    Sheet *s = sheet_new();
    Value *x = give(s, "x", SIZES(2, 2), NUMBERS(1, -2, 3, 0.5));
    Value *y = give(s, "y", SIZES(2, 2), NUMBERS(4, 0.5, -1, 8));
    Value *b = give(s, "b", SIZES(2), NUMBERS(10, 20));
    Value *sum = add(s->graph, x, y), *product = mul(s->graph, x, y);
    Value *scaled = scale(s->graph, x, -3), *biased = add_bias(s->graph, x, b);
    expect(s, sum, ARE(5, -1.5, 2, 8.5));
    expect(s, product, ARE(4, -1, -3, 4));
    expect(s, scaled, ARE(-3, 6, -9, -1.5));
    expect(s, biased, ARE(11, 18, 13, 20.5));
    sheet_free(s);
}

TEST(activations_and_their_slopes)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(4), NUMBERS(-2, -0.5, 0.25, 3));
    Value *up = give(s, "up", SIZES(4), NUMBERS(1.5, -1, 2, 0.5));
    Value *ones = give(s, "ones", SIZES(4), NUMBERS(1, 1, 1, 1));
    Value *a = silu(g, x), *b = gelu(g, x), *c = swiglu(g, x, up);
    Value *da = op_differentiate(g, a, ones)[x->id], *db = op_differentiate(g, b, ones)[x->id];
    expect(s, a, ARE(-0.238405844044235, -0.188770334399073, 0.14054412522145, 2.8577223804673));
    expect(s, da, ARE(-0.0907842487848955, 0.260038812697348, 0.623710021570198, 1.08810410601517));
    expect(s, b, ARE(-0.0455002638963584, -0.154268769362993, 0.149676581420731, 2.99595030590511));
    expect(s, db, ARE(-0.0852318010781969, 0.132504875343837, 0.695373354883636, 1.01194564720418));
    expect(s, c, ARE(-0.357608766066353, 0.188770334399073, 0.281088250442899, 1.42886119023365));
    sheet_free(s);
}

TEST(features_are_cut_out_widened_and_joined)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(1, 2, 1, 3), NUMBERS(1, 2, 3, 4, 5, 6));
    Value *front = give(s, "front", SIZES(1, 1, 1, 2), NUMBERS(-1, -2));
    Value *dy = give(s, "dy", SIZES(1, 2, 1, 5), NUMBERS(10, 20, 30, 40, 50, 1, 2, 3, 4, 5));
    Value *part = slice_features(g, x, 1, 2), *wide = pad_features(g, x, 4),
          *both = join_features(g, x, front);
    Value **grad = op_differentiate(g, both, dy);
    expect(s, part, ARE(2, 3, 5, 6));
    expect(s, wide, ARE(1, 2, 3, 0, 4, 5, 6, 0));
    expect(s, both, ARE(-1, -2, 1, 2, 3, -1, -2, 4, 5, 6));
    expect(s, grad[x->id], ARE(30, 40, 50, 3, 4, 5));
    expect(s, grad[front->id], ARE(11, 22));
    sheet_free(s);
}

TEST(later_ids_are_those_further_on)
{
    Sheet *s = sheet_new();
    Value *x = give(s, "x", SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
    x->dtype = I32;
    Value *next = later_ids(s->graph, x, 1, -100), *none = later_ids(s->graph, x, 4, 7);
    expect(s, next, ARE(2, 3, -100, 5, 6, -100));
    expect(s, none, ARE(7, 7, 7, 7, 7, 7));
    sheet_free(s);
}

TEST(ids_from_a_bound_on_are_0)
{
    Sheet *s = sheet_new();
    Value *x = give(s, "x", SIZES(1, 5), NUMBERS(0, 3, 4, 5, 2));
    x->dtype = I32;
    Value *below = ids_below(s->graph, x, 4);
    expect(s, below, ARE(0, 3, 0, 0, 2));
    sheet_free(s);
}

/* The mean is 2, and what stays is more than a deviation above it. */
TEST(what_is_above_a_share_of_a_normal_distribution_stays)
{
    Sheet *s = sheet_new();
    Value *x = give(s, "x", SIZES(2, 5), NUMBERS(0, 0, 2, 2, 6, 3, 3, 3, 3, 3));
    Value *y = gaussian_top_k(s->graph, x, 0.5 * erfc(-1 / sqrt(2)));
    const double deviation = sqrt(4.8);
    expect(s, y, ARE(0, 0, 0, 0, 4 - deviation, 0, 0, 0, 0, 0));
    sheet_free(s);
}

TEST(rows_become_as_large_as_others)
{
    Sheet *s = sheet_new();
    Value *x = give(s, "x", SIZES(3, 2), NUMBERS(3, -3, 0.1, 0.1, 0, 0)),
          *like = give(s, "like", SIZES(3, 2), NUMBERS(1, 7, 2, 2, 2, 2));
    Value *y = match_size(s->graph, x, like, 0.04);
    expect(s, y, ARE(5, -5, 1, 1, 0, 0));
    sheet_free(s);
}

/* Six experts in groups of two. By a softmax the second group has the best one, and the first the
 * next; by sigmoids the third is as good as its two together; a bias moves the choice alone. */
TEST(experts_are_chosen_from_the_best_groups)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(1, 6), NUMBERS(2, -3, 2.5, -4, 1.5, 1.4));
    Value *bias = give(s, "bias", SIZES(6), NUMBERS(0, 0, 0, 1, 0, 0));
    Value *best, *two, *biased;
    const MoeRoute softmax = { .top_k = 2, .factor = 1, .n_groups = 3, .top_groups = 1 },
                   sigmoid = {
                       .top_k = 2, .sigmoid = true, .factor = 2, .n_groups = 3, .top_groups = 1
                   };
    Value *weight = moe_route(g, x, NULL, &softmax, &best);
    Value *of_two = moe_route(g, x, NULL, &sigmoid, &two);
    Value *of_biased = moe_route(g, x, bias, &sigmoid, &biased);
    expect(s, best, ARE(2, 3));
    expect(s, weight, ARE(0.4323629934934833, 0.0006500314700112099));
    expect(s, two, ARE(4, 5));
    expect(s, of_two, ARE(1.6351489523872873, 1.6043677771171634));
    expect(s, biased, ARE(3, 2));
    expect(s, of_biased, ARE(0.03597241992418312, 1.848283639957513));
    sheet_free(s);
}

/* Of five experts the last two have no weights: the pairs of the others have rows. */
TEST(experts_without_weights_give_tokens_back)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(1, 3, 2), NUMBERS(1, 2, -3, 4, 5, -6));
    Value *weight = give(s, "weight", SIZES(1, 3, 2), NUMBERS(0.5, 0.25, 2, 0.5, 0.1, 0.2));
    Value *logits =
        give(s, "logits", SIZES(1, 3, 5), NUMBERS(0, 3, 0, 0, 2, 0, 0, 0, 2, 3, 3, 2, 0, 0, 0));
    Value *expert;
    moe_route(g, logits, NULL, &(MoeRoute){ .top_k = 2, .factor = 1 }, &expert);
    const MoeRows rows = moe_rows(g, expert, 3, 2);
    Value *y = moe_identity(g, x, weight, expert, 3);
    expect(s, expert, ARE(1, 4, 4, 3, 0, 1));
    expect(s, rows.row, ARE(1, -1, -1, -1, 0, 2));
    expect(s, rows.of, ARE(0, 1, 1, -1, -1, -1));
    expect(s, y, ARE(0.25, 0.5, -7.5, 10, 0, 0));
    sheet_free(s);
}

TEST(gelu_keeps_its_left_tail)
{
    Sheet *s = sheet_new();
    Value *y = gelu(s->graph, give(s, "x", SIZES(1), NUMBERS(-12)));
    expect(s, y, ARE(-12 * 1.776482112077679e-33));
    assert_true(op_get(&s->run->tensor[y->id], 0) < -2.131e-32);
    sheet_free(s);
}

TEST(linear_layer_is_x_times_transposed_weight_plus_bias)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(2, 3), NUMBERS(1, 2, 3, -1, 0, 1));
    Value *w = give(s, "layer.weight", SIZES(2, 3), NUMBERS(1, 0, -1, 0.5, 2, 1));
    expect(s, contract(g, "*k,nk->*n", x, w), ARE(-2, 7.5, -2, 0.5));
    sheet_free(s);
}

TEST(heads_are_split_off_and_merged_without_moving_numbers)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(1, 2, 4), NUMBERS(1, 2, 3, 4, 5, 6, 7, 8));
    Value *split = reshape(g, "bs(gd)->bsgd", "g=2", x);
    Value *merged = reshape(g, "bsgd->bs(gd)", NULL, split);
    expect(s, split, ARE(1, 2, 3, 4, 5, 6, 7, 8));
    expect(s, merged, ARE(1, 2, 3, 4, 5, 6, 7, 8));
    assert_int_equal(split->n_dims, 4);
    assert_int_equal(split->dim[3].size, 2);
    sheet_free(s);
}

TEST(casting_rounds_to_nearest_even)
{
    Sheet *s = sheet_new();
    /* halfway between two bf16 numbers: once down, once up, to the even one */
    Value *x = give(s, "x", SIZES(3), NUMBERS(1.00390625, 1.01171875, 1e-50));
    expect(s, cast(s->graph, x, BF16), ARE(1, 1.015625, 0));
    sheet_free(s);
}

TEST(constants_seed_and_accumulation)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(2), NUMBERS(1, 2));
    Value *into = graph_accumulator(g, graph_param(g, "p", 1, &(Dim){ .size = 2 }));
    Value *filled = fill(g, x, 2.5), *seed = loss_seed(g, F64);
    into->init = (Init){ .kind = INIT_UNIFORM, .low = 4, .high = 4 };
    accumulate(g, x, into);
    accumulate(g, x, into);
    expect(s, filled, ARE(2.5, 2.5));
    expect(s, seed, ARE(0.25));
    expect(s, into, ARE(6, 8));
    assert_ptr_equal(filled->from->n_in, 0);
    sheet_free(s);
}

TEST(embedding_looks_up_rows_and_adds_gradients_per_row)
{
    Sheet *s = sheet_new();
    Value *ids = give_ints(s, "ids", SIZES(1, 3), NUMBERS(2, 0, 2));
    Value *table = give(s, "table", SIZES(3, 2), NUMBERS(1, 2, 3, 4, 5, 6));
    Value *dy = give(s, "dy", SIZES(1, 3, 2), NUMBERS(1, 10, 2, 20, 4, 40));
    Value *y = embed(s->graph, ids, table);
    Value *dtable = op_differentiate(s->graph, y, dy)[table->id];
    expect(s, y, ARE(5, 6, 1, 2, 5, 6));
    expect(s, dtable, ARE(2, 20, 0, 0, 5, 50));
    sheet_free(s);
}

TEST(ids_outside_of_the_table_are_reported)
{
    static const double bad[] = { 3, -1 };
    for (int i = 0; i < 2; i++) {
        Sheet *s = sheet_new();
        Value *ids = give_ints(s, "ids", SIZES(1), &bad[i]);
        embed(s->graph, ids, give(s, "table", SIZES(3, 1), NUMBERS(1, 2, 3)));
        assert_int_equal(sheet_status(s), KERNEL_BAD_INDEX);
        sheet_free(s);
    }
}

TEST(positions_start_at_the_position_of_the_run)
{
    Sheet *s = sheet_new();
    Value *x = give(s, "x", SIZES(1, 2, 2), NUMBERS(1, 2, 3, 4));
    Value *table = give(s, "table", SIZES(4, 2), NUMBERS(0, 0, 10, 20, 30, 40, 50, 60));
    Value *dy = give(s, "dy", SIZES(1, 2, 2), NUMBERS(1, 2, 3, 4));
    s->now.position = 2;
    Value *y = add_positions(s->graph, x, table, 0);
    Value *dtable = op_differentiate(s->graph, y, dy)[table->id];
    expect(s, y, ARE(31, 42, 53, 64));
    expect(s, dtable, ARE(0, 0, 0, 0, 1, 2, 3, 4));
    sheet_free(s);
}

TEST(rows_in_front_of_the_first_position_stand_for_none)
{
    Sheet *s = sheet_new();
    Value *x = give(s, "x", SIZES(1, 2, 2), NUMBERS(1, 2, 3, 4));
    Value *table = give(s, "table", SIZES(4, 2), NUMBERS(0, 0, 10, 20, 30, 40, 50, 60));
    Value *dy = give(s, "dy", SIZES(1, 2, 2), NUMBERS(1, 2, 3, 4));
    Value *documents = give_ints(s, "documents", SIZES(1, 4), NUMBERS(0, 0, 1, 1));
    Value *y = add_positions(s->graph, x, table, 2),
          *positions = document_positions(s->graph, documents, 2);
    Value *dtable = op_differentiate(s->graph, y, dy)[table->id];
    expect(s, y, ARE(31, 42, 53, 64));
    expect(s, dtable, ARE(0, 0, 0, 0, 1, 2, 3, 4));
    expect(s, positions, ARE(2, 3, 2, 3));
    sheet_free(s);
}

TEST(positions_begin_again_with_each_document)
{
    Sheet *s = sheet_new();
    Value *documents =
        give_ints(s, "documents", SIZES(2, 5), NUMBERS(0, 0, 1, 1, 1, 1, 7, 7, 3, 7));
    Value *positions = document_positions(s->graph, documents, 0);
    assert_int_equal(positions->dtype, I32);
    expect(s, positions, ARE(0, 1, 0, 1, 2, 0, 0, 1, 0, 0));
    sheet_free(s);
}

TEST(positions_behind_the_table_are_reported)
{
    Sheet *s = sheet_new();
    s->now.position = 3;
    Value *x = give(s, "x", SIZES(1, 2, 1), NUMBERS(1, 2));
    add_positions(s->graph, x, give(s, "table", SIZES(4, 1), NUMBERS(1, 2, 3, 4)), 0);
    assert_int_equal(sheet_status(s), KERNEL_BAD_INDEX);
    sheet_free(s);
}

TEST(norms_by_hand)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *x = give(s, "x", SIZES(2, 4), NUMBERS(1, -2, 3, 0.5, 0, 4, -1, 2.5));
    Value *w = give(s, "w", SIZES(4), NUMBERS(1, 0.5, -2, 1.5));
    Value *b = give(s, "b", SIZES(4), NUMBERS(0.1, 0.2, -0.3, 0));
    Value *rms = rms_norm(g, x, w, b, 0.01), *layer = layer_norm(g, x, w, b, 0.01);
    expect(s, rms,
           ARE(0.629070907527944, -0.329070907527944, -3.47442544516766, 0.396803180645958, 0.1,
               1.02884867407565, 0.528848674075648, 1.55409126389184));
    expect(s, layer,
           ARE(0.310227589444351, -0.53579656305523, -2.96288279962845, -0.105113794722176,
               -0.593430351599548, 0.861910790163205, 2.09548666916207, 0.851028158781263));
    sheet_free(s);
}

TEST(rope_turns_pairs_that_are_half_a_head_apart)
{
    Sheet *s = sheet_new();
    Graph *g = s->graph;
    Value *table = rope_table(g, F64, 3, 4, 100, false);
    Value *x = give(s, "x", SIZES(1, 1, 1, 4), NUMBERS(1, 2, 3, 4));
    s->now.position = 2;
    Value *y = rope(g, x, table), *back = op_differentiate(g, y, y)[x->id];
    assert_int_equal(table->from->phase, PREPARE);
    assert_int_equal(table->from->block, -1);
    assert_int_equal(y->from->phase, FORWARD);
    expect(s, table,
           ARE(1, 1, 0, 0, 0.54030230586814, 0.995004165129262, 0.841470984807897,
               0.0998334181294999, -0.416146836547142, 0.980066577249161, 0.909297426825682,
               0.198669333715887));
    expect(s, y, ARE(-3.14403911702419, 1.16545581963477, -0.339143082815746, 4.31760497642842));
    expect(s, back, ARE(1, 2, 3, 4));
    sheet_free(s);
}

TEST(rope_frequencies_can_be_rounded_to_bf16)
{
    Sheet *s = sheet_new();
    Value *table = rope_table(s->graph, F64, 2, 4, 100, true);
    expect(s, table, ARE(1, 1, 0, 0, cos(1), cos(0.10009765625), sin(1), sin(0.10009765625)));
    sheet_free(s);
}

/* Two of four features: as in a head of two, at 1.5 times; the others stay as they are. */
TEST(rope_turns_a_part_of_a_head)
{
    Sheet *s = sheet_new();
    const RopeScaling half = { .base = 100, .attention = 1.5, .width = 2 };
    Value *table = rope_scaled_table(s->graph, F64, 2, 4, &half, false);
    expect(s, table, ARE(1.5, 1, 0, 0, 1.5 * cos(1), 1, 1.5 * sin(1), 0));
    assert_true(rope_scaled_frequency(&half, 2, 0, 4) == 1);
    const RopeScaling wide = { .base = 10000, .kind = ROPE_LINEAR, .factor = 2, .width = 32 };
    assert_true(rope_scaled_frequency(&wide, 9, 15, 64) == rope_frequency(10000, 15, 32) / 2);
    assert_true(rope_scaled_frequency(&wide, 9, 16, 64) == 0);
    sheet_free(s);
}

/* Of positions 0 to 3 the last two are one `original` and more behind. */
TEST(rope_tables_of_queries_grow_with_the_position)
{
    Sheet *s = sheet_new();
    const RopeScaling by = { .base = 100, .attention = 1, .original = 2, .growth = 0.5 };
    const double more = 1 + 0.5 * log(2);
    Value *table = rope_scaled_table(s->graph, F64, 4, 2, &by, false);
    expect(s, table,
           ARE(1, 0, cos(1), sin(1), more * cos(2), more * sin(2), more * cos(3), more * sin(3)));
    assert_true(rope_growth(0.5, 2, 1) == 1 && rope_growth(0.5, 2, 5) == 1 + 0.5 * log(3));
    sheet_free(s);
}

/* inv_freq of the original for head sizes 6 and 8, base 500000. */
TEST(rope_frequencies_equal_the_originals_to_the_bit)
{
    assert_true(rope_frequency(500000, 1, 6) == 0.012599208392202854f);
    assert_true(rope_frequency(500000, 2, 6) == 0.00015874006203375757f);
    assert_true(rope_frequency(500000, 2, 8) == 0.001414213445968926f);
    assert_true(rope_frequency(500000, 3, 8) == 5.3182957344688475e-05f);
    assert_true(rope_frequency(10000, 15, 32) == 0.00017782794020604342f);
}

TEST(rope_needs_even_heads)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    rope_table(g, F32, 3, 5, 100, false);
    assert_error_has(graph_finish(g), "head size 5 is not even");
    arena_free(a);
}

TEST(a_cache_is_written_from_the_position_on)
{
    Sheet *s = sheet_new();
    const Dim dims[] = { { .size = 1 }, { .size = 3 }, { .size = 2 } };
    Value *cache = graph_state(s->graph, "cache", F64, 3, dims);
    cache->init = (Init){ .kind = INIT_UNIFORM, .low = 9, .high = 9 };
    s->now.position = 1;
    Value *x = give(s, "x", SIZES(1, 2, 2), NUMBERS(1, 2, 3, 4));
    assert_ptr_equal(cache_write(s->graph, cache, x), cache);
    expect(s, cache, ARE(9, 9, 1, 2, 3, 4));
    s->run->now.position = 2;
    const Node *n = s->graph->node[0];
    Tensor in[] = { s->run->tensor[cache->id], s->run->tensor[x->id] }, out = in[0];
    Launch l = op_launch(n, in, &out, &s->run->now);
    assert_int_equal(op_reference(s->arena, n->op, l), KERNEL_BAD_INDEX);
    sheet_free(s);
}

/* Uniform numbers 6 to 11 of the key (seed 7, dropout, step 3, salt 5), by another implementation:
 * 0.576 0.365 0.713 0.089 0.383 0.524. Microbatch 1 starts at element 6. */
TEST(dropout_keeps_what_its_random_numbers_say)
{
    Sheet *s = sheet_new();
    Value *x = give(s, "x", SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
    Value *y = dropout(s->graph, x, 0.4, 5);
    Value *dx = op_differentiate(s->graph, y, x)[x->id];
    expect(s, y, ARE(1 / 0.6, 0, 3 / 0.6, 0, 0, 6 / 0.6));
    expect(s, dx, ARE(1 / 0.6, 0, 3 / 0.6, 0, 0, 6 / 0.6));
    sheet_free(s);
}

TEST(dropout_differs_by_step_salt_and_seed)
{
    RunTime now = { .step = 1, .seed = 7 }, later = { .step = 2, .seed = 7 }, other = { .step = 1 };
    uint64_t keys[] = { dropout_key(&now, 0), dropout_key(&later, 0), dropout_key(&other, 0),
                        dropout_key(&now, 1) };
    for (int i = 0; i < 4; i++) {
        int n_kept = 0, n_same = 0;
        for (int64_t e = 0; e < 10000; e++) {
            n_kept += dropout_keeps(keys[i], e, 0.25);
            n_same += dropout_keeps(keys[i], e, 0.25) == dropout_keeps(keys[(i + 1) % 4], e, 0.25);
        }
        assert_in_range(n_kept, 7350, 7650); /* 3.5 deviations */
        assert_in_range(n_same, 6080, 6420); /* 0.75^2 + 0.25^2 of them */
    }
}

TEST(results_have_the_dtypes_that_the_ops_say)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *x = op_input(g, "x", BF16, SIZES(2, 3, 4)), *y = op_input(g, "y", F32, SIZES(2, 3, 4));
    Value *targets = op_input(g, "targets", I32, SIZES(2, 3));
    Value *loss = cross_entropy(g, x, targets);
    assert_int_equal(add(g, y, x)->dtype, F32);
    assert_int_equal(rms_norm(g, x, graph_param(g, "w", 1, x->dim + 2), NULL, 0)->dtype, BF16);
    assert_int_equal(loss->dtype, F32);
    assert_int_equal(mean_valid(g, loss, targets)->dtype, F32);
    assert_int_equal(cast(g, x, F64)->dtype, F64);
    assert_int_equal(norm_partial(g, x, 2)->dtype, F64);
    assert_int_equal(fill(g, x, 0)->dtype, BF16);
    assert_int_equal(embed(g, targets, graph_param(g, "t", 2, x->dim))->dtype, F32);
    assert_int_equal(op_differentiate(g, loss, loss)[x->id]->dtype, BF16);
    assert_no_error(graph_finish(g));
    arena_free(a);
}

TEST(references_serve_mixed_dtypes)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *x = op_input(g, "x", BF16, SIZES(2)), *y = op_input(g, "y", F32, SIZES(2));
    const Node *n = add(g, x, y)->from;
    const bf16 in0[] = { 0x3f80, 0x4000 }; /* 1 2 */
    const float in1[] = { 0.25f, 100 };
    float out[] = { 10, 20 };
    Tensor in[] = { { (void *)in0, BF16, 1, { 2 }, { 0 } }, { (void *)in1, F32, 1, { 2 }, { 0 } } };
    Tensor result = { out, F32, 1, { 2 }, { 0 } };
    Launch l = op_launch(n, in, &result, NULL);
    assert_int_equal(op_reference(a, n->op, l), KERNEL_OK);
    assert_true(out[0] == 1.25f && out[1] == 102);
    l.add = &(const bool){ true };
    assert_int_equal(op_reference(a, n->op, l), KERNEL_OK);
    assert_true(out[0] == 2.5f && out[1] == 204);
    arena_free(a);
}
