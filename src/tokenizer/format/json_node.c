/* json_node.c - typed reading of JSON with the path in every error. */
#include "tokenizer/format/json_node.h"
#include "base/file.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

static void release_tree(void *tree)
{
    json_decref(tree);
}

Error *json_node_read(Arena *a, const char *file, size_t flags, JsonNode *out)
{
    Str text;
    TRY(file_read(a, file, &text));
    json_error_t problem;
    json_t *tree = json_loadb(text.ptr, text.len, flags, &problem);
    if (!tree) {
        return error_new("%s:%d:%d: no JSON: %s", file, problem.line, problem.column, problem.text);
    }
    arena_on_free(a, release_tree, tree);
    *out = (JsonNode){ tree, "", a };
    return NULL;
}

JsonNode json_member(JsonNode of, const char *key)
{
    const char *path = *of.path ? arena_printf(of.arena, "%s.%s", of.path, key) : key;
    return (JsonNode){ json_object_get(of.value, key), path, of.arena };
}

JsonNode json_item(JsonNode of, size_t i)
{
    return (JsonNode){ json_array_get(of.value, i), arena_printf(of.arena, "%s[%zu]", of.path, i),
                       of.arena };
}

bool json_node_is_null(JsonNode n)
{
    return !n.value || json_is_null(n.value);
}

/* The value in short: enough to recognise it in the file. */
static char *describe(JsonNode n)
{
    if (!n.value) return arena_string(n.arena, "nothing");
    if (json_is_object(n.value)) {
        const char *type = json_string_value(json_object_get(n.value, "type"));
        return type ? arena_printf(n.arena, "an object of type \"%s\"", type)
                    : arena_string(n.arena, "an object");
    }
    if (json_is_array(n.value)) {
        return arena_printf(n.arena, "a list of %zu", json_array_size(n.value));
    }
    char *text = json_dumps(n.value, JSON_ENCODE_ANY);
    enum { SHOWN = 60 };
    char *kept = strlen(text) > SHOWN ? arena_printf(n.arena, "%.*s...", SHOWN, text)
                                      : arena_string(n.arena, text);
    free(text);
    return kept;
}

Error *json_node_error(JsonNode n, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *message = arena_vprintf(n.arena, fmt, args);
    va_end(args);
    return error_new("%s: %s (found %s)", *n.path ? n.path : "top level", message, describe(n));
}

Error *json_node_only(JsonNode n, const char *const *known)
{
    if (!json_is_object(n.value)) return json_node_error(n, "must be an object");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)n.value, key, value)
    {
        int i = 0;
        while (known[i] && strcmp(known[i], key) != 0) i++;
        if (known[i]) continue;
        const char *near = nearest_name(key, known);
        return json_node_error(json_member(n, key), "is not a known key here%s%s%s",
                               near ? "; did you mean \"" : "", near ? near : "",
                               near ? "\"?" : "");
    }
    return NULL;
}

Error *json_get_bool(JsonNode of, const char *key, JsonDefault otherwise, bool *out)
{
    JsonNode n = json_member(of, key);
    *out = otherwise == DEFAULT_TRUE;
    if (!n.value && otherwise != REQUIRED) return NULL;
    if (!json_is_boolean(n.value)) return json_node_error(n, "must be true or false");
    *out = json_is_true(n.value);
    return NULL;
}

Error *json_get_int(JsonNode of, const char *key, int64_t low, int64_t high, int64_t *out)
{
    JsonNode n = json_member(of, key);
    *out = json_integer_value(n.value);
    if (!json_is_integer(n.value) || *out < low || *out > high) {
        return json_node_error(n, "must be an integer from %lld to %lld", (long long)low,
                               (long long)high);
    }
    return NULL;
}

Error *json_get_string(JsonNode of, const char *key, Str *out)
{
    JsonNode n = json_member(of, key);
    if (!json_is_string(n.value)) return json_node_error(n, "must be text");
    *out = (Str){ json_string_value(n.value), json_string_length(n.value) };
    return NULL;
}

Error *json_get_character(JsonNode of, const char *key, uint32_t *out)
{
    Str text = { 0 };
    int len = 0;
    TRY(json_get_string(of, key, &text));
    if (text.len) *out = utf8_decode(text.ptr, &len);
    if (!text.len || (size_t)len != text.len)
        return json_node_error(json_member(of, key), "must be one character");
    return NULL;
}

Error *json_get_optional_string(JsonNode of, const char *key, Str *out)
{
    *out = (Str){ NULL, 0 };
    return json_node_is_null(json_member(of, key)) ? NULL : json_get_string(of, key, out);
}

Error *json_load_stage(JsonNode n, const JsonStage *table, const char *missing, void *out)
{
    if (!json_is_object(n.value)) return json_node_error(n, "must be an object");
    JsonNode type = json_member(n, "type");
    const char *name = type.value ? json_string_value(type.value) : missing;
    Text supported = { 0 };
    for (const JsonStage *s = table; s->type; s++) {
        if (name && !strcmp(s->type, name)) {
            text_free(&supported);
            return s->load(n, out);
        }
        text_printf(&supported, "%s\"%s\"", s == table ? "" : ", ", s->type);
    }
    Error *e = name ? error_new("%s: \"%s\" is not supported (supported: %s)", type.path, name,
                                supported.ptr)
                    : json_node_error(type, "must be one of %s", supported.ptr);
    text_free(&supported);
    return e;
}

Error *json_load_stages(JsonNode n, const char *key, const JsonStage *table, void *out)
{
    const char *const known[] = { "type", key, NULL };
    TRY(json_node_only(n, known));
    JsonNode list = json_member(n, key);
    if (!json_is_array(list.value)) return json_node_error(list, "must be a list");
    for (size_t i = 0; i < json_array_size(list.value); i++)
        TRY(json_load_stage(json_item(list, i), table, NULL, out));
    return NULL;
}
