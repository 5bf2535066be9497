/* test_refused_values.c - values that were once taken for others: a negative number of threads, a
 * temperature that is no number, tokens whose index lies beyond them. */
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include "train/forced_model.h"
#include <stdlib.h>

TEST(a_number_of_threads_below_one_is_refused)
{
    static const char *const values[] = { "-1", "0", "513", "many" };
    Arena *a = arena_new();
    const Bench b = bench_new();
    const char *said, *verify = arena_printf(a, "data verify %s", b.pbin);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(setenv("MODALITIES_THREADS", values[i], 1), 0);
        assert_int_equal(command_line_run(a, verify, &said), 2);
        assert_contains(said, arena_printf(a,
                                           "the environment variable MODALITIES_THREADS is "
                                           "\"%s\"; allowed: an integer, 1 to 512",
                                           values[i]));
    }
    assert_int_equal(unsetenv("MODALITIES_THREADS"), 0);
    arena_free(b.arena);
    arena_free(a);
}

TEST(a_temperature_is_a_number_from_zero_on)
{
    static const char *const values[] = { "nan", "-1", "-0.5", "inf" };
    Arena *a = arena_new();
    const ForcedModel m = forced_model_write(a, "ab", "{x}");
    const char *said,
        *generate = arena_printf(a, "generate_text --config_file_path %s --prompt a", m.config);
    assert_int_equal(command_line_run(a, generate, &said), 0);
    for (int i = 0; i < 4; i++) {
        const char *ways[] = {
            arena_printf(a, "%s --temperature=%s", generate, values[i]),
            arena_printf(a, "%s --set text_inference_component.config.temperature=%s", generate,
                         values[i]),
        };
        for (int k = 0; k < 2; k++) {
            if (command_line_run(a, ways[k], &said) != 2) fail_msg("%s: %s", ways[k], said);
            assert_contains(said, "temperature");
            assert_contains(said, "allowed: a number, at least 0");
        }
    }
    arena_free(a);
}

/* One document, of which the index says that it has 400 bytes; there are 4. */
TEST(tokens_whose_index_lies_beyond_them_are_refused_by_all_who_read_them)
{
    static const char file[] = "\4\0\0\0\0\0\0\0\2\0\0\0\1\0\2\0\200\4]\224(K\0M\220\1\206\224e.";
    const Bench b = bench_new();
    Arena *a = b.arena;
    const char *said, *path = path_join(a, b.root, "bad.pbin");
    assert_no_error(make_directories(b.root));
    assert_no_error(file_write(path, file, sizeof file - 1));
    assert_int_equal(setenv("TRAIN_PBIN", b.pbin, 1), 0);
    const char *lines[] = {
        arena_printf(a, "data verify %s", path),
        arena_printf(a, "data bigram_loss %s %s", path, b.pbin),
        arena_printf(a, "data bigram_loss %s %s", b.pbin, path),
        arena_printf(a,
                     "run --config_file_path tests/end_to_end/train.yaml --experiments_root_path "
                     "%s --set settings.paths.train_dataset_path=%s",
                     b.root, path),
    };
    for (int i = 0; i < 4; i++) {
        if (command_line_run(a, lines[i], &said) != 1) fail_msg("%s: %s", lines[i], said);
        assert_contains(said, "bad.pbin: document 0 of the index is at bytes 0 to 400 of the data");
    }
    arena_free(a);
}
