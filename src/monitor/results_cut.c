/* results_cut.c - takes from a file of results what came after a moment, so that each step stands
 * there once when the training goes on. */
#include "base/file.h"
#include "monitor/results.h"
#include <jansson.h>
#include <string.h>

/* wandb's rows have the tag at the beginning of their other keys. */
static bool has_tag(const json_t *row, const char *tag)
{
    const json_t *named = json_object_get(row, "dataloader_tag");
    if (named) return json_is_string(named) && !strcmp(json_string_value(named), tag);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)row, key,
                        value) if (key[0] != '_') return !strncmp(key, tag, strlen(tag)) &&
        key[strlen(tag)] == ' ';
    return false;
}

static bool stays(const char *line, size_t len, const TrainingMoment *to)
{
    json_error_t why;
    json_t *row = json_loadb(line, len, JSON_DISABLE_EOF_CHECK, &why);
    if (!row) return true; /* not ours to judge */
    const json_t *step = json_object_get(row, "num_train_steps_done");
    if (!step) step = json_object_get(row, "_step");
    json_int_t n = json_is_integer(step) ? json_integer_value(step) : 0;
    bool is_kept =
        n < to->step || (n == to->step && (to->is_evaluated || has_tag(row, to->train_tag)));
    json_decref(row);
    return is_kept;
}

Error *results_cut(const char *path, const TrainingMoment *to)
{
    if (!file_exists(path)) return NULL;
    Arena *a = arena_new();
    Str all;
    Error *e = file_read(a, path, &all);
    Text kept = { 0 };
    text_puts(&kept, "");
    const char *end = e ? NULL : all.ptr + all.len;
    for (const char *line = e ? NULL : all.ptr, *next; line && line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline) break;
        next = newline + 1;
        if (stays(line, (size_t)(newline - line), to)) text_add(&kept, line, (size_t)(next - line));
    }
    if (!e && kept.len != all.len) e = file_write(path, kept.ptr, kept.len);
    text_free(&kept);
    arena_free(a);
    return e;
}
