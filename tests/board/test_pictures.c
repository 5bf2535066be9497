/* test_pictures.c - what a training keeps for the board: memory over a step, the schedule of a
 * pipeline, texts at checkpoints. */
#include "../end_to_end/training.h"
#include "../tokenizer/small_tokenizer.h"
#include <jansson.h>
#include <string.h>

#define SET(x) "--set", x
#define MODEL SET("model_raw.config.vocab_size=256")
#define EVERY(n) SET("settings.intervals.checkpointing_interval_in_steps=" #n)

static json_t *read_json(Arena *a, const char *path)
{
    Str text;
    json_error_t error;
    assert_no_error(file_read(a, path, &text));
    json_t *j = json_loadb(text.ptr, text.len, 0, &error);
    if (!j) fail_msg("%s: %s", path, error.text);
    return j;
}

static double number(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

static double sum_of(const json_t *numbers)
{
    double sum = 0;
    size_t i;
    const json_t *x;
    json_array_foreach(numbers, i, x) sum += json_number_value(x);
    return sum;
}

TEST(a_training_keeps_its_memory_over_a_step)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    json_t *j = read_json(b.arena, path_join(b.arena, b.root, "x/memory_outline.json"));
    const json_t *columns = json_object_get(j, "columns"), *c, *layer;
    double most = 0, at_peak = 0, inputs = 0;
    size_t i;
    json_array_foreach(columns, i, c)
    {
        assert_int_equal(json_array_size(c), 4);
        if (sum_of(c) > most) most = sum_of(c);
        const double of_inputs = json_number_value(json_array_get(c, 3));
        if (of_inputs > inputs) inputs = of_inputs;
    }
    assert_true(json_array_size(columns) > 20 && json_array_size(columns) <= 240);
    assert_true(most == number(j, "peak") && most > 0);
    assert_true(number(j, "workspace") >= most);
    assert_true(inputs == 2 * 2 * 16 * 4); /* ids and targets of a microbatch */
    json_array_foreach(json_object_get(j, "layers"), i, layer) at_peak +=
        json_number_value(json_array_get(layer, 1));
    assert_true(at_peak == most);
    assert_string_equal(
        json_string_value(json_array_get(json_array_get(json_object_get(j, "kept"), 0), 0)),
        "optimizer state");
    json_decref(j);
    arena_free(b.arena);
}

TEST(a_training_in_a_pipeline_keeps_its_schedule)
{
    Bench b = bench_new();
    const char *const words[] = {
        "--ranks",
        "2",
        SET("device_mesh.config.pipeline_parallel_degree=2"),
        SET("device_mesh.config.data_parallel_shard_degree=1"),
        SET("train_dataloader.config.batch_sampler.config.sampler.config.num_replicas=1"),
        SET("train_dataloader.config.batch_sampler.config.sampler.config.rank=0"),
        SET("wrapped_model={component_key: model, variant_key: parallelized, config: {model: "
            "{instance_key: model_raw, pass_type: BY_REFERENCE}, device_mesh: {instance_key: "
            "device_mesh, pass_type: BY_REFERENCE}, pipeline_schedule: gpipe, microbatches: 2}}"),
        NULL
    };
    assert_ended_well(bench_run(&b, "x", NULL, words, NULL));
    json_t *j = read_json(b.arena, path_join(b.arena, b.root, "x/pipeline_schedule.json"));
    const json_t *events = json_object_get(j, "events"), *e;
    int64_t n = (int64_t)(2 * number(j, "stages") * number(j, "microbatches"));
    size_t i;
    assert_int_equal(number(j, "ranks"), 2);
    assert_int_equal(number(j, "microbatches"), 4); /* two batches of the loader, two of each */
    assert_int_equal(json_array_size(events), n);
    json_array_foreach(events, i, e)
    {
        double start = json_number_value(json_array_get(e, 4)),
               end = json_number_value(json_array_get(e, 5));
        assert_non_null(strpbrk(json_string_value(json_array_get(e, 1)), "FB"));
        assert_true(0 <= start && start < end && end <= 1.0001);
    }
    assert_true(number(j, "bubble") > 0 && number(j, "bubble") < 1);
    json_decref(j);
    arena_free(b.arena);
}

/* The setting that asks for texts of these prompts. */
static const char *samples(Arena *a, const char *prompts)
{
    static const char *const merges[] = { NULL };
    const char *tokenizer = path_absolute(a, small_tokenizer(a, merges, "[]"));
    return arena_printf(a,
                        "checkpoint_samples={component_key: checkpoint_samples, variant_key: text, "
                        "config: {tokenizer: {component_key: tokenizer, variant_key: "
                        "pretrained_hf_tokenizer, config: {pretrained_model_name_or_path: %s}}, "
                        "prompts: %s, max_new_tokens: 6, temperature: 1.5}}",
                        tokenizer, prompts);
}

static const char *texts_of(const Bench *b, const char *id)
{
    Str text;
    Arena *a = b->arena;
    assert_no_error(file_read(a, path_join(a, path_join(a, b->root, id), "samples.jsonl"), &text));
    return text.ptr;
}

TEST(texts_are_made_at_checkpoints_and_a_training_that_goes_on_has_each_once)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *ask = samples(a, "[ab, c]");
    const char *const whole[] = { MODEL, EVERY(2), "--set", ask, NULL },
                      *const half[] = { MODEL,
                                        EVERY(2),
                                        "--set",
                                        ask,
                                        SET("settings.training_target.num_target_steps=6"),
                                        NULL },
                      *const none[] = { MODEL, EVERY(2), NULL };
    assert_ended_well(bench_run(&b, "whole", NULL, whole, NULL));
    assert_ended_well(bench_run(&b, "none", NULL, none, NULL));
    assert_same_state(&b, "whole", "none"); /* a training is not changed by being looked at */
    const char *texts = texts_of(&b, "whole");
    int n = 0;
    for (const char *p = texts; *p; p++) n += *p == '\n';
    assert_int_equal(n, 8); /* four checkpoints, two prompts */
    assert_contains(texts, "{\"step\": 8, \"prompt\": \"c\", \"text\": \"");
    assert_ended_well(bench_run(&b, "half", NULL, half, NULL));
    const char *const resume[] = { "resume", path_join(a, b.root, "half"),
                                   SET("settings.training_target.num_target_steps=8"), NULL };
    assert_ended_well(command_output(a, resume, NULL));
    assert_int_equal(strncmp(texts_of(&b, "half"), texts, 20), 0);
    const char *const two[] = { "--ranks", "2", MODEL, EVERY(2), "--set", ask, NULL };
    assert_ended_well(bench_run(&b, "two", NULL, two, NULL));
    assert_contains(texts_of(&b, "two"), "{\"step\": 8, \"prompt\": \"c\", \"text\": \"");
    const char *const words[] = { "board", b.root, NULL };
    Str page;
    assert_ended_well(command_output(a, words, NULL));
    assert_no_error(file_read(a, path_join(a, b.root, "board.html"), &page));
    assert_contains(page.ptr, "\"samples\":[{\"step\": 2, \"prompt\": \"ab\"");
    assert_contains(page.ptr, "\"memory\":{\"workspace\":");
    arena_free(a);
}

TEST(prompts_that_cannot_be_continued_are_refused_before_the_first_step)
{
    Bench b = bench_new();
    const char *ask = samples(
        b.arena,
        "[a, abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz]");
    const char *const words[] = { MODEL, "--set", ask, NULL };
    Outcome o = bench_run(&b, "long", NULL, words, NULL);
    assert_refused(o, 1, "abcdefghijklmnopqrstuvwxyz\" has 78 tokens; allowed: at most 63");
    assert_null(strstr(o.text, "step: 1"));
    arena_free(b.arena);
}
