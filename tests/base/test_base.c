/* test_base.c - arena, text, numbers, map, files, threads and random numbers. */
#include "base/cpu.h"
#include "base/map.h"
#include "base/rng_normal.h"
#include "base/thread.h"
#include "test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(an_arena_gives_zeroed_aligned_memory)
{
    Arena *a = arena_new();
    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        char *p = arena_alloc(a, size);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(p[i], 0);
        memset(p, 1, size);
    }
    arena_free(a);
}

static void count_release(void *n)
{
    ++*(int *)n;
}

TEST(a_cleared_arena_releases_and_starts_again)
{
    Arena *a = arena_new();
    int n_released = 0;
    for (int round = 0; round < 3; round++) {
        char *p = arena_alloc(a, 100);
        for (int i = 0; i < 100; i++) assert_int_equal(p[i], 0);
        memset(p, 1, 100);
        arena_alloc(a, 1 << 20);
        arena_on_free(a, count_release, &n_released);
        arena_clear(a);
        assert_int_equal(n_released, round + 1);
    }
    arena_free(a);
    assert_int_equal(n_released, 3);
}

TEST(a_temporary_file_has_no_name_and_keeps_bytes)
{
    Arena *a = arena_new();
    FILE *f;
    assert_no_error(file_temporary(path_join(a, test_folder(), "beside"), &f));
    assert_int_equal(fwrite("bytes", 1, 5, f), 5);
    rewind(f);
    char back[8] = { 0 };
    assert_int_equal(fread(back, 1, 8, f), 5);
    assert_string_equal(back, "bytes");
    fclose(f);
    assert_int_equal(rmdir(test_folder()), 0); /* it was empty */
    assert_error_has(file_temporary("/nowhere/at/all", &f), "/nowhere/at/all");
    arena_free(a);
}

TEST(errors_collect_context_and_lines)
{
    Error *e = error_wrap(error_new("bad value %d", 7), "line %d", 3);
    e = error_join(e, error_usage("second"));
    assert_string_equal(error_text(e), "line 3: bad value 7\nsecond");
    assert_int_equal(error_exit_status(e), 1);
    error_free(e);
    assert_null(error_wrap(NULL, "context"));
}

TEST(doubles_print_as_python_prints_them)
{
    const struct {
        double x;
        const char *text;
    } row[] = {
        { 0.1, "0.1" },
        { 1e-5, "1e-05" },
        { 0.0001, "0.0001" },
        { 16384, "16384.0" },
        { 1e16, "1e+16" },
        { 123456789012345680.0, "1.2345678901234568e+17" },
        { 1e15, "1000000000000000.0" },
        { -2.5, "-2.5" },
        { 0.10000000149011612, "0.10000000149011612" },
        { 0, "0.0" },
        { -0.0, "-0.0" },
        { NAN, "nan" },
        { -INFINITY, "-inf" },
        { 5e-324, "5e-324" },
        { 11.640625, "11.640625" },
        { 1e22, "1e+22" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[32];
        format_double(row[i].x, text);
        assert_string_equal(text, row[i].text);
    }
}

TEST(patterns_match_whole_texts)
{
    assert_true(str_ends(str_of("a.bin"), ".bin") && str_ends(str_of(".bin"), ".bin"));
    assert_false(str_ends(str_of("bin"), ".bin") || str_ends(str_of("a.bin.gz"), ".bin"));
    assert_true(text_matches("gpt2_*_tied", "gpt2_strict_gelu_absolute_tied"));
    assert_false(text_matches("gpt2_*_tied", "gpt2_strict_tied_x"));
    assert_true(text_matches("*", ""));
    assert_false(text_matches("a?", "a"));
}

TEST(the_nearest_name_is_found)
{
    const char *const names[] = { "n_layer", "n_head", "dropout", NULL };
    assert_string_equal(nearest_name("n_laeyr", names), "n_layer");
    assert_null(nearest_name("completely_else", names));
}

TEST(names_are_near_by_their_words)
{
    const char *const names[] = { "adam", "adam_w", "attention_config", "attention_norm_config",
                                  NULL };
    assert_string_equal(nearest_name("adamw", names), "adam_w");
    assert_string_equal(nearest_name("AdamW", names), "adam_w");
    assert_string_equal(nearest_name("Adam", names), "adam");
    assert_string_equal(nearest_name("attention_norm", names), "attention_norm_config");
}

TEST(a_map_keeps_the_order_of_insertion)
{
    Arena *a = arena_new();
    Map *m = map_new(a);
    for (intptr_t i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", (int)(i * 7919 % 1000));
        map_set(m, str_of(key), (void *)(i + 1));
    }
    map_set(m, str_of("k0"), (void *)5000);
    assert_int_equal(m->n, 1000);
    assert_true(str_is(m->entry[1].key, "k919"));
    assert_ptr_equal(map_get(m, str_of("k0")), (void *)5000);
    assert_null(map_get(m, str_of("none")));
    arena_free(a);
}

TEST(a_new_file_appears_only_when_committed)
{
    Arena *a = arena_new();
    char *path = path_join(a, test_folder(), "x/y.txt");
    assert_no_error(make_directories(path_folder(a, path)));
    NewFile f;
    assert_no_error(file_create(path, &f));
    fputs("hello", f.stream);
    assert_false(file_exists(path));
    file_abandon(&f);
    assert_false(file_exists(path));
    assert_no_error(file_write(path, "hello", 5));
    Str s;
    assert_no_error(file_read(a, path, &s));
    assert_true(str_is(s, "hello"));
    assert_error_has(file_read(a, "/nonexistent/file", &s), "/nonexistent/file");
    arena_free(a);
}

TEST(suffixes_are_replaced_as_pathlib_does)
{
    Arena *a = arena_new();
    assert_string_equal(path_with_suffix(a, "d/a.b.jsonl", ".idx"), "d/a.b.idx");
    assert_string_equal(path_with_suffix(a, "d.x/.hidden", ".idx"), "d.x/.hidden.idx");
    assert_string_equal(path_with_suffix(a, "plain", ".idx"), "plain.idx");
    arena_free(a);
}

static void add_index(void *arg, int64_t i, int thread)
{
    (void)thread;
    ((int64_t *)arg)[i] += i;
}

TEST(a_pool_runs_every_task_once)
{
    int64_t done[1000] = { 0 };
    Pool *p = pool_new(4);
    for (int round = 0; round < 200; round++) pool_run(p, 1000, add_index, done);
    for (int64_t i = 0; i < 1000; i++) assert_int_equal(done[i], 200 * i);
    pool_free(p);
}

/* torch.randperm's order of 214748372 entries was compared once; it takes seconds. Here: each entry
 * in turn goes to a random place, high half of the draw first. */
TEST(rng_large_permutations_are_built_inside_out)
{
    enum { MOST = 1000 };
    for (uint32_t n = 0; n <= MOST; n = n * 2 + 1) {
        uint32_t got[MOST + 1], expected[MOST + 1];
        Mt19937 m;
        mt19937_seed(&m, n);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t high = mt19937_next(&m), draw = high << 32 | mt19937_next(&m);
            uint32_t at = (uint32_t)(draw % (i + 1));
            expected[i] = i;
            expected[i] = expected[at];
            expected[at] = i;
        }
        torch_randperm32_wide(n, n, got);
        assert_memory_equal(got, expected, sizeof *got * n);
    }
}

TEST(random_orders_equal_torch_numpy_and_python)
{
    int64_t p[10];
    const int64_t torch_0[] = { 4, 1, 7, 5, 3, 9, 0, 8, 6, 2 },
                  torch_42[] = { 2, 6, 1, 8, 4, 5, 0, 9, 3, 7 };
    torch_randperm(0, 10, p);
    assert_memory_equal(p, torch_0, sizeof p);
    torch_randperm(42, 10, p);
    assert_memory_equal(p, torch_42, sizeof p);

    const int64_t numpy_0[] = { 4, 6, 2, 7, 3, 5, 9, 0, 8, 1 },
                  numpy_big[] = { 2, 6, 4, 7, 0, 8, 3, 5, 1, 9 };
    Pcg64 g;
    for (int64_t i = 0; i < 10; i++) p[i] = i;
    pcg64_seed(&g, 0);
    numpy_shuffle(&g, p, 10);
    assert_memory_equal(p, numpy_0, sizeof p);
    for (int64_t i = 0; i < 10; i++) p[i] = i;
    pcg64_seed(&g, 1053073905);
    numpy_shuffle(&g, p, 10);
    assert_memory_equal(p, numpy_big, sizeof p);

    const int64_t python_0[] = { 7, 8, 1, 5, 3, 4, 2, 0, 9, 6 };
    Mt19937 m;
    for (int64_t i = 0; i < 10; i++) p[i] = i;
    mt19937_seed_python(&m, 0);
    python_shuffle(&m, p, 10);
    assert_memory_equal(p, python_0, sizeof p);
}

TEST(normal_numbers_are_the_same_one_by_one_and_many_at_a_time)
{
    enum { N = 5 * RNG_NORMALS + 3, FROM = 12345 };
    RngNormals *const levels[] = {
        rng_normal_scalar,
#if defined(__x86_64__)
        rng_normal_avx2,
        rng_normal_avx512
#endif
    };
    static double x[N];
    const uint64_t key = rng_key(2, RNG_INIT, 0, 7);
    rng_normals(key, FROM, N, x);
    for (uint64_t i = 0; i < N; i++) assert_true(x[i] == rng_normal(key, FROM + i));
    const int n = (int)(sizeof levels / sizeof *levels);
    for (int level = 0; level < n && level <= (int)cpu_level_available(); level++) {
        levels[level](key, FROM, RNG_NORMALS, x);
        for (uint64_t i = 0; i < RNG_NORMALS; i++) assert_true(x[i] == rng_normal(key, FROM + i));
    }
}

TEST(normal_numbers_have_the_right_moments)
{
    double sum = 0, squares = 0, cut = 0;
    enum { N = 200000 };
    uint64_t key = rng_key(1, RNG_INIT, 0, 7);
    for (uint64_t i = 0; i < N; i++) {
        double x = rng_normal(key, i), t = rng_truncated_normal(key, i, 1, -1, 1);
        sum += x;
        squares += x * x;
        cut += t * t;
        assert_true(t >= -1 && t <= 1);
    }
    assert_close(sum / N, 0, 5 / sqrt(N));
    assert_close(squares / N, 1, 5 * sqrt(2.0 / N));
    assert_close(cut / N, 0.29112509, 0.003); /* variance of a normal cut at one sigma */
}
