/* value_print.c - values as Python's str and repr write them. */
#include "base/utf8.h"
#include "template/value.h"
#include <string.h>
#include <utf8proc.h>

/* As str.isprintable. */
static bool is_printable(uint32_t c)
{
    if (c < 0x7F) return c >= ' ';
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

static void put_character(Text *out, const char *at, int len, uint32_t c, char quote)
{
    const char *letter = c == '\n' ? "n" : c == '\r' ? "r" : c == '\t' ? "t" : NULL;
    if (letter)
        text_printf(out, "\\%s", letter);
    else if (c == '\\' || c == (uint32_t)quote)
        text_printf(out, "\\%c", (char)c);
    else if (is_printable(c))
        text_add(out, at, (size_t)len);
    else
        text_printf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

static Error *repr_text(Meter *m, Str s, Text *out)
{
    TRY(meter_spend(m, 4 * (int64_t)s.len + 2));
    bool has_single = memchr(s.ptr, '\'', s.len), has_double = memchr(s.ptr, '"', s.len);
    char quote = has_single && !has_double ? '"' : '\'';
    text_putc(out, quote);
    int len;
    for (size_t at = 0; at < s.len; at += (size_t)len) {
        uint32_t c = utf8_decode(s.ptr + at, &len);
        put_character(out, s.ptr + at, len, c, quote);
    }
    text_putc(out, quote);
    return NULL;
}

static Error *repr_list(Meter *m, TemplateValue v, Text *out)
{
    bool is_tuple = v.kind == TEMPLATE_TUPLE;
    text_putc(out, is_tuple ? '(' : '[');
    for (int64_t i = 0; i < v.list->n; i++) {
        if (i) text_puts(out, ", ");
        TRY(value_repr(m, v.list->item[i], out));
    }
    if (is_tuple && v.list->n == 1) text_putc(out, ',');
    text_putc(out, is_tuple ? ')' : ']');
    return NULL;
}

static Error *repr_map(Meter *m, const Map *map, Text *out)
{
    text_putc(out, '{');
    for (int64_t i = 0; i < map->n; i++) {
        if (i) text_puts(out, ", ");
        TRY(repr_text(m, map->entry[i].key, out));
        text_puts(out, ": ");
        TRY(value_repr(m, *(const TemplateValue *)map->entry[i].value, out));
    }
    text_putc(out, '}');
    return NULL;
}

static Error *repr(Meter *m, TemplateValue v, Text *out)
{
    char number[32];
    switch (v.kind) {
    case TEMPLATE_UNDEFINED:
        text_puts(out, "Undefined");
        return NULL;
    case TEMPLATE_NONE:
        text_puts(out, "None");
        return NULL;
    case TEMPLATE_BOOL:
        text_puts(out, v.boolean ? "True" : "False");
        return NULL;
    case TEMPLATE_INT:
        text_printf(out, "%lld", (long long)v.integer);
        return NULL;
    case TEMPLATE_BIG:
        return meter_add(m, out, v.text);
    case TEMPLATE_FLOAT:
        format_double(v.number, number);
        text_puts(out, number);
        return NULL;
    case TEMPLATE_TEXT:
        return repr_text(m, v.text, out);
    case TEMPLATE_LIST:
    case TEMPLATE_TUPLE:
        return repr_list(m, v, out);
    case TEMPLATE_MAP:
        return repr_map(m, v.map, out);
    case TEMPLATE_GENERATOR:
    case TEMPLATE_NAMESPACE:
    case TEMPLATE_LOOP:
    case TEMPLATE_MACRO:
    case TEMPLATE_FUNCTION:
        break;
    }
    return error_new("%s cannot be printed", value_kind_name(v));
}

Error *value_repr(Meter *m, TemplateValue v, Text *out)
{
    TRY(meter_enter(m));
    TRY(repr(m, v, out));
    meter_leave(m);
    return NULL;
}

Error *value_print(Meter *m, TemplateValue v, Text *out)
{
    if (v.kind == TEMPLATE_UNDEFINED) return NULL;
    if (v.kind == TEMPLATE_TEXT) return meter_add(m, out, v.text);
    return value_repr(m, v, out);
}
