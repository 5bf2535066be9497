/* test_algorithms_on_gpus.c - products of a run are made by the algorithms that it began with, also
 * where the library would choose others when it goes on, or another one starts from it. */
#include "base/file.h"
#include "device/cuda/algorithm_cache.h"
#include "end_to_end/training.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TARGET(n) "settings.training_target.num_target_steps=" n
/* Evaluations have products of their own, which a run must have seen before another goes on. */
#define SETTINGS                                                                                   \
    "--set", "model_raw.config.dropout=0", "--set", "lr_scheduler.config.total_steps=4", "--set",  \
        "settings.intervals.checkpointing_interval_in_steps=2", "--set",                           \
        "settings.intervals.evaluation_interval_in_steps=2"
static const char *const two[] = { SETTINGS, "--set", TARGET("2"), NULL };
static const char *const four[] = { SETTINGS, "--set", TARGET("4"), NULL };

static const char *record_of(const Bench *b, const char *id)
{
    Str text;
    assert_no_error(file_read(
        b->arena, arena_printf(b->arena, "%s/%s/gpu_algorithms.txt", b->root, id), &text));
    assert_true(text.len > 0);
    return arena_string_n(b->arena, text.ptr, text.len);
}

/* `resume` with up to 4 steps. */
static void go_on(const Bench *b, const char *id)
{
    const char *const words[] = { "resume", arena_printf(b->arena, "%s/%s", b->root, id), "--set",
                                  TARGET("4"), NULL };
    assert_ended_well(command_output(b->arena, words, NULL));
}

/* The quickest of those that the library puts first, and what was chosen stays. */
TEST(algorithms_are_tried_where_runs_need_not_have_the_same_bits)
{
    const char *more[] = {
        "--set", "settings.determinism=off", "--set", TARGET("2"), SETTINGS, NULL
    };
    Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    setenv("MODALITIES_MOCK_SLOW", "1", 1);
    assert_ended_well(bench_run(&b, "tried", NULL, more, NULL));
    const char *kept = record_of(&b, "tried");
    assert_null(strstr(kept, "\t0101"));
    assert_contains(kept, "\t0202");
    setenv("MODALITIES_MOCK_SLOW", "2", 1);
    go_on(&b, "tried");
    assert_string_equal(record_of(&b, "tried"), kept);
    more[1] = "settings.determinism=on";
    more[3] = TARGET("1");
    assert_ended_well(bench_run(&b, "fixed", NULL, more, NULL));
    assert_null(strstr(record_of(&b, "fixed"), "\t0202"));
    arena_free(b.arena);
}

/* The checkpoint of step 2, for a warm start from "middle". */
static const char *middle_of(const Bench *b, const char *id)
{
    const char *first = arena_printf(b->arena,
                                     "%s/%s/checkpoints/eid_%s-seen_steps_2-seen_tokens_128-"
                                     "target_steps_4-target_tokens_256",
                                     b->root, id, id);
    const char *folder = path_join(b->arena, b->root, "middle/checkpoints"),
               *info = arena_printf(b->arena, "{\"checkpoint_folder_path\": \"%s\"}", first);
    assert_no_error(make_directories(folder));
    assert_no_error(
        file_write(path_join(b->arena, folder, "last_checkpoint_info.json"), info, strlen(info)));
    return first;
}

/* The last bytes of such a file may be missing, as those of a run that was killed. */
TEST(a_training_that_goes_on_uses_the_algorithms_of_its_record)
{
    Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    setenv("MODALITIES_MOCK_ALGORITHM", "1", 1);
    assert_ended_well(bench_run(&b, "whole", NULL, four, NULL));
    assert_ended_well(bench_run(&b, "half", NULL, two, NULL));
    const char *kept = record_of(&b, "half"), *middle = middle_of(&b, "whole");
    assert_contains(kept, "cuBLASLt ");
    assert_contains(kept, "mock of a GPU: ");
    setenv("MODALITIES_MOCK_ALGORITHM", "2", 1);
    assert_ended_well(bench_run(&b, "other", NULL, two, NULL));
    assert_null(strstr(record_of(&b, "other"), "\t0101"));
    const Outcome o =
        command_output(b.arena,
                       (const char *[]){ "checkpoint", "diff", middle,
                                         bench_last_checkpoint(&b, "other", NULL), NULL },
                       NULL);
    assert_contains(o.text, ".weight"); /* the other algorithms show */
    assert_ended_well(bench_run(&b, "warm", "middle", four, NULL));
    assert_same_state(&b, "warm", "whole");
    assert_curve_within(&b, "warm", "whole");
    assert_string_equal(record_of(&b, "warm"), record_of(&b, "whole"));
    go_on(&b, "half");
    assert_same_state(&b, "half", "whole");
    assert_curve_within(&b, "half", "whole");
    assert_string_equal(record_of(&b, "half"), kept);
    arena_free(b.arena);
}

/* ---- what runs keep for those after them ---- */

static void never_tell(const char *text)
{
    fail_msg("told: %s", text);
}

static int n_told;

static void count(const char *text)
{
    assert_contains(text, "is damaged, or no file of algorithms");
    n_told++;
}

enum { SAVERS = 6, OWN = 40 };

typedef struct Saver {
    const char *path;
    int number;
} Saver;

static const char *key_of(Arena *a, int number, int i)
{
    return arena_printf(a, "product %d of saver %d", i, number);
}

/* As a rank or process would: all begin with an empty file and add products of their own. */
static void *save_own(void *arg)
{
    const Saver *s = arg;
    Arena *a = arena_new();
    AlgorithmCache *c = algorithm_cache_open(a, s->path, never_tell);
    for (int i = 0; i < OWN; i++) {
        const int data[2] = { s->number, i };
        algorithm_cache_add(c, i % 2 ? ALGORITHM_TRIED : ALGORITHM_FIRST, key_of(a, s->number, i),
                            data, sizeof data);
    }
    algorithm_cache_save(c);
    arena_free(a);
    return NULL;
}

TEST(algorithms_that_are_kept_at_once_are_all_there)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "deep/er/algorithms.txt");
    pthread_t thread[SAVERS];
    Saver saver[SAVERS];
    for (int i = 0; i < SAVERS; i++) {
        saver[i] = (Saver){ path, i };
        assert_int_equal(pthread_create(&thread[i], NULL, save_own, &saver[i]), 0);
    }
    for (int i = 0; i < SAVERS; i++) pthread_join(thread[i], NULL);
    const AlgorithmCache *c = algorithm_cache_open(a, path, never_tell);
    for (int i = 0; i < SAVERS * OWN; i++) {
        int found[2] = { -1, -1 };
        const char *key = key_of(a, i / OWN, i % OWN);
        const AlgorithmOrigin o = i % 2 ? ALGORITHM_TRIED : ALGORITHM_FIRST,
                              other = i % 2 ? ALGORITHM_FIRST : ALGORITHM_TRIED;
        assert_true(algorithm_cache_find(c, o, key, found, sizeof found));
        assert_int_equal(found[0], i / OWN);
        assert_int_equal(found[1], i % OWN);
        assert_false(algorithm_cache_find(c, other, key, found, sizeof found));
        assert_false(algorithm_cache_find(c, o, key, found, sizeof found / 2));
    }
    arena_free(a);
}

/* One that was saved first stays, so that runs that begin later agree. */
TEST(an_algorithm_that_another_process_has_kept_stays)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "algorithms.txt");
    AlgorithmCache *one = algorithm_cache_open(a, path, never_tell),
                   *other = algorithm_cache_open(a, path, never_tell);
    for (int i = 1; i <= 2; i++)
        algorithm_cache_add(i == 1 ? one : other, ALGORITHM_TRIED, "a product", &i, sizeof i);
    algorithm_cache_save(one);
    algorithm_cache_save(other);
    int found = 0;
    assert_true(algorithm_cache_find(algorithm_cache_open(a, path, never_tell), ALGORITHM_TRIED,
                                     "a product", &found, sizeof found));
    assert_int_equal(found, 1);
    arena_free(a);
}

TEST(a_damaged_file_of_algorithms_is_left_out_and_replaced)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "algorithms.txt");
    const int data = 7;
    int found = 0;
    AlgorithmCache *c = algorithm_cache_open(a, path, never_tell);
    algorithm_cache_add(c, ALGORITHM_FIRST, "a product", &data, sizeof data);
    algorithm_cache_save(c);
    Str good;
    assert_no_error(file_read(a, path, &good));
    for (int64_t at = 0; at < good.len; at += at < 40 ? 1 : 7) {
        char *bad = arena_string_n(a, good.ptr, (size_t)good.len);
        bad[at] ^= 1;
        assert_no_error(file_write_unsynced(path, bad, (size_t)good.len));
        n_told = 0;
        c = algorithm_cache_open(a, path, count);
        assert_int_equal(n_told, 1);
        assert_false(algorithm_cache_find(c, ALGORITHM_FIRST, "a product", &found, sizeof found));
        algorithm_cache_save(c);
        algorithm_cache_open(a, path, never_tell);
    }
    assert_no_error(file_write_unsynced(path, good.ptr, (size_t)good.len / 2));
    algorithm_cache_open(a, path, count);
    assert_int_equal(n_told, 2);
    arena_free(a);
}

/* Its steps, with the library putting this algorithm first, and with a cache. */
static const char *run_with(const Bench *b, const char *id, const char *algorithm,
                            const char *determinism, const char **output)
{
    const char *const more[] = {
        "--set",  arena_printf(b->arena, "settings.determinism=%s", determinism),
        "--set",  TARGET("2"),
        SETTINGS, NULL
    };
    setenv("MODALITIES_MOCK_ALGORITHM", algorithm, 1);
    const Outcome o = bench_run(b, id, NULL, more, NULL);
    assert_ended_well(o);
    *output = o.text;
    return record_of(b, id);
}

TEST(runs_on_gpus_take_over_what_earlier_ones_have_found)
{
    Bench b = bench_with_short_evaluations();
    const char *said, *folder = path_join(b.arena, b.root, "cache"),
                      *file = path_join(b.arena, folder, "gpu_algorithms.txt");
    setenv("MODALITIES_DEVICE", "cuda", 1);
    setenv("MODALITIES_CUDA_CACHE", folder, 1);
    const char *first = run_with(&b, "first", "1", "on", &said);
    assert_null(strstr(first, "\t0202"));
    assert_string_equal(run_with(&b, "second", "2", "on", &said), first);
    assert_same_state(&b, "second", "first");
    /* what was tried is for those that may try themselves */
    setenv("MODALITIES_MOCK_SLOW", "1", 1);
    const char *tried = run_with(&b, "tried", "1", "off", &said);
    assert_contains(tried, "\t0202");
    setenv("MODALITIES_MOCK_SLOW", "2", 1);
    assert_string_equal(run_with(&b, "taken", "1", "off", &said), tried);
    unsetenv("MODALITIES_MOCK_SLOW");
    assert_string_equal(run_with(&b, "third", "2", "on", &said), first);
    /* without the file the library is asked again */
    assert_no_error(file_write_unsynced(file, "something else\n", 15));
    const char *other = run_with(&b, "fourth", "2", "on", &said);
    assert_null(strstr(other, "\t0101"));
    assert_contains(said, "gpu_algorithms.txt is damaged, or no file of algorithms");
    assert_string_equal(run_with(&b, "fifth", "1", "on", &said), other);
    assert_null(strstr(said, "is damaged"));
    setenv("MODALITIES_CUDA_CACHE", "off", 1);
    assert_string_equal(run_with(&b, "sixth", "1", "on", &said), first);
    arena_free(b.arena);
}
