/* test_print_schedule.c - what --print_schedule shows of a pipeline. */
#include "config/field_rows.h"
#include "end_to_end/training.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* The training of the end-to-end tests on two ranks, as a pipeline if `blocks` is given. */
static Outcome show(Arena *a, const FieldBlocks *blocks, const char *more)
{
    const char **word = NEW_N(a, const char *, 64);
    int n = 0;
    word[n++] = "config";
    word[n++] = "check";
    word[n++] = "--config_file_path";
    word[n++] = "tests/end_to_end/train.yaml";
    word[n++] = "--print_schedule";
    for (int64_t i = 0; blocks && i < blocks->item[0].set.n; i++) {
        word[n++] = "--set";
        word[n++] = blocks->item[0].set.item[i];
    }
    if (more) word[n++] = "--set";
    if (more) word[n++] = more;
    assert_int_equal(setenv("TRAIN_PBIN", "not_there.pbin", 1), 0);
    return command_output(a, word, NULL);
}

TEST(a_schedule_is_shown_with_what_lies_on_each_stage)
{
    Arena *a = arena_new();
    FieldBlocks blocks = field_blocks_read(a, "tests/config/fields/pipeline.txt");
    assert_int_equal(setenv("WORLD_SIZE", "2", 1), 0);
    Outcome o = show(a, &blocks, NULL);
    assert_int_equal(o.status, 0);
    assert_contains(o.text, "stage 0 on rank 0: embedding, blocks 0 to 2; 49.3 % of the time\n"
                            "stage 1 on rank 1: blocks 3 to 5, head, loss; 50.7 % of the time\n"
                            "with these stages the ranks wait 20.7 % of the time; a step takes "
                            "1.26 times as long as if nobody waited\n");
    assert_contains(o.text,
                    "Interleaved1F1B: 2 stages on 2 ranks, 4 microbatches; bubble 20.0 %\n");
    assert_contains(o.text, "\nrank 0  F0 F1 .  ");
    arena_free(a);
}

TEST(without_a_pipeline_there_is_no_schedule_to_show)
{
    Arena *a = arena_new();
    Outcome o = show(a, NULL, NULL);
    assert_int_equal(o.status, 2);
    assert_contains(o.text, "--print_schedule: the configuration has no pipeline of several ranks");
    arena_free(a);
}

TEST(ranks_along_pp_without_stages_or_a_schedule_are_refused)
{
    Arena *a = arena_new();
    assert_int_equal(setenv("WORLD_SIZE", "2", 1), 0);
    Outcome o = show(a, NULL, "device_mesh.config.pipeline_parallel_degree=2");
    assert_int_equal(o.status, 1);
    assert_contains(o.text,
                    "device_mesh.config.pipeline_parallel_degree: nothing cuts the model "
                    "of app_state into stages; pipeline.staged or model.parallelized would");
    FieldBlocks blocks = field_blocks_read(a, "tests/config/fields/pipeline.txt");
    StringList *set = &blocks.item[0].set;
    set->item[set->n - 1] = "initialized_model.config.model={instance_key: model_part, "
                            "pass_type: BY_REFERENCE}"; /* instead of scheduled_pipeline */
    o = show(a, &blocks, NULL);
    assert_int_equal(o.status, 1);
    assert_contains(o.text, "the model is cut into stages, but no pipeline.scheduled");
    arena_free(a);
}

/* `plan`, and `run` without a run, show it after what the ranks take. */
TEST(a_plan_shows_the_schedule_when_asked)
{
    static const char *const programs[][2] = { { "plan", "--print_schedule" },
                                               { "run", "--print_schedule" } };
    Bench b = bench_new();
    for (int i = 0; i < 2; i++) {
        const char *const words[] = { programs[i][0],
                                      "--config_file_path",
                                      "configs/layouts/pipeline.yaml",
                                      "--experiments_root_path",
                                      b.root,
                                      "--ranks",
                                      "2",
                                      programs[i][1],
                                      "--set",
                                      "model_raw.config.n_embd=128",
                                      NULL };
        Outcome o = command_output(b.arena, words, NULL);
        assert_ended_well(o);
        assert_contains(o.text, "2 ranks: pp 2");
        assert_contains(o.text, "1F1B: 2 stages on 2 ranks, 8 microbatches; bubble 11.1 %\n");
        const char *const none[] = { programs[i][0],
                                     "--config_file_path",
                                     "configs/layouts/fsdp.yaml",
                                     "--experiments_root_path",
                                     b.root,
                                     "--ranks",
                                     "2",
                                     programs[i][1],
                                     NULL };
        assert_refused(command_output(b.arena, none, NULL), 2, "has no pipeline of several ranks");
    }
    arena_free(b.arena);
}

/* Stages of several parts, of one block, and of what stands before and after the blocks. */
TEST(a_schedule_names_what_each_stage_holds)
{
    static const struct {
        const char *per_rank, *stages;
    } all[] = {
        { "1", "stage 0 on rank 0: embedding, blocks 0 to 1;"
               "stage 1 on rank 1: blocks 2 to 3, head, loss;" },
        { "2", "stage 0 on rank 0: embedding, block 0;"
               "stage 1 on rank 1: block 1;"
               "stage 2 on rank 0: block 2;"
               "stage 3 on rank 1: block 3, head, loss;" },
        { "3", "stage 0 on rank 0: embedding;"
               "stage 1 on rank 1: block 0;"
               "stage 2 on rank 0: block 1;"
               "stage 3 on rank 1: block 2;"
               "stage 4 on rank 0: block 3;"
               "stage 5 on rank 1: head, loss;" },
    };
    Bench b = bench_new();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *const words[] = {
            "plan",
            "--config_file_path",
            "configs/layouts/pipeline.yaml",
            "--experiments_root_path",
            b.root,
            "--ranks",
            "2",
            "--print_schedule",
            "--set",
            "model_raw.config.n_layer=4",
            "--set",
            arena_printf(b.arena, "sharded_model.config.stages_per_rank=%s", all[i].per_rank),
            "--set",
            "sharded_model.config.pipeline_schedule=Interleaved1F1B",
            NULL
        };
        const Outcome o = command_output(b.arena, words, NULL);
        assert_ended_well(o);
        Text told = { 0 };
        for (const char *at = o.text; (at = strstr(at, "\nstage ")); at++)
            text_printf(&told, "%.*s;", (int)strcspn(at + 1, ";"), at + 1);
        text_add(&told, "", 1);
        assert_string_equal(told.ptr, all[i].stages);
        text_free(&told);
    }
    arena_free(b.arena);
}
