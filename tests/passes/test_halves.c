/* test_halves.c - which parameters are kept in two halves, and what programs that share them do. */
#include "graph/op.h"
#include "ops/adam.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/halves.h"
#include "optim/optim.h"
#include "passes/all_passes.h"
#include "passes/halves.h"
#include "passes/optimize.h"
#include "passes/precision.h"
#include "test.h"
#include <string.h>

/* x times a parameter in bf16; `exact`: what reads it as it is, too. */
static void use(Graph *g, const char *name, bool exact)
{
    const Dim d[] = { { .size = 8 }, { .size = 8 } };
    Value *x = graph_input(g, "x", F32, 2, d), *param = graph_param(g, name, 2, d);
    g->phase = PREPARE;
    Value *in[] = { x, high_half(g, param) };
    g->phase = FORWARD;
    Value *y = graph_add_dims(g, &op_contract, "*k,nk->*n", NULL, NULL, 2, in)->out[0];
    graph_output(g, arena_printf(g->arena, "y.%s", name), exact ? add(g, y, param) : y);
}

static void update(Graph *g, const char *name)
{
    static const AdamSettings attrs = { 0.9, 0.95, 1e-3, 0.1, true, 0 };
    Value *param = graph_find(g, name), *moment[2];
    for (int i = 0; i < 2; i++)
        moment[i] = graph_state(g, arena_printf(g->arena, "m%d.%s", i, name), F32, 2, param->dim);
    g->phase = UPDATE;
    adam(g, param, graph_accumulator(g, param), moment[0], moment[1],
         graph_input(g, "factor", F64, 0, NULL), &attrs);
    g->phase = FORWARD;
}

static void decide(Graph *g, const Halves *halves, const Optimizer *optimizer)
{
    const Optimize optimize = { .optimizer = optimizer };
    const Precision precision = { .compute = BF16 };
    const Purpose purpose = { .precision = &precision,
                              .halves = halves,
                              .optimize = optimizer ? &optimize : NULL };
    PassList list = { .arena = g->arena };
    passes_add(&list, &pass_halves, &purpose);
    assert_no_error(passes_run(g, NULL, &list, NULL));
}

static int count(const Graph *g, const char *op)
{
    int n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) n += !strcmp(g->node[i]->op->name, op);
    return n;
}

static bool is_in_halves(const Graph *g, const char *name)
{
    const Value *v = graph_find(g, name);
    assert_int_equal(v->dtype, v->low ? BF16 : F32);
    return v->low != NULL;
}

/* One that products alone read, one that something else reads, and one that is not trained. */
static Graph *training(Arena *a, const Halves *halves, bool keeps_whole)
{
    const Optimizer optimizer = { .keeps_whole = keeps_whole };
    Graph *g = graph_new(a);
    use(g, "product", false);
    use(g, "exact", true);
    use(g, "frozen", false);
    update(g, "product");
    update(g, "exact");
    decide(g, halves, &optimizer);
    return g;
}

TEST(what_products_alone_read_is_kept_in_halves)
{
    Arena *a = arena_new();
    const Graph *g = training(a, &(const Halves){ map_new(a) }, false);
    assert_true(is_in_halves(g, "product"));
    assert_false(is_in_halves(g, "exact"));
    assert_false(is_in_halves(g, "frozen"));
    assert_int_equal(count(g, "high_half"), 2); /* of the others */
    const Value *product = graph_find(g, "product");
    assert_ptr_equal(graph_find(g, "low.product"), product->low);
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        if (strcmp(n->op->name, "adam") != 0 || n->in[0] != product) continue;
        assert_int_equal(n->n_in, 6);
        assert_ptr_equal(n->in[5], product->low);
        assert_ptr_equal(n->out[4], product->low);
    }
    arena_free(a);
}

TEST(an_optimizer_may_keep_parameters_whole)
{
    Arena *a = arena_new();
    const Graph *g = training(a, &(const Halves){ map_new(a) }, true);
    assert_false(is_in_halves(g, "product"));
    assert_int_equal(count(g, "high_half"), 3);
    arena_free(a);
}

/* An evaluation, which reads all parameters exactly. */
static Graph *evaluation(Arena *a, const Halves *halves)
{
    Graph *g = graph_new(a);
    use(g, "product", true);
    use(g, "exact", true);
    decide(g, halves, NULL);
    return g;
}

TEST(programs_that_share_parameters_have_the_same_halves)
{
    Arena *a = arena_new();
    const Halves halves = { map_new(a) };
    training(a, &halves, false);
    const Graph *g = evaluation(a, &halves);
    assert_true(is_in_halves(g, "product"));
    assert_false(is_in_halves(g, "exact"));
    assert_int_equal(count(g, "join_halves"), 1);
    assert_int_equal(count(g, "high_half"), 1);
    arena_free(a);
}

TEST(a_program_before_the_training_keeps_parameters_whole)
{
    Arena *a = arena_new();
    const Halves halves = { map_new(a) };
    assert_false(is_in_halves(evaluation(a, &halves), "product"));
    assert_false(is_in_halves(training(a, &halves, false), "product"));
    arena_free(a);
}
