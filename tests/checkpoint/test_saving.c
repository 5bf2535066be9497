/* test_saving.c - strategies, retention and last_checkpoint_info.json, from YAML as users write it.
 */
#include "base/log.h"
#include "checkpoint/loading.h"
#include "checkpoint/rehearsal.h"
#include "checkpoint/saving.h"
#include "components.h"
#include "config/builder.h"
#include "config/config.h"
#include "passes/fsdp1.h"
#include "sample_state.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Builds the component under the key "x". */
static Error *build(Arena *a, const char *yaml, const char *kind, void **out)
{
    const char *path = path_join(a, test_folder(), "config.yaml");
    assert_no_error(file_write(path, yaml, strlen(yaml)));
    Registry *r;
    assert_no_error(components_registry(a, &r));
    Yaml *root;
    const ResolverContext context = { 0 };
    TRY(config_load(a, path, (StringList){ 0 }, &context, &root));
    return builder_get(builder_new(a, r, root, NULL), "x", kind, out);
}

#define EVERY "save_every_k_steps_checkpointing_strategy"
#define RECENT "save_k_most_recent_checkpoints_strategy"

static CheckpointSaving *saving(Arena *a, const char *strategy, int k, const char *execution)
{
    static const char form[] =
        "x:\n"
        "  component_key: checkpoint_saving\n"
        "  variant_key: default\n"
        "  config:\n"
        "    checkpoint_saving_strategy:\n"
        "      component_key: checkpoint_saving_strategy\n"
        "      variant_key: %s\n"
        "      config: {k: %d}\n"
        "    checkpoint_saving_execution:\n"
        "      component_key: checkpoint_saving_execution\n"
        "      variant_key: %s\n"
        "      config: {checkpoint_path: %s/runs, global_rank: 0, experiment_id: e}\n";
    void *made;
    log_set_level(LOG_WARNING);
    assert_no_error(build(a, arena_printf(a, form, strategy, k, execution, test_folder()),
                          "checkpoint_saving", &made));
    return made;
}

static const char *folder_of(Arena *a, int step)
{
    const CheckpointTotals totals = { step, 8 * step, 50, 400 };
    return path_join(a, path_join(a, test_folder(), "runs"), checkpoint_name(a, "e", &totals));
}

static Error *save(Arena *a, CheckpointSaving *s, int step)
{
    const CheckpointTotals totals = { step, 8 * step, 50, 400 };
    const CheckpointContent content = sample_content(a, step);
    return checkpoint_saving_save(s, &totals, &content);
}

static const char *info(Arena *a)
{
    Str text;
    assert_no_error(file_read(a, path_join(a, test_folder(), "runs/" LAST_CHECKPOINT_INFO), &text));
    return text.ptr;
}

TEST(saving_is_rehearsed_without_a_trace)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, EVERY, 2, "dcp");
    const CheckpointTotals totals = { 2, 16, 50, 400 };
    const CheckpointContent content = sample_content(a, 2);
    RehearsedSize size;
    assert_no_error(checkpoint_rehearse(s, &totals, &totals, &content, &size));
    assert_true(size.bytes > 0);
    assert_int_equal(rmdir(path_join(a, test_folder(), "runs")), 0); /* it was empty */
    arena_free(a);
}

TEST(saving_every_k_steps_keeps_all)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, EVERY, 3, "dcp");
    for (int step = 1; step <= 9; step++) {
        assert_int_equal(checkpoint_is_due(s, step), step % 3 == 0);
        if (checkpoint_is_due(s, step)) assert_no_error(save(a, s, step));
    }
    for (int step = 3; step <= 9; step += 3) {
        int seed = 0;
        assert_no_error(sample_load(folder_of(a, step), &seed));
        assert_int_equal(seed, step);
    }
    assert_string_equal(info(a),
                        arena_printf(a, "{\"checkpoint_folder_path\": \"%s\"}", folder_of(a, 9)));
    arena_free(a);
}

TEST(saving_keeps_the_k_most_recent_of_this_process)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, 2, "dcp");
    assert_no_error(sample_save(folder_of(a, 1), 1)); /* of an earlier process */
    for (int step = 2; step <= 5; step++) {
        assert_true(checkpoint_is_due(s, step));
        assert_no_error(save(a, s, step));
    }
    assert_no_error(save(a, s, 5)); /* saved again, still one */
    for (int step = 1; step <= 5; step++)
        assert_int_equal(is_directory(folder_of(a, step)), step == 1 || step >= 4);
    arena_free(a);
}

TEST(saving_archives_multiples_of_steps_beside_the_most_recent)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, 2, "dcp");
    s->strategy.keep_every = 3;
    for (int step = 1; step <= 9; step++) assert_no_error(save(a, s, step));
    for (int step = 1; step <= 9; step++)
        assert_int_equal(is_directory(folder_of(a, step)), step % 3 == 0 || step >= 8);
    arena_free(a);
}

/* Of a training that goes on, the older ones count. */
TEST(saving_keeps_the_k_most_recent_over_restarts)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, 2, "dcp");
    for (int step = 1; step <= 2; step++) assert_no_error(save(a, s, step));
    s = saving(a, RECENT, 2, "dcp");
    s->strategy.keep_every = 2;
    assert_no_error(checkpoint_saving_go_on(s, folder_of(a, 2)));
    for (int step = 3; step <= 5; step++) assert_no_error(save(a, s, step));
    for (int step = 1; step <= 5; step++)
        assert_int_equal(is_directory(folder_of(a, step)), step == 2 || step >= 4);
    arena_free(a);
}

TEST(saving_warns_before_the_disk_is_full)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, 2, "dcp");
    const char *said = path_join(a, test_folder(), "stderr");
    Str text;
    assert_non_null(freopen(said, "w", stderr));
    s->bytes = 1;
    assert_no_error(save(a, s, 1));
    fflush(stderr);
    assert_no_error(file_read(a, said, &text));
    assert_string_equal(text.ptr, "");
    s->bytes = INT64_MAX / 2;
    assert_no_error(save(a, s, 2));
    fflush(stderr);
    assert_no_error(file_read(a, said, &text));
    assert_contains(text.ptr, "warning: the next checkpoint needs 4612 PB, but only");
    arena_free(a);
}

TEST(saving_keeps_all_or_none)
{
    Arena *a = arena_new();
    CheckpointSaving *all = saving(a, RECENT, -1, "dcp"), *none = saving(a, RECENT, 0, "dcp");
    for (int step = 1; step <= 3; step++) {
        assert_true(checkpoint_is_due(all, step));
        assert_false(checkpoint_is_due(none, step));
        assert_no_error(save(a, all, step));
    }
    for (int step = 1; step <= 3; step++) assert_true(is_directory(folder_of(a, step)));
    arena_free(a);
}

/* The files of FSDP1 lie where the original looks for them, and go with their checkpoint. */
TEST(saving_for_fsdp1_writes_its_pair_of_files_and_names_them)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, 1, "fsdp1");
    const char *const form[] = {
        "%s/runs/eid_e-model-seen_steps_%d-seen_tokens_%d-target_steps_50-target_tokens_400.bin",
        "%s/runs/eid_e-optimizer-seen_steps_%d-seen_tokens_%d-target_steps_50-target_tokens_400.bin"
    };
    const char *file[2][2];
    for (int step = 7; step <= 8; step++)
        for (int i = 0; i < 2; i++)
            file[step - 7][i] = arena_printf(a, form[i], test_folder(), step, 8 * step);
    assert_no_error(save(a, s, 7));
    assert_string_equal(
        info(a),
        arena_printf(a,
                     "{\"model_checkpoint_path\": \"%s\", \"optimizer_checkpoint_path\": \"%s\", "
                     "\"checkpoint_folder_path\": \"%s\"}",
                     file[0][0], file[0][1], folder_of(a, 7)));
    int seed = 0;
    assert_no_error(sample_load(folder_of(a, 7), &seed));
    assert_int_equal(seed, 7);
    assert_no_error(save(a, s, 8));
    for (int i = 0; i < 2; i++) {
        assert_false(file_exists(file[0][i]));
        assert_true(file_exists(file[1][i]));
    }
    arena_free(a);
}

/* They may be somebody's own, which was written beside. */
TEST(files_with_the_names_of_a_pair_stay_where_the_checkpoint_has_none)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, 1, "dcp");
    const char *file = arena_printf(a,
                                    "%s/runs/eid_e-model-seen_steps_7-seen_tokens_56-target_steps_"
                                    "50-target_tokens_400.bin",
                                    test_folder());
    assert_no_error(save(a, s, 7));
    assert_no_error(file_write(file, "own", 3));
    assert_no_error(save(a, s, 8));
    assert_false(is_directory(folder_of(a, 7)));
    assert_true(file_exists(file));
    arena_free(a);
}

TEST(saving_in_the_native_format_is_a_setting)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, -1, "fsdp1");
    s->execution.format = 1;
    assert_no_error(save(a, s, 7));
    assert_true(file_exists(path_join(a, folder_of(a, 7), "part_0.safetensors")));
    assert_contains(info(a),
                    arena_printf(a, "{\"model_checkpoint_path\": \"%s\"", folder_of(a, 7)));
    arena_free(a);
}

TEST(saving_below_a_relative_path_writes_an_absolute_one)
{
    Arena *a = arena_new();
    assert_int_equal(chdir(test_folder()), 0);
    const CheckpointStrategy strategy = { .every = 1, .keep = -1 };
    const CheckpointExecution execution = { .checkpoint_path = "runs", .experiment_id = "e" };
    assert_no_error(save(a, checkpoint_saving_new(a, &strategy, &execution), 7));
    assert_string_equal(info(a),
                        arena_printf(a, "{\"checkpoint_folder_path\": \"%s\"}", folder_of(a, 7)));
    arena_free(a);
}

TEST(saving_on_other_ranks_writes_nothing)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, -1, "dcp");
    s->execution.global_rank = 1;
    assert_no_error(save(a, s, 7));
    assert_false(file_exists(path_join(a, test_folder(), "runs")));
    arena_free(a);
}

TEST(saving_a_failed_deletion_is_a_warning)
{
    Arena *a = arena_new();
    CheckpointSaving *s = saving(a, RECENT, 1, "dcp");
    assert_no_error(save(a, s, 1));
    assert_no_error(remove_tree(folder_of(a, 1))); /* somebody else was quicker */
    const char *said = path_join(a, test_folder(), "stderr");
    assert_non_null(freopen(said, "w", stderr));
    assert_no_error(save(a, s, 2));
    fflush(stderr);
    Str text;
    assert_no_error(file_read(a, said, &text));
    assert_contains(text.ptr, arena_printf(a, "warning: the old checkpoint %s is not deleted",
                                           folder_of(a, 1)));
    assert_true(is_directory(folder_of(a, 2)));
    arena_free(a);
}

static void assert_refused(const char *yaml, const char *kind, const char *why)
{
    Arena *a = arena_new();
    void *made;
    assert_error_has(build(a, yaml, kind, &made), why);
    arena_free(a);
}

TEST(saving_settings_out_of_range_are_refused)
{
    const char *kind = "checkpoint_saving_strategy";
    assert_refused("x: {component_key: checkpoint_saving_strategy, variant_key: " EVERY
                   ", config: {k: 0}}",
                   kind, "k");
    assert_refused("x: {component_key: checkpoint_saving_strategy, variant_key: " RECENT
                   ", config: {k: -2}}",
                   kind, "k");
    assert_refused("x: {component_key: checkpoint_saving_strategy, variant_key: " RECENT
                   ", config: {k: \"2\"}}",
                   kind, "k");
    assert_refused("x: {component_key: checkpoint_saving_execution, variant_key: dcp, config: "
                   "{checkpoint_path: a, "
                   "global_rank: -1, experiment_id: e}}",
                   "checkpoint_saving_execution", "global_rank");
}

static CheckpointLoading *loading(Arena *a, const char *variant, const char *config)
{
    void *made;
    const char *form = "x: {component_key: checkpoint_loading, variant_key: %s, config: {%s}}";
    assert_no_error(build(a, arena_printf(a, form, variant, config), "checkpoint_loading", &made));
    return made;
}

TEST(loading_settings_are_those_of_the_original)
{
    Arena *a = arena_new();
    const CheckpointLoading *l = loading(a, "torch", "device: cpu, precision: BF16");
    assert_string_equal(l->device.name, "cpu");
    assert_true(l->has_precision && l->precision == BF16);
    l = loading(a, "torch", "device: 3");
    assert_int_equal(l->device.which, 0);
    assert_int_equal(l->device.number, 3);
    assert_false(l->has_precision);
    assert_string_equal(loading(a, "torch", "device: \"cuda:1\"")->device.name, "cuda:1");
    assert_refused(
        "x: {component_key: checkpoint_loading, variant_key: torch, config: {device: tpu}}",
        "checkpoint_loading", "device \"tpu\": allowed are cpu, cuda, cuda:N");
    l = loading(a, "fsdp1",
                "global_rank: 0, block_names: [GPT2Block], mixed_precision_settings: BF_16, "
                "sharding_strategy: _HYBRID_SHARD_ZERO2");
    assert_string_equal(l->variant, "fsdp1");
    assert_string_equal(fsdp1_precisions[l->mixed_precision], "BF_16");
    assert_string_equal(fsdp1_strategies[l->sharding_strategy], "_HYBRID_SHARD_ZERO2");
    assert_int_equal(l->block_names.n, 1);
    assert_int_equal(loading(a, "dcp", "global_rank: 5")->global_rank, 5);
    arena_free(a);
}
