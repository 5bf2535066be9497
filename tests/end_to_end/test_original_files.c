/* test_original_files.c - each of the original's YAML files loads, or is refused for a reason that
 * docs/differences.md gives. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Part of a path, of the message, and of the row in docs/differences.md. */
static const struct {
    const char *file, *says, *row;
} refused[] = {
    { "tests/config/test_configs/", "unknown component_key \"COMP_", "`COMP_X`" },
    { "tests/dataloader/distributed/", "dataset has no variant_key \"test\"", "`dataset.test`" },
    { "tests/end2end_tests/", "results_subscriber has no variant_key \"save_all\"",
      "`results_subscriber.save_all`" },
    { "einsum_transformer", "no variant_key \"einsum_transformer\"", "`model.einsum_transformer`" },
    { "tutorials/library_usage/", "no variant_key \"custom_gpt_2_llm_collator\"",
      "`collate_fn.custom_gpt_2_llm_collator`" },
    { "_initialization", "\"WILL_BE_REPLACED\"; allowed", "`WILL_BE_REPLACED`" },
    { "gpt2_config_test.yaml", "checkpoint_path: null; allowed: a path",
      "`checkpoint_path: null`" },
    { "example_conversion_config_template.yaml", "there is no top-level key \"model\"",
      "example_conversion_config_template" },
    { "packed_cc_en_2048.yaml", "unknown key \"padding\"", "`padding`" },
    { "config_lorem_ipsum_fsdp2.yaml", "gradient_clipper.config.max_norm: this key is required",
      "a clipper without `max_norm` or `device_mesh`" },
    { "example_text_generation_config.yaml", "unknown key \"attention_norm\"", "`attention_norm`" },
    { "fsdp2_benchmark.yaml", "there is no model.selective_activation_checkpointed",
      "`model.selective_activation_checkpointed`" },
    { "instruct", "Qwen/Qwen2.5-0.5B: there is no such folder", "`Qwen/Qwen2.5-0.5B`" },
    { "warmstart", "warmstart_env is there only when the program resumes",
      "`--last_checkpoint_info_file_path`" },
    { "tests/models/", "there is no component in it", "no component in it" },
    { "config_lorem_ipsum_fsdp2_pp_tp.yaml", "samples are dealt out to 4 ranks",
      "its `num_replicas` and `rank` must be those of the data-parallel ranks" },
};

/* On as many ranks as its mesh asks for. */
static bool loads(Arena *a, const char *path, Text *said)
{
    static const char *const sizes[] = { "WORLD_SIZE=1", "WORLD_SIZE=2", "WORLD_SIZE=4",
                                         "WORLD_SIZE=8" };
    const char *const words[] = { "config", "check", "--config_file_path", path, NULL };
    for (int i = 0; i < 4; i++) {
        const char *const variables[] = { sizes[i], "RANK=0", "LOCAL_RANK=0", NULL };
        Outcome o = command_output(a, words, variables);
        if (!o.status) return true;
        if (o.status != 1) fail_msg("%s: status %d: %s", path, o.status, o.text);
        text_puts(said, o.text);
    }
    return false;
}

static bool has_reason(const char *path, const char *said, const char *docs)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strstr(path, refused[i].file) && strstr(said, refused[i].says) &&
            strstr(docs, refused[i].row))
            return true;
    return false;
}

TEST(each_file_of_the_original_loads_or_is_refused_for_a_reason_that_is_told)
{
    enum { FILES = 74, LOAD = 33 };
    Arena *a = arena_new();
    PathList files = { 0 };
    Str docs;
    int n = 0;
    const char *from = path_absolute(a, shared_path(a, "data/modalities"));
    setenv("MODALITIES_PROGRAM", path_absolute(a, program_path()), 1);
    assert_no_error(file_read(a, "docs/differences.md", &docs));
    assert_no_error(files_below(a, from, ".yaml", &files));
    assert_int_equal(files.n, FILES);
    char *home = getcwd(NULL, 0);
    assert_int_equal(chdir(from), 0); /* nothing is written there */
    const int64_t n_run = test_share(FILES);
    for (int64_t i = 0; i < n_run; i++) {
        Text said = { 0 };
        const char *path = files.item[i] + strlen(from) + 1;
        if (loads(a, files.item[i], &said))
            n++;
        else if (!has_reason(path, said.ptr, docs.ptr))
            fail_msg("%s: docs/differences.md has no reason for: %s", path, said.ptr);
        text_free(&said);
    }
    assert_int_equal(chdir(home), 0);
    free(home);
    test_note("%d of %d files of the original load, %d are refused for a reason that is told", n,
              (int)n_run, (int)n_run - n);
    if (n_run == FILES) assert_int_equal(n, LOAD);
    arena_free(a);
}
