/* test_commands_on_gpus.c - generate_text and evaluate on GPUs say what they do on a CPU, also
 * where several share a model. */
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

/* The loss that `evaluate` tells of a checkpoint. */
static double loss_of(const Bench *b, const char *ranks)
{
    const char *words[] = { "evaluate",
                            "--config_file_path",
                            "tests/end_to_end/train.yaml",
                            "--checkpoint",
                            arena_printf(b->arena, "%s/x/checkpoints/last_checkpoint_info.json",
                                         b->root),
                            "--device",
                            ranks ? "cuda" : "cpu",
                            "--ranks",
                            ranks ? ranks : "1",
                            NULL };
    const Outcome o = command_output(b->arena, words, NULL);
    assert_ended_well(o);
    const char *at = strstr(o.text, "\"loss\": ");
    assert_non_null(at);
    return strtod(strchr(at, ':') + 1, NULL);
}

TEST(gpus_evaluate_as_a_cpu_does)
{
    Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_MOCK_GPUS", "2", 1);
    const char *const more[] = { "--device", "cpu", NULL };
    assert_ended_well(bench_run(&b, "x", NULL, more, NULL));
    setenv("TRAIN_PBIN", b.pbin, 1);
    const double loss = loss_of(&b, NULL);
    assert_close(loss_of(&b, "1"), loss, 1e-4 * loss);
    assert_close(loss_of(&b, "2"), loss, 1e-4 * loss);
    const char *const three[] = {
        "evaluate",
        "--config_file_path",
        "tests/end_to_end/train.yaml",
        "--checkpoint",
        arena_printf(b.arena, "%s/x/checkpoints/last_checkpoint_info.json", b.root),
        "--device",
        "cuda",
        "--ranks",
        "3",
        NULL
    };
    assert_refused(command_output(b.arena, three, NULL), 2,
                   "there are 2 GPUs"); /* which it takes */
    arena_free(b.arena);
}
