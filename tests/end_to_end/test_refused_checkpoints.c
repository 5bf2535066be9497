/* test_refused_checkpoints.c - checkpoints that a warm start and generate_text cannot use get one
 * error that says why. */
#include "end_to_end/training.h"
#include <string.h>

#define NAME "eid_a-seen_steps_4-seen_tokens_256-target_steps_8-target_tokens_512"

static const char *in_folder(Arena *a, const char *name)
{
    return path_join(a, path_absolute(a, test_folder()), name);
}

static void put(Arena *a, const char *name, const char *content)
{
    const char *path = in_folder(a, name);
    assert_no_error(make_directories(path_folder(a, path)));
    assert_no_error(file_write(path, content, strlen(content)));
}

/* Once, and nothing else that looks like a mistake. */
static void assert_one_error(Outcome o, const char *says)
{
    assert_refused(o, 1, says);
    const char *at = strstr(o.text, says);
    assert_null(strstr(at + 1, says));
    assert_null(strstr(o.text, "there is no key"));
    assert_null(strstr(o.text, "not a multiple"));
}

static void assert_warm_start_refused(const Bench *b, const char *info, const char *says)
{
    Arena *a = b->arena;
    const char *const words[] = { "warmstart",
                                  "--config_file_path",
                                  "tests/end_to_end/warmstart.yaml",
                                  "--experiments_root_path",
                                  b->root,
                                  "--experiment_id",
                                  "on",
                                  "--last_checkpoint_info_file_path",
                                  in_folder(a, info),
                                  NULL };
    assert_one_error(command_output(a, words, NULL), says);
    assert_false(file_exists(path_join(a, b->root, "on")));
}

static void assert_generation_refused(Arena *a, const char *checkpoint, const char *says)
{
    const char *const words[] = {
        "generate_text",
        "--config_file_path",
        "configs/generate/small.yaml",
        "--prompt",
        "x",
        "--set",
        arena_printf(a, "settings.model_path=%s", in_folder(a, checkpoint)),
        "--set",
        arena_printf(a, "tokenizer.config.pretrained_model_name_or_path=%s",
                     shared_path(a, "data/tokenizers/gpt2")),
        NULL
    };
    assert_one_error(command_output(a, words, NULL), says);
}

TEST(a_damaged_checkpoint_of_torch_is_refused_by_name)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    put(a, "dcp/" NAME "/.metadata", "x");
    put(a, "dcp/" NAME "/__0_0.distcp", "x");
    put(a, "dcp/last_checkpoint_info.json",
        arena_printf(a, "{\"checkpoint_folder_path\": \"%s\"}", in_folder(a, "dcp/" NAME)));
    put(a, "fsdp1/model.bin", "x");
    put(a, "fsdp1/optimizer.bin", "x");
    put(a, "fsdp1/last_checkpoint_info.json",
        arena_printf(a,
                     "{\"model_checkpoint_path\": \"%s\", \"optimizer_checkpoint_path\": \"%s\"}",
                     in_folder(a, "fsdp1/model.bin"), in_folder(a, "fsdp1/optimizer.bin")));
    bench_words(&b, "on", NULL, NULL); /* sets the variables of the YAML */
    const char *broken = NAME "/.metadata: byte 0: opcode 0x78";
    assert_warm_start_refused(&b, "dcp/last_checkpoint_info.json", broken);
    assert_warm_start_refused(&b, "fsdp1/last_checkpoint_info.json",
                              "model.bin: no archive of torch.save (ZIP)");
    assert_generation_refused(a, "dcp/" NAME, broken);
    assert_generation_refused(a, "dcp/last_checkpoint_info.json", broken);
    assert_generation_refused(a, "dcp/" NAME "/__0_0.distcp", "a part of a DCP checkpoint; give");
    assert_generation_refused(a, "fsdp1/model.bin", "model.bin: no archive of torch.save (ZIP)");
    arena_free(a);
}

TEST(a_checkpoint_of_more_layers_than_the_model_has_is_refused)
{
    Bench b = bench_new();
    static const char *const fewer[] = { "--set", "model_raw.config.n_layer=1", NULL };
    assert_ended_well(bench_run(&b, "whole", NULL, NULL, NULL));
    Outcome o =
        bench_run(&b, "on", "whole",
                  (const char *[]){ fewer[0], fewer[1], "--set",
                                    "settings.training_target.num_target_steps=12", "--set",
                                    "settings.training_target.num_target_tokens=768", NULL },
                  NULL);
    assert_refused(o, 1, "does not fit (");
    assert_contains(strstr(o.text, "does not fit ("), "app.model.transformer.h.1.");
    assert_contains(o.text, ": only in the checkpoint\n");
    assert_false(bench_has_checkpoint(&b, "on"));
    arena_free(b.arena);
}
