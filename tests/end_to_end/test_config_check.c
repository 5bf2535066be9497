/* test_config_check.c - what a run refuses before its first step is refused by `config check`, too,
 * in the same words and without a trace. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <stdlib.h>

static Outcome check(const Bench *b, const char *more)
{
    const char *const words[] = { "config",
                                  "check",
                                  "--config_file_path",
                                  "tests/end_to_end/train.yaml",
                                  "--experiments_root_path",
                                  b->root,
                                  "--experiment_id",
                                  "x",
                                  more ? "--set" : NULL,
                                  more,
                                  NULL };
    assert_int_equal(setenv("TRAIN_PBIN", b->pbin, 1), 0);
    return command_output(b->arena, words, NULL);
}

TEST(what_a_run_refuses_before_its_first_step_is_refused_by_config_check)
{
    static const struct {
        const char *set, *says;
    } row[] = {
        { "settings.cuda_env.world_size=2", "world_size: 2, but this run has one rank" },
        { "loss_fn.config.prediction_key=x", "there is no \"x\"; the model's prediction_key is" },
        { "settings.step_profile.dp_degree=2", "dp_degree: 2, but this run has one rank" },
        { "lr_scheduler.config.total_steps=5",
          "has total_steps 5, but training goes on to step 8" },
        { "settings.training_target.num_target_steps=1000", "the training dataset has" },
        { "train_dataloader.config.batch_sampler.config.batch_size=3", "hold 3 samples, but" },
        { "model_raw.config.vocab_size=8", "the model's vocabulary allows 0 to 7" },
        { "model_raw.config.sample_key=y", "no ids named y, which is the model's sample_key" },
        { "settings.paths.train_dataset_path=Makefile", "not a .pbin file?" },
    };
    Bench b = bench_new();
    Outcome sound = check(&b, NULL);
    assert_ended_well(sound);
    assert_contains(sound.text, "no mistake found\n");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_refused(check(&b, row[i].set), 1, row[i].says);
        const char *const more[] = { "--set", row[i].set, NULL };
        assert_refused(bench_run(&b, "y", NULL, more, NULL), 1, row[i].says);
    }
    assert_false(file_exists(path_join(b.arena, b.root, "x")));
    assert_false(file_exists(path_join(b.arena, b.root, "y")));
    arena_free(b.arena);
}
