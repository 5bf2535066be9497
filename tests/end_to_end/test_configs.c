/* test_configs.c - the configurations of configs/: each is checked, and runs on little data. */
#include "cli/command_line.h"
#include "config/yaml.h"
#include "end_to_end/training.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* What makes each of them small. */
#define TINY_MODEL                                                                                 \
    " --set model_raw.config.n_layer=1 --set model_raw.config.n_embd=128"                          \
    " --set model_raw.config.n_head_q=4 --set model_raw.config.n_head_kv=2"                        \
    " --set model_raw.config.ffn_hidden=128 --set model_raw.config.vocab_size=384"
#define TINY_STEPS                                                                                 \
    " --set settings.step_profile.sequence_length=16"                                              \
    " --set settings.step_profile.local_train_micro_batch_size=2"                                  \
    " --set settings.training_target.num_target_steps=4"                                           \
    " --set settings.intervals.training_log_interval_in_steps=1"                                   \
    " --set settings.intervals.checkpointing_interval_in_steps=2"                                  \
    " --set settings.intervals.evaluation_interval_in_steps=2"                                     \
    " --set lr_scheduler.config.warmup_steps=1"
#define TINY_RUN TINY_MODEL TINY_STEPS

/* What a configuration needs to stand here at all, and what makes it tiny; words of a shell. Those
 * of many ranks are checked as of so many, and trained on few. */
typedef struct Case {
    const char *path, *needs, *tiny;
    const char *world_size; /* NULL: one rank */
} Case;

#define LAYOUT(NAME) "configs/layouts/" NAME ".yaml" /* trained by test_layout_configs.c */
#define RECIPE(NAME) "configs/recipes/llama3_" NAME ".yaml"
#define TINY_RECIPE                                                                                \
    TINY_RUN " --set settings.intervals.evaluation_batches=1"                                      \
             " --set settings.step_profile.gradient_accumulation_steps=2"                          \
             " --set sharded_model.config.param_dtype=FP_32 --set model_raw.config.n_layer=2"

#define WARM " --last_checkpoint_info_file_path $MODALITIES_DATA/info.json"
static const Case cases[] = {
    { "configs/data/pack.yaml", "", "", NULL },
    { "configs/ablation/activation.yaml",
      " --set sweep.activation=swiglu --set sweep.lr=1e-3 --set sweep.seed=1",
      TINY_RUN " --set settings.intervals.evaluation_batches=2", NULL },
    { "configs/training/small.yaml", "", TINY_RUN, NULL },
    { "configs/training/small_warmstart.yaml", WARM, TINY_RUN, NULL },
    { "configs/training/gpt2_124m.yaml", "",
      TINY_RUN " --set settings.step_profile.gradient_accumulation_steps=2", NULL },
    { "configs/training/from_huggingface.yaml", "",
      TINY_STEPS " --set settings.step_profile.gradient_accumulation_steps=1", NULL },
    { "configs/training/lora.yaml", "",
      TINY_STEPS " --set settings.step_profile.gradient_accumulation_steps=1", NULL },
    { "configs/training/muon.yaml", "",
      TINY_RUN " --set lr_scheduler.config.warmup_steps=1 --set lr_scheduler.config.decay_steps=1",
      NULL },
    { "configs/training/hybrid.yaml", "", TINY_RUN, NULL },
    { "configs/generate/small.yaml", " --set settings.model_path=$MODALITIES_DATA/info.json",
      TINY_MODEL " --set settings.sequence_length=16", NULL },
    { "configs/tutorial/warmstart_config.yaml",
      WARM " --set settings.paths.train_dataset_path=$MODALITIES_DATA/train.pbin"
           " --set settings.step_profile.local_train_micro_batch_size=2",
      " --set settings.step_profile.sequence_length=16", NULL },
    { "configs/tutorial/text_generation_config.yaml",
      " --set tokenizer.config.pretrained_model_name_or_path=$MODALITIES_DATA/tokenizer"
      " --set settings.model_path=$MODALITIES_DATA/info.json",
      "", NULL },
    { LAYOUT("common"), "", TINY_RUN, NULL },
    { LAYOUT("ddp"), "", "", "2" },
    { LAYOUT("zero1"), "", "", "2" },
    { LAYOUT("fsdp"), "", "", "2" },
    { LAYOUT("hsdp"), "", "", "4" },
    { LAYOUT("tensor"), "", "", "2" },
    { LAYOUT("context"), "", "", "2" },
    { LAYOUT("pipeline"), "", "", "2" },
    { LAYOUT("experts"), "", "", "2" },
    { LAYOUT("product"), "", "", "8" },
    { RECIPE("8b_one_gpu"), "", TINY_RECIPE, NULL },
    { RECIPE("8b"), "", TINY_RECIPE " --ranks 2", "8" },
    { RECIPE("70b"), "", TINY_RECIPE " --ranks 4 --set device_mesh.config.tensor_parallel_degree=2",
      "256" },
    { RECIPE("405b"), "",
      TINY_RECIPE " --ranks 8 --set device_mesh.config.tensor_parallel_degree=2 --set "
                  "device_mesh.config.pipeline_parallel_degree=2",
      "512" },
    { RECIPE("405b_262144"), "",
      TINY_RECIPE " --ranks 8 --set device_mesh.config.tensor_parallel_degree=2 --set "
                  "device_mesh.config.pipeline_parallel_degree=2 --set "
                  "device_mesh.config.context_parallel_degree=2",
      "512" },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static const Case *find_case(const char *path)
{
    for (int i = 0; i < N_CASES; i++)
        if (!strcmp(cases[i].path, path)) return &cases[i];
    fail_msg("%s: give this test the settings that make it small", path);
    return NULL;
}

/* Which other tests make. */
static bool begins_with_weights(const Case *c)
{
    return !strncmp(c->needs, WARM, strlen(WARM)) || strstr(c->path, "from_huggingface") ||
           strstr(c->path, "lora");
}

static const char *must_run(Arena *a, const char *args)
{
    const char *output;
    int status = command_line_run(a, args, &output);
    if (status) fail_msg("%s: status %d: %s", args, status, output);
    return output;
}

/* Lines of words that follow each other in some order. */
static void write_documents(const char *path, int n)
{
    static const char *const word[] = { "the",  "quick", "brown", "fox", "jumps",
                                        "over", "a",     "lazy",  "dog", "\\\"yes\\\"" };
    Text t = { 0 };
    for (int i = 0; i < n; i++) {
        text_puts(&t, "{\"text\": \"");
        for (int k = 0; k < 12; k++)
            text_printf(&t, "%s%s", k ? " " : "", word[(i * 7 + k * k) % 10]);
        text_puts(&t, "\"}\n");
    }
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
}

enum { WHOLE_STEP = 8 * 256, TINY_STEP = 2 * 16 }; /* tokens, in configs/training/small.yaml */

/* What a run leaves behind in the middle. */
static void write_info(Arena *a, const char *folder, int tokens_per_step)
{
    bool is_tiny = tokens_per_step == TINY_STEP;
    int steps = is_tiny ? 2 : 200, target = is_tiny ? 4 : 600;
    const char *info =
        arena_printf(a,
                     "{\"checkpoint_folder_path\": \"eid_x-seen_steps_%d-seen_tokens_%d"
                     "-target_steps_%d-target_tokens_%d\"}",
                     steps, steps * tokens_per_step, target, target * tokens_per_step);
    assert_no_error(file_write(path_join(a, folder, "info.json"), info, strlen(info)));
}

/* What configs/training/from_huggingface.yaml begins with; without weights. */
static void write_model(const char *folder)
{
    static const char config[] =
        "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "
        "\"vocab_size\": 384, \"hidden_size\": 32, \"intermediate_size\": 48, "
        "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"max_position_embeddings\": 512}";
    Arena *a = arena_new();
    assert_no_error(make_directories(folder));
    assert_no_error(file_write(path_join(a, folder, "config.json"), config, strlen(config)));
    assert_int_equal(setenv("MODALITIES_MODEL", folder, 1), 0);
    arena_free(a);
}

/* Texts, a tokenizer and packed tokens, all made by the program; and the file of a tiny run for a
 * warm start. Returns the folder. */
static const char *prepare(Arena *a)
{
    const char *folder = path_join(a, path_absolute(a, test_folder()), "data");
    const char *train = path_join(a, folder, "train.jsonl");
    assert_no_error(make_directories(path_join(a, folder, "tokenizer")));
    assert_int_equal(setenv("MODALITIES_DATA", folder, 1), 0);
    write_model(path_join(a, folder, "model"));
    write_documents(train, 60);
    write_documents(path_join(a, folder, "validation.jsonl"), 8);
    must_run(a, arena_printf(a,
                             "tokenizer train --input_path %s --vocab_size 280 --output_path "
                             "%s/tokenizer/tokenizer.json",
                             train, folder));
    static const char *const parts[] = { "train", "validation" };
    for (int i = 0; i < 2; i++) {
        must_run(a, arena_printf(a, "data create_raw_index %s/%s.jsonl", folder, parts[i]));
        must_run(a, arena_printf(a,
                                 "data pack_encoded_data configs/data/pack.yaml --set "
                                 "settings.part=%s --set settings.num_cpus=1",
                                 parts[i]));
    }
    write_info(a, folder, TINY_STEP);
    assert_no_error(make_directories(path_join(a, folder, "experiments")));
    return folder;
}

/* The lines that do not tell of an input that is not there yet. */
static const char *without_absent(Arena *a, const char *said)
{
    Text rest = { 0 };
    text_puts(&rest, "");
    for (const char *line = said; *line;) {
        const size_t n = strcspn(line, "\n");
        const char *text = arena_string_n(a, line, n);
        if (!strstr(text, "; not there yet: as long as")) text_printf(&rest, "%s\n", text);
        line += n + (line[n] == '\n');
    }
    const char *kept = arena_string(a, rest.ptr);
    text_free(&rest);
    return kept;
}

TEST(every_configuration_is_free_of_mistakes_and_warnings)
{
    Arena *a = arena_new();
    int n = 0;
    const char *folder = prepare(a);
    const char *later = path_join(a, folder, "later"); /* where the data of whole runs will be */
    assert_no_error(make_directories(later));
    write_info(a, later, WHOLE_STEP);
    DIR *top = opendir("configs");
    assert_non_null(top);
    for (const struct dirent *group; (group = readdir(top));) {
        const char *below = path_join(a, "configs", group->d_name);
        DIR *d = group->d_name[0] == '.' ? NULL : opendir(below);
        for (const struct dirent *e; d && (e = readdir(d));) {
            if (!text_matches("*.yaml", e->d_name)) continue;
            const Case *c = find_case(path_join(a, below, e->d_name));
            const char *check =
                arena_printf(a, "config check --config_file_path %s%s", c->path, c->needs);
            n++;
            assert_int_equal(setenv("MODALITIES_DATA", later, 1), 0);
            if (c->world_size) assert_int_equal(setenv("WORLD_SIZE", c->world_size, 1), 0);
            const char *unready = must_run(a, check);
            if (strstr(without_absent(a, unready), "warning")) fail_msg("%s: %s", c->path, unready);
            assert_int_equal(unsetenv("WORLD_SIZE"), 0);
            assert_int_equal(setenv("MODALITIES_DATA", folder, 1), 0);
            const char *strict = begins_with_weights(c) ? "" : " --strict";
            if (c->world_size) continue;
            const char *said = must_run(a, arena_printf(a, "%s%s%s", check, strict, c->tiny));
            if (*strict && strstr(said, "warning")) fail_msg("%s: %s", c->path, said);
        }
        if (d) closedir(d);
    }
    closedir(top);
    assert_int_equal(n, N_CASES);
    arena_free(a);
}

/* All that it begins with must be there. */
static void train(Arena *a, const char *command, const char *path, const char *id)
{
    const Case *c = find_case(path);
    if (!c->world_size)
        must_run(a, arena_printf(a, "config check --strict --config_file_path %s%s%s", path,
                                 c->needs, c->tiny));
    must_run(a, arena_printf(a,
                             "%s --config_file_path %s --experiments_root_path "
                             "$MODALITIES_DATA/experiments --experiment_id %s%s%s",
                             command, path, id, c->needs, c->tiny));
}

TEST(the_small_model_trains_resumes_and_generates)
{
    Arena *a = arena_new();
    const char *folder = prepare(a);
    const Bench b = { .arena = a, .root = path_join(a, folder, "experiments") };
    train(a, "run", "configs/training/small.yaml", "whole");
    const char *info =
        arena_printf(a,
                     "{\"checkpoint_folder_path\": \"%s/whole/checkpoints/eid_whole-seen_steps_2-"
                     "seen_tokens_64-target_steps_4-target_tokens_128\"}",
                     b.root);
    assert_no_error(file_write(path_join(a, folder, "info.json"), info, strlen(info)));
    train(a, "warmstart", "configs/training/small_warmstart.yaml", "resumed");
    assert_curve_within(&b, "resumed", "whole");
    assert_same_state(&b, "resumed", "whole");
    assert_contains(must_run(a, "report $MODALITIES_DATA/experiments/whole"), "validation loss");
    const Case *c = find_case("configs/generate/small.yaml");
    const char *answer =
        must_run(a, arena_printf(a,
                                 "generate_text --config_file_path %s --set settings.model_path=%s "
                                 "--prompt 'the quick' --max_new_tokens 5%s",
                                 c->path, bench_last_checkpoint(&b, "resumed", NULL), c->tiny));
    assert_contains(answer, "the quick");
    arena_free(a);
}

TEST(the_configuration_of_gpt2_124m_trains)
{
    Arena *a = arena_new();
    const char *folder = prepare(a);
    const Bench b = { .arena = a, .root = path_join(a, folder, "experiments") };
    train(a, "run", "configs/training/gpt2_124m.yaml", "gpt2");
    int64_t steps;
    assert_contains(bench_last_checkpoint(&b, "gpt2", &steps), "seen_tokens_256-");
    assert_int_equal(steps, 4);
    arena_free(a);
}

/* What a model answers that only its folder describes. */
static Str answer_of(Arena *a, const char *model, const char *more)
{
    const char *file = path_join(a, test_folder(), "answer");
    Str answer;
    must_run(a, arena_printf(a,
                             "generate_text --model_path %s --prompt 'the one' --temperature 0 "
                             "--max_new_tokens 9 %s > %s",
                             model, more, file));
    assert_no_error(file_read(a, file, &answer));
    assert_contains(answer.ptr, "--OUTPUT--");
    return answer;
}

static void answer_alike(Arena *a, const char *model, const char *experiment, const char *more)
{
    const Str x = answer_of(a, model, ""), y = answer_of(a, experiment, more);
    assert_string_equal(x.ptr, y.ptr);
}

/* A model as Hugging Face has them, made here; trained further, and given back. */
TEST(a_hugging_face_model_is_trained_further_and_given_back)
{
    Arena *a = arena_new();
    const char *folder = prepare(a);
    const Bench b = { .arena = a, .root = path_join(a, folder, "experiments") };
    const char *model = path_join(a, folder, "exported"), *tuned = path_join(a, folder, "tuned");
    train(a, "run", "configs/training/small.yaml", "first");
    const Case *small = find_case("configs/training/small.yaml");
    must_run(a, arena_printf(a,
                             "convert_pytorch_to_hf_checkpoint --config_file_path %s "
                             "--checkpoint_path %s --output_hf_checkpoint_dir %s%s",
                             small->path, bench_last_checkpoint(&b, "first", NULL), model,
                             small->tiny));
    Str tokenizer, before, after;
    assert_no_error(file_read(a, path_join(a, folder, "tokenizer/tokenizer.json"), &tokenizer));
    assert_no_error(
        file_write(path_join(a, model, "tokenizer.json"), tokenizer.ptr, tokenizer.len));
    assert_int_equal(setenv("MODALITIES_MODEL", model, 1), 0);
    train(a, "run", "configs/training/lora.yaml", "adapted");
    train(a, "run", "configs/training/from_huggingface.yaml", "tuned");
    must_run(a, arena_printf(a,
                             "convert_pytorch_to_hf_checkpoint --config_file_path "
                             "configs/training/from_huggingface.yaml --checkpoint_path %s "
                             "--output_hf_checkpoint_dir %s",
                             bench_last_checkpoint(&b, "tuned", NULL), tuned));
    assert_no_error(file_read(a, path_join(a, model, "config.json"), &before));
    assert_no_error(file_read(a, path_join(a, tuned, "config.json"), &after));
    assert_contains(arena_string_n(a, after.ptr, after.len), "\"LlamaForCausalLM\"");
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.ptr, after.ptr, before.len);
    assert_true(file_exists(path_join(a, tuned, "tokenizer.json")));
    assert_no_error(file_read(a, path_join(a, model, "model.safetensors"), &before));
    assert_no_error(file_read(a, path_join(a, tuned, "model.safetensors"), &after));
    assert_int_equal(before.len, after.len);
    assert_true(memcmp(before.ptr, after.ptr, before.len) != 0);
    const char *merged = path_join(a, folder, "merged");
    must_run(a, arena_printf(
                    a,
                    "convert_pytorch_to_hf_checkpoint --config_file_path "
                    "configs/training/lora.yaml --model_key initialized_model --checkpoint_path %s "
                    "--output_hf_checkpoint_dir %s",
                    bench_last_checkpoint(&b, "adapted", NULL), merged));
    assert_no_error(file_read(a, path_join(a, merged, "model.safetensors"), &after));
    assert_int_equal(before.len, after.len);
    assert_true(memcmp(before.ptr, after.ptr, before.len) != 0);
    answer_alike(a, model, path_join(a, b.root, "first"),
                 arena_printf(a, "--tokenizer_path %s/tokenizer", folder));
    answer_alike(a, tuned, path_join(a, b.root, "tuned"), "");
    answer_alike(a, merged, bench_last_checkpoint(&b, "adapted", NULL), "");
    arena_free(a);
}

TEST(the_small_model_trains_by_muon_with_averages)
{
    Arena *a = arena_new();
    const char *folder = prepare(a);
    const Bench b = { .arena = a, .root = path_join(a, folder, "experiments") };
    Str results;
    int64_t steps;
    train(a, "run", "configs/training/muon.yaml", "muon");
    bench_last_checkpoint(&b, "muon", &steps);
    assert_true(steps > 0);
    assert_no_error(file_read(a, path_join(a, b.root, "muon/evaluation_results.jsonl"), &results));
    assert_contains(results.ptr, "\"lr/muon\": ");
    assert_contains(results.ptr, "\"lr/adam_w\": ");
    arena_free(a);
}

/* Whoever changes one of two files that belong together must change the other. */
static void assert_same_but(const char *first, const char *second, const char *const *differs)
{
    Arena *a = arena_new();
    Yaml *x, *y;
    assert_no_error(yaml_read(a, first, &x));
    assert_no_error(yaml_read(a, second, &y));
    for (int64_t i = 0; i < x->n; i++) {
        const char *key = x->key[i]->text;
        bool may_differ = false;
        for (int k = 0; differs[k]; k++) may_differ |= !strcmp(key, differs[k]);
        if (!may_differ && !yaml_equal(x->item[i], yaml_get(y, key)))
            fail_msg("%s of %s and %s differ", key, first, second);
    }
    arena_free(a);
}

TEST(configurations_that_belong_together_agree)
{
    Arena *a = arena_new();
    const char *small = "configs/training/small.yaml",
               *warm = "configs/training/small_warmstart.yaml";
    assert_same_but(small, warm, (const char *[]){ "settings", "app_state", NULL });
    Yaml *x, *y, *z;
    assert_no_error(yaml_read(a, small, &x));
    assert_no_error(yaml_read(a, warm, &y));
    assert_no_error(yaml_read(a, "configs/generate/small.yaml", &z));
    static const char *const settings[] = {
        "referencing_keys",        "cuda_env",     "paths",          "intervals",
        "consistency_enforcement", "step_profile", "training_target"
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *path = arena_printf(a, "settings.%s", settings[i]);
        assert_non_null(yaml_find(x, path));
        assert_true(yaml_equal(yaml_find(x, path), yaml_find(y, path)));
    }
    assert_true(yaml_equal(yaml_find(x, "app_state.config"), yaml_find(y, "raw_app_state.config")));
    static const char *const model[] = { "vocab_size",
                                         "n_layer",
                                         "n_embd",
                                         "n_head_q",
                                         "n_head_kv",
                                         "ffn_hidden",
                                         "enforce_swiglu_hidden_dim_multiple_of",
                                         "attention_config",
                                         "attention_norm_config",
                                         "use_weight_tying" };
    for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
        const char *path = arena_printf(a, "model_raw.config.%s", model[i]);
        assert_non_null(yaml_find(x, path));
        assert_true(yaml_equal(yaml_find(x, path), yaml_find(z, path)));
    }
    arena_free(a);
}

/* Their layouts, with fewer ranks. */
TEST(recipes_train_on_few_ranks)
{
    Arena *a = arena_new();
    const char *folder = prepare(a);
    const Bench b = { .arena = a, .root = path_join(a, folder, "experiments") };
    for (int i = 0; i < N_CASES; i++) {
        if (!text_matches("configs/recipes/*", cases[i].path)) continue;
        const char *id = arena_printf(a, "recipe-%d", i);
        train(a, "run", cases[i].path, id);
        int64_t steps;
        bench_last_checkpoint(&b, id, &steps);
        assert_int_equal(steps, 4);
    }
    arena_free(a);
}
