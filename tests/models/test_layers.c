/* test_layers.c - what layers declare about their parameters, and what goes by it. */
#include "components.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "models/model.h"
#include "test.h"
#include <string.h>

TEST(linear_makes_named_parameters_with_axes_and_a_role)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const Dim d[] = { { .size = 2 }, { .size = 5 }, { .size = 3 } };
    Value *x = graph_input(g, "x", F32, 3, d);
    const Linear l = { 7, "ff", "embed", true, ROLE_RESIDUAL };
    graph_enter(g, "h", 4);
    Value *y = linear(g, "mlp.c_fc", x, &l);
    graph_leave(g);
    Value *weight = graph_find(g, "h.4.mlp.c_fc.weight"),
          *bias = graph_find(g, "h.4.mlp.c_fc.bias");
    assert_non_null(weight);
    assert_non_null(bias);
    assert_string_equal(weight->dim[0].axis, "ff");
    assert_string_equal(weight->dim[1].axis, "embed");
    assert_string_equal(y->dim[2].axis, "ff");
    assert_int_equal(y->dim[2].size, 7);
    assert_int_equal(bias->dim[0].size, 7);
    assert_true(weight->role == ROLE_RESIDUAL && !weight->is_bias);
    assert_true(bias->role == ROLE_RESIDUAL && bias->is_bias);
    assert_string_equal(g->place[weight->block].stack, "h");
    assert_int_equal(g->place[weight->block].index, 4);
    assert_no_error(graph_finish(g));
    arena_free(a);
}

static int enter_and_leave(Graph *g, const char *stack, int index)
{
    graph_enter(g, stack, index);
    int block = g->block;
    graph_leave(g);
    return block;
}

TEST(blocks_of_several_stacks_have_numbers_of_their_own)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    int first = enter_and_leave(g, "text", 0), second = enter_and_leave(g, "text", 1);
    graph_enter(g, "image", -1);
    int third = enter_and_leave(g, "text", 1);
    graph_leave(g);
    assert_true(first == 0 && second == 1 && third == 2);
    assert_int_equal(enter_and_leave(g, "text", 1), second);
    assert_string_equal(g->place[third].stack, "image.text");
    assert_int_equal(g->place[third].index, 1);
    assert_int_equal(g->block, -1);
    arena_free(a);
}

/* The model of a golden graph with other settings. */
static Error *initialized(const char *file, const char *setting)
{
    Arena *a = arena_new();
    Model *m;
    ModelOutput out = { 0 };
    Graph *g = graph_new(a);
    Error *e = component_from_file(a, file, (StringList){ (const char *[]){ setting }, 1 }, "model",
                                   "model", (void **)&m);
    if (!e) e = m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 2 }, &out);
    if (!e) e = m->initializer->apply(m->initializer, g);
    arena_free(a);
    return e;
}

TEST(llama3_like_names_the_parameter_that_it_has_no_rule_for_or_misses)
{
    const char *file = "tests/golden/graphs/llama.yaml";
    assert_no_error(initialized(file, "model_raw.config.bias=false"));
    assert_error_has(initialized(file, "model_raw.config.bias=true"),
                     "transformer.h.0.attn.q_attn.bias");
    assert_error_has(initialized(file, "model_raw.config.activation_type=gelu"), "swiglu");
}
