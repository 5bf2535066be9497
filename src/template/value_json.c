/* value_json.c - reads checked JSON into values and writes values as json.dumps does. */
#include "template/value_json.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/utf8.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading: json_check has passed, so only values have to be made ---- */

typedef struct Reader {
    Arena *arena;
    const char *at, *end;
} Reader;

static void skip_blanks(Reader *r)
{
    while (r->at < r->end && strchr(" \t\n\r", *r->at)) r->at++;
}

static uint32_t read_hex(Reader *r)
{
    char digits[5] = { r->at[0], r->at[1], r->at[2], r->at[3], 0 };
    r->at += 4;
    return (uint32_t)strtoul(digits, NULL, 16);
}

static void read_escape(Reader *r, Text *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char c = *r->at++;
    const char *known = strchr(from, c);
    if (c != 'u') {
        text_putc(out, known ? to[known - from] : c);
        return;
    }
    uint32_t code = read_hex(r);
    if (code >= 0xD800 && code < 0xDC00) {
        r->at += 2; /* the other half's \u */
        code = 0x10000 + ((code - 0xD800) << 10) + (read_hex(r) - 0xDC00);
    }
    char bytes[4];
    text_add(out, bytes, (size_t)utf8_encode(code, bytes));
}

static Str read_string(Reader *r)
{
    const char *start = ++r->at;
    while (*r->at != '"' && *r->at != '\\') r->at++;
    if (*r->at == '"') {
        Str s = { start, (size_t)(r->at++ - start) };
        return s;
    }
    Text t = { 0 };
    text_add(&t, start, (size_t)(r->at - start));
    while (*r->at != '"') {
        const char *run = r->at;
        while (*r->at != '"' && *r->at != '\\') r->at++;
        text_add(&t, run, (size_t)(r->at - run));
        if (*r->at == '\\') {
            r->at++;
            read_escape(r, &t);
        }
    }
    r->at++;
    Str s = { arena_string_n(r->arena, t.ptr, t.len), t.len };
    text_free(&t);
    return s;
}

static TemplateValue read_number(Reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && strchr("+-.0123456789eE", *r->at)) r->at++;
    size_t n = (size_t)(r->at - start);
    const char *s = arena_string_n(r->arena, start, n);
    if (strpbrk(s, ".eE")) return value_float(strtod(s, NULL));
    errno = 0;
    int64_t i = strtoll(s, NULL, 10);
    return errno ? (TemplateValue){ .kind = TEMPLATE_BIG, .text = { s, n } } : value_int(i);
}

/* null, true, false, NaN, Infinity, -Infinity */
static bool read_word(Reader *r, TemplateValue *out)
{
    static const char *const word[] = { "null", "true", "false", "NaN", "Infinity", "-Infinity" };
    const TemplateValue value[] = {
        value_none(),     value_bool(true),      value_bool(false),
        value_float(NAN), value_float(INFINITY), value_float(-INFINITY)
    };
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        size_t n = strlen(word[i]);
        if ((size_t)(r->end - r->at) < n || memcmp(r->at, word[i], n) != 0) continue;
        r->at += n;
        *out = value[i];
        return true;
    }
    return false;
}

static TemplateValue read_value(Reader *r);

static TemplateValue read_array(Reader *r)
{
    TemplateValue *item = NULL, list;
    int64_t n = 0, cap = 0;
    r->at++;
    for (skip_blanks(r); *r->at != ']'; skip_blanks(r)) {
        if (*r->at == ',') r->at++;
        item = arena_grow(r->arena, item, n, &cap, sizeof *item);
        item[n++] = read_value(r);
    }
    r->at++;
    TemplateValue *to;
    list = value_list(r->arena, TEMPLATE_LIST, n, &to);
    if (n) memcpy(to, item, sizeof *item * (size_t)n);
    return list;
}

static TemplateValue read_object(Reader *r)
{
    TemplateValue map = value_map(r->arena);
    r->at++;
    for (skip_blanks(r); *r->at != '}'; skip_blanks(r)) {
        if (*r->at == ',') r->at++;
        skip_blanks(r);
        Str key = read_string(r);
        skip_blanks(r);
        r->at++; /* the colon */
        value_map_set(map, key, read_value(r));
    }
    r->at++;
    return map;
}

static TemplateValue read_value(Reader *r)
{
    TemplateValue v;
    skip_blanks(r);
    if (*r->at == '"') return value_text(read_string(r));
    if (*r->at == '[') return read_array(r);
    if (*r->at == '{') return read_object(r);
    return read_word(r, &v) ? v : read_number(r);
}

Error *value_from_json(Arena *a, Str line, TemplateValue *out, int64_t *column)
{
    JsonFault fault;
    *column = -1;
    if (!json_check(line, SURROGATES_FAIL, &fault)) {
        *column = fault.offset;
        return error_new("%s", fault.reason);
    }
    Reader r = { .arena = a, .at = line.ptr, .end = line.ptr + line.len };
    if (line.len >= 3 && !memcmp(line.ptr, "\xEF\xBB\xBF", 3)) r.at += 3;
    *out = read_value(&r);
    return NULL;
}

/* ---- writing ---- */

const JsonStyle json_plain = { .item_separator = { ", ", 2 }, .key_separator = { ": ", 2 } };

typedef struct Writer {
    Meter *meter;
    const JsonStyle *style;
    Text *out;
    int level;
} Writer;

/* As ensure_ascii=False has it: only quotes, backslashes and control characters are escaped. */
static void put_plain_string(Text *t, Str s)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    text_putc(t, '"');
    for (size_t i = 0; i < s.len;) {
        size_t run = i;
        while (i < s.len && (unsigned char)s.ptr[i] >= ' ' && s.ptr[i] != '"' && s.ptr[i] != '\\')
            i++;
        text_add(t, s.ptr + run, i - run);
        if (i == s.len) break;
        const char *known = s.ptr[i] ? strchr(from, s.ptr[i]) : NULL;
        if (known)
            text_printf(t, "\\%c", to[known - from]);
        else
            text_printf(t, "\\u%04x", (unsigned)s.ptr[i]);
        i++;
    }
    text_putc(t, '"');
}

static Error *write_string(Writer *w, Str s)
{
    TRY(meter_spend(w->meter, 2 * (int64_t)s.len));
    if (w->style->escapes)
        text_json_string(w->out, s);
    else
        put_plain_string(w->out, s);
    return NULL;
}

static Error *new_line(Writer *w)
{
    if (!w->style->has_indent) return NULL;
    text_putc(w->out, '\n');
    for (int i = 0; i < w->level; i++) TRY(meter_add(w->meter, w->out, w->style->indent));
    return NULL;
}

static Error *write_value(Writer *w, TemplateValue v);

static Error *begin_item(Writer *w, bool is_first)
{
    if (!is_first) TRY(meter_add(w->meter, w->out, w->style->item_separator));
    return new_line(w);
}

static Error *end_items(Writer *w, int64_t n, char close)
{
    w->level--;
    if (n) TRY(new_line(w));
    text_putc(w->out, close);
    return NULL;
}

static Error *write_list(Writer *w, const ValueList *l)
{
    text_putc(w->out, '[');
    w->level++;
    for (int64_t i = 0; i < l->n; i++) {
        TRY(begin_item(w, i == 0));
        TRY(write_value(w, l->item[i]));
    }
    return end_items(w, l->n, ']');
}

static int by_key(const void *x, const void *y)
{
    Str a = ((const MapEntry *)x)->key, b = ((const MapEntry *)y)->key;
    int c = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

static Error *write_map(Writer *w, const Map *map)
{
    const MapEntry *entry = map->entry;
    if (w->style->sorts_keys && map->n) {
        MapEntry *sorted = arena_copy(map->arena, entry, sizeof *entry * (size_t)map->n);
        qsort(sorted, (size_t)map->n, sizeof *sorted, by_key);
        entry = sorted;
    }
    text_putc(w->out, '{');
    w->level++;
    for (int64_t i = 0; i < map->n; i++) {
        TRY(begin_item(w, i == 0));
        TRY(write_string(w, entry[i].key));
        TRY(meter_add(w->meter, w->out, w->style->key_separator));
        TRY(write_value(w, *(const TemplateValue *)entry[i].value));
    }
    return end_items(w, map->n, '}');
}

static Error *write_kind(Writer *w, TemplateValue v)
{
    switch (v.kind) {
    case TEMPLATE_NONE:
        text_puts(w->out, "null");
        return NULL;
    case TEMPLATE_BOOL:
        text_puts(w->out, v.boolean ? "true" : "false");
        return NULL;
    case TEMPLATE_INT:
        text_printf(w->out, "%lld", (long long)v.integer);
        return NULL;
    case TEMPLATE_BIG:
        return meter_add(w->meter, w->out, v.text);
    case TEMPLATE_FLOAT:
        text_json_double(w->out, v.number);
        return NULL;
    case TEMPLATE_TEXT:
        return write_string(w, v.text);
    case TEMPLATE_LIST:
    case TEMPLATE_TUPLE:
        return write_list(w, v.list);
    case TEMPLATE_MAP:
        return write_map(w, v.map);
    case TEMPLATE_UNDEFINED:
        return error_new("'%.*s' is undefined: JSON has no word for it", (int)v.text.len,
                         v.text.ptr);
    case TEMPLATE_GENERATOR:
    case TEMPLATE_NAMESPACE:
    case TEMPLATE_LOOP:
    case TEMPLATE_MACRO:
    case TEMPLATE_FUNCTION:
        break;
    }
    return error_new("%s is nothing that JSON has", value_kind_name(v));
}

static Error *write_value(Writer *w, TemplateValue v)
{
    TRY(meter_enter(w->meter));
    TRY(write_kind(w, v));
    meter_leave(w->meter);
    return NULL;
}

Error *value_to_json(Meter *m, TemplateValue v, const JsonStyle *style, Text *out)
{
    return write_value(&(Writer){ .meter = m, .style = style, .out = out }, v);
}
