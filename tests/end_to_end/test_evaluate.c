/* test_evaluate.c - `evaluate`: losses of a checkpoint, and the likelihood of documents. */
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "config/yaml.h"
#include "data/pbin.h"
#include "end_to_end/training.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_DOCUMENTS = 5 };

static const int lengths[N_DOCUMENTS] = { 40, 1, 7, 17, 3 }, three_samples[] = { 3 * 64 + 1 };

/* Documents of these lengths. */
static const char *write_documents(Arena *a, const char *name, const int *length, int n)
{
    const char *path = path_join(a, path_absolute(a, test_folder()), name);
    PbinWriter w;
    uint32_t id = 3;
    assert_no_error(pbin_create(path, 2, &w));
    for (int i = 0; i < n; i++) {
        uint32_t token[3 * 64 + 1];
        Text bytes = { 0 };
        for (int k = 0; k < length[i]; k++) token[k] = id = (id * 5 + 1) % 64;
        assert_no_error(pbin_encode(token, length[i], 2, &bytes));
        assert_no_error(pbin_add(&w, bytes.ptr, bytes.len));
        text_free(&bytes);
    }
    assert_no_error(pbin_commit(&w));
    return path;
}

static Outcome evaluate(const Bench *b, const char *id, Words more)
{
    const char *words[40] = {
        "evaluate", "--config_file_path", "tests/end_to_end/train.yaml", "--checkpoint",
        arena_printf(b->arena, "%s/%s/checkpoints/last_checkpoint_info.json", b->root, id)
    };
    int n = 5;
    for (int i = 0; more && more[i]; i++) words[n++] = more[i];
    assert_int_equal(setenv("TRAIN_PBIN", b->pbin, 1), 0);
    return command_output(b->arena, words, NULL);
}

/* The number of this name in the line of a text that has `what` in it. */
static double number_in(Arena *a, const char *text, const char *what, const char *name)
{
    const char *line = strstr(text, what);
    if (!line) fail_msg("no %s in %s", what, text);
    const char *at = strstr(line, arena_printf(a, "\"%s\": ", name));
    assert_non_null(at);
    return strtod(strchr(at, ':') + 1, NULL);
}

/* The last loss of an evaluation in the results of a training. */
static double last_result(const Bench *b, const char *id)
{
    Str text;
    double last = NAN;
    assert_no_error(file_read(
        b->arena, arena_printf(b->arena, "%s/%s/evaluation_results.jsonl", b->root, id), &text));
    for (const char *at = text.ptr; (at = strstr(at, "\"CLMCrossEntropyLoss\": ")); at++)
        last = strtod(strchr(at, ':') + 1, NULL);
    return last;
}

TEST(evaluate_gives_the_loss_that_the_training_had_and_its_exponential)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    const char *results =
        path_join(b.arena, path_absolute(b.arena, test_folder()), "results.jsonl");
    Outcome o = evaluate(&b, "x", (const char *[]){ "--results_path", results, NULL });
    assert_ended_well(o);
    const double loss = number_in(b.arena, o.text, "{\"data\": ", "loss");
    assert_close(loss, last_result(&b, "x"), 1e-6 * loss);
    assert_close(number_in(b.arena, o.text, "{\"data\": ", "perplexity"), exp(loss), 1e-5);
    Str kept;
    assert_no_error(file_read(b.arena, results, &kept));
    assert_contains(o.text, arena_printf(b.arena, "%.*s", (int)kept.len - 1, kept.ptr));
    Outcome ranks = evaluate(&b, "x", (const char *[]){ "--ranks", "2", NULL });
    assert_ended_well(ranks);
    assert_close(number_in(b.arena, ranks.text, "{\"data\": ", "loss"), loss, 1e-5 * loss);
    arena_free(b.arena);
}

static double likelihood_of(const Bench *b, const char *log, int document)
{
    return number_in(b->arena, log, arena_printf(b->arena, "\"document\": %d,", document),
                     "log_likelihood");
}

/* The samples of a packed file are the windows of its only document. */
TEST(evaluate_finds_a_document_as_likely_as_the_samples_that_it_is_cut_into)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    const char *document = write_documents(b.arena, "one.pbin", three_samples, 1);
    assert_int_equal(setenv("EVAL_PBIN", document, 1), 0);
    Outcome o = evaluate(&b, "x",
                         (const char *[]){ "--documents", document, "--set",
                                           "settings.step_profile.sequence_length=64", NULL });
    assert_ended_well(o);
    const double loss = number_in(b.arena, o.text, "{\"data\": ", "loss");
    assert_close(number_in(b.arena, o.text, "{\"documents\": ", "loss"), loss, 1e-5 * loss);
    assert_int_equal(number_in(b.arena, o.text, "{\"documents\": ", "scored"), 3 * 64);
    arena_free(b.arena);
}

TEST(evaluate_scores_documents_one_by_one_on_any_number_of_ranks)
{
    Bench b = bench_new();
    const char *documents = write_documents(b.arena, "documents.pbin", lengths, N_DOCUMENTS),
               *text[3];
    static const char *const ranks[] = { "1", "2", "4" };
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        const char *scores = arena_printf(b.arena, "%s/scores-%d.jsonl", b.root, i);
        Str file;
        Outcome o = evaluate(&b, "x",
                             (const char *[]){ "--documents", documents, "--log_likelihoods_path",
                                               scores, "--ranks", ranks[i], NULL });
        assert_ended_well(o);
        assert_no_error(file_read(b.arena, scores, &file));
        text[i] = file.ptr;
        double sum = 0, scored = 0;
        for (int d = 0; d < N_DOCUMENTS; d++) {
            const char *what = arena_printf(b.arena, "\"document\": %d,", d);
            assert_int_equal(number_in(b.arena, text[i], what, "tokens"), lengths[d]);
            assert_int_equal(number_in(b.arena, text[i], what, "scored"), lengths[d] - 1);
            assert_close(likelihood_of(&b, text[i], d), likelihood_of(&b, text[0], d), 1e-5);
            sum += likelihood_of(&b, text[i], d);
            scored += lengths[d] - 1;
        }
        assert_close(number_in(b.arena, o.text, "{\"documents\": ", "log_likelihood"), sum, 1e-6);
        assert_close(number_in(b.arena, o.text, "{\"documents\": ", "perplexity"),
                     exp(-sum / scored), 1e-4);
        assert_true(sum < 0);
    }
    arena_free(b.arena);
}

#define PART(name) "{instance_key: " name ", pass_type: BY_REFERENCE}"
#define SHARED(more)                                                                               \
    "wrapped_model={component_key: model, variant_key: parallelized, config: {model: " PART(       \
        "model_raw") ", device_mesh: " PART("device_mesh") ", param_dtype: FP_32, reduce_dtype: "  \
                                                           "FP_32" more "}}"

typedef struct SharedModel {
    const char *ranks, *model;
    const char *degree[3]; /* of the mesh, as settings */
} SharedModel;

static const char whole_stages[] = SHARED(", pipeline_schedule: 1f1b"),
                  folded_stages[] = SHARED(", pipeline_schedule: zbvzerobubble");

static const SharedModel shared_models[] = {
    { "2", SHARED(""), { "tensor_parallel_degree=2" } },
    { "2", SHARED(""), { "context_parallel_degree=2" } },
    { "2", whole_stages, { "pipeline_parallel_degree=2" } },
    { "2", folded_stages, { "pipeline_parallel_degree=2" } },
    { "4", SHARED(""), { "context_parallel_degree=2" } },
    { "8", whole_stages, { "pipeline_parallel_degree=2", "tensor_parallel_degree=2" } },
    { "8", SHARED(""), { "context_parallel_degree=2", "tensor_parallel_degree=2" } },
};
enum { N_SHARED_MODELS = sizeof shared_models / sizeof *shared_models };

static const char *score(const Bench *b, const char *documents, const char *id,
                         const SharedModel *m)
{
    const char *path = arena_printf(b->arena, "%s/%s.jsonl", b->root, id);
    const char *words[20] = { "--documents", documents, "--log_likelihoods_path", path };
    int n = 4;
    Str file;
    if (m) {
        words[n++] = "--ranks", words[n++] = m->ranks;
        words[n++] = "--set", words[n++] = m->model;
    }
    for (int i = 0; m && m->degree[i]; i++) {
        words[n++] = "--set";
        words[n++] = arena_printf(b->arena, "device_mesh.config.%s", m->degree[i]);
    }
    assert_ended_well(evaluate(b, "x", words));
    assert_no_error(file_read(b->arena, path, &file));
    return file.ptr;
}

/* Ranks that work on the same samples score the same document. */
TEST(evaluate_scores_documents_on_ranks_that_share_a_model_as_on_one)
{
    Bench b = bench_new();
    const char *documents = write_documents(b.arena, "documents.pbin", lengths, N_DOCUMENTS);
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    const char *one = score(&b, documents, "one", NULL);
    for (int i = 0; i < N_SHARED_MODELS; i++) {
        const char *id = arena_printf(b.arena, "many-%d", i);
        const char *many = score(&b, documents, id, &shared_models[i]);
        for (int d = 0; d < N_DOCUMENTS; d++) {
            const char *what = arena_printf(b.arena, "\"document\": %d,", d);
            const double expected = likelihood_of(&b, one, d);
            assert_close(likelihood_of(&b, many, d), expected, 1e-5 * (1 + fabs(expected)));
            assert_int_equal(number_in(b.arena, many, what, "scored"), lengths[d] - 1);
            const char *greedy = strstr(strstr(one, what), "\"is_greedy\"");
            assert_contains(strstr(many, what),
                            arena_string_n(b.arena, greedy, strcspn(greedy, "}")));
        }
    }
    arena_free(b.arena);
}

/* The token that the model finds the most likely after another one. */
static int likeliest_after(const Bench *b, const char *id, int token)
{
    Arena *a = b->arena;
    Safetensors *out;
    int32_t ids[] = { token };
    const NamedTensor batch = { "input_ids",
                                { .data = ids, .dtype = I32, .n_dims = 2, .size = { 1, 1 } } };
    const char *from = path_join(a, b->root, "batch.safetensors"),
               *to = path_join(a, b->root, "out.safetensors");
    assert_no_error(safetensors_write(from, &batch, 1));
    assert_int_equal(setenv("TRAIN_PBIN", b->pbin, 1), 0);
    assert_ended_well(command_output(
        a,
        (const char *[]){ "model", "run", "--config_file_path", "tests/end_to_end/train.yaml",
                          "--weights_path", bench_last_checkpoint(b, id, NULL), "--batch_path",
                          from, "--output_path", to, NULL },
        NULL));
    assert_no_error(safetensors_open(a, to, &out));
    const float *logit = safetensors_find(out, "logits")->data;
    int best = 0;
    for (int i = 1; i < 64; i++)
        if (logit[i] > logit[best]) best = i;
    return best;
}

TEST(evaluate_says_of_documents_whether_each_token_was_the_likeliest)
{
    enum { N = 3 };
    static const char *const greedy[N] = { "true", "false", "false" };
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    const char *path = path_join(b.arena, path_absolute(b.arena, test_folder()), "greedy.pbin");
    const uint32_t best = (uint32_t)likeliest_after(&b, "x", 5), other = (best + 1) % 64,
                   token[N][3] = { { 5, best }, { 5, other }, { 5, other, 5 } };
    PbinWriter w;
    assert_no_error(pbin_create(path, 2, &w));
    for (int i = 0; i < N; i++) {
        Text bytes = { 0 };
        assert_no_error(pbin_encode(token[i], i < 2 ? 2 : 3, 2, &bytes));
        assert_no_error(pbin_add(&w, bytes.ptr, bytes.len));
        text_free(&bytes);
    }
    assert_no_error(pbin_commit(&w));
    const char *log = score(&b, path, "one", NULL);
    for (int i = 0; i < N; i++) {
        const char *line = strstr(log, arena_printf(b.arena, "\"document\": %d,", i));
        assert_non_null(line);
        line = arena_string_n(b.arena, line, strcspn(line, "\n"));
        assert_contains(line, arena_printf(b.arena, "\"is_greedy\": %s", greedy[i]));
    }
    assert_true(likelihood_of(&b, log, 0) > likelihood_of(&b, log, 1));
    arena_free(b.arena);
}

TEST(evaluate_refuses_what_it_cannot_do)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    assert_refused(evaluate(&b, "x", (const char *[]){ "--set", "eval_dataloaders=[]", NULL }), 2,
                   "nothing is to be evaluated");
    assert_refused(evaluate(&b, "x", (const char *[]){ "--log_likelihoods_path", "x.jsonl", NULL }),
                   2, "--log_likelihoods_path needs --documents");
    assert_refused(evaluate(&b, "x", (const char *[]){ "--documents", "none.pbin", NULL }), 2,
                   "--documents none.pbin: no such file");
    const char *part = path_join(b.arena, bench_last_checkpoint(&b, "x", NULL), "__0_0.distcp");
    Str file;
    assert_no_error(file_read(b.arena, part, &file));
    ((char *)file.ptr)[file.len / 2] ^= 4;
    assert_no_error(file_write(part, file.ptr, file.len));
    assert_refused(evaluate(&b, "x", NULL), 1, "the file is damaged");
    arena_free(b.arena);
}
