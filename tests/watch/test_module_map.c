/* test_module_map.c - what enters and leaves modules, in a graph of a few nodes. */
#include "ops/elementwise.h"
#include "ops/reshape.h"
#include "test.h"
#include "watch/module_map.h"
#include <string.h>

/* "forward_input m of node 1", one after the other. */
static const char *sights(Arena *a, Graph *g)
{
    Text t = { 0 };
    for (int64_t i = 0; i < g->n_nodes; i++) g->node[i]->phase = FORWARD;
    const ModuleMap *m = module_map_new(a, g);
    for (int64_t i = 0; i < m->n; i++)
        text_printf(&t, "%s %s of node %d\n", module_event_name(m->sight[i].event),
                    m->sight[i].name, (int)m->sight[i].node);
    const char *text = arena_string(a, t.ptr ? t.ptr : "");
    text_free(&t);
    return text;
}

/* A view of the input, and two nodes in module m: the second's result is what m gives. */
static Graph *graph_of_module(Arena *a, Value **result)
{
    Graph *g = graph_new(a);
    const Dim d[] = { { .size = 2 }, { .size = 3 } };
    Value *x = reshape(g, "bs->(bs)", NULL, graph_input(g, "x", F32, 2, d));
    graph_enter(g, "m", -1);
    *result = scale(g, scale(g, x, 2), 3);
    graph_leave(g);
    return g;
}

TEST(what_a_module_keeps_to_itself_does_not_leave_it)
{
    static const char expected[] = "forward_input m of node 1\nforward_output m of node 2\n";
    Arena *a = arena_new();
    Value *y;
    Graph *g = graph_of_module(a, &y);
    assert_string_equal(sights(a, g), "forward_input m of node 1\n"); /* nobody wants the result */
    scale(g, y, 5);
    assert_string_equal(sights(a, g), expected);
    g = graph_of_module(a, &y);
    scale(g, reshape(g, "(bs)->bs", "b=2", y), 5); /* by a view */
    assert_string_equal(sights(a, g), expected);
    g = graph_of_module(a, &y);
    graph_output(g, "y", reshape(g, "(bs)->bs", "b=2", y)); /* by the user alone */
    assert_string_equal(sights(a, g), expected);
    arena_free(a);
}

/* Views do not run. */
TEST(a_forward_pass_begins_with_the_first_node_that_runs)
{
    Arena *a = arena_new();
    Value *y;
    Graph *g = graph_of_module(a, &y);
    for (int64_t i = 0; i < g->n_nodes; i++) g->node[i]->phase = FORWARD;
    assert_int_equal(g->n_nodes, 3);
    assert_ptr_equal(module_map_new(a, g)->first, g->node[1]);
    arena_free(a);
}
