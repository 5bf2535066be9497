/* yaml_json.c - a tree as JSON. */
#include "base/json.h"
#include "config/yaml_emit.h"
#include "config/yaml_scalar.h"

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
        text_json_double(out, y->number);
        return;
    case YAML_LIST:
    case YAML_MAP:
        break;
    default:
        text_json_string(out, (Str){ y->text, y->text_len });
        return;
    }
    text_putc(out, is_map ? '{' : '[');
    for (int64_t i = 0; i < y->n; i++) {
        if (i) text_puts(out, indent ? "," : ", ");
        new_line(indent, depth + 1, out);
        if (is_map) {
            text_json_string(out, (Str){ y->key[i]->text, y->key[i]->text_len });
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
