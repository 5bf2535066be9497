/* test_paths.c - every setting that is a path: what is missing, or cannot be written, is one clear
 * error that names path and reason; nothing is left behind. */
#include "checkpoint/safetensors.h"
#include "cli/command_line.h"
#include "components.h"
#include "end_to_end/training.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Words of a shell: $NONE is missing, $PLACE cannot be written, $HERE holds what is good. */
#define RUN                                                                                        \
    "run --config_file_path tests/end_to_end/train.yaml --experiments_root_path $HERE/experiments" \
    " --experiment_id x"
#define WARM_START                                                                                 \
    "warmstart --config_file_path tests/end_to_end/warmstart.yaml"                                 \
    " --experiments_root_path $HERE/experiments --experiment_id x"
#define GENERATE                                                                                   \
    "generate_text --config_file_path configs/generate/small.yaml --prompt x"                      \
    " --set settings.model_path=$HERE/tokens.pbin"                                                 \
    " --set tokenizer.config.pretrained_model_name_or_path=$HERE/tokenizer"
#define PACK                                                                                       \
    "data pack_encoded_data configs/data/pack.yaml --set settings.src_path=$HERE/text.jsonl"       \
    " --set settings.index_path=$HERE/text.idx --set settings.dst_path=$HERE/out.pbin"             \
    " --set tokenizer.config.pretrained_model_name_or_path=$HERE/tokenizer"
#define MODEL_RUN                                                                                  \
    "model run --config_file_path tests/end_to_end/train.yaml --weights_path "                     \
    "$HERE/good/checkpoints/last_checkpoint_info.json"                                             \
    " --batch_path $HERE/b.safetensors"

typedef struct Path {
    const char *command;
    int status;
} Path;

static const Path missing[] = {
    { "run --config_file_path $NONE --experiments_root_path $HERE", 2 },
    { RUN " --initial_weights_path $NONE", 2 },
    { RUN " --set settings.paths.train_dataset_path=$NONE", 1 },
    { RUN " --set settings.paths.eval_dataset_path=$NONE", 1 },
    { RUN " --set settings.config_file_path=$NONE", 1 },
    { WARM_START " --last_checkpoint_info_file_path $NONE", 2 },
    { WARM_START " --last_checkpoint_info_file_path $HERE/last_checkpoint_info.json", 1 },
    { WARM_START " --last_checkpoint_info_file_path $HERE/last_checkpoint_info.json"
                 " --set app_state.config.checkpoint_dir_path=$NONE",
      1 },
    { GENERATE " --config_file_path $NONE", 2 },
    { GENERATE " --set settings.model_path=$NONE", 1 },
    { GENERATE " --set checkpointed_model.config.checkpoint_path=$NONE", 1 },
    { GENERATE " --set tokenizer.config.pretrained_model_name_or_path=$NONE", 1 },
    { "data create_raw_index $NONE", 1 },
    { "data pack_encoded_data $NONE", 2 },
    { PACK " --set settings.src_path=$NONE", 1 },
    { PACK " --set settings.index_path=$NONE", 1 },
    { PACK " --set tokenizer.config.pretrained_model_name_or_path=$NONE", 1 },
    { "data bigram_loss $NONE $HERE/tokens.pbin", 2 },
    { "data bigram_loss $HERE/tokens.pbin $NONE", 2 },
    { "data merge_packed_data $HERE/tokens.pbin $NONE $HERE/out.pbin", 2 },
    { "data shuffle_tokenized_data --input_data_path $NONE --output_data_path $HERE/out.pbin", 2 },
    { "data shuffle_jsonl_data --input_data_path $NONE --output_data_path $HERE/out.pbin", 2 },
    { "tokenizer train --vocab_size 300 --input_path $NONE --output_path $HERE/out.pbin", 1 },
    { "tokenizer encode --tokenizer $NONE < /dev/null", 1 },
    { "tokenizer encode --tokenizer $HERE/tokenizer --input_path $NONE", 2 },
    { "tokenizer decode --tokenizer $NONE < /dev/null", 1 },
    { "tokenizer decode --tokenizer $HERE/tokenizer --input_path $NONE", 2 },
    { "tokenizer inspect $NONE", 1 },
    { MODEL_RUN " --output_path $HERE/out.pbin --config_file_path $NONE", 2 },
    { MODEL_RUN " --output_path $HERE/out.pbin --weights_path $NONE", 2 },
    { MODEL_RUN " --output_path $HERE/out.pbin --batch_path $NONE", 2 },
    { "model inspect --config_file_path $NONE", 2 },
    { "checkpoint inspect $NONE", 1 },
    { "checkpoint verify $NONE", 1 },
    { "config check --config_file_path $NONE", 2 },
    { "report $NONE", 2 },
};

static const Path not_writable[] = {
    { "run --config_file_path tests/end_to_end/train.yaml --experiments_root_path $PLACE", 2 },
    { RUN " --set settings.paths.checkpoint_saving_path=$PLACE/x", 1 },
    { RUN " --set evaluation_subscriber.config.output_file_path=$PLACE/x", 1 },
    { RUN " --error_log_folder $PLACE/x --set train_dataset.config.raw_data_path=$HERE/no.pbin",
      1 },
    { "data create_raw_index $HERE/text.jsonl --index_path $PLACE/x", 1 },
    { PACK " --set settings.dst_path=$PLACE/x", 1 },
    { "data merge_packed_data $HERE/tokens.pbin $PLACE/x", 1 },
    { "data shuffle_tokenized_data --input_data_path $HERE/tokens.pbin --output_data_path $PLACE/x",
      1 },
    { "data shuffle_jsonl_data --input_data_path $HERE/text.jsonl --output_data_path $PLACE/x", 1 },
    { "tokenizer train --vocab_size 300 --input_path $HERE/text.jsonl --output_path $PLACE/x", 1 },
    { "tokenizer encode --tokenizer $HERE/tokenizer --input_path $HERE/text.jsonl --output_path "
      "$PLACE/x",
      1 },
    { "tokenizer decode --tokenizer $HERE/tokenizer --input_path $HERE/ids.jsonl --output_path "
      "$PLACE/x",
      1 },
    { MODEL_RUN " --output_path $PLACE/x", 1 },
};

/* Texts, tokens, a tokenizer; the parameters and a batch of the model of train.yaml. */
static Bench prepare(void)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *here = path_absolute(a, test_folder()), *output;
    const char *text = "{\"text\": \"one two\"}\n{\"text\": \"two three\"}\n",
               *ids = "{\"ids\": [1, 2]}\n",
               *info = arena_printf(a,
                                    "{\"checkpoint_folder_path\": \"%s/none/eid_x-seen_steps_4-"
                                    "seen_tokens_256-target_steps_8-target_tokens_512\"}",
                                    here);
    assert_int_equal(setenv("HERE", here, 1), 0);
    assert_int_equal(setenv("TRAIN_PBIN", b.pbin, 1), 0);
    assert_int_equal(setenv("NONE", path_join(a, here, "none/missing"), 1), 0);
    assert_no_error(file_write(path_join(a, here, "text.jsonl"), text, strlen(text)));
    assert_no_error(file_write(path_join(a, here, "ids.jsonl"), ids, strlen(ids)));
    assert_no_error(
        file_write(path_join(a, here, "last_checkpoint_info.json"), info, strlen(info)));
    static const char *const commands[] = {
        "data create_raw_index $HERE/text.jsonl",
        "tokenizer train --vocab_size 270 --min_frequency 1 --input_path $HERE/text.jsonl"
        " --output_path $HERE/tokenizer/tokenizer.json",
        "run --config_file_path tests/end_to_end/train.yaml --experiments_root_path $HERE"
        " --experiment_id good",
    };
    int64_t ids_of_batch[4] = { 1, 2, 3, 4 };
    const NamedTensor batch = {
        "input_ids", { .dtype = I64, .n_dims = 2, .size = { 1, 4 }, .data = ids_of_batch }
    };
    assert_no_error(safetensors_write(path_join(a, here, "b.safetensors"), &batch, 1));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (command_line_run(a, commands[i], &output)) fail_msg("%s: %s", commands[i], output);
    return b;
}

static void assert_refused_with(const Path *p, const char *const *reasons, const char *path)
{
    Arena *a = arena_new();
    const char *output, *found = NULL;
    int status = command_line_run(a, p->command, &output);
    for (int i = 0; reasons[i]; i++)
        if (strstr(output, reasons[i])) found = reasons[i];
    if (status != p->status || !found || !strstr(output, path) || strstr(output, "internal error"))
        fail_msg("%s: status %d instead of %d, or no reason, or not \"%s\": %s", p->command, status,
                 p->status, path, output);
    arena_free(a);
}

static int entries_of(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

TEST(paths_that_are_missing_are_named)
{
    static const char *const reasons[] = { "No such file or directory", "there is no ",
                                           "no such checkpoint", NULL };
    Bench b = prepare();
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        assert_refused_with(&missing[i], reasons, "/none/");
        assert_false(file_exists(path_join(b.arena, getenv("HERE"), "out.pbin")));
        assert_false(bench_has_checkpoint(&b, "x"));
    }
    arena_free(b.arena);
}

TEST(paths_below_a_file_cannot_be_written)
{
    static const char *const reasons[] = { "Not a directory", "a file is in the way",
                                           "there is no such folder", NULL };
    Bench b = prepare();
    const char *place = path_join(b.arena, getenv("HERE"), "place");
    assert_no_error(file_write(place, "x", 1));
    assert_int_equal(setenv("PLACE", place, 1), 0);
    for (size_t i = 0; i < sizeof not_writable / sizeof *not_writable; i++) {
        Str content;
        assert_refused_with(&not_writable[i], reasons, "/place");
        assert_no_error(file_read(b.arena, place, &content));
        assert_string_equal(content.ptr, "x");
    }
    arena_free(b.arena);
}

TEST(paths_in_a_read_only_file_system_cannot_be_written)
{
    static const char *const reasons[] = { "Read-only file system", NULL };
    Bench b = prepare();
    Arena *a = b.arena;
    const char *place = path_join(a, getenv("HERE"), "place");
    assert_no_error(make_directories(place));
    assert_int_equal(setenv("PLACE", place, 1), 0);
    setenv("LD_PRELOAD", test_tool(a, "crash_shim.so"), 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    setenv("CRASH_AT", "any:1", 1);
    setenv("CRASH_MODE", "EROFS", 1);
    setenv("CRASH_PATH", "/place/", 1);
    for (size_t i = 0; i < sizeof not_writable / sizeof *not_writable; i++) {
        const Path *p = &not_writable[i];
        assert_refused_with(&(Path){ p->command, 1 }, reasons, "/place/");
        assert_int_equal(entries_of(place), 0);
    }
    unsetenv("LD_PRELOAD");
    arena_free(a);
}

#define ON_THE_FLY                                                                                 \
    "tokenizer: $TOKENIZER, jq_pattern: .text, eod_token: <|endoftext|>, sequence_length: 4, "     \
    "sample_key: x"

/* Settings of components: a YAML in which $NONE or, where it is written, $PLACE stands for the
 * path, or NULL where a command above has it (the path is opened later, or is only taken apart). */
static const struct {
    const char *component, *field, *yaml;
} settings[] = {
    { "app_state.dcp", "checkpoint_dir_path", NULL },
    { "checkpoint_saving_execution.dcp", "checkpoint_path", NULL },
    { "checkpoint_saving_execution.fsdp1", "checkpoint_path", NULL },
    { "dataset.jsonl_on_the_fly", "raw_data_path", "{raw_data_path: $NONE, " ON_THE_FLY "}" },
    { "dataset.jsonl_on_the_fly", "index_path",
      "{raw_data_path: $TEXT, index_path: $NONE, " ON_THE_FLY "}" },
    { "dataset.jsonl_on_the_fly", "counts_path",
      "{raw_data_path: $TEXT, counts_path: $PLACE, " ON_THE_FLY "}" },
    { "dataset.mem_map_dataset", "raw_data_path",
      "{raw_data_path: $NONE, tokenizer: $TOKENIZER, jq_pattern: .text, sample_key: x}" },
    { "dataset.mem_map_dataset", "index_path",
      "{raw_data_path: $TEXT, index_path: $NONE, tokenizer: $TOKENIZER, jq_pattern: .text, "
      "sample_key: x}" },
    { "dataset.packed_mem_map_dataset_continuous", "raw_data_path",
      "{raw_data_path: $NONE, sequence_length: 4, sample_key: x}" },
    { "dataset.packed_mem_map_dataset_megatron", "raw_data_path",
      "{raw_data_path: $NONE, block_size: 4, sample_key: x}" },
    { "dataset.safetensors", "raw_data_path", "{raw_data_path: $NONE}" },
    { "model.debugging_enriched", "logging_dir_path", NULL },
    { "model.fsdp1_checkpointed", "checkpoint_path", NULL },
    { "model_debugging_hook.nan_hook", "save_inputs_to", NULL },
    { "number_conversion.global_num_seen_tokens_from_checkpoint_path", "checkpoint_path", NULL },
    { "number_conversion.global_num_target_tokens_from_checkpoint_path", "checkpoint_path", NULL },
    { "number_conversion.last_step_from_checkpoint_path", "checkpoint_path", NULL },
    { "number_conversion.num_seen_steps_from_checkpoint_path", "checkpoint_path", NULL },
    { "number_conversion.num_target_steps_from_checkpoint_path", "checkpoint_path", NULL },
    { "number_conversion.num_steps_from_raw_dataset_index", "raw_index_path",
      "{raw_index_path: $NONE, num_ranks: 1, local_micro_batch_size: 1, "
      "gradient_accumulation_steps: 1}" },
    { "number_conversion.num_tokens_from_packed_mem_map_dataset_continuous", "dataset_path",
      "{dataset_path: $NONE, sequence_length: 4, dp_degree: 1, local_micro_batch_size: 1, "
      "gradient_accumulation_steps: 1}" },
    { "optimizer.fsdp1_checkpointed", "checkpoint_path", NULL },
    { "results_subscriber.csv", "output_file_path", NULL },
    { "results_subscriber.tensorboard", "directory", NULL },
    { "results_subscriber.to_disc", "output_file_path", NULL },
    { "results_subscriber.wandb", "directory", NULL },
    { "results_subscriber.wandb", "config_file_path",
      "{global_rank: 0, project: p, mode: OFFLINE, experiment_id: e, directory: $FOLDER, "
      "config_file_path: $NONE}" },
    { "steppable_profiler.kernel_tracing", "output_folder_path", NULL },
    { "steppable_profiler.memory_tracing", "memory_snapshot_folder_path", NULL },
    { "tokenizer.pretrained_hf_tokenizer", "pretrained_model_name_or_path",
      "{pretrained_model_name_or_path: $NONE}" },
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* A path that a table of settings has, and the test does not know. */
TEST(paths_in_the_settings_of_components_are_all_known)
{
    Arena *a = arena_new();
    Registry *r;
    assert_no_error(components_registry(a, &r));
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *c = registry_at(r, i);
        for (const Field *f = c->fields; f && f->type; f++) {
            bool is_known = f->type != FIELD_PATH;
            for (int k = 0; k < N_SETTINGS; k++)
                is_known |=
                    !strcmp(settings[k].component, arena_printf(a, "%s.%s", c->kind, c->variant)) &&
                    !strcmp(settings[k].field, f->name);
            if (!is_known)
                fail_msg("%s.%s: give this test a row for %s", c->kind, c->variant, f->name);
        }
    }
    arena_free(a);
}

/* The configuration of one component with everything replaced that begins with "$". */
static void put_yaml(const Bench *b, const char *component, const char *text, Text *out)
{
    const char *here = path_absolute(b->arena, test_folder()), *dot = strchr(component, '.');
    const struct {
        const char *name, *value;
    } words[] = {
        { "$NONE", path_join(b->arena, here, "none/missing") },
        { "$TEXT", path_join(b->arena, here, "text.jsonl") },
        { "$PLACE", path_join(b->arena, here, "text.jsonl/none/missing") },
        { "$FOLDER", path_join(b->arena, here, "wandb") },
        { "$TOKENIZER",
          arena_printf(b->arena,
                       "{component_key: tokenizer, variant_key: pretrained_hf_tokenizer, config: "
                       "{pretrained_model_name_or_path: %s/tokenizer}}",
                       here) },
    };
    text_printf(out, "x: {component_key: %.*s, variant_key: %s, config: ", (int)(dot - component),
                component, dot + 1);
    while (*text) {
        size_t n = 0;
        for (size_t i = 0; i < sizeof words / sizeof *words && !n; i++) {
            if (!str_starts(str_of(text), words[i].name)) continue;
            text_puts(out, words[i].value);
            n = strlen(words[i].name);
        }
        if (!n) text_putc(out, *text);
        text += n ? n : 1;
    }
    text_puts(out, "}\n");
}

TEST(paths_in_the_settings_of_components_that_are_missing_are_named)
{
    Bench b = prepare();
    for (int i = 0; i < N_SETTINGS; i++) {
        if (!settings[i].yaml) continue;
        Arena *a = arena_new();
        Text yaml = { 0 };
        void *made;
        put_yaml(&b, settings[i].component, settings[i].yaml, &yaml);
        const char *path = path_join(a, test_folder(), "x.yaml");
        assert_no_error(file_write(path, yaml.ptr, yaml.len));
        text_free(&yaml);
        const char *kind =
            arena_string_n(a, settings[i].component, strcspn(settings[i].component, "."));
        if (!strcmp(kind, "number_conversion")) kind = GIVES_INT;
        Error *e = component_from_file(a, path, (StringList){ 0 }, "x", kind, &made);
        if (!e) fail_msg("%s takes a missing %s", settings[i].component, settings[i].field);
        assert_contains(error_text(e), "x.yaml:1:");
        if (!strstr(error_text(e), "No such file") && !strstr(error_text(e), "there is no ") &&
            !strstr(error_text(e), "Not a directory") &&
            !strstr(error_text(e), "a file is in the way"))
            fail_msg("no reason: %s", error_text(e));
        assert_error_has(e, "/none/missing");
        arena_free(a);
    }
    arena_free(b.arena);
}
