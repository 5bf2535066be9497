/* test_generate.c - generation with a cache gives the logits of a full pass without one. */
#include "base/rng.h"
#include "exec/schedule.h"
#include "models/families.h"
#include "passes/tiny_model.h"
#include "test.h"
#include "train/generate.h"
#include "train/sample.h"
#include <math.h>
#include <string.h>

enum { LENGTH = 45 }; /* chunks of 32, 8, 4 and the last token */

static int32_t token(int64_t i, int64_t vocab_size)
{
    return (int32_t)(rng_bits(7, (uint64_t)i) % (uint64_t)vocab_size);
}

typedef struct Fixture {
    Arena *arena;
    const Model *model;
    Session *session;
    Generator *generator;
    Tensor logits; /* of a full pass: [1 n v] */
    uint32_t *id;
} Fixture;

static Fixture fixture_of(Arena *a, const Model *model, Dtype compute)
{
    Fixture f = { .arena = a, .model = model };
    int64_t n = model->sequence_length;
    SessionSettings s = {
        .model = f.model, .n_threads = 2, .precision = &compute, .rounded_buffers = compute == BF16
    };
    assert_no_error(session_new(&s, &f.session));
    Program *p;
    assert_no_error(session_inspection_program(f.session, NULL, false, 1, n, &p));
    store_initialize(session_store(f.session), 3);
    f.id = NEW_N(f.arena, uint32_t, n);
    int32_t *ids = NEW_N(f.arena, int32_t, n);
    for (int64_t i = 0; i < n; i++) f.id[i] = (uint32_t)(ids[i] = token(i, model->vocab_size));
    assert_no_error(program_write(p, "input_ids", 0, ids));
    assert_no_error(program_run_phases(p, RUN_FORWARD, &(RunTime){ .loss_scale = 1 }));
    f.logits = *program_output(p, "logits", 0);
    f.logits.data = arena_alloc(f.arena, tensor_bytes(&f.logits));
    assert_no_error(program_read(p, "logits", 0, f.logits.data));
    assert_no_error(generator_new(f.session, f.model, n, &f.generator));
    return f;
}

static Fixture fixture_new(const Gpt2Settings *settings, Dtype compute)
{
    Arena *a = arena_new();
    return fixture_of(a, gpt2_new(a, settings), compute);
}

static void fixture_free(Fixture *f)
{
    generator_free(f->generator);
    session_free(f->session);
    arena_free(f->arena);
}

/* The generator's logits against row `position` of the full pass, relative to the row's largest. */
static void assert_same(const Fixture *f, int64_t position, double tolerance)
{
    const Tensor *got = generator_logits(f->generator);
    int64_t v = f->model->vocab_size;
    double largest = 0, difference = 0;
    assert_int_equal(tensor_count(got), v);
    for (int64_t i = 0; i < v; i++) {
        double x = dtype_get(got->dtype, got->data, i),
               y = dtype_get(f->logits.dtype, f->logits.data, position * v + i);
        assert_true(isfinite(x));
        largest = fmax(largest, fabs(y));
        difference = fmax(difference, fabs(x - y));
    }
    assert_true(largest > 0);
    if (!(difference <= tolerance * largest))
        fail_msg("position %lld: off by %g of %g", (long long)position, difference, largest);
}

/* Every length of what is read at once, and from some on token by token to the end. */
static void check_all_positions(const Gpt2Settings *s, Dtype compute, double tolerance)
{
    Fixture f = fixture_new(s, compute);
    for (int64_t n = 1; n <= s->sequence_length; n++) {
        generator_restart(f.generator);
        assert_no_error(generator_read(f.generator, f.id, n));
        assert_same(&f, n - 1, tolerance);
        for (int64_t i = n; n % 11 == 1 && i < s->sequence_length; i++) {
            assert_no_error(generator_read(f.generator, f.id + i, 1));
            assert_same(&f, i, tolerance);
        }
    }
    fixture_free(&f);
}

/* bf16 rounds at the same places with and without a cache, but sums in another order. */
static void check_both_precisions(const Gpt2Settings *s)
{
    check_all_positions(s, F32, 1e-5);
    check_all_positions(s, BF16, 0.02);
}

static Gpt2Settings settings_of(bool llama_like)
{
    Gpt2Settings s = tiny_settings(llama_like);
    s.sequence_length = LENGTH;
    return s;
}

TEST(a_cache_changes_nothing_with_grouped_queries_and_rotary_positions)
{
    Gpt2Settings s = settings_of(true);
    check_both_precisions(&s);
}
FENCED(a_cache_changes_nothing_with_grouped_queries_and_rotary_positions)

TEST(a_cache_changes_nothing_with_absolute_positions)
{
    Gpt2Settings s = settings_of(false);
    check_both_precisions(&s);
}
FENCED(a_cache_changes_nothing_with_absolute_positions)

TEST(a_cache_changes_nothing_with_normalised_queries_and_keys)
{
    static const NormChoice norm = { .norm_type = 0,
                                     .config = { .which = 0, .rms = { 4, 1e-6, true } } };
    Gpt2Settings s = settings_of(true);
    s.attention_config.qk_norm_config = &norm;
    s.n_head_kv = 1;
    check_both_precisions(&s);
}

TEST(a_cache_changes_nothing_without_positions_and_with_tied_weights)
{
    Gpt2Settings s = settings_of(true);
    s.attention_config.qkv_transforms.n = 0;
    s.use_weight_tying = true;
    check_both_precisions(&s);
}

/* Any device has a kernel for each of their ops; experts of few tokens may be others by rounding.
 */
TEST(a_cache_changes_nothing_in_any_family)
{
    for (int i = 0; i < n_tiny_families(); i++)
        for (int half = 0; half < 2; half++) {
            Arena *a = arena_new();
            const Decoder *d = tiny_family(a, i);
            if (half && d->moe) {
                arena_free(a);
                continue;
            }
            Fixture f = fixture_of(a, decoder_new(a, d), half ? BF16 : F32);
            const int64_t n = f.model->sequence_length;
            assert_no_error(generator_read(f.generator, f.id, n - 5));
            for (int64_t at = n - 5; at < n; at++) {
                assert_same(&f, at - 1, half ? 0.03 : 1e-5);
                assert_no_error(generator_read(f.generator, f.id + at, 1));
            }
            assert_same(&f, n - 1, half ? 0.03 : 1e-5);
            fixture_free(&f);
        }
}

TEST(dropout_is_off_when_a_model_generates)
{
    Gpt2Settings s = settings_of(false);
    s.dropout = 0.5;
    check_all_positions(&s, F32, 1e-5);
}

TEST(a_long_text_goes_through_in_several_of_the_longest_chunks)
{
    Gpt2Settings s = settings_of(true);
    s.sequence_length = 600;
    s.n_layer = 1;
    Fixture f = fixture_new(&s, F32);
    assert_no_error(generator_read(f.generator, f.id, 600));
    assert_int_equal(generator_position(f.generator), 600);
    assert_same(&f, 599, 1e-5);
    fixture_free(&f);
}
FENCED(a_long_text_goes_through_in_several_of_the_longest_chunks)

TEST(a_new_text_knows_nothing_of_the_one_before)
{
    Gpt2Settings s = settings_of(true);
    Fixture f = fixture_new(&s, F32);
    uint32_t other[LENGTH];
    for (int i = 0; i < LENGTH; i++) other[i] = (f.id[i] + 1) % (uint32_t)s.vocab_size;
    assert_no_error(generator_read(f.generator, other, LENGTH));
    generator_restart(f.generator);
    assert_no_error(generator_read(f.generator, f.id, 9));
    assert_same(&f, 8, 1e-5);
    fixture_free(&f);
}
FENCED(a_new_text_knows_nothing_of_the_one_before)

TEST(tokens_that_do_not_fit_are_refused)
{
    Gpt2Settings s = settings_of(true);
    Fixture f = fixture_new(&s, F32);
    assert_no_error(generator_read(f.generator, f.id, 40));
    assert_error_has(generator_read(f.generator, f.id, 6),
                     "6 tokens after 40 are more than the 45");
    uint32_t unknown = 13;
    assert_error_has(generator_read(f.generator, &unknown, 1),
                     "token id 13 is outside of the model's vocabulary of 13");
    assert_no_error(generator_read(f.generator, f.id + 40, 5));
    assert_same(&f, LENGTH - 1, 1e-5);
    fixture_free(&f);
}

TEST(a_text_longer_than_the_model_can_is_refused)
{
    Gpt2Settings s = settings_of(true);
    Fixture f = fixture_new(&s, F32);
    Generator *g;
    assert_error_has(generator_new(f.session, f.model, LENGTH + 1, &g), "sequence_length 45");
    fixture_free(&f);
}

/* ---- sampling ---- */

static Tensor tensor_of(const float *x, int64_t n)
{
    return (Tensor){ .data = (void *)x, .dtype = F32, .n_dims = 3, .size = { 1, 1, n } };
}

static uint32_t sample(const Tensor *logits, double temperature, uint64_t key)
{
    uint32_t id = UINT32_MAX;
    assert_no_error(
        sample_token(logits, &(Sampling){ .temperature = temperature }, NULL, 0, key, &id));
    return id;
}

TEST(without_temperature_the_first_of_the_most_likely_tokens_is_taken)
{
    static const float x[] = { -3, 2, 5, 1, 5, -INFINITY };
    Tensor t = tensor_of(x, 6);
    for (uint64_t key = 0; key < 20; key++) {
        assert_int_equal(sample(&t, 0, key), 2);
        assert_int_equal(sample(&t, -1, key), 2);
        assert_true(sample(&t, 1e-300, key) == 2 || sample(&t, 1e-300, key) == 4);
    }
}

/* Counts within 5 standard deviations of softmax(logits / temperature). */
static void check_frequencies(double temperature)
{
    enum { N = 20000, V = 5 };
    static const float x[V] = { 1, -0.5f, 2, 0, -INFINITY };
    Tensor t = tensor_of(x, V);
    int count[V] = { 0 };
    double sum = 0;
    for (int i = 0; i < V; i++) sum += exp(x[i] / temperature);
    for (int i = 0; i < N; i++)
        count[sample(&t, temperature, rng_key(1, RNG_SAMPLE, (uint64_t)i, 0))]++;
    for (int i = 0; i < V; i++) {
        double p = exp(x[i] / temperature) / sum;
        assert_close(count[i], N * p, 5 * sqrt(N * p * (1 - p)));
    }
}

TEST(tokens_are_drawn_as_often_as_their_probabilities_say)
{
    check_frequencies(1);
    check_frequencies(0.5);
    check_frequencies(3);
}

TEST(logits_that_are_no_numbers_are_an_error)
{
    uint32_t id;
    Tensor t = tensor_of((float[]){ 1, NAN }, 2);
    assert_error_has(sample_token(&t, &(Sampling){ .temperature = 1 }, NULL, 0, 0, &id),
                     "logit of token 1 is nan");
    t = tensor_of((float[]){ INFINITY, 1 }, 2);
    assert_error_has(sample_token(&t, &(Sampling){ 0 }, NULL, 0, 0, &id),
                     "logit of token 0 is inf");
    t = tensor_of((float[]){ -INFINITY, -INFINITY }, 2);
    assert_error_has(sample_token(&t, &(Sampling){ .temperature = 1 }, NULL, 0, 0, &id),
                     "all -inf");
}

/* The tokens that come among many draws, as bits. */
static unsigned drawn(const Sampling *s, const uint32_t *before, int64_t n_before)
{
    static float logit[] = { 1.0f, 3.0f, 2.0f, -1.0f, 2.5f };
    const Tensor t = { .data = logit, .dtype = F32, .n_dims = 1, .size = { 5 } };
    unsigned seen = 0;
    for (uint64_t k = 0; k < 600; k++) {
        uint32_t id;
        assert_no_error(sample_token(&t, s, before, n_before, rng_key(1, RNG_SAMPLE, k, 0), &id));
        seen |= 1u << id;
    }
    return seen;
}

TEST(sampling_leaves_the_tokens_that_the_settings_ask_for)
{
    const uint32_t before[] = { 1, 1, 3 };
    /* probabilities: 0.067 0.494 0.182 0.009 0.299 */
    assert_int_equal(drawn(&(Sampling){ .temperature = 1 }, NULL, 0), 0x1f);
    assert_int_equal(drawn(&(Sampling){ .temperature = 1, .top_k = 2 }, NULL, 0), 1 << 1 | 1 << 4);
    assert_int_equal(drawn(&(Sampling){ .temperature = 1, .top_p = 0.45 }, NULL, 0), 1 << 1);
    assert_int_equal(drawn(&(Sampling){ .temperature = 1, .top_p = 0.75 }, NULL, 0),
                     1 << 1 | 1 << 4);
    assert_int_equal(drawn(&(Sampling){ .temperature = 1, .top_p = 0.8 }, NULL, 0),
                     1 << 1 | 1 << 4 | 1 << 2);
    /* of the two that are left the first has 0.623 */
    assert_int_equal(drawn(&(Sampling){ .temperature = 1, .top_k = 2, .top_p = 0.6 }, NULL, 0),
                     1 << 1);
    assert_int_equal(drawn(&(Sampling){ .temperature = 1, .min_p = 0.36 }, NULL, 0),
                     1 << 1 | 1 << 4 | 1 << 2);
    assert_int_equal(drawn(&(Sampling){ .repetition_penalty = 1.1 }, before, 3), 1 << 1);
    assert_int_equal(drawn(&(Sampling){ .repetition_penalty = 1.3 }, before, 3), 1 << 4);
}
