/* test_mix.c - a training on a mix whose weights change on the way: killed, or given the change
 * only when it goes on, it has the same bits as one that was not stopped and knew the change
 * before. */
#include "data/packed_file.h"
#include "end_to_end/training.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* 32 samples in 8 steps; the weights change after step 4, where a checkpoint lies. */
#define CHANGE "{at_sample: 16, weights: [1, 3]}"

static Words words(const Bench *b, const char *changes)
{
    Arena *a = b->arena;
    static const int64_t length[] = { 61 };
    static const char one[] =
        "{component_key: dataset, variant_key: packed_mem_map_dataset_continuous, config: "
        "{raw_data_path: %s, sequence_length: 16, sample_key: input_ids}}";
    const char *other = packed_file(a, "other.pbin", 2, 1, length, 1);
    const char *text = arena_printf(
        a,
        "train_dataset={component_key: dataset, variant_key: weighted_mix, config: {datasets: [%s, "
        "%s], weights: [3, 1], changes: [%s], num_samples: 32, shuffle: true, seed: 3}}",
        arena_printf(a, one, b->pbin), arena_printf(a, one, other), changes);
    const char **list = NEW_N(a, const char *, 7);
    list[0] = list[2] = list[4] = "--set";
    list[1] = text;
    list[3] = "train_dataloader.config.batch_sampler.config.sampler.config.shuffle=false";
    list[5] = "settings.intervals.checkpointing_interval_in_steps=4";
    return list;
}

TEST(mixed_training_that_is_killed_goes_on_with_the_same_bits)
{
    Bench b = bench_new();
    Words w = words(&b, CHANGE);
    assert_ended_well(bench_run(&b, "whole", NULL, w, NULL));
    pid_t child = command_start(b.arena, bench_words(&b, "killed", NULL, w), NULL, NULL);
    while (!bench_has_checkpoint(&b, "killed")) usleep(500);
    kill(child, SIGKILL);
    command_wait(b.arena, child, NULL);
    int64_t steps;
    bench_last_checkpoint(&b, "killed", &steps);
    if (steps == 4) {
        assert_ended_well(bench_run(&b, "on", "killed", w, NULL));
        assert_same_state(&b, "on", "whole");
        assert_curve_within(&b, "on", "whole");
    } else { /* it was faster */
        assert_same_state(&b, "killed", "whole");
    }
    arena_free(b.arena);
}

/* Leaves the run's checkpoint of step 4 as its last one. */
static void forget_the_end(const Bench *b, const char *id)
{
    int64_t steps;
    const char *folder = path_join(b->arena, b->root, arena_printf(b->arena, "%s/checkpoints", id));
    const char *last = bench_last_checkpoint(b, id, &steps);
    assert_int_equal(steps, 8);
    assert_no_error(remove_tree(last));
    const char *info = arena_printf(b->arena,
                                    "{\"checkpoint_folder_path\": \"%s/eid_%s-seen_steps_4-"
                                    "seen_tokens_256-target_steps_8-target_tokens_512\"}",
                                    folder, id);
    assert_no_error(
        file_write(path_join(b->arena, folder, "last_checkpoint_info.json"), info, strlen(info)));
}

TEST(mixed_training_takes_other_weights_when_it_goes_on)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "whole", NULL, words(&b, CHANGE), NULL));
    assert_ended_well(bench_run(&b, "first", NULL, words(&b, ""), NULL));
    forget_the_end(&b, "first");
    assert_ended_well(bench_run(&b, "changed", "first", words(&b, CHANGE), NULL));
    assert_same_state(&b, "changed", "whole");
    assert_curve_within(&b, "changed", "whole");
    arena_free(b.arena);
}
