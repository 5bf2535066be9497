/* test_qk_clip.c - clipped queries and keys: by the formula, on ranks, in a training. */
#include "exec/schedule.h"
#include "layouts/layout.h"
#include "models/decoder.h"
#include "models/decoder_model.h"
#include "models/families.h"
#include "models/loss.h"
#include "models/model.h"
#include "optim/gradient_clipper.h"
#include "optim/made_optimizer.h"
#include "passes/all_passes.h"
#include "passes/freeze.h"
#include "passes/optimize.h"
#include "passes/qk_clip.h"
#include "test.h"
#include "tiny_model.h"
#include "train/session.h"
#include "train/small_job.h"
#include <math.h>
#include <string.h>

#define ADAM                                                                                       \
    "optimizer: {component_key: optimizer, variant_key: adam_w, config: {lr: 0.01, betas: [0.9, "  \
    "0.95], eps: 1e-3, weight_decay: 0.1, weight_decay_groups_excluded: [], wrapped_model: "       \
    "{instance_key: model, pass_type: BY_REFERENCE}}}\n"
#define LAYER "transformer.h.0.attn."

/* ---- the formula ---- */

static double *numbers(const TinyRun *t, const char *name)
{
    const Tensor *x = &store_find(t->store, name)->tensor;
    double *all = NEW_N(t->arena, double, tensor_count(x));
    for (int64_t i = 0; i < tensor_count(x); i++) all[i] = dtype_get(x->dtype, x->data, i);
    return all;
}

static void fill_large(TinyRun *t, const char *name)
{
    const Tensor *x = &store_find(t->store, name)->tensor;
    for (int64_t i = 0; i < tensor_count(x); i++) dtype_set(x->dtype, x->data, i, 3 * sin(i + 1.0));
}

static TinyRun clipped_run(Arena *a, const Gpt2Settings *s, const QkClip *c)
{
    PassList passes = { .arena = a };
    const Optimize o = { .optimizer = made_optimizer(passes.arena, ADAM), .norm_type = 2 };
    passes_add(&passes, &pass_watch_logits, c);
    passes_add(&passes, &pass_optimize, &o);
    passes_add(&passes, &pass_qk_clip, c);
    TinyRun t = tiny_run_new(s, &passes, false, false);
    fill_large(&t, LAYER "q_attn.weight");
    fill_large(&t, LAYER "k_attn.weight");
    return t;
}

/* A step at rate 0, so that clipping alone changes anything; returns the logits before it. */
static double *step_of(TinyRun *t)
{
    tiny_step(t);
    assert_no_error(program_run_phases(t->program, RUN_REDUCE | RUN_UPDATE, &t->now));
    return numbers(t, "logit_max." LAYER "q_attn.weight," LAYER "k_attn.weight");
}

static void check_rows(const double *before, const double *after, int n, int width, const double *m,
                       int groups, double threshold, double exponent)
{
    for (int i = 0; i < n; i++) {
        const double logit = m[i / (n / groups)];
        const double factor = logit > threshold ? pow(threshold / logit, exponent) : 1;
        for (int k = 0; k < width; k++)
            assert_close(after[i * width + k], before[i * width + k] * factor, 1e-6);
    }
}

/* Logits of the first layer, whose input does not change: those of the groups of heads above the
 * threshold become it, others stay. */
static void check_formula(bool llama_like, double alpha)
{
    enum { WIDTH = 16, HEADS = 4 };
    Arena *a = arena_new();
    const Gpt2Settings s = tiny_settings(llama_like);
    const int groups = (int)s.n_head_kv, repeat = HEADS / groups;
    const char *const names[] = { LAYER "q_attn.weight", LAYER "k_attn.weight", LAYER "q_attn.bias",
                                  LAYER "k_attn.bias", LAYER "v_attn.weight" };
    QkClip c = { 1e30, alpha };
    TinyRun t = clipped_run(a, &s, &c);
    double *of_head = step_of(&t), most[HEADS] = { 0 }, low = INFINITY, high = 0;
    double *before[5], *after;
    for (int h = 0; h < HEADS; h++) most[h / repeat] = fmax(most[h / repeat], of_head[h]);
    for (int i = 0; i < groups; i++) low = fmin(low, most[i]), high = fmax(high, most[i]);
    assert_true(low > 0 && low < high);
    assert_true(program_scalar(t.program, ATTENTION_LOGIT_MAX, 0) >= high);
    tiny_run_free(&t);

    c.threshold = (low + high) / 2;
    t = clipped_run(a, &s, &c);
    for (int k = 0; k < 5; k++)
        before[k] = llama_like && (k == 2 || k == 3) ? NULL : numbers(&t, names[k]);
    step_of(&t);
    for (int k = 0; k < 5; k++) {
        const bool is_query = k % 2 == 0;
        if (!before[k]) continue;
        after = numbers(&t, names[k]);
        check_rows(before[k], after, is_query && k < 4 ? WIDTH : WIDTH / repeat,
                   k == 2 || k == 3 ? 1 : WIDTH, most, groups, k == 4 ? INFINITY : c.threshold,
                   is_query ? alpha : 1 - alpha);
    }
    t.now.step++;
    double *then = step_of(&t), now[HEADS] = { 0 };
    for (int h = 0; h < HEADS; h++) now[h / repeat] = fmax(now[h / repeat], then[h]);
    for (int i = 0; i < groups; i++) assert_close(now[i], fmin(most[i], c.threshold), 1e-4);
    tiny_run_free(&t);
    arena_free(a);
}

TEST(clipping_brings_the_largest_logits_of_heads_to_the_threshold)
{
    check_formula(false, 0.5);
    check_formula(false, 0.2);
    check_formula(true, 0.5);
    check_formula(true, 1);
}

/* Two steps at rate 0: the first one's logits, then those of clipped weights. */
static void logits_of_two_steps(const QkClip *c, double *most)
{
    static const char config[] =
        "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, "
        "n_embd: 8, n_layer: 1, n_head_q: 2, n_head_kv: 2, head_width: 6, ffn_hidden: 12, rope: "
        "{base: 100.0}, latent: {key_rank: 5, query_rank: 3, rope_width: 2, value_width: 4}";
    Arena *a = arena_new();
    Model *m = NULL;
    Session *s;
    Program *p;
    const Loss loss = loss_of_tokens("target_ids");
    const GradientClipper clipper = { .norm_type = 2, .max_norm = 1 };
    assert_no_error(decoder_model(a, config, &m));
    m->qk_clip = c;
    assert_no_error(session_new(&(SessionSettings){ .model = m, .n_threads = 1 }, &s));
    assert_no_error(
        session_training_program(s, &loss, made_optimizer(a, ADAM), &clipper, NULL, 1, 8, &p));
    assert_no_error(store_initialize(session_store(s), 1));
    const int32_t ids[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
    for (int step = 0; step < 2; step++) {
        const RunTime now = { .step = step, .updates = step, .loss_scale = 1 };
        assert_no_error(program_write(p, "input_ids", 0, ids));
        assert_no_error(program_write(p, "target_ids", 0, ids));
        assert_no_error(program_run_phases(p, RUN_FORWARD | RUN_BACKWARD, &now));
        assert_no_error(program_run_phases(p, RUN_REDUCE | RUN_UPDATE, &now));
        most[step] = program_scalar(p, ATTENTION_LOGIT_MAX, 0);
    }
    session_free(s);
    arena_free(a);
}

TEST(queries_of_latent_attention_are_clipped_alone)
{
    double most[2];
    logits_of_two_steps(&(QkClip){ 1e30, 0.5 }, most);
    assert_true(most[0] > 0);
    assert_close(most[1], most[0], 1e-6);
    const double threshold = most[0] / 3;
    logits_of_two_steps(&(QkClip){ threshold, 0.5 }, most);
    assert_close(most[0], 3 * threshold, 1e-6);
    assert_close(most[1], threshold, 1e-6);
}

/* A decoder of these settings more cannot be trained with clipping. */
static void expect_refused(const char *more, const char *why)
{
    Arena *a = arena_new();
    const char *config = arena_printf(
        a,
        "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, "
        "n_embd: 8, n_layer: 2, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, %s",
        more);
    Model *m = NULL;
    Session *s;
    Program *p;
    const QkClip c = { 1, 0.5 };
    const Loss loss = loss_of_tokens("target_ids");
    const GradientClipper clipper = { .norm_type = 2, .max_norm = 1 };
    assert_no_error(decoder_model(a, config, &m));
    m->qk_clip = &c;
    assert_no_error(session_new(&(SessionSettings){ .model = m, .n_threads = 1 }, &s));
    assert_error_has(
        session_training_program(s, &loss, made_optimizer(a, ADAM), &clipper, NULL, 1, 8, &p), why);
    session_free(s);
    arena_free(a);
}

TEST(keys_that_several_layers_read_are_not_clipped)
{
    expect_refused(
        "layers: [{}, {shared_kv: true}]",
        "model.qk_clip: transformer.h.1.attn reads keys of an earlier layer (shared_kv)");
}

TEST(pairs_of_heads_are_not_clipped)
{
    expect_refused("differential: {}",
                   "model.qk_clip: transformer.h.0.attn joins pairs of heads (differential)");
}

/* Nothing is left of an earlier step, though it had larger ones. */
TEST(logits_are_those_of_one_step)
{
    Arena *a = arena_new();
    const Gpt2Settings s = tiny_settings(true);
    const QkClip c = { 1e30, 0.5 };
    TinyRun t = clipped_run(a, &s, &c);
    const Tensor *w = &store_find(t.store, LAYER "k_attn.weight")->tensor;
    const double *first = step_of(&t);
    t.now.step++;
    for (int64_t i = 0; i < tensor_count(w); i++)
        dtype_set(w->dtype, w->data, i, dtype_get(w->dtype, w->data, i) / 2);
    const double *second = step_of(&t);
    for (int h = 0; h < 4; h++) assert_close(second[h], first[h] / 2, 1e-4);
    tiny_run_free(&t);
    arena_free(a);
}

/* ---- on ranks ---- */

static void clip_all(Model *m)
{
    static const QkClip c = { 1e-3, 0.3 };
    m->qk_clip = &c;
}

static void clipped_equals_one_rank(LayoutCase l)
{
    l.edit = clip_all;
    l.compute = F64;
    layout_equals_one_rank(l, 1e-8);
}

TEST(clipping_on_data_parallel_ranks_equals_one)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++)
        clipped_equals_one_rank((LayoutCase){
            .size[MESH_DP_SHARD] = 2, .accumulation = 2, .data_parallel.stage = (ZeroStage)stage });
    clipped_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 3,
                                          .llama_like = true,
                                          .recompute_every = 1,
                                          .data_parallel.stage = ZERO_PARAMETERS });
    clipped_equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 2,
                                          .size[MESH_DP_SHARD] = 2,
                                          .data_parallel.stage = ZERO_PARAMETERS });
}

TEST(clipping_under_tensor_and_context_parallelism_equals_one)
{
    const Sharding tensor = { .tensor = true, .sequence = true };
    clipped_equals_one_rank(
        (LayoutCase){ .size[MESH_TP] = 2, .llama_like = true, .sharding = tensor });
    clipped_equals_one_rank((LayoutCase){ .size[MESH_TP] = 4, /* more than heads of keys */
                                          .llama_like = true,
                                          .sharding = tensor });
    clipped_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                          .size[MESH_TP] = 2,
                                          .sharding = tensor,
                                          .data_parallel.stage = ZERO_PARAMETERS });
    for (int method = CONTEXT_RING; method <= CONTEXT_ULYSSES; method++)
        clipped_equals_one_rank(
            (LayoutCase){ .size[MESH_CP] = 2,
                          .llama_like = true,
                          .sharding = { .context = true,
                                        .layout = method == CONTEXT_RING ? ZIGZAG : CONTIGUOUS,
                                        .method = (ContextMethod)method } });
}

/* Of six rows that a rank of tp has, four others of cp and dp_shard have 2, 2, 2 and none. */
TEST(clipping_of_rows_that_three_axes_divide_equals_one)
{
    Arena *a = arena_new();
    Model *m;
    assert_no_error(decoder_model(a,
                                  "sample_key: input_ids, prediction_key: logits, vocab_size: 13, "
                                  "sequence_length: 8, n_embd: 16, n_head_q: 2, n_head_kv: 2, "
                                  "head_width: 6, ffn_hidden: 20, rope: {}, n_layer: 2",
                                  &m));
    clipped_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                          .size[MESH_CP] = 2,
                                          .size[MESH_DP_SHARD] = 2,
                                          .sharding = { .tensor = true, .context = true },
                                          .data_parallel.stage = ZERO_PARAMETERS,
                                          .decoder = decoder_of(m),
                                          .vocabulary = 13 });
    arena_free(a);
}

TEST(clipping_of_latent_attention_on_ranks_equals_one)
{
    Arena *a = arena_new();
    int i = 0;
    while (strcmp(tiny_family(a, i)->block_class, "YoutuDecoderLayer") != 0) i++;
    const Decoder *d = tiny_family(a, i);
    clipped_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                          .size[MESH_TP] = 2,
                                          .decoder = d,
                                          .vocabulary = (int)d->vocab_size,
                                          .sharding = { .tensor = true, .sequence = true },
                                          .data_parallel.stage = ZERO_PARAMETERS });
    arena_free(a);
}

TEST(clipping_on_ranks_of_a_pipeline_equals_one)
{
    clipped_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2, .accumulation = 2 });
    clipped_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                          .accumulation = 4,
                                          .layers = 4,
                                          .per_rank = 2,
                                          .schedule = "DualPipeV" });
}

/* Once per step, though logits are computed again. */
TEST(clipping_is_the_same_where_blocks_are_computed_again)
{
    Arena *a = arena_new();
    LayoutCase l = { .llama_like = true, .accumulation = 2, .edit = clip_all, .compute = F64 };
    const LayoutResult kept = layout_run(a, &l);
    for (l.recompute_every = 1; l.recompute_every <= 2; l.recompute_every++) {
        const LayoutResult again = layout_run(a, &l);
        assert_true(layout_difference(&kept, &again) < 1e-12);
    }
    arena_free(a);
}

/* ---- what cannot be clipped ---- */

static void freeze_queries(Model *m)
{
    static const char *const patterns[] = { "*.q_attn.*", NULL }, *const none[] = { NULL };
    static const Freeze queries = { patterns, none };
    clip_all(m);
    passes_add(&m->passes, &pass_freeze, &queries);
}

TEST(queries_that_are_not_trained_are_not_clipped)
{
    Arena *a = arena_new();
    const LayoutCase l = { .edit = freeze_queries };
    LayoutResult r;
    assert_error_has(layout_try(a, &l, &r),
                     "model.qk_clip: transformer.h.0.attn.q_attn.weight is not trained");
    arena_free(a);
}

TEST(normalized_queries_are_not_clipped)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const Gpt2Settings s = tiny_settings(true);
    Decoder d = *decoder_of(gpt2_new(a, &s));
    const Norm per_head = { .type = NORM_RMS, .width = 4, .eps = 1e-6, .has_weight = true };
    const QkClip c = { 100, 0.5 };
    d.qk_norm = &per_head;
    Model *m = decoder_new(a, &d);
    ModelOutput out;
    assert_no_error(
        m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 8, .training = true }, &out));
    PassList passes = { .arena = a };
    passes_add(&passes, &pass_watch_logits, &c);
    assert_error_has(passes_run(g, NULL, &passes, NULL),
                     "go through rms_norm, so that smaller weights would not make logits smaller");
    arena_free(a);
}

/* ---- in a training ---- */

#define CLIPPED(rest)                                                                              \
    "initialized_model.config.model={component_key: model, variant_key: qk_clip, config: {model: " \
    "{instance_key: wrapped_model, pass_type: BY_REFERENCE}" rest "}}"

TEST(a_training_that_clips_goes_on_as_if_never_stopped)
{
    static const char *const words[] = { "--set", CLIPPED(", threshold: 0.01"), NULL };
    assert_resumes(words);
}

TEST(results_have_the_largest_attention_logit)
{
    static const char *const words[] = { "--set", CLIPPED(""), NULL };
    Bench b = bench_new();
    Str results;
    assert_ended_well(bench_run(&b, "x", NULL, words, NULL));
    assert_no_error(file_read(
        b.arena, arena_printf(b.arena, "%s/x/evaluation_results.jsonl", b.root), &results));
    const char *at = strstr(results.ptr, "\"attention logit max\": ");
    assert_non_null(at);
    assert_true(strtod(strchr(at, ':') + 1, NULL) > 0);
    arena_free(b.arena);
}
