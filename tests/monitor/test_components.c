/* test_components.c - the subscribers and the MFU calculator as a YAML makes them. */
#include "components.h"
#include "config/builder.h"
#include "config/yaml.h"
#include "data/sampler.h"
#include "golden.h"
#include "monitor/mfu.h"
#include "monitor/results.h"
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A loader that has a tag and a length; nobody takes a batch from it. */
typedef struct TestLoader {
    const char *tag;
    int64_t n_batches;
} TestLoader;

static const Field loader_fields[] = {
    FIELD_STRING(TestLoader, tag, NULL, "tag"),
    FIELD_INT(TestLoader, n_batches, NULL, 0, 0, "batches"),
    { 0 },
};

static Error *build_loader(Builder *b, const void *settings, void **out)
{
    const TestLoader *c = settings;
    Arena *a = builder_arena(b);
    BatchSampler *batches = NEW(a, BatchSampler);
    *batches =
        (BatchSampler){ .sampler = sequential_sampler_new(a, c->n_batches), .batch_size = 1 };
    *out = loader_new(a, &(LoaderSettings){ .tag = c->tag, .batches = batches });
    return NULL;
}

static const ComponentDef loader_test = {
    .kind = "data_loader",
    .variant = "test",
    .doc = "a tag and a length",
    .fields = loader_fields,
    .settings_size = sizeof(TestLoader),
    .build = build_loader,
};

/* Stands for a model; the calculator never looks into it. */
static Error *build_model(Builder *b, const void *settings, void **out)
{
    (void)settings;
    *out = arena_alloc(builder_arena(b), 1);
    return NULL;
}

static const ComponentDef model_test = {
    .kind = "model",
    .variant = "test",
    .doc = "nothing",
    .build = build_model,
};

static Error *make(Arena *a, const char *kind, const char *variant, const char *settings,
                   void **out)
{
    Registry *r;
    Yaml *root;
    assert_no_error(components_registry(a, &r));
    assert_no_error(registry_add(r, &loader_test));
    assert_no_error(registry_add(r, &model_test));
    const char *text = arena_printf(a, "x: {component_key: %s, variant_key: %s, config: {%s}}\n",
                                    kind, variant, settings);
    assert_no_error(yaml_parse(a, str_of(text), "test.yaml", &root));
    *out = NULL;
    return builder_get(builder_new(a, r, root, NULL), "x", kind, out);
}

static Error *publish(Subscriber *s, Event e)
{
    e.seconds = e.seconds ? e.seconds : 1;
    return s->on_event(s, &e);
}

static Error *publish_results(Subscriber *s, const Results *r)
{
    return publish(s, (Event){ .kind = EVENT_RESULTS, .results = r });
}

static Results training(int64_t step)
{
    const TrainingNumbers n = { .tag = "train",
                                .step = step,
                                .consumed_tokens = 2147483653,
                                .loss_avg = 2.5,
                                .loss_last = NAN,
                                .mfu = -1,
                                .lr = 1e-4 };
    return training_results(&n);
}

TEST(to_disc_adds_lines_to_a_file_in_a_new_folder)
{
    Arena *a = arena_new();
    void *made;
    const char *path = path_join(a, test_folder(), "deep/er/evaluation_results.jsonl");
    const char *settings = arena_printf(a, "output_file_path: %s", path);
    Text expected = { 0 };
    for (int run = 0; run < 2; run++) { /* a second run goes on at the end */
        assert_no_error(make(a, "results_subscriber", "to_disc", settings, &made));
        assert_true(is_directory(path_folder(a, path)));
        for (int step = 1; step <= 2; step++) {
            Results r = training(step);
            assert_no_error(publish_results(made, &r));
            results_json_line(&r, &expected);
            text_putc(&expected, '\n');
        }
        assert_no_error(publish(made, (Event){ .kind = EVENT_NOTICE, .text = "not a result" }));
    }
    Str written;
    assert_no_error(file_read(a, path, &written));
    assert_string_equal(written.ptr, expected.ptr);
    text_free(&expected);

    assert_no_error(remove_tree(path_folder(a, path)));
    Results r = training(3);
    assert_error_has(publish_results(made, &r), path);
    arena_free(a);
}

TEST(dummies_do_nothing)
{
    Arena *a = arena_new();
    void *made;
    Results r = training(1);
    assert_no_error(make(a, "results_subscriber", "dummy", "", &made));
    assert_no_error(publish_results(made, &r));
    assert_no_error(make(a, "progress_subscriber", "dummy", "", &made));
    assert_no_error(publish(made, (Event){ .kind = EVENT_PROGRESS, .progress = { .tag = "any" } }));
    arena_free(a);
}

static const char *wandb(Arena *a, const char *mode, int rank, const char *entity)
{
    return arena_printf(
        a,
        "global_rank: %d, project: demo, experiment_id: run-1, mode: %s, directory: %s/store, "
        "config_file_path: %s/train.yaml%s",
        rank, mode, test_folder(), test_folder(), entity);
}

TEST(wandb_writes_history_run_and_config_to_files)
{
    Arena *a = arena_new();
    void *made;
    assert_no_error(file_write(path_join(a, test_folder(), "train.yaml"), "a: 1\n", 5));
    static const char *const modes[] = { "OFFLINE", "ONLINE" };
    const char *folder = path_join(a, test_folder(), "store/wandb/demo/run-1");
    for (int i = 0; i < 2; i++) {
        assert_no_error(remove_tree(path_join(a, test_folder(), "store")));
        const char *entity = i ? ", entity: we" : "";
        assert_no_error(
            make(a, "results_subscriber", "wandb", wandb(a, modes[i], 0, entity), &made));
        Results r = training(7);
        assert_no_error(publish_results(made, &r));
        const Measure fact = { .name = "No. parameters", .count = 123, .is_count = true };
        assert_no_error(publish(made, (Event){ .kind = EVENT_FACT, .fact = fact }));
        Str text;
        assert_no_error(file_read(a, path_join(a, folder, "history.jsonl"), &text));
        assert_true(text_matches(
            "{\"_step\": 7, \"_timestamp\": *, \"train train loss avg\": 2.5, "
            "\"train train loss last\": NaN, \"train consumed tokens\": 2147483653, *}\n",
            text.ptr));
        assert_no_error(file_read(a, path_join(a, folder, "run.json"), &text));
        assert_string_equal(
            text.ptr,
            arena_printf(a,
                         "{\"entity\": %s, \"project\": \"demo\", \"name\": \"run-1\", \"mode\": "
                         "\"%s\", \"config_file\": \"train.yaml\", \"config\": {\"No. "
                         "parameters\": 123}}\n",
                         i ? "\"we\"" : "null", modes[i]));
        assert_no_error(file_read(a, path_join(a, folder, "train.yaml"), &text));
        assert_string_equal(text.ptr, "a: 1\n");
    }
    arena_free(a);
}

TEST(wandb_writes_nothing_when_disabled_or_on_other_ranks)
{
    Arena *a = arena_new();
    void *made;
    Results r = training(7);
    assert_no_error(file_write(path_join(a, test_folder(), "train.yaml"), "a: 1\n", 5));
    assert_no_error(make(a, "results_subscriber", "wandb", wandb(a, "DISABLED", 0, ""), &made));
    assert_no_error(publish_results(made, &r));
    assert_no_error(make(a, "results_subscriber", "wandb", wandb(a, "OFFLINE", 1, ""), &made));
    assert_no_error(publish_results(made, &r));
    assert_false(file_exists(path_join(a, test_folder(), "store")));
    assert_error_has(make(a, "results_subscriber", "wandb", wandb(a, "MAYBE", 0, ""), &made),
                     "mode");
    assert_no_error(remove_tree(path_join(a, test_folder(), "train.yaml")));
    assert_error_has(make(a, "results_subscriber", "wandb", wandb(a, "OFFLINE", 0, ""), &made),
                     "train.yaml");
    arena_free(a);
}

/* What `s` prints on stdout (fd 1) or stderr (fd 2) for an event. */
static const char *printed(Arena *a, Subscriber *s, int fd, Event e)
{
    const char *path = path_join(a, test_folder(), "printed");
    fflush(NULL);
    int saved = dup(fd), file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(file >= 0 && dup2(file, fd) >= 0);
    close(file);
    Error *failed = publish(s, e);
    fflush(NULL);
    dup2(saved, fd);
    close(saved);
    assert_no_error(failed);
    Str text;
    assert_no_error(file_read(a, path, &text));
    return text.ptr;
}

TEST(rich_results_print_the_golden_panel_on_rank_0)
{
    Arena *a = arena_new();
    void *made;
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("COLUMNS", "80", 1);
    Str golden;
    assert_no_error(file_read(a, shared_path(a, "data/goldens/results/rich_panel.txt"), &golden));
    Results r = evaluation_results("val", 7, "CLMCrossEntropyLoss", 2.5, 1);
    const Event e = { .kind = EVENT_RESULTS, .results = &r };
    assert_no_error(make(a, "results_subscriber", "rich", "num_ranks: 2, global_rank: 0", &made));
    assert_string_equal(printed(a, made, 1, e), golden.ptr);
    assert_no_error(make(a, "results_subscriber", "rich", "num_ranks: 2, global_rank: 1", &made));
    assert_string_equal(printed(a, made, 1, e), "");

    setenv("LC_ALL", "C", 1);
    setenv("COLUMNS", "40", 1);
    assert_no_error(make(a, "results_subscriber", "rich", "num_ranks: 2, global_rank: 0", &made));
    r = training(1);
    assert_string_equal(printed(a, made, 1, e), "+--------------------------------------+\n"
                                                "| Iteration #2:                        |\n"
                                                "|                                      |\n"
                                                "| Losses:                              |\n"
                                                "| train train loss avg:                |\n"
                                                "| ResultItem(value=tensor(2.5000),     |\n"
                                                "| decimal_places=2)                    |\n"
                                                "| train train loss last:               |\n"
                                                "| ResultItem(value=tensor(nan),        |\n"
                                                "| decimal_places=2)                    |\n"
                                                "|                                      |\n"
                                                "| Metrics:                             |\n"
                                                "| train consumed tokens:               |\n"
                                                "| ResultItem(value=tensor(2147483653), |\n"
                                                "| decimal_places=0)                    |\n"
                                                "| train grad norm avg:                 |\n"
                                                "| ResultItem(value=tensor(0.),         |\n"
                                                "| decimal_places=2)                    |\n"
                                                "| train grad norm last:                |\n"
                                                "| ResultItem(value=tensor(0.),         |\n"
                                                "| decimal_places=2)                    |\n"
                                                "+--------------------------------------+\n");
    arena_free(a);
}

TEST(rich_progress_knows_its_loaders_and_is_silent_on_other_ranks)
{
    Arena *a = arena_new();
    void *made;
    const char *rest =
        "train_dataloader_tag: train, num_seen_steps: 4, num_target_steps: 8, eval_dataloaders: "
        "[{component_key: data_loader, variant_key: test, config: {tag: val, n_batches: 3}}]";
    Event e = { .kind = EVENT_PROGRESS,
                .progress = {
                    .tag = "train", .done = 8, .loss = 1.5, .lr = NAN, .grad_norm = NAN } };
    assert_no_error(
        make(a, "progress_subscriber", "rich", arena_printf(a, "%s, global_rank: 0", rest), &made));
    assert_string_equal(printed(a, made, 2, e), "train 8/8 (100 %)  loss 1.5000\n");
    e.progress = (Progress){ .tag = "val", .is_evaluation = true, .done = 1 };
    assert_string_equal(printed(a, made, 2, e), "");
    e.progress.tag = "other";
    assert_error_has(publish(made, e), "\"other\"");

    assert_no_error(
        make(a, "progress_subscriber", "rich", arena_printf(a, "%s, global_rank: 1", rest), &made));
    assert_no_error(publish(made, e));
    assert_error_has(
        make(a, "progress_subscriber", "rich",
             "train_dataloader_tag: train, num_seen_steps: 0, num_target_steps: 0, global_rank: 0",
             &made),
        "num_target_steps");
    arena_free(a);
}

TEST(mfu_calculator_takes_one_model_or_parts_under_both_names)
{
    Arena *a = arena_new();
    static const char *const models[] = {
        "wrapped_model: {component_key: model, variant_key: test, config: {}}",
        "model_parts: {component_key: model, variant_key: test, config: {}}",
        "model_parts: [{component_key: model, variant_key: test, config: {}}, {component_key: "
        "model, "
        "variant_key: test, config: {}}]",
    };
    for (int i = 0; i < 3; i++) {
        void *made;
        assert_no_error(make(
            a, "mfu_calculator", "gpt2",
            arena_printf(a, "n_layer: 12, sequence_length: 2048, n_embd: 768, world_size: 2, %s",
                         models[i]),
            &made));
        const Mfu *m = made;
        assert_int_equal(m->model_parts.n, i == 2 ? 2 : 1);
        assert_null(m->device_mesh);
        double once = mfu_compute(m, 1000, 10, 1e12);
        assert_true(mfu_compute(m, 1000, 20, 1e12) == 2 * once &&
                    mfu_compute(m, 2000, 10, 1e12) > once);
        assert_close(once, 10.0 * 2048 * (6000 + 12.0 * 12 * 2048 * 768) / 2e12, 1e-12);
    }
    arena_free(a);
}
