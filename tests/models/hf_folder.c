/* hf_folder.c - folders with a config.json. */
#include "models/hf_folder.h"
#include "test.h"
#include <string.h>

const char hf_llama[] = "\"model_type\": \"llama\", \"vocab_size\": 16, \"hidden_size\": 8, "
                        "\"intermediate_size\": 12, \"num_hidden_layers\": 2, "
                        "\"num_attention_heads\": 2";

const char *hf_folder_with(Arena *a, const char *members, const char *more)
{
    const char *folder = path_join(a, test_folder(), "model");
    assert_no_error(make_directories(folder));
    const char *text = arena_printf(a, "{\n%s%s}\n", members, more);
    assert_no_error(file_write_unsynced(path_join(a, folder, "config.json"), text, strlen(text)));
    return folder;
}

const Decoder *hf_decoder_with(Arena *a, const char *members, const char *more)
{
    HfModel *m = NEW(a, HfModel);
    assert_no_error(hf_config_read(a, hf_folder_with(a, members, more), m));
    return m->decoder;
}

void hf_refuses(Arena *a, const char *members, const char *more, const char *part)
{
    HfModel m;
    assert_error_has(hf_config_read(a, hf_folder_with(a, members, more), &m), part);
}
