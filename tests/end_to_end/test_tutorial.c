/* test_tutorial.c - the tutorial's training and its warm start, with the original's YAML and ours.
 *
 * Nothing is edited: paths, sizes and intervals come from --set, and the model is small enough for
 * seconds. The commands are words of a shell; $HERE is the test's folder, $GIVEN the shared one.
 * What docs/tutorial.md types is typed by test_pages.c. */
#include "checkpoint/checkpoint.h"
#include "cli/command_line.h"
#include "config/yaml.h"
#include <stdlib.h>
#include <string.h>

#define PRETRAINING                                                                                \
    "$GIVEN/modalities/tutorials/modalities_in_15_mins/configs/pretraining_config.yaml"
#define MODEL                                                                                      \
    " --set model_raw.config.n_layer=1 --set model_raw.config.n_embd=32"                           \
    " --set model_raw.config.n_head_q=4 --set model_raw.config.n_head_kv=2"                        \
    " --set model_raw.config.ffn_hidden=32"
/* 20 steps of 4 x 64 tokens, the middle and the end of which are kept. */
#define TRAINING                                                                                   \
    MODEL " --set settings.paths.train_dataset_path="                                              \
          "$GIVEN/modalities/data/lorem_ipsum_long.pbin"                                           \
          " --set settings.paths.checkpoint_saving_path=$HERE/checkpoints"                         \
          " --set settings.step_profile.local_train_micro_batch_size=4"                            \
          " --set settings.step_profile.sequence_length=64"                                        \
          " --set settings.training_target.num_target_steps=20"                                    \
          " --set settings.training_target.num_target_tokens=5120"                                 \
          " --set settings.intervals.training_log_interval_in_steps=1"                             \
          " --set settings.intervals.checkpointing_interval_in_steps=10"                           \
          " --set settings.intervals.evaluation_interval_in_steps=10"                              \
          " --set evaluation_subscriber.config.directory=$HERE/wandb_storage"
enum { N_STEPS = 20, MIDDLE = 10 };
#define AT_STEP(id, steps, tokens)                                                                 \
    "eid_" id "-seen_steps_" #steps "-seen_tokens_" #tokens "-target_steps_20-target_tokens_5120"

typedef struct Tutorial {
    Arena *arena;
    const char *here, *given;
} Tutorial;

static Tutorial begin(void)
{
    Arena *a = arena_new();
    Tutorial t = { .arena = a, .given = path_absolute(a, shared_path(a, "data")) };
    t.here = path_absolute(a, test_folder());
    assert_int_equal(setenv("GIVEN", t.given, 1), 0);
    assert_int_equal(setenv("HERE", t.here, 1), 0);
    assert_no_error(make_directories(path_join(a, t.here, "experiments")));
    return t;
}

static const char *must_run(const Tutorial *t, const char *args)
{
    const char *output;
    int status = command_line_run(t->arena, args, &output);
    if (status) fail_msg("%s: status %d: %s", args, status, output);
    return output;
}

/* A number that the run kept for a step, in the lines that wandb would get. */
static double logged(const Tutorial *t, const char *id, int step, const char *name)
{
    Arena *a = t->arena;
    Str text;
    assert_no_error(file_read(
        a, arena_printf(a, "%s/wandb_storage/wandb/ai_24_demo/%s/history.jsonl", t->here, id),
        &text));
    const char *start = strstr(text.ptr, arena_printf(a, "{\"_step\": %d,", step)), *key;
    if (!start) fail_msg("%s has nothing of step %d", id, step);
    key = strstr(start, arena_printf(a, "\"train %s\": ", name));
    if (!key) fail_msg("%s has no %s in step %d", id, name, step);
    return strtod(strchr(key, ':') + 1, NULL);
}

static const char *checkpoint(const Tutorial *t, const char *name)
{
    const char *folder = arena_printf(t->arena, "%s/checkpoints/%s", t->here, name);
    if (!is_directory(folder)) fail_msg("there is no %s", folder);
    return folder;
}

static const char *last_checkpoint(const Tutorial *t)
{
    Yaml *info;
    const char *path = path_join(t->arena, t->here, "checkpoints/last_checkpoint_info.json");
    assert_no_error(yaml_read_json(t->arena, path, &info));
    assert_true(file_exists(yaml_get(info, "model_checkpoint_path")->text));
    assert_true(file_exists(yaml_get(info, "optimizer_checkpoint_path")->text));
    return yaml_get(info, "checkpoint_folder_path")->text;
}

static void train(const Tutorial *t)
{
    const char *said = must_run(t, "run --config_file_path " PRETRAINING TRAINING
                                   " --experiments_root_path $HERE/experiments"
                                   " --experiment_id first");
    assert_contains(said, "num_target_steps: 20 \n");
    assert_contains(said, "it runs here as one CPU rank\n");
    assert_contains(said, " | step: 20 | ");
    assert_contains(said, "All 20 steps are done and saved.");
    assert_true(logged(t, "first", N_STEPS, "train loss last") <
                logged(t, "first", 1, "train loss last") - 0.1);
    assert_string_equal(last_checkpoint(t), checkpoint(t, AT_STEP("first", 20, 5120)));
}

/* As if the run had been stopped in the middle. */
static void forget_the_second_half(const Tutorial *t)
{
    const char *info = arena_printf(t->arena, "{\"checkpoint_folder_path\": \"%s\"}",
                                    checkpoint(t, AT_STEP("first", 10, 2560)));
    assert_no_error(file_write(
        path_join(t->arena, t->here, "checkpoints/last_checkpoint_info.json"), info, strlen(info)));
}

static void assert_same_tensors(const char *x, const char *y)
{
    Arena *a = arena_new();
    CheckpointReader *r, *s;
    assert_no_error(checkpoint_open(a, x, &r));
    assert_no_error(checkpoint_open(a, y, &s));
    assert_int_equal(r->n_entries, s->n_entries);
    for (int64_t i = 0; i < r->n_entries; i++) {
        const CheckpointEntry *e = &r->entry[i];
        const Box whole = box_whole(e->n_dims, e->size);
        size_t bytes = (size_t)box_count(&whole) * dtype_size(e->dtype);
        void *numbers[2] = { arena_alloc(a, bytes), arena_alloc(a, bytes) };
        assert_no_error(r->get(r, i, &whole, numbers[0]));
        assert_no_error(s->get(s, checkpoint_find(s, e->name), &whole, numbers[1]));
        assert_memory_equal(numbers[0], numbers[1], bytes);
    }
    arena_free(a);
}

static void go_on(const Tutorial *t)
{
    const char *said = must_run(
        t, "warmstart --config_file_path configs/tutorial/warmstart_config.yaml" TRAINING
           " --experiments_root_path $HERE/experiments --experiment_id second"
           " --last_checkpoint_info_file_path $HERE/checkpoints/last_checkpoint_info.json");
    assert_contains(said, "\tnum_seen_steps: 10\n\tnum_seen_samples: 40\n\tlast_step: 9\n");
    assert_null(strstr(said, "step: 10 |"));
    static const char *const number[] = { "train loss last", "grad norm last", "lr mean",
                                          "consumed tokens" };
    for (int step = MIDDLE + 1; step <= N_STEPS; step++)
        for (int i = 0; i < 4; i++)
            assert_close(logged(t, "second", step, number[i]), logged(t, "first", step, number[i]),
                         0);
    const char *end = checkpoint(t, AT_STEP("second", 20, 5120));
    assert_string_equal(last_checkpoint(t), end);
    assert_same_tensors(end, checkpoint(t, AT_STEP("first", 20, 5120)));
}

TEST(tutorial_trains_and_its_warm_start_goes_on_to_the_bit)
{
    Tutorial t = begin();
    train(&t);
    forget_the_second_half(&t);
    go_on(&t);
    arena_free(t.arena);
}

/* Whoever takes the tutorial's YAML and the program's own must get the same model and target. */
TEST(tutorial_files_of_both_parts_agree)
{
    Arena *a = arena_new();
    const char *folder = shared_path(a, "data/modalities/tutorials/modalities_in_15_mins/configs");
    Yaml *first, *warm, *text;
    assert_no_error(yaml_read(a, path_join(a, folder, "pretraining_config.yaml"), &first));
    assert_no_error(yaml_read(a, "configs/tutorial/warmstart_config.yaml", &warm));
    assert_no_error(yaml_read(a, "configs/tutorial/text_generation_config.yaml", &text));
    static const char *const same[] = { "settings.paths",
                                        "settings.intervals",
                                        "settings.step_profile",
                                        "settings.training_target",
                                        "settings.consistency_enforcement",
                                        "train_dataset.config.raw_data_path",
                                        "optimizer.config",
                                        "gradient_clipper.config",
                                        "loss_fn",
                                        "checkpoint_saving",
                                        "evaluation_subscriber" };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const Yaml *x = yaml_find(first, same[i]), *y = yaml_find(warm, same[i]);
        if (!x || !y || !yaml_equal(x, y)) fail_msg("%s differs", same[i]);
    }
    const Yaml *model = yaml_find(first, "model_raw.config");
    for (int64_t i = 0; i < model->n; i++) {
        const char *key = model->key[i]->text, *path = arena_printf(a, "model_raw.config.%s", key);
        bool is_reference = model->item[i]->text && strstr(model->item[i]->text, "${");
        if (is_reference) continue;
        const Yaml *y = yaml_find(warm, path), *z = yaml_find(text, path);
        if (!y || !z || !yaml_equal(model->item[i], y) || !yaml_equal(model->item[i], z))
            fail_msg("%s differs", path);
    }
    arena_free(a);
}
