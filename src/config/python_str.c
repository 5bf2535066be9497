/* python_str.c - values as Python's str() writes them. */
#include "config/python_str.h"
#include "config/yaml_scalar.h"
#include <string.h>

/* As Python's repr: single quotes unless only they are in the text. */
static void put_quoted(Text *t, const char *s)
{
    char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
    text_putc(t, quote);
    for (; *s; s++) {
        if (*s == quote || *s == '\\')
            text_printf(t, "\\%c", *s);
        else if (*s == '\n')
            text_puts(t, "\\n");
        else if (*s == '\t')
            text_puts(t, "\\t");
        else if (*s == '\r')
            text_puts(t, "\\r");
        else
            text_putc(t, *s);
    }
    text_putc(t, quote);
}

static void put_python(Text *t, const Yaml *y, bool in_container)
{
    char number[32];
    switch (y->type) {
    case YAML_NULL:
        text_puts(t, "None");
        return;
    case YAML_BOOL:
        text_puts(t, y->boolean ? "True" : "False");
        return;
    case YAML_INT:
        text_puts(t, yaml_int_text(y, number));
        return;
    case YAML_FLOAT:
        format_double(y->number, number);
        text_puts(t, number);
        return;
    case YAML_LIST:
    case YAML_MAP:
        break;
    default:
        if (in_container)
            put_quoted(t, y->text);
        else
            text_puts(t, y->text);
        return;
    }
    text_putc(t, y->type == YAML_LIST ? '[' : '{');
    for (int64_t i = 0; i < y->n; i++) {
        if (i) text_puts(t, ", ");
        if (y->type == YAML_MAP) {
            put_python(t, y->key[i], true);
            text_puts(t, ": ");
        }
        put_python(t, y->item[i], true);
    }
    text_putc(t, y->type == YAML_LIST ? ']' : '}');
}

const char *python_str(Arena *a, const Yaml *node)
{
    Text t = { 0 };
    put_python(&t, node, false);
    const char *s = arena_string(a, t.ptr ? t.ptr : "");
    text_free(&t);
    return s;
}
