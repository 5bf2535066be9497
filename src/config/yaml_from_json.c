/* yaml_from_json.c - JSON as a tree.
 *
 * Nearly all JSON is YAML, but not surrogate pairs, and not the lone surrogates that stand for
 * bytes of a path that are no UTF-8. json_scan judges the text; what follows may rely on it. */
#include "base/file.h"
#include "base/json_scan.h"
#include "base/utf8.h"
#include "config/yaml.h"
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    Arena *arena;
    const char *file, *p, *line_start;
    int line;
} Reader;

static Yaml *read_value(Reader *r);

static void skip_space(Reader *r)
{
    for (; *r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n'; r->p++) {
        if (*r->p != '\n') continue;
        r->line++;
        r->line_start = r->p + 1;
    }
}

/* Four hexadecimal digits after "\u". */
static uint32_t read_unit(Reader *r)
{
    char digits[5] = { r->p[2], r->p[3], r->p[4], r->p[5] };
    r->p += 6;
    return (uint32_t)strtoul(digits, NULL, 16);
}

static void read_escape(Reader *r, Text *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *simple = strchr(from, r->p[1]);
    if (simple) {
        text_putc(out, to[simple - from]);
        r->p += 2;
        return;
    }
    uint32_t c = read_unit(r);
    bool is_high = c >= 0xD800 && c < 0xDC00;
    if (is_high && r->p[0] == '\\' && r->p[1] == 'u') {
        const char *behind = r->p;
        uint32_t low = read_unit(r);
        if (low >= 0xDC00 && low < 0xE000)
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        else
            r->p = behind;
    }
    char utf8[4];
    if (c >= 0xDC80 && c <= 0xDCFF)
        text_putc(out, (char)(c & 0xFF));
    else
        text_add(out, utf8, (size_t)utf8_encode(c >= 0xD800 && c < 0xE000 ? 0xFFFD : c, utf8));
}

static Yaml *read_string(Reader *r)
{
    Text t = { 0 };
    text_puts(&t, "");
    for (r->p++; *r->p != '"';) {
        size_t n = strcspn(r->p, "\"\\");
        text_add(&t, r->p, n);
        r->p += n;
        if (*r->p == '\\') read_escape(r, &t);
    }
    r->p++;
    Yaml *y = yaml_string(r->arena, "");
    y->text = arena_string_n(r->arena, t.ptr, t.len);
    y->text_len = t.len;
    text_free(&t);
    return y;
}

static Yaml *read_list_or_map(Reader *r, YamlType type)
{
    Yaml *y = NEW(r->arena, Yaml);
    y->type = type;
    char end = type == YAML_MAP ? '}' : ']';
    for (r->p++, skip_space(r); *r->p != end; skip_space(r)) {
        const char *key = NULL;
        if (*r->p == ',') {
            r->p++;
            skip_space(r);
        }
        if (type == YAML_MAP) {
            key = read_string(r)->text;
            skip_space(r);
            r->p++; /* ':' */
        }
        Yaml *value = read_value(r);
        if (key)
            yaml_set(r->arena, y, key, value);
        else
            yaml_append(r->arena, y, value);
    }
    r->p++;
    return y;
}

static Yaml *read_value(Reader *r)
{
    skip_space(r);
    int line = r->line, column = (int)(r->p - r->line_start) + 1;
    Yaml *y;
    if (*r->p == '"') {
        y = read_string(r);
    } else if (*r->p == '{' || *r->p == '[') {
        y = read_list_or_map(r, *r->p == '{' ? YAML_MAP : YAML_LIST);
    } else {
        size_t n = strcspn(r->p, ",]} \t\r\n");
        y = yaml_scalar(r->arena, arena_string_n(r->arena, r->p, n));
        r->p += n;
    }
    y->file = r->file;
    y->line = line;
    y->column = column;
    return y;
}

Error *yaml_read_json(Arena *a, const char *path, Yaml **out)
{
    Str text;
    JsonFault fault;
    TRY(file_read(a, path, &text));
    if (!json_check(text, SURROGATES_PASS, &fault))
        return error_new("%s: no JSON: %s, at byte %lld", path, fault.reason,
                         (long long)fault.offset);
    if (str_starts(text, "\xEF\xBB\xBF")) text.ptr += 3;
    Reader r = {
        .arena = a, .file = arena_string(a, path), .p = text.ptr, .line_start = text.ptr, .line = 1
    };
    *out = read_value(&r);
    return NULL;
}
