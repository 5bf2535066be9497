/* test_config_check.c - what a run refuses before its first step is refused by `config check`, too,
 * in the same words and without a trace. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

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
        { "settings.training_target.num_target_steps=1000",
          "train.yaml:3:3: settings: the training dataset has" },
        { "train_dataloader.config.batch_sampler.config.batch_size=3", "hold 3 samples, but" },
        { "model_raw.config.vocab_size=8", "the model's vocabulary allows 0 to 7" },
        { "model_raw.config.sample_key=y", "no ids named y, which is the model's sample_key" },
        { "settings.paths.train_dataset_path=Makefile", "not a .pbin file?" },
        { "model_raw.config.sequence_length=8", "training program: a sequence of 16 tokens is "
                                                "longer than the model's sequence_length 8" },
        { "profiler={component_key: steppable_profiler, variant_key: memory_tracing, config: "
          "{num_wait_steps: 10, num_warmup_steps: 6, num_active_steps: 1, "
          "memory_snapshot_folder_path: /nowhere}}",
          "the profiler needs 17 microbatches, but only 16 are left" },
        { "evaluation_subscriber.config.output_file_path=tests/end_to_end/train.yaml",
          "--config_file_path" },
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

/* A warm start from experiment x as `config check` sees it, with settings; NULL: none. */
static Outcome check_warm(const Bench *b, const char *info, const char *more, const char *further)
{
    const char *const words[] = { "config",
                                  "check",
                                  "--config_file_path",
                                  "tests/end_to_end/warmstart.yaml",
                                  "--experiments_root_path",
                                  b->root,
                                  "--last_checkpoint_info_file_path",
                                  info,
                                  "--set",
                                  more ? more : "settings.experiment_id=y",
                                  further,
                                  NULL };
    return command_output(b->arena, words, NULL);
}

TEST(a_warm_start_s_checkpoint_is_held_against_the_model_by_config_check)
{
    static const struct {
        const char *set, *says;
    } row[] = {
        { "model_raw.config.n_layer=3", "transformer.h.2.attn.q_attn.weight: not in the" },
        { "model_raw.config.n_layer=1", "transformer.h.1.attn.q_attn.weight: only in the" },
        { "model_raw.config.ffn_hidden=128", "does not fit" },
    };
    Bench b = bench_new();
    assert_int_equal(setenv("TRAIN_PBIN", b.pbin, 1), 0);
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    const char *half = path_join(b.arena, b.root,
                                 "x/checkpoints/eid_x-seen_steps_4-seen_tokens_256-target_steps_8-"
                                 "target_tokens_512");
    const char *info = path_join(b.arena, b.root, "info.json"),
               *says = arena_printf(b.arena, "{\"checkpoint_folder_path\": \"%s\"}", half);
    assert_no_error(file_write(info, says, strlen(says)));
    assert_ended_well(check_warm(&b, info, NULL, NULL));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_refused(check_warm(&b, info, row[i].set, NULL), 1, row[i].says);
    assert_refused(
        check_warm(
            &b, info, "settings.training_progress.global_num_seen_tokens=128",
            "--set=settings.consistency_enforcement.enforce_tokens_per_step_consistency=false"),
        1, "training_progress.global_num_seen_tokens is 128");
    assert_no_error(remove_tree(half));
    Outcome absent = check_warm(&b, info, NULL, NULL);
    assert_ended_well(absent);
    assert_contains(absent.text, "there is no such checkpoint; not there yet");
    assert_refused(check_warm(&b, info, NULL, "--strict"), 1, "there is no such checkpoint");
    arena_free(b.arena);
}

TEST(too_little_memory_is_a_warning_of_config_check)
{
    Bench b = bench_new();
    assert_int_equal(setenv("MODALITIES_MEMORY_LIMIT", "100000", 1), 0);
    Outcome o = check(&b, NULL);
    assert_int_equal(unsetenv("MODALITIES_MEMORY_LIMIT"), 0);
    assert_ended_well(o);
    assert_contains(o.text, "but only 100 kB of memory are free here; not there yet");
    /* two ranks may be on two machines */
    assert_int_equal(setenv("MODALITIES_MEMORY_LIMIT", "100000", 1), 0);
    assert_int_equal(setenv("WORLD_SIZE", "2", 1), 0);
    o = check(&b, NULL);
    assert_int_equal(unsetenv("MODALITIES_MEMORY_LIMIT") | unsetenv("WORLD_SIZE"), 0);
    assert_ended_well(o);
    assert_null(strstr(o.text, "memory are free"));
    arena_free(b.arena);
}

TEST(a_file_that_is_not_small_is_checked_without_memory_for_it)
{
    Bench b = bench_new();
    Outcome o = check(&b, "model_raw.config.vocab_size=1000000000");
    assert_ended_well(o);
    arena_free(b.arena);
}
