/* test_original_trainings.c - every training YAML of the original runs three steps at reduced size,
 * by --set alone; warm starts go on for three from a checkpoint of such a run. */
#include "cli/command_line.h"
#include "config/yaml.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For all of them: three steps of short samples, on data that is there, told to nobody. */
static const char *const for_all[] = {
    "settings.training_target.num_target_tokens=300000",
    "settings.intervals.training_log_interval_in_steps=3",
    "settings.intervals.checkpointing_interval_in_steps=3",
    "settings.intervals.evaluation_interval_in_steps=3",
    "settings.consistency_enforcement.enforce_last_step_logged=false",
    "settings.consistency_enforcement.enforce_last_step_evaluated=false",
    "settings.consistency_enforcement.enforce_last_step_checkpointed=false",
    "settings.consistency_enforcement.enforce_enough_tokens_in_dataset=false",
    "settings.consistency_enforcement.enforce_tokens_per_step_consistency=false",
    "settings.step_profile.sequence_length=16",
    "eval_dataloaders=[]",
    "progress_subscriber={component_key: progress_subscriber, variant_key: dummy, config: {}}",
    "evaluation_subscriber={component_key: results_subscriber, variant_key: dummy, config: {}}",
    NULL
};
static const char *const for_text[] = {
    "train_dataset={component_key: dataset, variant_key: packed_mem_map_dataset_continuous, "
    "config: "
    "{raw_data_path: data/lorem_ipsum_long.pbin, sequence_length: 16, sample_key: input_ids}}",
    "collate_fn={component_key: collate_fn, variant_key: gpt_2_llm_collator, config: {sample_key: "
    "input_ids, target_key: target_ids}}",
    NULL
};
static const char *const for_gpt2[] = { "model_raw.config.n_embd=32",
                                        "model_raw.config.ffn_hidden=64",
                                        "model_raw.config.n_head_q=4",
                                        "model_raw.config.n_head_kv=4", NULL };

/* Those whose checkpoint a test of the original puts into the YAML. */
#define SEEN "\"${settings.warmstart_checkpoint_paths.checkpoint_folder_path}\""
#define PROGRESS "settings.training_progress."
#define GIVEN_PATHS "settings.warmstart_checkpoint_paths=\"${warmstart_env:checkpoint_paths}\""
static const char *const for_fixed_folder[] = {
    PROGRESS "global_num_seen_tokens.config.checkpoint_path=" SEEN,
    PROGRESS "num_seen_steps.config.checkpoint_path=" SEEN,
    PROGRESS "last_step.config.checkpoint_path=" SEEN, "app_state.config.checkpoint_dir_path=" SEEN,
    NULL
};
#define SAVED_AT                                                                                   \
    "checkpoint_saving.config.checkpoint_saving_execution.config.checkpoint_path=saved/"

#define VISION "model_raw.config.vision_encoder_config."
#define TEXT "model_raw.config.text_decoder_config."
#define CLIPPER_MESH                                                                               \
    "gradient_clipper.config.device_mesh={instance_key: device_mesh, pass_type: BY_REFERENCE}"
#define GPT2_BLOCKS "wrapped_model.config.block_names=[GPT2Block]"
#define FSDP_BLOCKS "fsdp_model.config.block_names=[GPT2Block]"
#define SMALL_GPT2                                                                                 \
    "model_raw={component_key: model, variant_key: gpt2, config: {sample_key: input_ids, "         \
    "prediction_key: logits, poe_type: NOPE, sequence_length: 16, vocab_size: 50304, n_layer: 2, " \
    "n_head_q: 4, n_head_kv: 2, n_embd: 32, ffn_hidden: 64, dropout: 0.0, bias: true, "            \
    "attention_config: {qkv_transforms: []}, attention_implementation: manual, activation_type: "  \
    "gelu, attention_norm_config: {norm_type: layer_norm, config: {normalized_shape: 32, eps: "    \
    "1e-5}}, ffn_norm_config: {norm_type: layer_norm, config: {normalized_shape: 32, eps: 1e-5}}," \
    " lm_head_norm_config: {norm_type: layer_norm, config: {normalized_shape: 32, eps: 1e-5}}, "   \
    "use_meta_device: false, use_weight_tying: false}}"

/* What single files need besides: what they lack here (a model of the hub, a component that a
 * Python program brings, float16), or what they lack altogether (docs/differences.md). */
static const struct {
    const char *file, *set[10];
} more[] = {
    { "config_example_coca.yaml",
      { "wrapped_model.config.mixed_precision_settings=BF_16", VISION "n_layer=1",
        VISION "n_embd=32", VISION "n_head=4", TEXT "n_layer_text=1",
        TEXT "n_layer_multimodal_text=1", TEXT "n_embd=32", TEXT "n_head=4",
        TEXT "ffn_hidden=64" } },
    { "config_lorem_ipsum_fsdp2.yaml", { "gradient_clipper.config.max_norm=1.0", CLIPPER_MESH } },
    { "library_usage/config_lorem_ipsum.yaml", { CLIPPER_MESH } },
    { "config_lorem_ipsum_long_fsdp2_warmstart.yaml", { CLIPPER_MESH } },
    { "instruction_tune_model_config.yaml", { SMALL_GPT2, GPT2_BLOCKS } },
    { "small_train_instruct_model_fsdp2_config.yaml", { SMALL_GPT2, FSDP_BLOCKS } },
    { "/train_instruct_model_fsdp2_config.yaml", { SMALL_GPT2, FSDP_BLOCKS } },
};

typedef struct Command {
    Arena *a;
    const char *word[110];
    int n;
} Command;

static void add(Command *c, const char *const *set)
{
    for (; *set; set++) {
        assert_true(c->n < 104);
        c->word[c->n++] = "--set";
        c->word[c->n++] = *set;
    }
}

static int64_t number_at(const Yaml *root, const char *path, int64_t otherwise)
{
    const Yaml *y = yaml_find(root, path);
    return y && y->type == YAML_INT && y->integer > 0 ? y->integer : otherwise;
}

static int64_t ranks_of(const Yaml *root)
{
    static const char *const axes[] = { "pipeline_parallel", "tensor_parallel",
                                        "data_parallel_replicate", "data_parallel_shard" };
    int64_t n = 1;
    Arena *a = arena_new();
    for (int i = 0; i < 4; i++)
        n *= number_at(root, arena_printf(a, "device_mesh.config.%s_degree", axes[i]), 1);
    arena_free(a);
    return n;
}

static bool is_training(const Yaml *root, const char *path)
{
    return yaml_find(root, "train_dataloader") && yaml_find(root, "settings.training_target") &&
           !strstr(path, "warm");
}

static bool is_variant(const Yaml *root, const char *variant)
{
    const Yaml *y = yaml_find(root, "model_raw.variant_key");
    return y && y->type == YAML_STRING && !strcmp(y->text, variant);
}

static bool is_dcp(const Yaml *root)
{
    const Yaml *y = yaml_find(root, "app_state.variant_key");
    return y && y->type == YAML_STRING && !strcmp(y->text, "dcp");
}

/* What is said beside the sizes: a warm start gives the checkpoint that it goes on from. */
typedef struct Begin {
    const char *command, *experiment, *info; /* info NULL: it begins anew */
    int steps;
} Begin;

static const char *run_one(Arena *a, const char *path, const Yaml *root, const Begin *b)
{
    Command c = { .a = a };
    const char *begin[] = { b->command,   "--config_file_path",
                            path,         "--experiments_root_path",
                            "exp",        "--experiment_id",
                            b->experiment };
    for (int i = 0; i < 7; i++) c.word[c.n++] = begin[i];
    if (b->info) {
        c.word[c.n++] = "--last_checkpoint_info_file_path";
        c.word[c.n++] = b->info;
    }
    add(&c, for_all);
    add(&c, (const char *const[]){
                arena_printf(a, "settings.training_target.num_target_steps=%d", b->steps),
                arena_printf(a, SAVED_AT "%s", b->experiment), NULL });
    const bool is_fixed = b->info && strstr(path, "from_step_4");
    if (is_fixed) add(&c, (const char *const[]){ GIVEN_PATHS, NULL });
    if (is_fixed && is_dcp(root)) add(&c, for_fixed_folder);
    if (!is_variant(root, "coca")) add(&c, for_text);
    const int64_t ranks = ranks_of(root);
    if (is_variant(root, "gpt2")) {
        add(&c, for_gpt2);
        if (ranks == 1) add(&c, (const char *const[]){ "model_raw.config.n_layer=2", NULL });
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strstr(path, more[i].file)) add(&c, more[i].set);
    if (strstr(path, "einsum"))
        add(&c,
            (const char *const[]){
                arena_printf(a, "plugins=[%s]", getenv("EINSUM")), "model_raw.config.embed_dim=32",
                "model_raw.config.num_q_heads=4", "model_raw.config.num_kv_heads=2",
                "model_raw.config.num_layers=2", "model_raw.config.vocab_size=50304", NULL });
    if (ranks > 1) {
        c.word[c.n++] = "--ranks";
        c.word[c.n++] = arena_printf(a, "%d", (int)ranks);
    }
    Outcome o = command_output(a, c.word, NULL);
    if (o.status) fail_msg("%s: %s", path, o.text);
    assert_contains(o.text, arena_printf(a, "All %d steps are done", b->steps));
    return o.text;
}

/* Runs lie in this test's folder, from where the data are seen as in the original's. */
typedef struct Place {
    Arena *arena;
    const char *from; /* the original's files */
    char *home;
} Place;

static Place enter(void)
{
    Arena *a = arena_new();
    Place p = { a, path_absolute(a, shared_path(a, "data/modalities")), getcwd(NULL, 0) };
    setenv("MODALITIES_PROGRAM", path_absolute(a, program_path()), 1);
    setenv("MODALITIES_THREADS", "1", 1);
    setenv("EINSUM", path_absolute(a, test_tool(a, "../examples/einsum_transformer.so")), 1);
    assert_int_equal(chdir(test_folder()), 0);
    Str tokens; /* a copy: what they save goes beside it */
    assert_no_error(make_directories("data"));
    assert_no_error(file_read(a, path_join(a, p.from, "data/lorem_ipsum_long.pbin"), &tokens));
    assert_no_error(file_write("data/lorem_ipsum_long.pbin", tokens.ptr, tokens.len));
    return p;
}

static void leave(Place *p)
{
    assert_int_equal(chdir(p->home), 0);
    free(p->home);
    arena_free(p->arena);
}

TEST(every_training_of_the_original_runs_three_steps)
{
    Place place = enter();
    Arena *a = place.arena;
    PathList files = { 0 };
    assert_no_error(files_below(a, place.from, ".yaml", &files));
    assert_int_equal(files.n, 74);
    int64_t n_run = test_share(20);
    int n = 0;
    for (int64_t i = 0; i < files.n; i++) {
        Yaml *root;
        assert_no_error(yaml_read(a, files.item[i], &root));
        if (!is_training(root, files.item[i])) continue;
        const Begin b = { "run", arena_printf(a, "x%d", n), NULL, 3 };
        if (n++ < n_run) run_one(a, files.item[i], root, &b);
    }
    test_note("%d of %d trainings of the original run three steps", (int)n_run, n);
    assert_int_equal(n, 20);
    leave(&place);
}

/* Each with the training whose checkpoint it goes on from. */
#define LONG "config_files/training/config_lorem_ipsum_long_"
#define TUTORIAL "tutorials/warmstart/configs/"
#define TESTS "tests/end2end_tests/"
static const char *const warm_starts[][2] = {
    { LONG "fsdp1.yaml", LONG "fsdp1_warmstart.yaml" },
    { LONG "fsdp2.yaml", LONG "fsdp2_warmstart.yaml" },
    { TUTORIAL "pre_training_config.yaml", TUTORIAL "warmstart_config.yaml" },
    { TESTS "gpt2_train_num_steps_8.yaml", TESTS "gpt2_warm_start_from_step_4.yaml" },
    { TESTS "configs/gpt2_train_num_steps_7_grad_accu.yaml",
      TESTS "configs/gpt2_warm_start_from_step_4_grad_accu.yaml" },
    { TESTS "configs/gpt2_train_num_steps_7_grad_accu.yaml",
      TESTS "configs/gpt2_warm_start_from_step_4_fsdp2.yaml" },
    { TESTS "configs/gpt2_train_num_steps_7_grad_accu.yaml",
      TESTS "configs/gpt2_warm_start_from_step_4_fsdp2_grad_accu.yaml" },
    { TESTS "configs/gpt2_train_num_steps_7_pp_tp.yaml",
      TESTS "configs/gpt2_warm_start_from_step_4_pp_tp.yaml" },
};

TEST(every_warm_start_of_the_original_goes_on_for_three_steps)
{
    enum { N = sizeof warm_starts / sizeof *warm_starts };
    Place place = enter();
    Arena *a = place.arena;
    const int64_t n_run = test_share(N);
    for (int64_t i = 0; i < n_run; i++) {
        Begin b = { "run", arena_printf(a, "cold%d", (int)i), NULL, 3 };
        for (int k = 0; k < 2; k++) {
            Yaml *root;
            PathList info = { 0 };
            const char *path = path_join(a, place.from, warm_starts[i][k]);
            assert_no_error(yaml_read(a, path, &root));
            const char *said = run_one(a, path, root, &b);
            if (k == 1) break;
            assert_no_error(
                files_below(a, path_join(a, "saved", b.experiment), "checkpoint_info.json", &info));
            if (info.n != 1)
                fail_msg("%s: no checkpoint: %s", path,
                         strlen(said) > 600 ? said + strlen(said) - 600 : said);
            b = (Begin){ "warmstart", arena_printf(a, "warm%d", (int)i), info.item[0], 6 };
        }
    }
    test_note("%d of %d warm starts of the original go on for three steps", (int)n_run, N);
    leave(&place);
}
