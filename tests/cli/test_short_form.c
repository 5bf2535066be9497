/* test_short_form.c - what `config resolve` says of model.parallelized. */
#include "config/yaml.h"
#include "end_to_end/training.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* The output for a file of configs/layouts with settings of its block. */
static const char *resolve(Arena *a, const char *file, const char *const *set, const char *format)
{
    const char *word[32] = { "config", "resolve", "--config_file_path", file, "--format", format };
    int n = 6;
    for (; set && *set; set++) {
        word[n++] = "--set";
        word[n++] = *set;
    }
    Outcome o = command_output(a, word, NULL);
    assert_int_equal(o.status, 0);
    return o.text;
}

#define PRODUCT "configs/layouts/product.yaml"
#define OF(setting) "sharded_model.config." setting

TEST(resolving_says_what_the_short_form_stands_for)
{
    Arena *a = arena_new();
    const char *text = resolve(a, PRODUCT, NULL, "yaml");
    Yaml *root;
    assert_contains(
        text,
        "# sharded_model: model.parallelized stands for\n"
        "#   model.gpt2_tp\n"
        "#   model.activation_checkpointed: {ac_variant: selective_layer_activation_checkpointing, "
        "ac_fun_params: {ac_freq: 2}}\n"
        "#   model.fsdp2_wrapped: {mixed_precision_settings: {param_dtype: FP_32, reduce_dtype: "
        "FP_32}, reshard_after_forward: true, layers_per_fsdp_unit: 1}\n"
        "#   pipeline.staged, pipeline.scheduled and pipeline.selector: {pp_schedule_name: "
        "Interleaved1F1B}, a batch cut into 4\n"
        "#   stages about equally long\n");
    assert_no_error(yaml_parse(a, str_of(text), "output", &root));
    assert_null(strstr(resolve(a, PRODUCT, NULL, "json"), "stands for"));
    assert_int_equal(setenv("TRAIN_PBIN", "not_there.pbin", 1), 0);
    assert_null(strstr(resolve(a, "tests/end_to_end/train.yaml", NULL, "yaml"), "stands for"));
    arena_free(a);
}

TEST(resolving_says_what_the_long_form_has_no_words_for)
{
    Arena *a = arena_new();
    static const char *const set[] = { "device_mesh.config.context_parallel_degree=2",
                                       OF("context_method=ulysses"),
                                       OF("sequence_parallel=false"),
                                       OF("zero_stage=1"),
                                       OF("reduce_dtype=BF_16"),
                                       OF("recompute_every=1"),
                                       OF("offload_every=3"),
                                       OF("stages_per_rank=2"),
                                       NULL };
    assert_contains(
        resolve(a, PRODUCT, set, "yaml"),
        "#   model.gpt2_tp, but for sequence_parallel: false, which it cannot say\n"
        "#   context_method: ulysses, context_layout: zig_zag, which no wrapper can say\n"
        "#   model.activation_checkpointed: {ac_variant: full_activation_checkpointing}\n"
        "#   offload_every: 3, which no wrapper can say\n"
        "#   zero_stage: 1, param_dtype: FP_32, reduce_dtype: BF_16, which no wrapper can say\n");
    static const char *const more[] = { "device_mesh.config.context_parallel_degree=2",
                                        "device_mesh.config.pipeline_parallel_degree=1",
                                        OF("async_tensor_parallel=true"),
                                        OF("zero_stage=2"),
                                        OF("recompute_every=0"),
                                        OF("memory_budget=0.5"),
                                        NULL };
    const char *text = resolve(a, PRODUCT, more, "yaml");
    assert_contains(text, "#   model.gpt2_tp\n"
                          "#   async_tensor_parallel: true, which no wrapper can say\n"
                          "#   context_method: ring, context_layout: zig_zag, which the wrappers "
                          "take for granted\n"
                          "#   memory_budget: 0.5, which no wrapper can say\n"
                          "#   model.fsdp2_wrapped: ");
    assert_contains(text, "reshard_after_forward: false");
    assert_null(strstr(text, "pipeline.staged"));
    arena_free(a);
}
