/* test_panels.c - which weights lie in panels, and what programs that share them do. */
#include "graph/op.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/halves.h"
#include "ops/panels.h"
#include "passes/all_passes.h"
#include "passes/panels.h"
#include "test.h"
#include <string.h>

enum { MUCH = 1 << 20 };

static Value *param(Graph *g, const char *name, int64_t n, int64_t k)
{
    return graph_param(g, name, 2, (Dim[]){ { .size = n }, { .size = k } });
}

static Value *input(Graph *g, int64_t k)
{
    const char *name = arena_printf(g->arena, "x%d", (int)k);
    return graph_input(g, name, F32, 2, (Dim[]){ { .size = 3 }, { .size = k } });
}

static Value *narrow(Graph *g, Value *weight)
{
    g->phase = PREPARE;
    Value *v = high_half(g, weight);
    g->phase = FORWARD;
    return v;
}

static void use(Graph *g, const char *name, Value *weight)
{
    graph_output(g, name, contract(g, "*k,nk->*n", input(g, weight->dim[1].size), weight));
}

static void decide(Graph *g, PanelsChoice *choice)
{
    const Purpose purpose = { .panels = choice };
    PassList list = { .arena = g->arena };
    passes_add(&list, &pass_panels, &purpose);
    assert_no_error(passes_run(g, NULL, &list, NULL));
}

static int count(const Graph *g, const char *op)
{
    int n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) n += !strcmp(g->node[i]->op->name, op);
    return n;
}

static const Value *weight_of(const Graph *g, const char *output)
{
    const Node *n = graph_find_output(g, output)->from;
    assert_ptr_equal(n->op, &op_contract_panels);
    assert_ptr_equal(n->in[1]->from->op, &op_panels);
    return n->in[1];
}

TEST(weights_of_linear_layers_lie_in_panels_made_once)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *wide = param(g, "wide", 35, 7);
    use(g, "y", wide);
    use(g, "z", wide);
    use(g, "bf16", narrow(g, param(g, "narrow", 32, 8)));
    decide(g, &(PanelsChoice){ .free_bytes = MUCH });
    assert_int_equal(count(g, "panels"), 2);
    assert_int_equal(count(g, "contract_panels"), 3);
    assert_int_equal(count(g, "contract") + count(g, "high_half"), 0);
    const Value *floats = weight_of(g, "y"), *pairs = weight_of(g, "bf16");
    assert_ptr_equal(floats, weight_of(g, "z"));
    assert_ptr_equal(floats->from->in[0], graph_find(g, "wide"));
    assert_ptr_equal(pairs->from->in[0], graph_find(g, "narrow"));
    assert_int_equal(floats->dtype, F32);
    assert_int_equal(pairs->dtype, BF16);
    assert_int_equal(floats->from->phase, PREPARE);
    assert_true(((const Panels *)pairs->from->attrs)->pairs);
    arena_free(a);
}

TEST(a_product_with_panels_stays_where_it_was)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    graph_enter(g, "layers", 0);
    g->stage = 1;
    use(g, "y", param(g, "w", 32, 8));
    g->stage = 0;
    graph_leave(g);
    const Node *before = graph_find_output(g, "y")->from;
    decide(g, &(PanelsChoice){ .free_bytes = MUCH });
    const Node *n = graph_find_output(g, "y")->from, *made = n->in[1]->from;
    assert_ptr_equal(n->op, &op_contract_panels);
    assert_string_equal(n->module, "layers.0");
    assert_string_equal(n->module, before->module);
    assert_int_equal(n->block, before->block);
    assert_true(n->block >= 0);
    assert_int_equal(n->stage, 1);
    assert_int_equal(made->stage, 1);
    assert_int_equal(made->block, -1);
    arena_free(a);
}

TEST(other_weights_stay_as_they_are)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    use(g, "few rows", param(g, "few", 31, 8));
    use(g, "odd pairs", narrow(g, param(g, "odd", 32, 7)));
    use(g, "no parameter", scale(g, param(g, "scaled", 32, 8), 2));
    Value *turned = param(g, "turned", 3, 32);
    graph_output(g, "turned", contract(g, "*n,nk->*k", input(g, 3), turned));
    decide(g, &(PanelsChoice){ .free_bytes = MUCH });
    assert_int_equal(count(g, "panels") + count(g, "contract_panels"), 0);
    assert_int_equal(count(g, "contract"), 4);
    arena_free(a);
}

static Graph *one_layer(Arena *a, bool is_narrow, PanelsChoice *choice)
{
    Graph *g = graph_new(a);
    Value *w = param(g, "w", 64, 32);
    use(g, "y", is_narrow ? narrow(g, w) : w);
    decide(g, choice);
    return g;
}

TEST(copies_in_f32_need_room_for_parameters_copies_and_as_much_again)
{
    enum { PARAMS = 64 * 32 * 4 };
    Arena *a = arena_new();
    PanelsChoice little = { .free_bytes = 4 * PARAMS }, enough = { .free_bytes = 4 * PARAMS + 2 };
    assert_int_equal(count(one_layer(a, false, &little), "panels"), 0);
    assert_int_equal(count(one_layer(a, false, &enough), "panels"), 1);
    /* those in bf16 take the place of other copies */
    assert_int_equal(count(one_layer(a, true, &(PanelsChoice){ .free_bytes = 0 }), "panels"), 1);
    /* a later program has other memory left, but shares the parameters */
    little.free_bytes = MUCH, enough.free_bytes = 0;
    assert_int_equal(count(one_layer(a, false, &little), "panels"), 0);
    assert_int_equal(count(one_layer(a, false, &enough), "panels"), 1);
    arena_free(a);
}
