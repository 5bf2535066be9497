/* test_float8.c - products with factors in eight bits: which ones, and in a training. */
#include "models/decoder_model.h"
#include "models/model.h"
#include "ops/all_ops.h"
#include "ops/contract.h"
#include "ops/float8.h"
#include "ops/hyper.h"
#include "ops/kernels.h"
#include "passes/adapters.h"
#include "passes/all_passes.h"
#include "passes/float8.h"
#include "passes/optimize.h"
#include "passes/precision.h"
#include "test.h"
#include "tiny_model.h"
#include "tiny_training.h"
#include "train/small_job.h"
#include <math.h>
#include <string.h>

static const char *const none[] = { NULL };
static const Precision bfloat16 = { .compute = BF16 };

/* ---- which products ---- */

/* A decoder of four layers whose sizes are multiples of 16. */
static Gpt2Settings settings_of(bool llama_like)
{
    Gpt2Settings s = tiny_settings(llama_like);
    tiny_set_width(&s, 32);
    s.n_layer = 4;
    s.n_head_q = 8;
    s.n_head_kv = llama_like ? 4 : 8;
    s.ffn_hidden = 48;
    s.vocab_size = 16;
    return s;
}

static TinyRun run_of(const Gpt2Settings *s, const Float8 *f, const Optimize *o)
{
    PassList passes = { .arena = arena_new() };
    passes_add(&passes, &pass_precision, &bfloat16);
    if (f) passes_add(&passes, &pass_float8, f);
    if (o) passes_add(&passes, &pass_optimize, o);
    const TinyRun t = tiny_run_new(s, &passes, false, true);
    arena_free(passes.arena);
    return t;
}

static int64_t n_products(const Graph *g, const OpDef *op, const char *module)
{
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++)
        n += g->node[i]->op == op && !strncmp(g->node[i]->module, module, strlen(module));
    return n;
}

/* Of a layer: q, k, v, c_proj and the two of its feed-forward part, each with two gradients. */
TEST(layers_between_the_first_and_the_last_multiply_in_eight_bits)
{
    const Gpt2Settings s = settings_of(false);
    const Float8 f = { FLOAT8_TENSORWISE, none, 1, 1 };
    TinyRun t = run_of(&s, &f, NULL);
    assert_int_equal(n_products(t.graph, &op_float8_contract, ""), 2 * 6 * 3);
    assert_int_equal(n_products(t.graph, &op_float8_contract, "transformer.h.0."), 0);
    assert_int_equal(n_products(t.graph, &op_float8_contract, "transformer.h.1."), 6 * 3);
    assert_int_equal(n_products(t.graph, &op_contract, "transformer.h.1."), 0);
    assert_int_equal(n_products(t.graph, &op_float8_contract, "transformer.h.3."), 0);
    /* x of q, k, v and its gradient are rounded once: 4 inputs, 6 slopes, 6 weights twice */
    assert_int_equal(n_products(t.graph, &op_float8_scale, "transformer.h.1."), 4 + 6 + 12);
    tiny_run_free(&t);
}

TEST(all_layers_multiply_in_eight_bits_where_asked)
{
    const Gpt2Settings s = settings_of(true);
    const char *const no_queries[] = { "*.q_attn.*", NULL };
    const Float8 all = { FLOAT8_ROWWISE, none, 0, 0 }, some = { FLOAT8_ROWWISE, no_queries, 0, 2 };
    TinyRun t = run_of(&s, &all, NULL);
    assert_int_equal(n_products(t.graph, &op_float8_contract, ""), 4 * 7 * 3);
    assert_true(isfinite(tiny_step(&t)));
    tiny_run_free(&t);
    t = run_of(&s, &some, NULL);
    assert_int_equal(n_products(t.graph, &op_float8_contract, ""), 2 * 6 * 3);
    tiny_run_free(&t);
}

/* 8 streams of 16 features: their products have sizes that GPUs can multiply in eight bits. */
TEST(weights_of_streams_are_not_products_of_eight_bits)
{
    static const Float8 f = { FLOAT8_TENSORWISE, none, 0, 0 };
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    PassList passes = { .arena = a };
    assert_no_error(decoder_model(
        a,
        "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, "
        "n_embd: 16, n_layer: 2, n_head_q: 2, n_head_kv: 1, ffn_hidden: 16, hyper_connections: "
        "{streams: 8}",
        &m));
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 8 }, &out));
    passes_add(&passes, &pass_float8, &f);
    assert_no_error(passes_run(g, NULL, &passes, NULL));
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (g->node[i]->op == &op_hyper_weights)
            assert_ptr_equal(g->node[i]->in[0]->from->op, &op_contract);
    assert_true(n_products(g, &op_float8_contract, "") > 0);
    arena_free(a);
}

/* Weights that are not trained have no gradient, and what is beside them stays as it is. */
TEST(frozen_weights_are_multiplied_in_eight_bits_and_adapters_are_not)
{
    static const char *const matrices[] = { "@matrices", NULL };
    static const Adapters by = { 16, 8, matrices, none };
    const Gpt2Settings s = settings_of(false);
    const Float8 f = { FLOAT8_TENSORWISE, none, 1, 2 };
    PassList passes = { .arena = arena_new() };
    passes_add(&passes, &pass_adapters, &by);
    passes_add(&passes, &pass_precision, &bfloat16);
    passes_add(&passes, &pass_float8, &f);
    TinyRun t = tiny_run_new(&s, &passes, false, true);
    arena_free(passes.arena);
    assert_int_equal(n_products(t.graph, &op_float8_contract, "transformer.h.1."), 6 * 2);
    assert_int_equal(n_products(t.graph, &op_contract, "transformer.h.1."), 6 * 2 * 3);
    assert_true(isfinite(tiny_step(&t)));
    tiny_run_free(&t);
}

static Error *passes_of(Arena *a, const Gpt2Settings *s, const Float8 *f)
{
    Graph *g = graph_new(a);
    Model *m = gpt2_new(a, s);
    ModelOutput out = { 0 };
    PassList passes = { .arena = a };
    assert_no_error(
        m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 8, .training = true }, &out));
    passes_add(&passes, &pass_float8, f);
    return passes_run(g, NULL, &passes, NULL);
}

TEST(what_leaves_no_product_is_refused)
{
    Arena *a = arena_new();
    Gpt2Settings s = settings_of(false);
    const char *const unknown[] = { "*.q_atn.*", NULL };
    const Float8 most = { FLOAT8_TENSORWISE, none, 2, 2 }, typo = { 0, unknown, 1, 1 },
                 usual = { FLOAT8_TENSORWISE, none, 1, 1 };
    assert_error_has(passes_of(a, &s, &most), "model.float8: no product is left for it");
    assert_error_has(passes_of(a, &s, &typo),
                     "model.float8: excluded: \"*.q_atn.*\" is the name of no parameter here");
    assert_no_error(passes_of(a, &s, &usual));
    tiny_set_width(&s, 24);
    s.n_head_q = s.n_head_kv = 6;
    assert_error_has(passes_of(a, &s, &usual), "weights whose sizes are no multiples of 16");
    arena_free(a);
}

/* A device that has kernels for all ops but these. */
TEST(devices_without_kernels_for_eight_bits_refuse_them_by_name)
{
    const Gpt2Settings s = settings_of(true);
    const Float8 f = { FLOAT8_TENSORWISE, none, 1, 1 };
    TinyRun t = run_of(&s, &f, NULL);
    int64_t n = 0;
    while (op_at((int)n)) n++;
    KernelDef *rows = NEW_N(t.arena, KernelDef, n + 1);
    for (int64_t i = 0; i < n; i++)
        rows[i] = (KernelDef){ .op = strncmp(op_at((int)i)->name, "float8", 6) ? op_at((int)i)->name
                                                                               : "-",
                               .device = "other",
                               .types = "*" };
    const KernelDef *const tables[] = { rows, NULL };
    const Device own = *t.device;
    t.device->name = "other:0";
    t.device->kernels = "other";
    t.device->tables = tables;
    ParamStore *store = store_new(t.device);
    const ProgramSettings settings = { .device = t.device, .store = store, .name = "test" };
    Program *p = NULL;
    assert_error_has(program_new(t.graph, &settings, &p),
                     "no kernel for op float8_scale on other:0");
    store_free(store);
    *t.device = own;
    tiny_run_free(&t);
}

/* Formats of what is around the products: two bytes, under autocast, four bytes, eight. */
TEST(products_of_eight_bits_go_with_every_precision)
{
    static const Precision all[] = { { .compute = F64 },
                                     { .compute = F32 },
                                     { .compute = BF16 },
                                     { .compute = BF16, .wide = true },
                                     { .compute = F16 } };
    const Gpt2Settings s = settings_of(true);
    const Float8 f = { FLOAT8_TENSORWISE, none, 1, 1 };
    double exact = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        PassList passes = { .arena = arena_new() };
        passes_add(&passes, &pass_precision, &all[i]);
        passes_add(&passes, &pass_float8, &f);
        TinyRun t = tiny_run_new(&s, &passes, false, true);
        arena_free(passes.arena);
        const double loss = tiny_step(&t);
        if (i == 0) exact = loss;
        assert_close(loss / exact, 1, 0.01);
        assert_int_equal(n_products(t.graph, &op_float8_contract, ""), 2 * 7 * 3);
        tiny_run_free(&t);
    }
}

/* A number that is none, or too large for its format, stays to be found. */
TEST(numbers_that_are_not_finite_reach_the_loss)
{
    const Gpt2Settings s = settings_of(false);
    const Float8 f = { FLOAT8_ROWWISE, none, 1, 1 };
    const double bad[] = { NAN, INFINITY };
    for (int i = 0; i < 2; i++) {
        TinyRun t = run_of(&s, &f, NULL);
        const Tensor *w = &store_find(t.store, "transformer.h.1.attn.v_attn.weight")->tensor;
        dtype_set(w->dtype, w->data, 5, bad[i]);
        store_changed(t.store);
        assert_false(isfinite(tiny_step(&t)));
        tiny_run_free(&t);
    }
}

/* Logits of a text, `at_once` tokens at a time, in double. */
static void logits_of(const Gpt2Settings *s, Float8Recipe recipe, int64_t at_once, double *logits)
{
    enum { LENGTH = 6 };
    static const int32_t text[LENGTH] = { 3, 1, 15, 7, 7, 2 };
    static const Precision exact = { .compute = F64 };
    const Float8 f = { recipe, none, 1, 1 };
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Device *device = cpu_device_new(1);
    ParamStore *store = store_new(device);
    Program *p;
    PassList passes = { .arena = a };
    ModelOutput out = { 0 };
    Model *m = gpt2_new(a, s);
    const ForwardSettings forward = { .batch = 1, .sequence = at_once, .cache_length = LENGTH };
    assert_no_error(m->forward(m, g, &forward, &out));
    graph_output(g, "logits", model_logits(g, &out));
    passes_add(&passes, pass_find("initialize"), NULL);
    passes_add(&passes, &pass_precision, &exact);
    passes_add(&passes, &pass_float8, &f);
    assert_no_error(passes_run(g, NULL, &passes, NULL));
    const ProgramSettings settings = {
        .device = device, .store = store, .level = cpu_level_available(), .name = "text"
    };
    assert_no_error(program_new(g, &settings, &p));
    assert_no_error(store_initialize(store, 1));
    for (int64_t i = 0; i < LENGTH; i += at_once) {
        assert_no_error(program_write(p, "input_ids", 0, text + i));
        assert_no_error(program_run_phases(p, RUN_FORWARD, &(RunTime){ .position = i }));
        assert_no_error(program_read(p, "logits", 0, logits + i * s->vocab_size));
    }
    program_free(p);
    store_free(store);
    device->free(device);
    arena_free(a);
}

/* Scales of rows are those of a token; one scale for all tokens moves logits a little. */
TEST(texts_are_continued_token_by_token_as_they_are_read)
{
    enum { N = 6 * 16 };
    const Gpt2Settings s = settings_of(true);
    double whole[N], parts[N], most = 0, off = 0;
    logits_of(&s, FLOAT8_ROWWISE, 6, whole);
    logits_of(&s, FLOAT8_ROWWISE, 1, parts);
    for (int i = 0; i < N; i++) assert_close(parts[i], whole[i], 1e-9);
    logits_of(&s, FLOAT8_TENSORWISE, 6, whole);
    logits_of(&s, FLOAT8_TENSORWISE, 1, parts);
    for (int i = 0; i < N; i++) {
        most = fmax(most, fabs(whole[i]));
        off = fmax(off, fabs(whole[i] - parts[i]));
    }
    if (!(off > 0 && off < 0.05 * most)) fail_msg("%g of %g", off, most);
}

/* ---- in a training ---- */

static void train(const Float8 *f, TinyTraining *out)
{
    const Gpt2Settings s = settings_of(true);
    Arena *a = arena_new();
    const Optimize o = tiny_adam(a);
    TinyRun t = run_of(&s, f, &o);
    tiny_train(&t, out);
    tiny_run_free(&t);
    arena_free(a);
}

/* Means, since a step of twelve tokens is noise for the most part. */
/* Returns how far the mean loss is off. */
static double check_training(const Float8 *f)
{
    static TinyTraining wide, narrow;
    double all = 0, all8 = 0;
    train(NULL, &wide);
    train(f, &narrow);
    for (int i = 0; i < TINY_STEPS; i++) all += wide.loss[i], all8 += narrow.loss[i];
    assert_true(wide.last < 0.9 * wide.first);
    assert_true(memcmp(wide.loss, narrow.loss, sizeof wide.loss) != 0);
    assert_close(narrow.last / wide.last, 1, 0.005);
    assert_close(all8 / all, 1, 0.005);
    return all8 / all - 1;
}

TEST(losses_of_200_steps_are_those_of_bf16)
{
    const double one = check_training(&(Float8){ FLOAT8_TENSORWISE, none, 1, 1 }),
                 rows = check_training(&(Float8){ FLOAT8_ROWWISE, none, 1, 1 });
    test_note("mean losses are %+.3f %% off tensorwise, %+.3f %% rowwise", 100 * one, 100 * rows);
}

#define FLOAT8(rest)                                                                               \
    "initialized_model.config.model={component_key: model, variant_key: float8, config: {model: "  \
    "{instance_key: wrapped_model, pass_type: BY_REFERENCE}, first_layers: 0" rest "}}"

TEST(a_training_in_eight_bits_goes_on_as_if_never_stopped)
{
    static const char *const words[] = { "--set", FLOAT8(""), NULL };
    assert_resumes(words);
}

/* Evaluations read averages of weights, by other names. */
TEST(averages_are_multiplied_in_eight_bits_by_the_names_of_their_weights)
{
    static const char *const words[] = {
        "--set",
        "initialized_model.config.model={component_key: model, variant_key: float8, config: "
        "{model: {component_key: model, variant_key: averaged, config: {model: {instance_key: "
        "wrapped_model, pass_type: BY_REFERENCE}, decay: 0.9}}, first_layers: 0, excluded: "
        "[\"transformer.h.*.mlp.*\"]}}",
        NULL
    };
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, words, NULL));
    arena_free(b.arena);
}

TEST(a_second_wrapper_is_refused)
{
    static const char *const words[] = {
        "--set",
        "initialized_model.config.model={component_key: model, variant_key: float8, config: "
        "{model: {component_key: model, variant_key: float8, config: {model: {instance_key: "
        "wrapped_model, pass_type: BY_REFERENCE}}}}}",
        NULL
    };
    Bench b = bench_new();
    assert_refused(bench_run(&b, "x", NULL, words, NULL), 1, "its products are in float8 already");
    arena_free(b.arena);
}
