/* test_algorithms_on_gpus.c - products of a run are made by the algorithms that it began with, also
 * where the library would choose others when it goes on. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

static const char *const four[] = { "--set", "settings.training_target.num_target_steps=4",
                                    "--set", "model_raw.config.dropout=0",
                                    "--set", "lr_scheduler.config.total_steps=8",
                                    NULL };
static const char *const eight[] = { "--set", "model_raw.config.dropout=0", NULL };

static const char *record_of(const Bench *b, const char *id)
{
    Str text;
    assert_no_error(file_read(
        b->arena, arena_printf(b->arena, "%s/%s/gpu_algorithms.txt", b->root, id), &text));
    assert_true(text.len > 0);
    return arena_string_n(b->arena, text.ptr, text.len);
}

/* The last bytes of such a file may be missing, as those of a run that was killed. */
TEST(a_training_that_goes_on_uses_the_algorithms_of_its_record)
{
    Bench b = bench_new();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    setenv("MODALITIES_MOCK_ALGORITHM", "1", 1);
    assert_ended_well(bench_run(&b, "whole", NULL, eight, NULL));
    assert_ended_well(bench_run(&b, "half", NULL, four, NULL));
    const char *kept = record_of(&b, "half");
    assert_contains(kept, "cuBLASLt ");
    assert_contains(kept, "mock of a GPU: ");
    setenv("MODALITIES_MOCK_ALGORITHM", "2", 1);
    assert_ended_well(bench_run(&b, "other", NULL, eight, NULL));
    assert_null(strstr(record_of(&b, "other"), "\t0101"));
    assert_goes_on_as(&b, "half", "whole");
    assert_string_equal(record_of(&b, "half"), kept);
    const Outcome o = command_output(
        b.arena,
        (const char *[]){ "checkpoint", "diff", bench_last_checkpoint(&b, "whole", NULL),
                          bench_last_checkpoint(&b, "other", NULL), NULL },
        NULL);
    assert_true(strlen(o.text) > 0); /* the other algorithms show */
    arena_free(b.arena);
}
