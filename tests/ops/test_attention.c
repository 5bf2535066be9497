/* test_attention.c - masks, caps and joining of attention, against numbers computed by other means.
 */
#include "base/cpu.h"
#include "op_sheet.h"
#include "ops/all_ops.h"
#include "ops/attention.h"
#include "ops/kernels.h"
#include "test.h"
#include <math.h>
#include <string.h>

static const double q[] = { 1, 0.5, -0.5, 2, 0.25, -1 };
static const double k[] = { 0.5, 1, 1.5, -0.5, -1, 0.75 };
static const double v[] = { 1, 2, 3, -1, 0.5, 0 };

/* One head of width 2 over three tokens. */
static void check(const Attention *attrs, const double *documents, int64_t position,
                  const double *o, const double *lse)
{
    Sheet *s = sheet_new();
    s->now.position = position;
    Value *query = give(s, "q", SIZES(1, 3, 1, 1, 2), q), *key = give(s, "k", SIZES(1, 3, 1, 2), k);
    Value *value = give(s, "v", SIZES(1, 3, 1, 2), v);
    Value *d = documents ? give_ints(s, "documents", SIZES(1, 3), documents) : NULL;
    Value *made = attention(s->graph, query, key, value, d, attrs);
    expect(s, made, 6, o);
    expect(s, made->from->out[1], 3, lse);
    sheet_free(s);
}

TEST(attention_to_all_keys)
{
    check(&(Attention){ 0 }, NULL, 0,
          NUMBERS(1.88764594290782, 0.321329933384203, 0.811930682631311, 0.841182986279766,
                  2.20022846277298, -0.269809950301926),
          NUMBERS(1.62751015093422, 2.06053198867394, 1.06065085523345));
}

TEST(attention_to_earlier_keys)
{
    check(&(Attention){ .causal = true }, NULL, 0,
          NUMBERS(1, 2, 1.15527700813684, 1.76708448779474, 2.20022846277298, -0.269809950301926),
          NUMBERS(0.707106781186547, 1.3182549213276, 1.06065085523345));
}

TEST(attention_in_a_window)
{
    check(&(Attention){ .causal = true, .window = 2 }, NULL, 0,
          NUMBERS(1, 2, 1.15527700813684, 1.76708448779474, 2.47537309466096, -0.790149237864382),
          NUMBERS(0.707106781186547, 1.3182549213276, 0.854251876211207));
}

TEST(attention_in_chunks)
{
    check(&(Attention){ .causal = true, .window = 2, .chunks = true }, NULL, 0,
          NUMBERS(1, 2, 1.15527700813684, 1.76708448779474, 0.5, 0),
          NUMBERS(0.707106781186547, 1.3182549213276, -0.707106781186547));
}

TEST(attention_within_documents)
{
    check(&(Attention){ .causal = true }, NUMBERS(0, 0, 1), 0,
          NUMBERS(1, 2, 1.15527700813684, 1.76708448779474, 0.5, 0),
          NUMBERS(0.707106781186547, 1.3182549213276, -0.707106781186547));
}

TEST(attention_with_capped_scores)
{
    check(&(Attention){ .causal = true, .soft_cap = 0.5, .scale = 2 }, NULL, 0,
          NUMBERS(1, 2, 1.53788349669357, 1.19317475495964, 2.045450384215, -0.151362191383737),
          NUMBERS(0.499664649869533, 0.813261303255126, 1.05118431121522));
}

TEST(attention_whose_scores_fall_with_distance)
{
    check(&(Attention){ .causal = true, .alibi = 2 }, NULL, 0,
          NUMBERS(1, 2, 1.1950779020806537, 1.7073831468790197, 2.167536747443284,
                  -0.3497825975375544),
          NUMBERS(0.7071067811865474, 1.090066615830391, 0.8178605186468063));
}

/* As the recipe of the paper makes them: of the power of 2 below, then every second one of twice as
 * many. */
TEST(slopes_of_alibi_halve_from_head_to_head)
{
    static const double of_8[] = { 0.5,     0.25,     0.125,     0.0625,
                                   0.03125, 0.015625, 0.0078125, 0.00390625 },
                        of_5[] = { 0.25, 0.0625, 0.015625, 0.00390625, 0.5 },
                        of_3[] = { 0.0625, 0.00390625, 0.25 };
    for (int h = 0; h < 8; h++)
        assert_close(alibi_slope(&(Attention){ .alibi = 8 }, h, 8), of_8[h], 1e-15);
    for (int h = 0; h < 5; h++)
        assert_close(alibi_slope(&(Attention){ .alibi = 8 }, h, 5), of_5[h], 1e-15);
    for (int h = 0; h < 3; h++)
        assert_close(alibi_slope(&(Attention){ .alibi = 8 }, h, 3), of_3[h], 1e-15);
    assert_close(alibi_slope(&(Attention){ .alibi = 8 }, 0, 1), of_8[7], 1e-15);
    assert_close(alibi_slope(&(Attention){ .alibi = 8 }, 9, 12), 0.3535533905932738, 1e-15);
    assert_close(alibi_slope(&(Attention){ .alibi = 16 }, 0, 4), 0.0625, 1e-15);
    assert_close(alibi_slope(&(Attention){ .alibi = 8, .alibi_scale = 0.5 }, 1, 8), 0.125, 1e-15);
}

TEST(attention_of_queries_behind_the_first_key)
{
    check(&(Attention){ .causal = true }, NULL, 1,
          NUMBERS(2.08815888669845, 0.367761669952322, 0.811930682631311, 0.841182986279766,
                  2.20022846277298, -0.269809950301926),
          NUMBERS(1.4925434837031, 2.06053198867394, 1.06065085523345));
}

TEST(a_query_without_keys_gives_zeros)
{
    check(&(Attention){ .causal = true }, NULL, -2, NUMBERS(0, 0, 0, 0, 1, 2),
          NUMBERS(-INFINITY, -INFINITY, -0.875 / sqrt(2)));
}

TEST(a_window_needs_a_causal_mask)
{
    Sheet *s = sheet_new();
    Value *query = give(s, "q", SIZES(1, 3, 1, 1, 2), q), *key = give(s, "k", SIZES(1, 3, 1, 2), k);
    attention(s->graph, query, key, key, NULL, &(Attention){ .window = 2 });
    assert_error_has(graph_finish(s->graph), "a window needs a causal mask");
    sheet_free(s);
}

static void check_refused(const Attention *attrs, const char *why)
{
    Sheet *s = sheet_new();
    Value *query = give(s, "q", SIZES(1, 3, 1, 1, 2), q), *key = give(s, "k", SIZES(1, 3, 1, 2), k);
    attention(s->graph, query, key, key, NULL, attrs);
    assert_error_has(graph_finish(s->graph), why);
    sheet_free(s);
}

TEST(chunks_need_a_size)
{
    check_refused(&(Attention){ .causal = true, .chunks = true }, "chunks need a window");
}

TEST(alibi_needs_a_causal_mask_and_no_soft_cap)
{
    check_refused(&(Attention){ .alibi = 8 }, "alibi needs a causal mask");
    check_refused(&(Attention){ .alibi = 8, .causal = true, .soft_cap = 5 },
                  "scores with alibi have no soft cap");
}

/* Repeated key/value heads: four query heads over two, each serving two in a row. */
TEST(grouped_heads_share_keys)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *x = op_input(g, "q", F64, SIZES(1, 3, 2, 2, 4));
    Value *y = op_input(g, "k", F64, SIZES(1, 3, 2, 4)),
          *z = op_input(g, "v", F64, SIZES(1, 3, 2, 4));
    Value *o = attention(g, x, y, z, NULL, &(Attention){ .causal = true });
    OpRun *r = op_run_new(a, g, 0);
    op_run_nodes(r, 0, 1);
    /* the first query sees one key only, so it gets that value */
    for (int64_t h = 0; h < 4; h++)
        for (int64_t d = 0; d < 4; d++)
            assert_close(op_get(&r->tensor[o->id], h * 4 + d),
                         op_get(&r->tensor[z->id], h / 2 * 4 + d), 1e-15);
    arena_free(a);
}

/* Keys [from, from + n) of the sequence in `t`, as zig-zag part `index` of two. */
static Tensor key_part(Arena *a, const Tensor *t, int index)
{
    int64_t size[] = { t->size[0], t->size[1] / 2, t->size[2], t->size[3] };
    Tensor made = op_tensor(a, F64, 4, size);
    Part *part = NEW(a, Part);
    *part = (Part){ .whole = t->size[1], .n_parts = 2, .index = index, .layout = ZIGZAG };
    made.part[1] = part;
    for (int64_t i = 0; i < tensor_count(&made); i++)
        dtype_set(F64, made.data, i, op_get(t, global_element(&made, i)));
    return made;
}

/* What ring attention does: each part of the keys alone, then the results weighted by exp(lse). */
TEST(attention_to_parts_of_the_keys_joins_to_the_whole)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *x = op_input(g, "q", F64, SIZES(2, 8, 1, 2, 4));
    Value *y = op_input(g, "k", F64, SIZES(2, 8, 1, 4)),
          *z = op_input(g, "v", F64, SIZES(2, 8, 1, 4));
    attention(g, x, y, z, NULL, &(Attention){ .causal = true, .dropout = 0.3, .alibi = 8 });
    OpRun *r = op_run_new(a, g, 0);
    NodeRun whole = op_run_node(r, a, 0);
    Tensor o[2], lse[2];
    for (int i = 0; i < 2; i++) {
        Tensor in[] = { whole.in[0], key_part(a, &whole.in[1], i), key_part(a, &whole.in[2], i) };
        Tensor out[] = { op_tensor_as(a, F64, &whole.out[0]), op_tensor_as(a, F64, &whole.out[1]) };
        Launch l = op_launch(whole.node, in, out, &r->now);
        assert_int_equal(op_reference(a, op_find("attention"), l), KERNEL_OK);
        o[i] = out[0];
        lse[i] = out[1];
    }
    for (int64_t i = 0; i < tensor_count(&o[0]); i++) {
        double total = op_get(&whole.out[1], i / 4), joined = 0;
        for (int p = 0; p < 2; p++)
            joined += op_get(&o[p], i) * exp(op_get(&lse[p], i / 4) - total);
        assert_close(joined, op_get(&whole.out[0], i), 1e-12);
    }
    arena_free(a);
}

/* The level of the kernel that attends from so many queries. */
static CpuLevel level_taken(Arena *a, Dtype t, int64_t n_queries)
{
    Graph *g = graph_new(a);
    Value *x = op_input(g, "q", t, SIZES(1, n_queries, 2, 1, 8));
    Value *y = op_input(g, "k", t, SIZES(1, 40, 2, 8)),
          *z = op_input(g, "v", t, SIZES(1, 40, 2, 8));
    Value *o = attention(g, x, y, z, NULL, &(Attention){ .causal = true });
    OpRun *r = op_run_new(a, g, 0);
    const NodeRun run = op_run_node(r, a, 0);
    Tensor in[3], out[2];
    for (int i = 0; i < 3; i++) in[i] = op_tensor_as(a, t, &run.in[i]);
    out[0] = op_tensor_as(a, t, &run.out[0]);
    out[1] = op_tensor_as(a, F32, &run.out[1]);
    const Launch l = op_launch(o->from, in, out, &r->now);
    return kernel_find("attention", "cpu", CPU_AMX, &l)->level;
}

/* Tiles are whole, so a few queries are not for them. What asks the rows is compiled for the CPUs
 * that they are for. */
TEST(tiles_attend_in_bf16_from_many_queries)
{
    if (cpu_level_available() < CPU_AVX512_PAIRS) test_skip("this CPU lacks the instructions");
    Arena *a = arena_new();
    assert_int_equal(level_taken(a, BF16, 40), CPU_AMX);
    assert_int_equal(level_taken(a, BF16, 1), CPU_AVX512);
    assert_int_equal(level_taken(a, F32, 40), CPU_AVX512);
    arena_free(a);
}

/* What a level's kernel makes of four tokens in two documents, whose last key and value are not
 * numbers. */
static void attend_beside_nan(CpuLevel level, Dtype t, Tensor *made)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *x = op_input(g, "q", F64, SIZES(1, 4, 1, 1, 8));
    Value *y = op_input(g, "k", F64, SIZES(1, 4, 1, 8)),
          *z = op_input(g, "v", F64, SIZES(1, 4, 1, 8));
    Value *d = op_input(g, "documents", I32, SIZES(1, 4));
    attention(g, x, y, z, d, &(Attention){ 0 });
    OpRun *r = op_run_new(a, g, 0);
    const NodeRun run = op_run_node(r, a, 0);
    Tensor in[5], out[2] = { *made, op_tensor(a, F32, 4, SIZES(1, 4, 1, 1)) };
    for (int i = 0; i < 5; i++) in[i] = i < 3 ? op_tensor_as(a, t, &run.in[i]) : run.in[i];
    for (int i = 3; i < 5; i++)
        for (int c = 0; c < 4; c++) ((int32_t *)in[i].data)[c] = c == 3;
    for (int i = 1; i < 3; i++)
        for (int c = 0; c < 8; c++) dtype_set(t, in[i].data, 3 * 8 + c, NAN);
    const Launch l = op_launch(run.node, in, out, &r->now);
    op_kernel_run(kernel_find("attention", "cpu", level, &l), l, 2);
    arena_free(a);
}

TEST(keys_that_no_query_sees_may_be_anything)
{
    Arena *a = arena_new();
    for (CpuLevel level = CPU_SCALAR; level <= cpu_level_available(); level++)
        for (int narrow = 0; narrow < 2; narrow++) {
            Tensor o = op_tensor(a, narrow ? BF16 : F32, 5, SIZES(1, 4, 1, 1, 8));
            attend_beside_nan(level, o.dtype, &o);
            for (int64_t i = 0; i < 4 * 8; i++) assert_int_equal(isnan(op_get(&o, i)), i >= 3 * 8);
        }
    arena_free(a);
}

TEST(flops_of_attention_count_what_is_seen)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *x = op_input(g, "q", F32, SIZES(2, 6, 1, 3, 5)),
          *y = op_input(g, "k", F32, SIZES(2, 6, 1, 5));
    static const struct {
        Attention attrs;
        int64_t n_pairs;
    } row[] = { { { 0 }, 36 },
                { { .causal = true }, 21 },
                { { .causal = true, .window = 2 }, 11 },
                { { .causal = true, .window = 4, .chunks = true }, 13 } };
    for (int i = 0; i < 4; i++) {
        Value *o = attention(g, x, y, y, NULL, &row[i].attrs);
        assert_int_equal(o->from->op->flops(o->from), 4 * row[i].n_pairs * 2 * 3 * 5);
        Value *dq = op_differentiate(g, o, o)[x->id];
        assert_int_equal(dq->from->op->flops(dq->from), 10 * row[i].n_pairs * 2 * 3 * 5);
    }
    arena_free(a);
}
