/* test_check.c - `config check`: every mistake once, and each file judged as what it is. */
#include "base/file.h"
#include "cli/command_line.h"
#include <stdlib.h>
#include <string.h>

/* The shipped configuration with the first `from` after `anchor` changed to `to`. */
static void misspell(Text *t, const char *anchor, const char *from, const char *to)
{
    const char *at = strstr(t->ptr, anchor);
    const char *place = at ? strstr(at, from) : NULL;
    if (!place) fail_msg("no \"%s\" after \"%s\"", from, anchor);
    Text changed = { 0 };
    text_add(&changed, t->ptr, (size_t)(place - t->ptr));
    text_printf(&changed, "%s%s", to, place + strlen(from));
    text_free(t);
    *t = changed;
}

static int64_t count_lines(const char *text)
{
    int64_t n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

static const char *check(Arena *a, const char *text, int status)
{
    const char *path = path_join(a, test_folder(), "x.yaml"), *output;
    assert_no_error(file_write(path, text, strlen(text)));
    const char *args = arena_printf(a, "config check --config_file_path %s", path);
    int got = command_line_run(a, args, &output);
    if (got != status) fail_msg("status %d, expected %d: %s", got, status, output);
    return output;
}

TEST(seven_slips_of_the_pen_are_seven_lines)
{
    Arena *a = arena_new();
    Str small;
    Text t = { 0 };
    assert_no_error(file_read(a, "configs/training/small.yaml", &small));
    text_add(&t, small.ptr, small.len);
    misspell(&t, "\nsettings:", "env:experiment_id}", "env:experiment_idd}");
    misspell(&t, "step_profile:", "sequence_length:", "sequence_lenght:");
    misspell(&t, "\ntrain_dataloader:", "instance_key: train_dataset",
             "instance_key: train_datset");
    misspell(&t, "\nmodel_raw:", "n_layer:", "n_layr:");
    misspell(&t, "\nloss_fn:", "loss_fn", "los_fn");
    misspell(&t, "\noptimizer:", "variant_key: adam_w", "variant_key: adamw");
    misspell(&t, "\nlr_scheduler:", "num_target_steps}", "num_target_stepz}");
    const char *output = check(a, t.ptr, 1);
    static const char *const expected[] = {
        "modalities_env has no \"experiment_idd\"; did you mean \"experiment_id\"?",
        "settings.step_profile.sequence_length: this key is required",
        "is it meant by \"sequence_lenght\" here?",
        "no top-level key \"train_datset\"; did you mean \"train_dataset\"",
        "unknown key \"n_layr\"; did you mean \"n_layer\"?",
        "is it meant by \"los_fn\" here?",
        "no variant_key \"adamw\"; did you mean \"adam_w\"?",
        "no key \"num_target_stepz\" in settings.training_target; did you mean "
        "\"num_target_steps\"",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_contains(output, expected[i]);
    if (count_lines(output) != 7) fail_msg("%s", output);
    text_free(&t);
    arena_free(a);
}

TEST(a_file_is_judged_as_what_it_is)
{
    static const char instruction[] =
        "settings: {src_path: Makefile, dst_path: o, messages_key: m, split_config: {splitting: "
        "{train: 90, val: 5, test: 5}, seed: 1}, pbin_creation_config_file_path: Makefile}\n"
        "instruction_data_transformation: {role_mapping: {a: b}}\n"
        "jinja2_chat_template: x\nchat_template_data: {}\n";
    static const char norm[] =
        "model_initialization: {component_key: model_initialization, variant_key: composed, "
        "config: {model_type: gpt2, weight_init_type: plain, mean: 0.0, std: 0.02}}\n";
    static const char packing[] =
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_sp_tokenizer, config: "
        "{tokenizer_model_file: x}}\n"
        "settings: {dst_path: o.pbin, jq_pattern: .text, eod_token: e, processing_batch_size: 1, "
        "raw_samples_queue_size: 1, processed_samples_queue_size: 1}\n";
    static const char generation[] =
        "text_inference_componet: {component_key: inference_component, variant_key: text, config: "
        "{}}\nsettings: {model_path: ., sequence_length: 8, device: abc, referencing_keys: {}}\n";
    Arena *a = arena_new();
    assert_contains(check(a, instruction, 0), "instruction, 0 components, no mistake found");
    assert_contains(check(a, norm, 0), "x.yaml: 1 component, no mistake found");
    assert_contains(check(a,
                          arena_printf(a,
                                       "%sloss_fn: {component_key: loss, variant_key: "
                                       "clm_cross_entropy_loss, config: {target_key: t, "
                                       "prediction_key: p}}\n",
                                       norm),
                          0),
                    "x.yaml: 2 components, no mistake found");
    assert_contains(check(a, packing, 1), "settings.src_path: this key is required");
    assert_contains(check(a, generation, 1), "is it meant by \"text_inference_componet\" here?");
    assert_contains(check(a, "a: 1\n", 1), "there is no component in it");
    arena_free(a);
}

TEST(a_generation_file_with_an_unknown_device_is_refused)
{
    static const char args[] = "config check --config_file_path configs/generate/small.yaml --set "
                               "settings.model_path=Makefile --set settings.device=abc --set "
                               "text_inference_component.config.device=cpu";
    Arena *a = arena_new();
    const char *output;
    assert_int_equal(command_line_run(a, args, &output), 1);
    assert_contains(output, "allowed are cpu, cuda, cuda:N");
    arena_free(a);
}

TEST(a_profiling_file_of_the_original_is_valid)
{
    Arena *a = arena_new();
    const char *path = shared_path(
        a, "data/modalities/tutorials/profiling/configs/distributed_8B_model_profiling.yaml");
    const char *output;
    int status =
        command_line_run(a, arena_printf(a, "config check --config_file_path %s", path), &output);
    if (status) fail_msg("%s", output);
    arena_free(a);
}

static const char *check_small(Arena *a, const char *more, int status)
{
    const char *output;
    const char *args =
        arena_printf(a, "config check --config_file_path configs/training/small.yaml %s", more);
    int got = command_line_run(a, args, &output);
    if (got != status) fail_msg("status %d, expected %d: %s", got, status, output);
    return output;
}

/* Files of the original keep components that no command takes any more. */
TEST(a_component_that_nothing_uses_is_not_taken_for_a_misspelt_one)
{
    Arena *a = arena_new();
    const char *const unused = "--set \"checkpoint_loading={component_key: %s, config: "
                               "{global_rank: 0, block_names: [GPT2Block], "
                               "mixed_precision_settings: FP_32, sharding_strategy: FULL_SHARD}}\"";
    const char *said =
        check_small(a, arena_printf(a, unused, "checkpoint_loading, variant_key: fsdp1"), 0);
    assert_null(strstr(said, "checkpoint_samples"));
    said = check_small(a, arena_printf(a, unused, "checkpoint_samples, variant_key: text"), 2);
    assert_non_null(strstr(said, "did you mean \"checkpoint_samples\"?"));
    arena_free(a);
}

TEST(inputs_that_are_not_there_yet_are_warnings_unless_strict)
{
    static const char set[] = "--set train_dataset.config.raw_data_path=/nowhere/x.pbin --set "
                              "validation_dataset.config.raw_data_path=/nowhere/y.pbin";
    Arena *a = arena_new();
    const char *output = check_small(a, set, 0);
    assert_contains(output, "/nowhere/x.pbin");
    assert_contains(output, "not there yet");
    assert_contains(output, "no mistake found; inputs that are not there yet: 2");
    output = check_small(a, arena_printf(a, "%s --strict", set), 1);
    assert_contains(output, "/nowhere/y.pbin");
    arena_free(a);
}

TEST(what_needs_no_absent_input_is_checked_all_the_same)
{
    Arena *a = arena_new();
    const char *output = check_small(a, "--set settings.cuda_env.world_size=2", 1);
    assert_contains(output, "settings.cuda_env.world_size: 2, but this run has one rank");
    arena_free(a);
}

TEST(a_folder_in_place_of_a_file_is_not_absent)
{
    Arena *a = arena_new();
    const char *output = check_small(a, "--set train_dataset.config.raw_data_path=/tmp", 1);
    assert_contains(output, "cannot read /tmp: it is a folder");
    arena_free(a);
}

TEST(a_mesh_of_more_ranks_tells_how_it_is_checked)
{
    static const struct {
        const char *set, *hint;
    } row[] = {
        { "--set device_mesh.config.data_parallel_shard_degree=8", "WORLD_SIZE=8" },
        { "--set device_mesh.config.data_parallel_shard_degree=-1 --set "
          "device_mesh.config.data_parallel_replicate_degree=2",
          "WORLD_SIZE=2" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *output = check_small(a, row[i].set, 1);
        assert_contains(output, arena_printf(a, "%s modalities config check ...", row[i].hint));
        assert_int_equal(setenv("WORLD_SIZE", row[i].hint + strlen("WORLD_SIZE="), 1), 0);
        check_small(a, row[i].set, 0);
        assert_int_equal(unsetenv("WORLD_SIZE"), 0);
    }
    assert_int_equal(setenv("WORLD_SIZE", "2", 1), 0);
    assert_contains(check_small(a, "--set device_mesh.config.tensor_parallel_degree=2", 1),
                    "nothing splits the model's matrices");
    assert_int_equal(unsetenv("WORLD_SIZE"), 0);
    arena_free(a);
}

/* The command line is to blame, so it is named and the status is that of a usage error. */
TEST(a_rule_over_several_settings_is_told_at_the_one_that_set_gave)
{
    Arena *a = arena_new();
    const char *said;
    const char *check = "config check --config_file_path configs/layouts/common.yaml --set "
                        "model_raw.config.n_head_q=3";
    assert_int_equal(command_line_run(a, check, &said), 2);
    assert_contains(said, "--set model_raw.config.n_head_q=3: model_raw: model.gpt2: n_head_kv 2 "
                          "does not divide n_head_q 3");
    arena_free(a);
}

/* Each configuration of a sweep is checked, and a mistake of several told once; what was made from
 * it is a single one, whatever lists it has. */
TEST(a_sweep_is_checked_as_all_its_configurations)
{
    static const char head[] = "sweep: {dims: [[4, 2], [4, 3]], lr: [1e-3, 2e-3], seed: [1, 2]}\n"
                               "cut:\n  component_key: number_conversion\n"
                               "  variant_key: local_num_batches_from_num_samples\n  config:\n"
                               "    num_ranks: ${sweep.seed}\n    global_num_samples: 100\n";
    Arena *a = arena_new();
    const char *right = arena_printf(a, "%s    local_micro_batch_size: 3\n", head);
    assert_contains(check(a, right, 0), "x.yaml: a sweep of 8 configurations: 1 component, no");
    const char *wrong = arena_printf(a, "%s    local_micro_batch_size: ${sweep.lr}\n", head);
    const char *said = check(a, wrong, 1);
    assert_contains(said, "x.yaml: 4 of the 8 configurations of this sweep, the first with "
                          "dims=[4, 2] lr=1e-3 seed=1:\n");
    assert_contains(said, "the first with dims=[4, 2] lr=2e-3 seed=1:\n");
    assert_int_equal(count_lines(said), 4);
    const char *folder = path_join(a, test_folder(), "0123abcd_2026-01-31__12-00-00"), *output;
    const char *made = path_join(a, folder, "x.yaml");
    assert_no_error(make_directories(folder));
    const char *one =
        "sweep: {dims: [4, 2]}\nn:\n  component_key: number_conversion\n"
        "  variant_key: local_num_batches_from_num_samples\n"
        "  config: {num_ranks: 1, global_num_samples: 9, local_micro_batch_size: 3}\n";
    assert_no_error(file_write(made, one, strlen(one)));
    const char *args = arena_printf(a, "config check --config_file_path %s", made);
    assert_int_equal(command_line_run(a, args, &output), 0);
    assert_contains(output, "x.yaml: 1 component, no mistake found");
    args = arena_printf(a, "run --config_file_path %s/x.yaml --experiments_root_path %s",
                        test_folder(), test_folder());
    assert_int_equal(command_line_run(a, args, &output), 1);
    assert_contains(output, "x.yaml is a sweep of 8 configurations: `modalities sweep run ");
    arena_free(a);
}
