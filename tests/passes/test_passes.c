/* test_passes.c - gradients are right, and no pass changes what is computed. */
#include "graph/op.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/head_loss.h"
#include "ops/mean_valid.h"
#include "passes/all_passes.h"
#include "passes/precision.h"
#include "passes/recompute.h"
#include "test.h"
#include "tiny_model.h"
#include <math.h>
#include <string.h>

static const Precision in_double = { .compute = F64 }, in_bf16 = { .compute = BF16 };

/* Central differences of the loss in double, for some elements of every parameter. */
static void check_gradients(bool llama_like)
{
    Gpt2Settings s = tiny_settings(llama_like);
    Arena *a = arena_new();
    PassList list = { .arena = a };
    passes_add(&list, &pass_precision, &in_double);
    TinyRun t = tiny_run_new(&s, &list, true, false);
    tiny_step(&t);
    for (int64_t i = 0; i < store_count(t.store); i++) {
        Stored *p = store_at(t.store, i);
        if (p->kind != VALUE_PARAM) continue;
        const Stored *g = store_find(t.store, arena_printf(a, "grad.%s", p->name));
        int64_t n = tensor_count(&p->tensor);
        for (int64_t k = 0; k < n; k += n / 3 + 1) {
            double *x = (double *)p->tensor.data + k, exact = ((double *)g->tensor.data)[k],
                   eps = 1e-5, at = *x;
            *x = at + eps;
            store_changed(t.store);
            assert_no_error(program_run_phases(t.program, 1u << FORWARD, &t.now));
            double up = program_scalar(t.program, "loss", 0);
            *x = at - eps;
            store_changed(t.store);
            assert_no_error(program_run_phases(t.program, 1u << FORWARD, &t.now));
            double down = program_scalar(t.program, "loss", 0);
            *x = at;
            store_changed(t.store);
            assert_close((up - down) / (2 * eps), exact, 1e-7 * (1 + fabs(exact)));
        }
    }
    tiny_run_free(&t);
    arena_free(a);
}

TEST(gradients_of_a_llama_like_model_equal_finite_differences)
{
    check_gradients(true);
}
TEST(gradients_of_a_gpt2_model_equal_finite_differences)
{
    check_gradients(false);
}

/* Runs the model with and without a pass and returns the largest difference of the gradients. */
static double effect_of(const PassDef *pass, const void *settings, bool training, double dropout,
                        double *bytes_saved)
{
    Gpt2Settings s = tiny_settings(false);
    s.dropout = dropout;
    Arena *a = arena_new();
    PassList list = { .arena = a };
    TinyRun plain = tiny_run_new(&s, &list, true, training);
    passes_add(&list, pass, settings);
    TinyRun other = tiny_run_new(&s, &list, true, training);
    double loss = tiny_step(&plain), other_loss = tiny_step(&other);
    double difference = fmax(fabs(loss - other_loss), tiny_gradient_difference(&plain, &other));
    if (bytes_saved)
        *bytes_saved = (double)program_bytes(plain.program) - (double)program_bytes(other.program);
    tiny_run_free(&plain);
    tiny_run_free(&other);
    arena_free(a);
    return difference;
}

TEST(recomputation_gives_the_same_bits_and_needs_less_memory)
{
    Recompute all = { .every = 1 }, some = { .every = 2 };
    double saved;
    assert_true(effect_of(&pass_recompute, &all, true, 0.25, &saved) == 0);
    assert_true(saved > 0);
    assert_true(effect_of(&pass_recompute, &some, true, 0.25, NULL) == 0);
    Recompute ops = { .every = 1, .save = OP_MATMUL | OP_ATTENTION };
    assert_true(effect_of(&pass_recompute, &ops, true, 0.25, NULL) == 0);
}

static int count_nodes(const Graph *g, const char *op)
{
    int n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) n += !strcmp(g->node[i]->op->name, op);
    return n;
}

/* Several nodes of the backward pass read what attention gave. */
TEST(recomputation_makes_each_result_once)
{
    const Gpt2Settings s = tiny_settings(true);
    const Recompute all = { .every = 1 };
    Arena *a = arena_new();
    PassList list = { .arena = a };
    TinyRun plain = tiny_run_new(&s, &list, true, true);
    passes_add(&list, &pass_recompute, &all);
    TinyRun again = tiny_run_new(&s, &list, true, true);
    assert_true(count_nodes(plain.graph, "attention") > 1);
    assert_int_equal(count_nodes(again.graph, "attention"),
                     2 * count_nodes(plain.graph, "attention"));
    tiny_run_free(&plain);
    tiny_run_free(&again);
    arena_free(a);
}

static int count_silu(const Graph *g, int block)
{
    int n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++)
        n += g->node[i]->block == block && !strcmp(g->node[i]->op->name, "silu");
    return n;
}

TEST(recomputation_is_of_the_stack_that_is_named)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const Dim table[] = { { .size = 7 }, { .size = 3 } }, tokens[] = { { .size = 5 } };
    Value *x = embed(g, graph_input(g, "ids", I32, 1, tokens), graph_param(g, "wte", 2, table));
    for (int i = 0; i < 4; i++) {
        graph_enter(g, i < 2 ? "text" : "image", i % 2);
        x = silu(g, mul(g, x, x));
        graph_leave(g);
    }
    Value *targets = graph_input(g, "targets", I32, 1, tokens);
    Value *loss = head_loss(g, x, graph_param(g, "head", 2, table), targets);
    graph_output(g, "loss", mean_valid(g, loss, targets));
    const Recompute second_image = { .stack = "image", .every = 2 };
    PassList list = { .arena = a };
    passes_add(&list, pass_find("recompute"), &second_image);
    passes_add(&list, pass_find("autodiff"), NULL);
    assert_no_error(passes_run(g, NULL, &list, NULL));
    for (int block = 0; block < 3; block++) assert_int_equal(count_silu(g, block), 1);
    bool is_cloned = false;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        bool is_clone = n->phase == BACKWARD_INPUT && !strcmp(n->op->name, "mul") && n->block < 3 &&
                        n->in[0] == n->in[1];
        assert_false(is_clone);
        is_cloned |= n->phase == BACKWARD_INPUT && !strcmp(n->op->name, "mul") && n->block == 3 &&
                     n->in[0] == n->in[1];
    }
    assert_true(is_cloned);
    arena_free(a);
}

TEST(fusion_changes_gradients_by_rounding_at_most)
{
    assert_true(effect_of(pass_find("fuse"), NULL, false, 0, NULL) < 1e-6);
}

/* A graph of a head alone, differentiated and fused; `squared`: its gradient needs the loss. */
static const Graph *fused_head(Arena *a, bool squared)
{
    Graph *g = graph_new(a);
    const Dim table[] = { { .size = 7 }, { .size = 3 } },
              tokens[] = { { .size = 5 }, { .size = 3 } };
    Value *x = embed(g, graph_input(g, "ids", I32, 1, tokens), graph_param(g, "wte", 2, table));
    Value *targets = graph_input(g, "targets", I32, 1, tokens);
    Value *loss = head_loss(g, x, graph_param(g, "head", 2, table), targets);
    if (squared) loss = mul(g, loss, loss);
    graph_output(g, "loss", mean_valid(g, loss, targets));
    PassList list = { .arena = a };
    passes_add(&list, pass_find("autodiff"), NULL);
    passes_add(&list, pass_find("fuse"), NULL);
    assert_no_error(passes_run(g, NULL, &list, NULL));
    return g;
}

TEST(head_and_its_gradients_are_one_node_unless_these_need_the_loss)
{
    Arena *a = arena_new();
    const Graph *joined = fused_head(a, false), *apart = fused_head(a, true);
    assert_int_equal(count_nodes(joined, "head_step"), 1);
    assert_int_equal(count_nodes(joined, "head_loss") + count_nodes(joined, "head_loss_grad"), 0);
    assert_int_equal(count_nodes(joined, "accumulate"), 0);
    assert_int_equal(count_nodes(apart, "head_step"), 0);
    assert_int_equal(count_nodes(apart, "head_loss") + count_nodes(apart, "head_loss_grad"), 2);
    arena_free(a);
}

TEST(mixed_precision_stays_near_single_precision)
{
    double difference = effect_of(&pass_precision, &in_bf16, false, 0, NULL);
    assert_true(difference > 1e-6); /* it does something */
    assert_true(difference < 0.05);
}

/* Libraries for GPUs have no other gradients of attention. */
TEST(gradients_of_attention_are_as_narrow_as_what_it_reads_also_where_that_is_rotated)
{
    for (int rotated = 0; rotated < 2; rotated++) {
        Gpt2Settings s = tiny_settings(rotated);
        Arena *a = arena_new();
        PassList list = { .arena = a };
        passes_add(&list, &pass_precision, &in_bf16);
        TinyRun t = tiny_run_new(&s, &list, false, true);
        int n = 0;
        for (int64_t i = 0; i < t.graph->n_nodes; i++) {
            const Node *x = t.graph->node[i];
            if (strcmp(x->op->name, "attention_grad")) continue;
            for (int k = 0; k < 3; k++) assert_int_equal(x->out[k]->dtype, x->in[k]->dtype);
            assert_int_equal(x->in[0]->dtype, BF16);
            n++;
        }
        assert_int_equal(n, s.n_layer);
        tiny_run_free(&t);
        arena_free(a);
    }
}

TEST(tied_weights_collect_both_gradients)
{
    Gpt2Settings s = tiny_settings(true);
    s.use_weight_tying = true;
    TinyRun t = tiny_run_new(&s, NULL, true, false);
    tiny_step(&t);
    assert_null(store_find(t.store, "transformer.lm_head.weight"));
    const Stored *g = store_find(t.store, "grad.transformer.wte.weight");
    double sum = 0;
    for (int64_t i = 0; i < tensor_count(&g->tensor); i++)
        sum += fabs(((float *)g->tensor.data)[i]);
    assert_true(sum > 0);
    tiny_run_free(&t);
}

TEST(a_use_before_the_definition_is_found)
{
    Gpt2Settings s = tiny_settings(true);
    TinyRun t = tiny_run_new(&s, NULL, true, false);
    assert_null(graph_verify(t.graph));
    Node *first = t.graph->node[0];
    t.graph->node[0] = t.graph->node[1];
    t.graph->node[1] = first;
    assert_error_has(graph_verify(t.graph), "before it is computed");
    tiny_run_free(&t);
}
