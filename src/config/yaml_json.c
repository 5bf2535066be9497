/* yaml_json.c - a tree as JSON. */
#include "config/yaml_emit.h"
#include "config/yaml_scalar.h"
#include <math.h>

static void put_string(const char *s, size_t len, Text *out)
{
    text_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c == '\n')
            text_puts(out, "\\n");
        else if (c == '\r')
            text_puts(out, "\\r");
        else if (c == '\t')
            text_puts(out, "\\t");
        else if (c < 0x20)
            text_printf(out, "\\u%04x", c);
        else
            text_putc(out, (char)c);
    }
    text_putc(out, '"');
}

static void put_float(double x, Text *out)
{
    char text[32];
    format_double(x, text);
    text_puts(out, isnan(x) ? "NaN" : isinf(x) ? (x > 0 ? "Infinity" : "-Infinity") : text);
}

static void new_line(int indent, int depth, Text *out)
{
    if (!indent) return;
    text_putc(out, '\n');
    for (int i = 0; i < indent * depth; i++) text_putc(out, ' ');
}

static void put(const Yaml *y, int indent, int depth, Text *out)
{
    bool is_map = y->type == YAML_MAP;
    char number[32];
    switch (y->type) {
    case YAML_NULL:
        text_puts(out, "null");
        return;
    case YAML_BOOL:
        text_puts(out, y->boolean ? "true" : "false");
        return;
    case YAML_INT:
        text_puts(out, yaml_int_text(y, number));
        return;
    case YAML_FLOAT:
        put_float(y->number, out);
        return;
    case YAML_LIST:
    case YAML_MAP:
        break;
    default:
        put_string(y->text, y->text_len, out);
        return;
    }
    text_putc(out, is_map ? '{' : '[');
    for (int64_t i = 0; i < y->n; i++) {
        if (i) text_puts(out, indent ? "," : ", ");
        new_line(indent, depth + 1, out);
        if (is_map) {
            put_string(y->key[i]->text, y->key[i]->text_len, out);
            text_puts(out, ": ");
        }
        put(y->item[i], indent, depth + 1, out);
    }
    if (y->n) new_line(indent, depth, out);
    text_putc(out, is_map ? '}' : ']');
}

void yaml_emit_json(const Yaml *node, int indent, Text *out)
{
    put(node, indent, 0, out);
}
