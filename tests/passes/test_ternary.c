/* test_ternary.c - products with ternary weights: which ones, in a training, and in texts. */
#include "models/model.h"
#include "ops/contract.h"
#include "ops/grid.h"
#include "passes/all_passes.h"
#include "passes/optimize.h"
#include "passes/precision.h"
#include "passes/qk_clip.h"
#include "test.h"
#include "tiny_model.h"
#include "tiny_training.h"
#include <math.h>
#include <string.h>

static const Model plain = { 0 };

static Gpt2Settings settings_of(void)
{
    Gpt2Settings s = tiny_settings(true);
    s.n_layer = 2;
    tiny_set_width(&s, 32);
    s.vocab_size = 16;
    return s;
}

static TinyRun run_of(const Precision *precision, bool is_ternary, const Optimize *o)
{
    const Gpt2Settings s = settings_of();
    PassList passes = { .arena = arena_new() };
    passes_add(&passes, &pass_precision, precision);
    if (is_ternary) passes_add(&passes, pass_find("ternary"), &plain);
    if (o) passes_add(&passes, &pass_optimize, o);
    const TinyRun t = tiny_run_new(&s, &passes, false, true);
    arena_free(passes.arena);
    return t;
}

static const Precision in_f32 = { .compute = F32 }, in_bf16 = { .compute = BF16 };

/* Every weight once, inputs once for all that read them, in the forward pass alone; nothing of the
 * head and of tables. */
TEST(factors_of_linear_layers_of_blocks_are_rounded_once)
{
    TinyRun t = run_of(&in_bf16, true, NULL);
    int64_t n[N_PHASES] = { 0 }, n_products = 0;
    for (int64_t i = 0; i < t.graph->n_nodes; i++) {
        const Node *x = t.graph->node[i];
        if (x->op == &op_grid_round) n[x->phase]++;
        if (x->op != &op_contract || x->block < 0 || x->phase != FORWARD) continue;
        for (int k = 0; k < 2; k++) assert_true(x->in[k]->from->op == &op_grid_round);
        n_products++;
    }
    assert_true(n_products >= 2 * 6);
    assert_int_equal(n[PREPARE], n_products);
    assert_int_equal(n[FORWARD], 2 * 4);
    assert_int_equal(n[BACKWARD_INPUT] + n[BACKWARD_WEIGHT], 0);
    assert_true(isfinite(tiny_step(&t)));
    tiny_run_free(&t);
}

static void train(const Precision *precision, bool is_ternary, TinyTraining *out)
{
    Arena *a = arena_new();
    const Optimize o = tiny_adam(a);
    TinyRun t = run_of(precision, is_ternary, &o);
    tiny_train(&t, out);
    tiny_run_free(&t);
    arena_free(a);
}

TEST(models_with_ternary_weights_learn)
{
    static TinyTraining plainly, rounded;
    const Precision *const all[] = { &in_f32, &in_bf16 };
    train(&in_f32, false, &plainly);
    for (int i = 0; i < 2; i++) {
        train(all[i], true, &rounded);
        if (!(rounded.last < 0.9 * rounded.first && rounded.last < 1.1 * plainly.last))
            fail_msg("from %g to %g; with weights as they are to %g", rounded.first, rounded.last,
                     plainly.last);
    }
}

TEST(a_rounded_model_differs_from_the_plain_one)
{
    TinyRun a = run_of(&in_f32, true, NULL), b = run_of(&in_f32, false, NULL);
    const double d = fabs(tiny_step(&a) - tiny_step(&b));
    assert_true(d > 1e-5);
    tiny_run_free(&a);
    tiny_run_free(&b);
}

TEST(wrappers_that_change_the_same_products_are_refused_with_ternary_weights)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model m = { .is_ternary = true, .qk_clip = (const struct QkClip *)&plain, .passes.arena = a };
    PassList passes = { .arena = a };
    passes_add(&passes, pass_find("ternary"), &m);
    assert_error_has(passes_run(g, NULL, &passes, NULL),
                     "linear: ternary does not go with model.qk_clip");
    m.qk_clip = NULL;
    passes_add(&m.passes, pass_find("float8"), NULL);
    assert_error_has(passes_run(g, NULL, &passes, NULL),
                     "linear: ternary does not go with model.float8");
    arena_free(a);
}
