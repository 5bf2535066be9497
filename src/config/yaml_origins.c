/* yaml_origins.c - writes YAML with "# file:line" after every value. */
#include "config/yaml_origins.h"
#include "base/file.h"
#include "config/yaml_emit.h"
#include <string.h>

enum { COLUMN = 64 };

static void put_comment(Text *out, const Yaml *y, size_t line_start)
{
    size_t width = out->len - line_start;
    if (!y->file) return;
    for (size_t i = width; i < COLUMN; i++) text_putc(out, ' ');
    bool is_path = strncmp(y->file, "--set", 5) && strncmp(y->file, "modalities/", 11);
    text_printf(out, "  # %s", is_path ? path_name(y->file) : y->file);
    if (y->line) text_printf(out, ":%d", y->line);
}

/* A scalar, or an empty list or mapping, on the line that was begun. Folded texts stand in one line
 * in JSON's quotes, which YAML reads, too. */
static void put_value(Text *out, const Yaml *y, size_t line_start)
{
    Text t = { 0 };
    yaml_emit(y, &t);
    while (t.len && t.ptr[t.len - 1] == '\n') t.ptr[--t.len] = 0;
    if (strchr(t.ptr ? t.ptr : "", '\n')) {
        text_clear(&t);
        yaml_emit_json(y, 0, &t);
    }
    char *end = t.ptr ? strstr(t.ptr, "\n...") : NULL;
    if (end) *end = 0;
    text_puts(out, t.ptr ? t.ptr : "");
    put_comment(out, y, line_start);
    text_putc(out, '\n');
    text_free(&t);
}

static void indent(Text *out, int n)
{
    for (int i = 0; i < n; i++) text_putc(out, ' ');
}

static void put(Text *out, const Yaml *y, int depth, size_t line_start);

static void put_child(Text *out, const Yaml *y, int depth, size_t line_start)
{
    bool is_nested = (y->type == YAML_MAP || y->type == YAML_LIST) && y->n;
    if (is_nested) {
        text_putc(out, '\n');
        put(out, y, depth, out->len);
    } else {
        text_putc(out, ' ');
        put_value(out, y, line_start);
    }
}

static void put(Text *out, const Yaml *y, int depth, size_t line_start)
{
    if ((y->type != YAML_MAP && y->type != YAML_LIST) || !y->n) {
        put_value(out, y, line_start);
        return;
    }
    for (int64_t i = 0; i < y->n; i++) {
        size_t start = out->len;
        indent(out, depth);
        if (y->type == YAML_MAP) {
            Text key = { 0 };
            yaml_emit(y->key[i], &key);
            key.ptr[strcspn(key.ptr, "\n")] = 0;
            text_printf(out, "%s:", key.ptr);
            text_free(&key);
        } else {
            text_putc(out, '-');
        }
        put_child(out, y->item[i], depth + 2, start);
    }
}

void yaml_origins(const Yaml *root, Text *out)
{
    put(out, root, 0, out->len);
}
