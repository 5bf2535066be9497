/* test_texts.c - texts that grow side by side get the numbers that each gets alone. */
#include "base/file.h"
#include "base/rng.h"
#include "components.h"
#include "test.h"
#include "train/texts.h"
#include <stdio.h>
#include <string.h>

enum { LENGTH = 24, N_TEXTS = 5, VOCABULARY = 50 };

typedef struct Fixture {
    Arena *arena;
    Session *session;
    Generator *generator;
    size_t bytes; /* of the logits of a token */
} Fixture;

static const char common[] =
    "sample_key: input_ids, prediction_key: logits, vocab_size: 50, sequence_length: 24, n_embd: "
    "40, n_layer: 3, n_head_q: 4, ffn_hidden: 72, ";

static Fixture fixture_new(const char *settings, Dtype compute)
{
    Fixture f = { .arena = arena_new() };
    void *model;
    const char *path = path_join(f.arena, test_folder(), "model.yaml");
    const char *text =
        arena_printf(f.arena, "m: {component_key: model, variant_key: decoder, config: {%s%s}}\n",
                     common, settings);
    assert_no_error(file_write(path, text, strlen(text)));
    assert_no_error(component_from_file(f.arena, path, (StringList){ 0 }, "m", "model", &model));
    SessionSettings s = {
        .model = model, .n_threads = 2, .precision = &compute, .rounded_buffers = compute == BF16
    };
    assert_no_error(session_new(&s, &f.session));
    assert_no_error(generator_new(f.session, model, LENGTH, &f.generator));
    assert_no_error(store_initialize(session_store(f.session), 3));
    return f;
}

static void fixture_free(Fixture *f)
{
    generator_free(f->generator);
    session_free(f->session);
    arena_free(f->arena);
}

static uint32_t token(int64_t text, int64_t i)
{
    return (uint32_t)(rng_bits((uint64_t)text, (uint64_t)i) % VOCABULARY);
}

/* The logits after each token of a text, from its n-th on. */
static char *alone(Fixture *f, int64_t text, int64_t n)
{
    uint32_t id[LENGTH];
    char *out = NULL;
    for (int64_t i = 0; i < LENGTH; i++) id[i] = token(text, i);
    generator_restart(f->generator);
    for (int64_t at = n; at <= LENGTH; at++) {
        const int64_t from = generator_position(f->generator);
        assert_no_error(generator_read(f->generator, id + from, at - from));
        const Tensor *logits = generator_logits(f->generator);
        f->bytes = tensor_bytes(logits);
        if (!out) out = arena_alloc(f->arena, f->bytes * (LENGTH + 1));
        memcpy(out + f->bytes * (size_t)at, logits->data, f->bytes);
    }
    return out;
}

static void expect_logits(const Fixture *f, const Texts *t, int64_t place, const char *expected)
{
    const Tensor logits = texts_logits(t, place);
    const int64_t at = texts_position(t, place);
    assert_int_equal(tensor_bytes(&logits), f->bytes);
    if (memcmp(logits.data, expected + f->bytes * (size_t)at, f->bytes))
        fail_msg("the text at place %d differs after %d tokens", (int)place, (int)at);
}

static void begin(Texts *t, int64_t place, int64_t text, int64_t n)
{
    uint32_t id[LENGTH];
    for (int64_t i = 0; i < n; i++) id[i] = token(text, i);
    assert_no_error(texts_begin(t, place, id, n));
}

/* Five texts share three places, pause, and begin when another has ended; each begins with another
 * number of tokens. */
static void check_texts(const char *settings, Dtype compute)
{
    static const int64_t start[N_TEXTS] = { 1, 17, 6, 9, 20 };
    enum { PLACES = 3 };
    Fixture f = fixture_new(settings, compute);
    char *expected[N_TEXTS];
    int64_t of[PLACES] = { 0, 1, 2 }, next = PLACES, left = N_TEXTS;
    Texts *t;
    for (int64_t i = 0; i < N_TEXTS; i++) expected[i] = alone(&f, i, start[i]);
    assert_no_error(texts_new(f.generator, PLACES, &t));
    assert_int_equal(texts_count(t), PLACES);
    for (int64_t i = 0; i < PLACES; i++) begin(t, i, i, start[i]);
    for (int64_t step = 0; left > 0; step++) {
        uint32_t id[PLACES] = { 0 };
        bool grows[PLACES] = { false };
        for (int64_t i = 0; i < PLACES; i++) {
            if (of[i] < 0) continue;
            expect_logits(&f, t, i, expected[of[i]]);
            if (texts_position(t, i) == LENGTH) {
                texts_end(t, i);
                left--;
                of[i] = next < N_TEXTS ? next++ : -1;
                if (of[i] >= 0) begin(t, i, of[i], start[of[i]]);
                continue;
            }
            grows[i] = (step + i) % 4 != 0;
            id[i] = token(of[i], texts_position(t, i));
        }
        assert_no_error(texts_grow(t, id, grows));
    }
    texts_free(t);
    fixture_free(&f);
}

static void check_both_precisions(const char *settings)
{
    char all[1024];
    snprintf(all, sizeof all, "n_head_kv: 2, %s", settings);
    check_texts(all, F32);
    check_texts(all, BF16);
}

TEST(texts_side_by_side_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}");
}
FENCED(texts_side_by_side_get_the_logits_of_each_alone)

TEST(texts_side_by_side_in_windows_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, layers: [{window: 5}, {}]");
}

TEST(texts_side_by_side_with_learned_positions_get_the_logits_of_each_alone)
{
    check_both_precisions("learned_positions: true, use_weight_tying: true, ffn_bias: true");
}

TEST(texts_side_by_side_with_sinusoidal_positions_get_the_logits_of_each_alone)
{
    check_both_precisions("sinusoidal_base: 10000.0, unused_positions: 2");
}

TEST(texts_side_by_side_with_experts_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, layers: [{sparse: true}], mixture: {n_experts: "
                          "4, top_k: 2, hidden: 40, capacity: 0.5}");
}

TEST(texts_side_by_side_with_experts_behind_the_next_block_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, layers: [{count: 2, sparse: true, shortcut: "
                          "true}, {}], mixture: {n_experts: 4, zero_experts: 3, top_k: 3, hidden: "
                          "40}");
}

TEST(texts_side_by_side_with_shared_keys_and_embeddings_of_blocks_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, layers: [{}, {count: 2, shared_kv: true, "
                          "ffn_hidden: 40}], per_layer_embedding: {width: 12, scale: 2.0}");
}

TEST(texts_side_by_side_with_query_heads_of_each_layer_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, head_width: 12, attention_gate: head, "
                          "attention_gate_by: softplus, layers: [{n_head_q: 2}, {window: 5, "
                          "n_head_q: 6, sparse: true}, {}], mixture: {n_experts: 4, top_k: 2, "
                          "hidden: 40, logit_cap: 0.5}");
}

TEST(texts_side_by_side_with_differential_attention_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, differential: {}, layers: [{}, "
                          "{window: 5}, {shared_kv: true, window: 5}]");
}

TEST(texts_side_by_side_with_several_streams_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, layers: [{sparsity: 0.5}, {}], laurel_rank: 8, "
                          "alternating_updates: {streams: 3, scale: true}, per_layer_embedding: "
                          "{width: 12, vocab_size: 100}");
}

TEST(texts_side_by_side_with_gates_behind_norms_get_the_logits_of_each_alone)
{
    check_texts("n_head_kv: 4, rope: {base: 10000.0}, head_width: 12, norm_gate_rank: 8, "
                "attention_gate: feature, latent: {key_rank: 16, query_rank: 20, "
                "rope_width: 4, value_width: 8, query_joined: true}, layers: [{}, "
                "{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 40}",
                F32);
}

/* In bf16 a token may select others by rounding. */
TEST(texts_side_by_side_with_windows_of_tokens_get_the_logits_of_each_alone)
{
    static const Dtype precision[] = { F32, BF16 };
    for (int k = 0; k < 2; k++)
        check_texts("n_head_kv: 1, rope: {base: 10000.0, width: 4}, joint_attention: {query_rank: "
                    "6, output_groups: 2, output_rank: 5}, attention_sinks: true, layers: "
                    "[{window: 5, compress: 3}, {window: 4, compress: 4, overlaps: true}, {window: "
                    "6}]",
                    precision[k]);
    check_texts("n_head_kv: 1, rope: {base: 10000.0, width: 4}, joint_attention: {query_rank: 6}, "
                "sparse_attention: {heads: 3, width: 4, top_k: 2}, layers: [{window: 4, compress: "
                "3, overlaps: true, selects: true}]",
                F32);
}

TEST(texts_side_by_side_with_experts_by_token_ids_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, layers: [{sparse: true, by_id: true}, {sparse: "
                          "true}], mixture: {n_experts: 6, top_k: 2, hidden: 8, score: "
                          "sqrt_softplus}");
}

TEST(texts_side_by_side_with_hyper_connections_get_the_logits_of_each_alone)
{
    check_both_precisions(
        "rope: {base: 10000.0}, gate_bound: 0.5, hyper_connections: {streams: 3}, "
        "layers: [{}, {window: 5}]");
}

/* In bf16 a token may select others by rounding. */
TEST(texts_side_by_side_with_sparse_attention_get_the_logits_of_each_alone)
{
    check_texts("n_head_kv: 4, head_width: 12, rope: {base: 10000.0}, latent: {key_rank: 10, "
                "query_rank: 8, rope_width: 4, value_width: 6}, sparse_attention: {heads: 5, "
                "width: 8, top_k: 4}, layers: [{count: 2}, {shared_index: true}]",
                F32);
}

/* Without a mix of streams, and with a place beside the keys. */
TEST(texts_side_by_side_with_sinks_beside_selected_keys_get_the_logits_of_each_alone)
{
    check_texts(
        "n_head_kv: 4, head_width: 12, rope: {base: 10000.0}, attention_sinks: true, "
        "attention_gate: feature, latent: {key_rank: 10, query_rank: 8, rope_width: 4, "
        "value_width: 6}, sparse_attention: {heads: 5, width: 8, top_k: 4}, "
        "hyper_connections: {streams: 3, iterations: 0, write_scale: 1.5}, layers: [{count: "
        "2}, {shared_index: true}]",
        F32);
}

TEST(texts_side_by_side_with_linear_attention_get_the_logits_of_each_alone)
{
    check_both_precisions(
        "rope: {base: 10000.0}, layers: [{count: 2, linear: true}, {}], linear_attention: "
        "{key_heads: 2, value_heads: 4, key_width: 12, value_width: 20}");
}

TEST(texts_side_by_side_with_decays_of_each_row_get_the_logits_of_each_alone)
{
    check_both_precisions(
        "rope: {base: 10000.0}, layers: [{count: 2, linear: true}, {}], linear_attention: "
        "{key_heads: 2, value_heads: 4, key_width: 12, value_width: 20, decay: feature, "
        "decay_rank: 8, gate: sigmoid, gate_rank: 8}");
}

TEST(texts_side_by_side_with_fixed_decays_get_the_logits_of_each_alone)
{
    check_both_precisions(
        "rope: {base: 10000.0}, layers: [{count: 2, linear: true}, {}], linear_attention: "
        "{key_heads: 4, value_heads: 4, key_width: 12, value_width: 12, conv_width: 0, decay: "
        "fixed, norm: width, gate: sigmoid}, residual: normed");
}

TEST(texts_side_by_side_with_state_spaces_get_the_logits_of_each_alone)
{
    check_both_precisions(
        "rope: {base: 10000.0}, layers: [{count: 2, linear: true}, {}], state_space: {heads: 6, "
        "head_width: 12, state_width: 20, n_groups: 2}");
}

TEST(texts_side_by_side_with_state_spaces_beside_attention_get_the_logits_of_each_alone)
{
    check_both_precisions(
        "rope: {base: 10000.0}, layers: [{side_by_side: true}], state_space: {heads: 6, "
        "head_width: 12, state_width: 20, n_groups: 2, norm: false}, multipliers: {keys: 0.5}");
}

TEST(texts_side_by_side_with_selective_state_spaces_get_the_logits_of_each_alone)
{
    check_both_precisions(
        "rope: {base: 10000.0}, layers: [{count: 2, linear: true}, {}], selective_scan: {width: "
        "72, norms: plain}");
}

TEST(texts_side_by_side_with_gated_recurrences_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, layers: [{count: 2, linear: true}, {window: 8}], "
                          "gated_recurrence: {width: 72, n_groups: 4}");
}

TEST(texts_side_by_side_with_narrow_embeddings_get_the_logits_of_each_alone)
{
    check_both_precisions("learned_positions: true, embedding_width: 20, use_weight_tying: true, "
                          "residual: norm_of_sum, head_norm: false");
}

TEST(texts_side_by_side_with_a_product_in_front_of_the_head_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, embedding_norm: true, head_transform: {bias: "
                          "true}, layers: [{no_mixer_norm: true}, {window: 8}, {}]");
}

TEST(texts_side_by_side_with_short_convolutions_get_the_logits_of_each_alone)
{
    check_both_precisions("rope: {base: 10000.0}, layers: [{count: 2, conv: true}, {}], "
                          "short_conv: {width: 4, bias: true}");
}

TEST(texts_side_by_side_with_blocks_of_one_layer_get_the_logits_of_each_alone)
{
    check_both_precisions(
        "rope: {base: 10000.0}, layers: [{linear: true, no_ffn: true}, {no_mixer: true}, {no_ffn: "
        "true}], state_space: {heads: 6, head_width: 12, state_width: 20, n_groups: 2}");
}

/* As many as fit, and at least one; three quarters of the memory are for them. */
TEST(texts_side_by_side_are_as_many_as_fit)
{
    Fixture f = fixture_new("n_head_kv: 2, rope: {base: 10000.0}", F32);
    double bytes;
    assert_int_equal(texts_that_fit(f.generator, 5, &bytes), 5);
    assert_close(bytes, 2 * 3 * LENGTH * 2 * 10 * 4, 0); /* keys and values of three layers */
    static const struct {
        double texts;
        int fit;
    } row[] = { { 0.5, 1 }, { 1.1, 1 }, { 2.9, 2 }, { 3.1, 3 }, { 4.9, 4 }, { 5.1, 5 }, { 9, 5 } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const int64_t free_bytes = (int64_t)(row[i].texts * bytes / 0.75);
        assert_int_equal(setenv("MODALITIES_MEMORY_LIMIT",
                                arena_printf(f.arena, "%lld", (long long)free_bytes), 1),
                         0);
        assert_int_equal(texts_that_fit(f.generator, 5, &bytes), row[i].fit);
    }
    assert_int_equal(unsetenv("MODALITIES_MEMORY_LIMIT"), 0);
    fixture_free(&f);
}

TEST(texts_side_by_side_are_refused_tokens_that_do_not_fit)
{
    Fixture f = fixture_new("n_head_kv: 2, rope: {base: 10000.0}", F32);
    Texts *t;
    uint32_t id[2] = { 0, VOCABULARY };
    bool both[2] = { true, true }, first[2] = { true, false };
    assert_no_error(texts_new(f.generator, 2, &t));
    begin(t, 0, 0, LENGTH - 1);
    begin(t, 1, 1, 3);
    assert_error_has(texts_grow(t, id, both), "outside of the model's vocabulary of 50");
    assert_no_error(texts_grow(t, id, first));
    assert_error_has(texts_grow(t, id, first), "1 tokens after 24 are more than the 24");
    texts_free(t);
    fixture_free(&f);
}
