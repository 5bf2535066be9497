/* test_epilogues.c - products end with what follows them, where nobody else needs what is between,
 * and give the same numbers. */
#include "../ops/op_run.h"
#include "ops/cast.h"
#include "ops/contract.h"
#include "ops/contract_epilogue.h"
#include "ops/elementwise.h"
#include "ops/gelu_tanh.h"
#include "ops/norm.h"
#include "ops/reshape.h"
#include "ops/rope.h"
#include "passes/all_passes.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { TOKENS = 6, WIDTH = 4, HIDDEN = 8 };

typedef struct Layers {
    Graph *graph;
    Value *product, *given, *y; /* of the first layer; what gelu_tanh is given; the result */
    Value **grad;               /* by id of a value; NULL: there are none */
} Layers;

static Value *linear_of(Graph *g, Value *x, const char *name, int64_t inputs, int64_t width,
                        Value **product)
{
    Value *w =
        op_input(g, arena_printf(g->arena, "%s.w", name), F64, (int64_t[]){ width, inputs, 0 });
    Value *bias = op_input(g, arena_printf(g->arena, "%s.b", name), F64, (int64_t[]){ width, 0 });
    *product = contract(g, "*k,nk->*n", x, w);
    return add_bias(g, *product, bias);
}

/* Two linear layers with gelu_tanh between them, and the gradients of what they read. */
static Layers layers_of(Arena *a, bool gradients)
{
    Layers l = { .graph = graph_new(a) };
    Graph *g = l.graph;
    Value *x = op_input(g, "x", F64, (int64_t[]){ TOKENS, WIDTH, 0 }), *second;
    l.given = linear_of(g, x, "up", WIDTH, HIDDEN, &l.product);
    l.y = linear_of(g, gelu_tanh(g, l.given), "down", HIDDEN, WIDTH, &second);
    graph_output(g, "y", l.y);
    if (!gradients) return l;
    g->phase = BACKWARD_INPUT;
    const int64_t n = g->n_values;
    l.grad = op_differentiate(g, l.y, op_input(g, "dy", F64, (int64_t[]){ TOKENS, WIDTH, 0 }));
    for (int64_t i = 0; i < n; i++)
        if (g->value[i]->kind == VALUE_INPUT)
            graph_output(g, arena_printf(a, "grad of %s", g->value[i]->name), l.grad[i]);
    return l;
}

static void apply(Graph *g)
{
    assert_no_error(pass_find("epilogues")->run(g, NULL, NULL));
    assert_no_error(graph_finish(g));
    assert_no_error(graph_verify(g));
}

static int count(const Graph *g, const OpDef *op)
{
    int n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) n += g->node[i]->op == op;
    return n;
}

static const Tensor *result(Arena *a, Graph *g, const char *name)
{
    OpRun *r = op_run_new(a, g, 0);
    op_run_nodes(r, 0, g->n_nodes);
    return &r->tensor[graph_find_output(g, name)->id];
}

/* Of all outputs. */
static void assert_same_results(Arena *a, Graph *before, Graph *after)
{
    for (int64_t i = 0; i < before->n_outputs; i++) {
        const char *name = before->output[i].name;
        const Tensor *x = result(a, before, name), *y = result(a, after, name);
        for (int64_t k = 0; k < tensor_count(x); k++) {
            assert_true(op_get(x, k) != 0);
            assert_close(op_get(x, k), op_get(y, k), 1e-13 * (1 + fabs(op_get(x, k))));
        }
    }
}

TEST(products_end_with_their_bias_with_gelu_and_with_its_slope)
{
    Arena *a = arena_new();
    const Layers l = layers_of(a, true);
    apply(l.graph);
    assert_int_equal(count(l.graph, &op_contract_gelu), 1);
    assert_int_equal(count(l.graph, &op_contract_bias), 1);
    assert_int_equal(count(l.graph, &op_contract_gelu_grad), 1);
    assert_int_equal(count(l.graph, &op_contract), 3); /* gradients of x and the weights */
    assert_int_equal(count(l.graph, &op_add_bias) + count(l.graph, &op_gelu_tanh) +
                         count(l.graph, &op_gelu_tanh_grad),
                     0);
    assert_int_equal(l.given->from->n_out, 2); /* gelu's gradient reads it */
    assert_same_results(a, layers_of(a, true).graph, l.graph);
    arena_free(a);
}

TEST(what_gelu_is_given_is_not_kept_where_no_gradient_needs_it)
{
    Arena *a = arena_new();
    const Layers l = layers_of(a, false);
    apply(l.graph);
    assert_int_equal(l.graph->n_nodes, 2);
    assert_ptr_equal(l.graph->node[0]->op, &op_contract_gelu);
    assert_int_equal(l.graph->node[0]->n_out, 1);
    assert_same_results(a, layers_of(a, false).graph, l.graph);
    arena_free(a);
}

TEST(a_product_that_somebody_else_reads_stays_as_it_is)
{
    Arena *a = arena_new();
    const Layers l = layers_of(a, false);
    graph_output(l.graph, "product", l.product);
    apply(l.graph);
    assert_int_equal(count(l.graph, &op_contract), 1);
    assert_int_equal(count(l.graph, &op_contract_gelu), 0);
    assert_int_equal(count(l.graph, &op_gelu_tanh), 1);
    assert_int_equal(count(l.graph, &op_contract_bias), 1); /* of the second layer */
    arena_free(a);
}

/* A residual layer x + f(x), in which x gets a gradient from two products and from the sum. */
static Graph *residual_layer(Arena *a)
{
    Graph *g = graph_new(a);
    Value *x = op_input(g, "x", F64, (int64_t[]){ TOKENS, WIDTH, 0 }), *product;
    Value *w = op_input(g, "second.w", F64, (int64_t[]){ WIDTH, WIDTH, 0 });
    Value *first = linear_of(g, x, "first", WIDTH, WIDTH, &product);
    Value *y = add(g, add(g, x, first), contract(g, "*k,nk->*n", x, w));
    graph_output(g, "y", y);
    g->phase = BACKWARD_INPUT;
    Value **grad = op_differentiate(g, y, op_input(g, "dy", F64, (int64_t[]){ TOKENS, WIDTH, 0 }));
    graph_output(g, "dx", grad[x->id]);
    graph_output(g, "dw", grad[w->id]);
    return g;
}

TEST(products_end_with_what_is_added_to_them)
{
    Arena *a = arena_new();
    Graph *g = residual_layer(a);
    assert_int_equal(count(g, &op_add), 4);
    apply(g);
    assert_int_equal(count(g, &op_contract_add), 4); /* one of them has a bias, too */
    assert_int_equal(count(g, &op_add) + count(g, &op_contract_bias), 0);
    assert_int_equal(count(g, &op_contract), 1); /* dw */
    assert_same_results(a, residual_layer(a), g);
    arena_free(a);
}

/* Neither a sum whose product somebody else reads, nor one of another dtype. */
TEST(sums_of_products_that_are_needed_or_narrower_stay_as_they_are)
{
    Arena *a = arena_new();
    for (int i = 0; i < 2; i++) {
        Graph *g = graph_new(a);
        Value *x = op_input(g, "x", F64, (int64_t[]){ TOKENS, WIDTH, 0 }), *product;
        linear_of(g, x, "first", WIDTH, WIDTH, &product);
        graph_output(g, "y", add(g, x, product));
        if (i) graph_output(g, "product", product);
        if (!i) product->dtype = F32;
        assert_no_error(pass_find("epilogues")->run(g, NULL, NULL));
        assert_int_equal(count(g, &op_contract), 1);
        assert_int_equal(count(g, &op_add), 1);
    }
    arena_free(a);
}

/* A sum that other ranks have a part of is settled in front of the bias. */
TEST(a_product_of_another_phase_or_of_a_part_of_the_sum_stays_as_it_is)
{
    Arena *a = arena_new();
    const Layers apart = layers_of(a, false), part = layers_of(a, false);
    apart.product->from->phase = PREPARE;
    part.product->partial = 1;
    assert_no_error(pass_find("epilogues")->run(apart.graph, NULL, NULL));
    assert_no_error(pass_find("epilogues")->run(part.graph, NULL, NULL));
    assert_int_equal(count(apart.graph, &op_contract), 1);
    assert_int_equal(count(part.graph, &op_contract), 1);
    arena_free(a);
}

/* Heads that are turned, joined and rounded. */
static Graph *rounded_heads(Arena *a, Value **turned)
{
    Graph *g = graph_new(a);
    Value *x = op_input(g, "x", F32, SIZES(2, 3, 2, WIDTH));
    *turned = rope(g, x, op_input(g, "table", F32, SIZES(3, WIDTH)));
    graph_output(g, "y", cast(g, reshape(g, "bshd->bs(hd)", "", *turned), BF16));
    return g;
}

TEST(rotary_positions_end_with_the_rounding_of_their_result)
{
    Arena *a = arena_new();
    Value *turned, *other;
    Graph *g = rounded_heads(a, &turned), *before = rounded_heads(a, &other);
    apply(g);
    assert_int_equal(count(g, &op_cast), 0);
    assert_int_equal(g->n_nodes, 2);
    assert_int_equal(turned->dtype, BF16);
    assert_same_results(a, before, g);
    arena_free(a);
}

TEST(what_is_read_before_it_is_rounded_stays_as_it_is)
{
    Arena *a = arena_new();
    Value *turned;
    Graph *g = rounded_heads(a, &turned);
    graph_output(g, "turned", turned);
    apply(g);
    assert_int_equal(count(g, &op_cast), 1);
    assert_int_equal(turned->dtype, F32);
    arena_free(a);
}

/* A residual layer x + f(norm(x)) of a sum with a bias x, and its gradients, with a cast of that of
 * x. */
typedef struct NormLayer {
    Graph *graph;
    Value *dx, *of_norm; /* the gradient of x; what the norm adds to it */
} NormLayer;

static NormLayer norm_layer(Arena *a, bool is_centered, bool has_vectors)
{
    Graph *g = graph_new(a);
    Value *before = op_input(g, "before", F64, (int64_t[]){ TOKENS, WIDTH, 0 }), *product,
          *v[2] = { 0 }, *last = op_input(g, "last bias", F64, (int64_t[]){ WIDTH, 0 });
    Value *x = add_bias(g, before, last);
    for (int k = 0; has_vectors && k < 2; k++)
        v[k] = op_input(g, k ? "bias" : "weight", F64, (int64_t[]){ WIDTH, 0 });
    Value *y = is_centered ? layer_norm(g, x, v[0], v[1], 0.01) : rms_norm(g, x, v[0], v[1], 0.01);
    graph_output(g, "y", add(g, x, gelu_tanh(g, linear_of(g, y, "f", WIDTH, WIDTH, &product))));
    NormLayer l = { .graph = g };
    g->phase = BACKWARD_INPUT;
    Value **grad = op_differentiate(g, graph_find_output(g, "y"),
                                    op_input(g, "dy", F64, (int64_t[]){ TOKENS, WIDTH, 0 }));
    l.dx = grad[x->id];
    for (int k = 0; k < 2; k++) l.of_norm = l.dx->from->in[k]->from ? l.dx->from->in[k] : l.of_norm;
    for (int k = 0; has_vectors && k < 2; k++)
        graph_output(g, k ? "dbias" : "dweight", grad[v[k]->id]);
    graph_output(g, "dx", l.dx);
    graph_output(g, "dlast", grad[last->id]);
    graph_output(g, "copy", cast(g, l.dx, F32));
    return l;
}

static int count_named(const Graph *g, const char *name)
{
    int n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) n += !strcmp(g->node[i]->op->name, name);
    return n;
}

TEST(gradients_of_norms_end_with_the_sum_its_narrow_copy_and_sums_of_columns)
{
    Arena *a = arena_new();
    for (int i = 0; i < 4; i++) {
        const NormLayer l = norm_layer(a, i & 1, i & 2);
        apply(l.graph);
        const char *name = i & 1 ? "layer_norm_grad_add" : "rms_norm_grad_add";
        assert_int_equal(count_named(l.graph, name), 1);
        assert_int_equal(count_named(l.graph, i & 1 ? "layer_norm_grad" : "rms_norm_grad"), 0);
        assert_int_equal(count(l.graph, &op_cast), 0);
        assert_int_equal(count(l.graph, &op_add), 1); /* of the forward pass */
        assert_ptr_equal(l.dx->from, graph_find_output(l.graph, "copy")->from);
        assert_ptr_equal(l.dx->from, graph_find_output(l.graph, "dlast")->from);
        assert_same_results(a, norm_layer(a, i & 1, i & 2).graph, l.graph);
    }
    arena_free(a);
}

/* A second copy stays a cast, and one of another phase, too. */
TEST(gradients_of_norms_end_with_one_copy_of_their_phase)
{
    Arena *a = arena_new();
    const NormLayer two = norm_layer(a, true, true), late = norm_layer(a, true, true);
    graph_output(two.graph, "other copy", cast(two.graph, two.dx, BF16));
    graph_find_output(late.graph, "copy")->from->phase = BACKWARD_WEIGHT;
    apply(two.graph);
    assert_no_error(pass_find("epilogues")->run(late.graph, NULL, NULL));
    assert_int_equal(count(two.graph, &op_cast), 1);
    assert_int_equal(count(late.graph, &op_cast), 1);
    assert_int_equal(late.dx->from->n_out, 4);
    arena_free(a);
}

/* Where somebody else reads it, ranks have parts of it, or dweight is read in front of the sum. */
TEST(a_norms_gradient_that_is_needed_sooner_stays_as_it_is)
{
    Arena *a = arena_new();
    for (int i = 0; i < 3; i++) {
        const NormLayer l = norm_layer(a, false, true);
        Graph *g = l.graph;
        if (i == 0) graph_output(g, "of the norm", l.of_norm);
        if (i == 1) l.of_norm->partial = 1;
        if (i == 2) {
            graph_output(g, "early", cast(g, l.of_norm->from->out[1], F32));
            Node *early = g->node[g->n_nodes - 1];
            int64_t at = g->n_nodes - 1;
            for (; at > 0 && g->node[at] != l.dx->from; at--) g->node[at] = g->node[at - 1];
            g->node[at] = early;
        }
        assert_no_error(pass_find("epilogues")->run(g, NULL, NULL));
        assert_int_equal(count_named(g, "rms_norm_grad"), 1);
        assert_int_equal(count_named(g, "rms_norm_grad_add"), 0);
    }
    arena_free(a);
}
