/* test_adding.c - an op, a pass, a rule of splitting, an optimizer, a model and a pipeline schedule
 * that are each a file of tests/adding and a line in a list train together, and find their place
 * everywhere else by themselves. */
#include "config/field_rows.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
    "--set",
    "initialized_model={component_key: model, variant_key: bigram, config: {sample_key: input_ids, "
    "prediction_key: logits, sequence_length: 64, vocab_size: 64, n_embd: 16, cap: 4.0}}",
    "--set",
    "optimizer={component_key: optimizer, variant_key: lion, config: {lr: 1e-3, wrapped_model: "
    "{instance_key: initialized_model, pass_type: BY_REFERENCE}}}",
    NULL,
};

static void use_added_program(void)
{
    const char *path = getenv("MODALITIES_PROGRAM");
    const char *folder = path ? path : "build/modalities";
    Arena *a = arena_new();
    setenv("MODALITIES_PROGRAM",
           arena_printf(a, "%.*s/tests/adding/modalities", (int)(strrchr(folder, '/') - folder),
                        folder),
           1);
    arena_free(a);
}

static int lines_of(Arena *a, const char *name)
{
    Str text;
    assert_no_error(file_read(a, arena_printf(a, "tests/adding/%s", name), &text));
    int n = 0;
    for (size_t i = 0; i < text.len; i++) n += text.ptr[i] == '\n';
    return n;
}

TEST(added_files_have_the_lines_that_the_page_tells)
{
    Arena *a = arena_new();
    Str page;
    assert_no_error(file_read(a, "docs/adding.md", &page));
    const char *op = arena_printf(a, "soft_cap.h for its users | %d + %d |",
                                  lines_of(a, "ops/soft_cap.c"), lines_of(a, "ops/soft_cap.h"));
    assert_contains(page.ptr, op);
    static const char *const names[] = { "ops/soft_cap_fast.c", "passes/drop_scale.c",
                                         "optim/lion.c", "models/bigram.c",
                                         "exec/one_at_a_time.c" };
    for (int i = 0; i < 5; i++)
        assert_contains(page.ptr, arena_printf(a, "| %s | %d |", strchr(names[i], '/') + 1,
                                               lines_of(a, names[i])));
    arena_free(a);
}

TEST(added_op_pass_optimizer_and_model_train_and_resume)
{
    use_added_program();
    assert_resumes(words);
}

TEST(added_pass_runs_at_its_place_and_the_op_has_its_gradient)
{
    use_added_program();
    Bench b = bench_new();
    const char **more = NEW_N(b.arena, const char *, 16);
    int n = 0;
    for (; words[n]; n++) more[n] = words[n];
    more[n++] = "--print_graph";
    more[n++] = "before:drop_scale";
    Outcome before = bench_run(&b, "before", NULL, more, NULL);
    more[n - 1] = "after:autodiff";
    Outcome after = bench_run(&b, "after", NULL, more, NULL);
    assert_contains(before.text, "= scale(");
    assert_null(strstr(after.text, "= scale("));
    assert_contains(after.text, "= soft_cap_grad(");
    arena_free(b.arena);
}

/* The rows of the model's table are named by nothing else. */
TEST(added_rule_splits_the_dimension_that_it_names)
{
    static const char *const plan[] = {
        "plan",
        "--ranks",
        "2",
        "--config_file_path",
        "tests/end_to_end/train.yaml",
        "--set",
        "device_mesh.config.tensor_parallel_degree=2",
        "--set",
        "initialized_model={component_key: model, variant_key: parallelized, config: {device_mesh: "
        "{instance_key: device_mesh, pass_type: BY_REFERENCE}, model: {component_key: model, "
        "variant_key: bigram, config: {sample_key: input_ids, prediction_key: logits, "
        "sequence_length: 16, vocab_size: 64, n_embd: 16, cap: 4.0}}}}",
        "--set",
        "optimizer.config.weight_decay_groups_excluded=[]",
        "--print_graph",
        "after:shard",
        NULL
    };
    use_added_program();
    Arena *a = arena_new();
    assert_int_equal(setenv("TRAIN_PBIN", "not_there.pbin", 1), 0);
    Outcome o = command_output(a, plan, NULL);
    if (o.status) fail_msg("status %d: %s", o.status, o.text);
    assert_contains(o.text, "param wte.weight[64/6 16]");
    assert_contains(o.text, "= reduce_scatter(");
    arena_free(a);
}

TEST(added_schedule_is_drawn_with_its_bubble)
{
    use_added_program();
    Arena *a = arena_new();
    FieldBlocks blocks = field_blocks_read(a, "tests/config/fields/pipeline.txt");
    const char **word = NEW_N(a, const char *, 64);
    int n = 0;
    word[n++] = "config";
    word[n++] = "check";
    word[n++] = "--config_file_path";
    word[n++] = "tests/end_to_end/train.yaml";
    word[n++] = "--print_schedule";
    for (int64_t i = 0; i < blocks.item[0].set.n; i++) {
        word[n++] = "--set";
        word[n++] = blocks.item[0].set.item[i];
    }
    for (int i = 0; i < 2; i++) {
        word[n++] = "--set";
        word[n++] = arena_printf(a, "%s.config.pp_schedule_name=oneatatime",
                                 i ? "staged_pipeline" : "scheduled_pipeline");
    }
    assert_int_equal(setenv("WORLD_SIZE", "2", 1), 0);
    assert_int_equal(setenv("TRAIN_PBIN", "not_there.pbin", 1), 0);
    Outcome o = command_output(a, word, NULL);
    assert_int_equal(o.status, 0);
    assert_contains(o.text, "OneAtATime: 2 stages on 2 ranks, 4 microbatches; bubble 50.0 %\n");
    arena_free(a);
}
