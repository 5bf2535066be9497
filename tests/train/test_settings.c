/* test_settings.c - rules over the numbers of a training, and what is completed. */
#include "components.h"
#include "passes/data_parallel.h"
#include "test.h"
#include "train/settings.h"
#include <string.h>

static TrainingSettings fitting(void)
{
    return (TrainingSettings){
        .intervals = { 2, 5, 10 },
        .consistency_enforcement = { true, true, true, true, true },
        .step_profile = { 2, 4, 16, 3 }, /* 384 tokens a step */
        .training_target = { 384 * 30, 30 },
        .training_progress = { .last_step = -1 },
    };
}

TEST(numbers_that_fit_pass)
{
    TrainingSettings s = fitting();
    assert_int_equal(tokens_per_step(&s.step_profile), 384);
    assert_no_error(training_settings_check(&s));
    assert_no_error(training_dataset_check(&s, 384 * 30 / 16));
}

TEST(each_contradiction_is_an_error_or_with_its_flag_off_a_warning)
{
    TrainingSettings s = fitting();
    s.training_target.num_target_tokens++;
    assert_error_has(training_settings_check(&s), "ask for 384.03333333333336 tokens per step");
    s.consistency_enforcement.enforce_tokens_per_step_consistency = false;
    assert_no_error(training_settings_check(&s));

    s = fitting();
    s.intervals = (Intervals){ 7, 7, 7, NULL };
    Error *e = training_settings_check(&s);
    assert_contains(error_text(e), "not a multiple of training_log_interval_in_steps 7");
    assert_contains(error_text(e), "not a multiple of evaluation_interval_in_steps 7");
    assert_error_has(e, "not a multiple of checkpointing_interval_in_steps 7");
    s.consistency_enforcement = (ConsistencyEnforcement){ 0 };
    assert_no_error(training_settings_check(&s));

    s = fitting();
    s.training_progress.last_step = 4;
    assert_error_has(training_settings_check(&s),
                     "training_progress.last_step is 4, but num_seen_steps is 0");

    s = fitting();
    assert_error_has(training_dataset_check(&s, 384 * 30 / 16 - 1),
                     "11504 tokens, but num_target_tokens is 11520");
    s.consistency_enforcement.enforce_enough_tokens_in_dataset = false;
    assert_no_error(training_dataset_check(&s, 1));
}

TEST(what_is_left_counts_after_a_warm_start)
{
    TrainingSettings s = fitting();
    s.training_progress = (TrainingProgress){ .global_num_seen_tokens = 384 * 10,
                                              .num_seen_steps = 10,
                                              .last_step = 9 };
    assert_no_error(training_settings_check(&s));
    s.training_progress.num_seen_steps = 11;
    assert_error_has(training_settings_check(&s), "(7680 tokens in 19 steps)");
    s.training_progress.num_seen_steps = 30; /* nothing left: no division by zero */
    assert_no_error(training_settings_check(&s));
}

/* Whatever step a run was stopped at, its target stays right or wrong. */
TEST(the_step_that_training_ends_at_must_be_due_not_the_steps_to_go)
{
    TrainingSettings s = fitting();
    s.training_progress = (TrainingProgress){ .global_num_seen_tokens = 384 * 7,
                                              .num_seen_steps = 7,
                                              .last_step = 6 };
    assert_no_error(training_settings_check(&s));
    s.training_target = (TrainingTarget){ 384 * 37, 37 }; /* 30 steps to go */
    Error *e = training_settings_check(&s);
    assert_contains(error_text(e), "num_target_steps 37 is not a multiple of "
                                   "evaluation_interval_in_steps 10; the nearest targets that "
                                   "fit: 30 and 40");
    assert_error_has(e, "37 is not a multiple of checkpointing_interval_in_steps 5; the nearest");
    s.training_target = (TrainingTarget){ 384 * 9, 9 };
    assert_error_has(training_settings_check(&s), "the nearest targets that fit: 10");
}

static Yaml *parsed(Arena *a, const char *text)
{
    Yaml *root;
    assert_no_error(yaml_parse(a, str_of(text), "x.yaml", &root));
    return root;
}

TEST(a_missing_app_state_is_made_from_optimizer_and_scheduler)
{
    Arena *a = arena_new();
    Yaml *root = parsed(a, "settings: {paths: {x: y}}\n"
                           "opt: {component_key: optimizer, variant_key: adam_w, config: "
                           "{wrapped_model: {instance_key: m, "
                           "pass_type: BY_REFERENCE}}}\nlr: {component_key: scheduler, "
                           "variant_key: dummy_lr, config: {}}\n");
    const Yaml *expected = parsed(
        a,
        "{component_key: app_state, variant_key: raw, config: {model: {instance_key: m, pass_type: "
        "BY_REFERENCE}, optimizer: {instance_key: opt, pass_type: BY_REFERENCE}, lr_scheduler: "
        "{instance_key: lr, pass_type: BY_REFERENCE}}}");
    assert_no_error(training_config_complete(a, root, NULL, "runs"));
    assert_true(yaml_equal(yaml_get(root, "app_state"), expected));
    assert_string_equal(yaml_find(root, "settings.paths.experiments_root_path")->text, "runs");
    assert_error_has(training_config_complete(a, parsed(a, "x: 1"), NULL, "runs"),
                     "app_state is missing; it could be made from one optimizer");
    arena_free(a);
}

TEST(what_is_there_is_not_completed)
{
    Arena *a = arena_new();
    Yaml *root = parsed(a, "settings: {paths: {experiments_root_path: mine}}\napp_state: 1\n");
    const Yaml *before = yaml_copy(a, root, NULL);
    assert_no_error(training_config_complete(a, root, NULL, "runs"));
    assert_true(yaml_equal(root, before));
    arena_free(a);
}

static const Yaml *completed_degree(Arena *a, const char *profile, const char *mesh,
                                    const Rank *rank)
{
    Yaml *root = parsed(
        a, arena_printf(a, "settings: {step_profile: {%s}}\napp_state: 1\n%s", profile, mesh));
    assert_no_error(training_config_complete(a, root, rank, NULL));
    return yaml_find(root, "settings.step_profile.dp_degree");
}

TEST(a_missing_dp_degree_is_that_of_the_mesh_or_the_number_of_ranks)
{
    Arena *a = arena_new();
    Registry *r;
    const Rank eight = { .world_size = 8 };
    assert_string_equal(completed_degree(a, "", "", NULL)->text, "1");
    assert_string_equal(completed_degree(a, "", "", &eight)->text, "8");
    assert_string_equal(completed_degree(a, "dp_degree: 3", "", &eight)->text, "3");
    const Yaml *made =
        completed_degree(a, "",
                         "device_mesh: {component_key: device_mesh, variant_key: default, config: "
                         "{data_parallel_replicate_degree: 2, data_parallel_shard_degree: -1, "
                         "tensor_parallel_degree: 2, world_size: 16}}",
                         &eight);
    assert_no_error(components_registry(a, &r));
    Yaml *root = made->parent->parent->parent;
    yaml_set(a, root, "dp_degree", yaml_copy(a, made, NULL));
    Builder *b = builder_new(a, r, root, &eight);
    const Field keys[] = { FIELD_INT(StepProfile, dp_degree, NULL, 1, INFINITY, ""), { 0 } };
    StepProfile read;
    assert_no_error(builder_build(b, keys, &read));
    assert_int_equal(read.dp_degree, 8);
    arena_free(a);
}

TEST(settings_without_a_mesh_place_hybrid_shards_within_machines)
{
    const DataParallel hybrid = { .stage = ZERO_PARAMETERS, .is_hybrid = true };
    Model model = { .data_parallel = &hybrid };
    AppState state = { .model = &model };
    const TrainingConfig c = { .app_state = &state };
    const Rank rank = { .rank = 1, .world_size = 4, .local_world_size = 2 };
    Mesh m = training_mesh(&c, &rank);
    assert_int_equal(m.size[MESH_DP_REPLICATE], 2);
    assert_int_equal(m.size[MESH_DP_SHARD], 2);
    assert_int_equal(m.rank, 1);
}
