/* board_pictures.c - what a training left for the board beside its results. */
#include "base/file.h"
#include "board/board.h"
#include "monitor/run_record.h"
#include <jansson.h>
#include <string.h>

/* The file's text if it is JSON; NULL: it is not there, or no JSON, which would spoil the page. */
static const char *read_json(Arena *a, const char *folder, const char *name)
{
    Str text;
    const char *path = path_join(a, folder, name);
    if (!file_exists(path)) return NULL;
    Error *e = file_read(a, path, &text);
    json_t *j = e ? NULL : json_loadb(text.ptr, text.len, 0, NULL);
    error_free(e);
    json_decref(j);
    return j ? text.ptr : NULL;
}

/* The lines that are JSON, as a list. */
static const char *read_samples(Arena *a, const char *folder)
{
    Str text;
    Text list = { 0 };
    const char *path = path_join(a, folder, SAMPLES_FILE);
    if (!file_exists(path)) return NULL;
    Error *e = file_read(a, path, &text);
    const char *p = e ? "" : text.ptr;
    error_free(e);
    while (*p) {
        const size_t n = strcspn(p, "\n");
        json_t *j = json_loadb(p, n, 0, NULL);
        if (j) {
            text_puts(&list, list.len ? ",\n" : "[");
            text_add(&list, p, n);
        }
        json_decref(j);
        p += n + (p[n] == '\n');
    }
    text_puts(&list, list.len ? "]" : "[]");
    const char *json = arena_string(a, list.ptr);
    text_free(&list);
    return json;
}

void board_read_pictures(Arena *a, const char *folder, BoardRun *to)
{
    to->memory = read_json(a, folder, MEMORY_OUTLINE);
    to->schedule = read_json(a, folder, PIPELINE_SCHEDULE);
    to->samples = read_samples(a, folder);
}
