/* small_tokenizer.c - writes a tokenizer.json with few merges. */
#include "tokenizer/small_tokenizer.h"
#include "base/json.h"
#include "tokenizer/text/byte_alphabet.h"
#include <string.h>

static void add_name(Text *t, Str name, int id)
{
    text_puts(t, id ? "," : "");
    text_json_string(t, name);
    text_printf(t, ":%d", id);
}

const char *small_tokenizer(Arena *a, const char *const *merges, const char *added_tokens)
{
    Text json = { 0 };
    int id = 0;
    text_printf(
        &json,
        "{\"version\":\"1.0\",\"added_tokens\":%s,\"pre_tokenizer\":{\"type\":\"ByteLevel\","
        "\"add_prefix_space\":false,\"trim_offsets\":true},\"decoder\":{\"type\":\"ByteLevel\"},"
        "\"model\":{\"type\":\"BPE\",\"vocab\":{",
        added_tokens);
    for (; id < 256; id++) {
        Text name = { 0 };
        char byte = (char)id;
        bytes_to_name((Str){ &byte, 1 }, &name);
        add_name(&json, (Str){ name.ptr, name.len }, id);
        text_free(&name);
    }
    for (int i = 0; merges[i]; i++) {
        const char *space = strchr(merges[i], ' ');
        const char *name =
            arena_printf(a, "%.*s%s", (int)(space - merges[i]), merges[i], space + 1);
        add_name(&json, str_of(name), id++);
    }
    text_puts(&json, "},\"merges\":[");
    for (int i = 0; merges[i]; i++) {
        text_puts(&json, i ? "," : "");
        text_json_string(&json, str_of(merges[i]));
    }
    text_puts(&json, "]}}");
    const char *path = path_join(a, test_folder(), "tokenizer.json");
    assert_no_error(file_write(path, json.ptr, json.len));
    text_free(&json);
    return path;
}

Tokenizer *small_tokenizer_open(Arena *a, const char *const *merges, const char *added_tokens)
{
    Tokenizer *t;
    assert_no_error(tokenizer_open(small_tokenizer(a, merges, added_tokens), &t));
    return t;
}

static void release_tree(void *tree)
{
    json_decref(tree);
}

JsonNode json_node_of(Arena *a, const char *json)
{
    json_error_t problem;
    json_t *tree = json_loads(json, JSON_DECODE_ANY, &problem);
    if (!tree) fail_msg("%s: %s", json, problem.text);
    arena_on_free(a, release_tree, tree);
    return (JsonNode){ tree, "", a };
}
