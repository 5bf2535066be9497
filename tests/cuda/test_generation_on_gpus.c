/* test_generation_on_gpus.c - GPUs that share a model by matrices, layers or both answer as one CPU
 * does. */
#include "../end_to_end/training.h"
#include "test.h"
#include "train/forced_model.h"
#include <stdlib.h>
#include <string.h>

#define MESH(ranks, pp, tp)                                                                        \
    "device_mesh={component_key: device_mesh, variant_key: default, config: {device_type: cuda, "  \
    "data_parallel_shard_degree: 1, pipeline_parallel_degree: " pp ", tensor_parallel_degree: " tp \
    ", world_size: " ranks "}}"
#define SHARED                                                                                     \
    "text_inference_component.config.model={component_key: model, variant_key: parallelized, "     \
    "config: {model: {instance_key: model_raw, pass_type: BY_REFERENCE}, device_mesh: "            \
    "{instance_key: device_mesh, pass_type: BY_REFERENCE}, param_dtype: FP_32}}"
#define OWN                                                                                        \
    "text_inference_component.config.model={instance_key: model_raw, pass_type: BY_REFERENCE}"

/* What answers a prompt; random weights of a seed. */
static const char *answer(Arena *a, const ForcedModel *m, const char *device, const char *ranks,
                          const char *mesh, const char *model)
{
    const char *words[] = { "generate_text",
                            "--config_file_path",
                            m->config,
                            "--prompt",
                            "ab",
                            "--max_new_tokens",
                            "6",
                            "--temperature",
                            "0",
                            "--device",
                            device,
                            "--ranks",
                            ranks,
                            "--set",
                            model,
                            "--set",
                            "model_raw.config.n_layer=2",
                            "--set",
                            "model_raw.config.n_head_kv=2",
                            mesh ? "--set" : NULL,
                            mesh,
                            NULL };
    const Outcome o = command_output(a, words, NULL);
    assert_ended_well(o);
    const char *found = strstr(o.text, "OUTPUT");
    assert_non_null(found);
    return found;
}

TEST(gpus_that_share_a_model_answer_as_a_cpu_does)
{
    static const struct {
        const char *ranks, *mesh;
    } layouts[] = { { "2", MESH("2", "1", "2") },
                    { "2", MESH("2", "2", "1") },
                    { "4", MESH("4", "2", "2") } };
    Arena *a = arena_new();
    setenv("MODALITIES_MOCK_GPUS", "4", 1);
    const ForcedModel m = forced_model_write(a, "ab", "{x}");
    const char *one = answer(a, &m, "cpu", "1", NULL, OWN);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        assert_string_equal(answer(a, &m, "cuda", layouts[i].ranks, layouts[i].mesh, SHARED), one);
    arena_free(a);
}
