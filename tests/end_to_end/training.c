/* training.c - starts the program, and compares what two experiments left behind. */
#include "end_to_end/training.h"
#include "base/rng.h"
#include "checkpoint/checkpoint_name.h"
#include "config/yaml.h"
#include "data/pbin.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 112 };

static void redirect(int to)
{
    dup2(to, STDOUT_FILENO);
    dup2(to, STDERR_FILENO);
    close(to);
}

static const char *output_path(Arena *a, pid_t child)
{
    return arena_printf(a, "%s/output-%d", test_folder(), (int)child);
}

pid_t command_start(Arena *a, Words words, Words variables, int *ends)
{
    const char *argv[MAX_WORDS] = { program_path() };
    int n = words && !strcmp(words[0], "mpirun") ? 0 : 1;
    for (int i = 0; words && words[i]; i++) argv[n++] = words[i];
    assert_true(n < MAX_WORDS);
    test_folder();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child) {
        /* here too: the child may be killed before it makes its file */
        int output = ends ? ends[1] : open(output_path(a, child), O_WRONLY | O_CREAT, 0666);
        assert_true(output >= 0);
        close(output);
        return child;
    }
    if (ends) close(ends[0]);
    redirect(ends ? ends[1]
                  : open(output_path(a, getpid()), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666));
    setenv("LC_ALL", "C", 1);
    for (int i = 0; variables && variables[i]; i++) putenv((char *)variables[i]);
    execvp(argv[0], (char **)argv);
    _exit(127);
}

Outcome command_wait(Arena *a, pid_t child, const int *ends)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    Outcome o = { WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), "" };
    if (ends) return o;
    Str text;
    assert_no_error(file_read(a, output_path(a, child), &text));
    assert_int_equal(unlink(output_path(a, child)), 0);
    o.text = text.ptr;
    return o;
}

Outcome command_output(Arena *a, Words words, Words variables)
{
    return command_wait(a, command_start(a, words, variables, NULL), NULL);
}

/* A language with some order in it: each token mostly follows from the one before. */
/* So many of them. */
static const char *write_tokens(Arena *a, const char *name, uint64_t n)
{
    enum { MOST = 3000, VOCABULARY = 64 };
    const char *path = path_join(a, path_absolute(a, test_folder()), name);
    uint32_t token[MOST] = { 1 };
    assert_true(n <= MOST);
    for (uint64_t i = 1; i < n; i++)
        token[i] = (token[i - 1] * 5 + (rng_uniform(1, i) < 0.8 ? 1 : 3)) % VOCABULARY;
    Text bytes = { 0 };
    PbinWriter w;
    assert_no_error(pbin_create(path, 2, &w));
    assert_no_error(pbin_encode(token, n, 2, &bytes));
    assert_no_error(pbin_add(&w, bytes.ptr, bytes.len));
    assert_no_error(pbin_commit(&w));
    text_free(&bytes);
    return path;
}

const char *write_many_tokens(Arena *a)
{
    enum { N_TOKENS = 6000000 };
    const char *path = path_join(a, path_absolute(a, test_folder()), "many.pbin");
    uint16_t *token = NEW_N(a, uint16_t, N_TOKENS);
    for (int i = 1; i < N_TOKENS; i++) token[i] = (uint16_t)((token[i - 1] * 5 + i % 7) % 64);
    PbinWriter w;
    assert_no_error(pbin_create(path, 2, &w));
    assert_no_error(pbin_add(&w, token, sizeof *token * N_TOKENS));
    assert_no_error(pbin_commit(&w));
    return path;
}

Bench bench_new(void)
{
    Arena *a = arena_new();
    Bench b = { .arena = a,
                .root = path_join(a, path_absolute(a, test_folder()), "experiments"),
                .pbin = write_tokens(a, "tokens.pbin", 3000) };
    assert_no_error(make_directories(b.root));
    return b;
}

Bench bench_with_short_evaluations(void)
{
    const Bench b = bench_new();
    setenv("EVAL_PBIN", write_tokens(b.arena, "evaluation.pbin", 400), 1);
    return b;
}

Words mpirun_words(Arena *a, int n, Words flags, Words words)
{
    const char **word = NEW_N(a, const char *, MAX_WORDS),
               *start[] = { "mpirun", "--oversubscribe", "-n", arena_printf(a, "%d", n) };
    int k = 0;
    for (int i = 0; i < 4; i++) word[k++] = start[i];
    for (int i = 0; flags && flags[i]; i++) word[k++] = flags[i];
    word[k++] = program_path();
    for (int i = 0; words[i]; i++) word[k++] = words[i];
    assert_true(k < MAX_WORDS);
    return word;
}

static const char *in_experiment(const Bench *b, const char *id, const char *name)
{
    return arena_printf(b->arena, "%s/%s/%s", b->root, id, name);
}

static const char *info_path(const Bench *b, const char *id)
{
    return in_experiment(b, id, "checkpoints/last_checkpoint_info.json");
}

Words bench_words(const Bench *b, const char *id, const char *from, Words more)
{
    const char **word = NEW_N(b->arena, const char *, MAX_WORDS);
    int n = 0;
    word[n++] = from ? "warmstart" : "run";
    word[n++] = "--config_file_path";
    word[n++] = from ? "tests/end_to_end/warmstart.yaml" : "tests/end_to_end/train.yaml";
    word[n++] = "--experiments_root_path";
    word[n++] = b->root;
    word[n++] = "--experiment_id";
    word[n++] = id;
    if (from) word[n++] = "--last_checkpoint_info_file_path";
    if (from) word[n++] = info_path(b, from);
    for (int i = 0; more && more[i]; i++) word[n++] = more[i];
    assert_true(n < MAX_WORDS);
    assert_int_equal(setenv("TRAIN_PBIN", b->pbin, 1), 0);
    return word;
}

Outcome bench_run(const Bench *b, const char *id, const char *from, Words more, Words variables)
{
    return command_output(b->arena, bench_words(b, id, from, more), variables);
}

void assert_ended_well(Outcome o)
{
    if (o.status) fail_msg("ended with %d: %s", o.status, o.text);
}

void assert_refused(Outcome o, int status, const char *says)
{
    if (o.status != status || !strstr(o.text, says))
        fail_msg("status %d instead of %d, or not \"%s\": %s", o.status, status, says, o.text);
    assert_null(strstr(o.text, "internal error"));
}

bool bench_has_checkpoint(const Bench *b, const char *id)
{
    return file_exists(info_path(b, id));
}

const char *bench_last_checkpoint(const Bench *b, const char *id, int64_t *steps)
{
    Yaml *info;
    assert_no_error(yaml_read_json(b->arena, info_path(b, id), &info));
    assert_non_null(yaml_get(info, "checkpoint_folder_path"));
    const char *folder = yaml_get(info, "checkpoint_folder_path")->text;
    if (steps) assert_no_error(checkpoint_path_number(folder, "seen_steps_", steps));
    return folder;
}

void assert_same_state(const Bench *b, const char *id, const char *other)
{
    const char *const both[] = { id, other };
    Str file[2];
    int64_t steps[2];
    for (int i = 0; i < 2; i++) {
        const char *folder = bench_last_checkpoint(b, both[i], &steps[i]);
        assert_no_error(file_read(b->arena, path_join(b->arena, folder, "__0_0.distcp"), &file[i]));
    }
    assert_int_equal(steps[0], steps[1]);
    assert_int_equal(file[0].len, file[1].len);
    for (size_t i = 0; i < file[0].len; i++)
        if (file[0].ptr[i] != file[1].ptr[i])
            fail_msg("after %lld steps %s and %s differ from byte %zu of %zu on",
                     (long long)steps[0], id, other, i, file[0].len);
}

void assert_same_checkpoint(const Bench *b, const char *id, const char *other)
{
    const char *const words[] = { "checkpoint", "diff", bench_last_checkpoint(b, id, NULL),
                                  bench_last_checkpoint(b, other, NULL), NULL };
    assert_ended_well(command_output(b->arena, words, NULL));
}

/* A line without what depends on time and memory. */
static const char *result_of(Arena *a, const char *line, size_t len)
{
    char *text = arena_string_n(a, line, len), *end = strstr(text, ", \"throughput_metrics\"");
    assert_non_null(end);
    *end = 0;
    return text;
}

void assert_curve_within(const Bench *b, const char *part, const char *whole)
{
    Str file[2];
    assert_no_error(
        file_read(b->arena, in_experiment(b, part, "evaluation_results.jsonl"), &file[0]));
    assert_no_error(
        file_read(b->arena, in_experiment(b, whole, "evaluation_results.jsonl"), &file[1]));
    assert_true(file[0].len > 0);
    for (const char *line = file[0].ptr; *line;) {
        size_t len = strcspn(line, "\n");
        const char *result = result_of(b->arena, line, len);
        if (!strstr(file[1].ptr, result)) fail_msg("%s is not in %s", result, whole);
        line += len + 1;
    }
}

enum { MOST_RESULTS = 256 };

static int read_results(const Bench *b, const char *id, const char *name, double *x)
{
    Str text;
    const char *path = in_experiment(b, id, "evaluation_results.jsonl");
    const char *key = arena_printf(b->arena, "\"%s\": ", name);
    int n = 0;
    assert_no_error(file_read(b->arena, path, &text));
    for (const char *at = text.ptr; (at = strstr(at, key)); at++) {
        assert_true(n < MOST_RESULTS);
        x[n++] = atof(at + strlen(key));
    }
    assert_true(n > 0);
    return n;
}

static void assert_near(double x, double y, const char *name, double most)
{
    if (!(fabs(x - y) <= most * fabs(y))) fail_msg("%s: %.9g and %.9g", name, x, y);
}

void assert_results_near(const Bench *b, const char *id, const char *other, const char *name,
                         double most)
{
    double x[MOST_RESULTS], y[MOST_RESULTS];
    const int n = read_results(b, id, name, x);
    assert_int_equal(n, read_results(b, other, name, y));
    for (int i = 0; i < n; i++) assert_near(x[i], y[i], name, most);
}

void assert_last_result_near(const Bench *b, const char *id, const char *other, const char *name,
                             double most)
{
    double x[MOST_RESULTS], y[MOST_RESULTS];
    const int n = read_results(b, id, name, x), m = read_results(b, other, name, y);
    assert_near(x[n - 1], y[m - 1], name, most);
}

void assert_learnt_alike(const Bench *b, const char *id, const char *other)
{
    assert_results_near(b, id, other, "train loss avg", 1e-5);
    assert_results_near(b, id, other, "grad norm avg", 1e-4);
    assert_results_near(b, id, other, "consumed tokens", 0);
    assert_results_near(b, id, other, "CLMCrossEntropyLoss", 1e-5);
}

void assert_goes_on_as(const Bench *b, const char *half, const char *whole)
{
    const char *const words[] = { "resume", arena_printf(b->arena, "%s/%s", b->root, half), "--set",
                                  "settings.training_target.num_target_steps=8", NULL };
    assert_ended_well(command_output(b->arena, words, NULL));
    assert_same_state(b, half, whole);
    assert_curve_within(b, half, whole);
}

void assert_resumes(Words variant)
{
    assert_resumes_as(variant, variant);
}

void bench_resume_in_the_middle(const Bench *bench, Words before, Words after)
{
    const Bench b = *bench;
    assert_ended_well(bench_run(&b, "whole", NULL, before, NULL));
    const char *first = arena_printf(b.arena,
                                     "%s/whole/checkpoints/eid_whole-seen_steps_4-"
                                     "seen_tokens_256-target_steps_8-target_tokens_512",
                                     b.root);
    assert_true(is_directory(first));
    const char *info = arena_printf(b.arena, "{\"checkpoint_folder_path\": \"%s\"}", first);
    const char *folder = path_join(b.arena, b.root, "middle/checkpoints");
    assert_no_error(make_directories(folder));
    assert_no_error(
        file_write(path_join(b.arena, folder, "last_checkpoint_info.json"), info, strlen(info)));
    Outcome o = bench_run(&b, "resumed", "middle", after, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "step: 5 |");
    assert_curve_within(&b, "resumed", "whole");
}

void assert_resumes_as(Words before, Words after)
{
    Bench b = bench_new();
    bench_resume_in_the_middle(&b, before, after);
    assert_same_state(&b, "resumed", "whole");
    arena_free(b.arena);
}
