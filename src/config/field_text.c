/* field_text.c - says in words what a row of a table allows. */
#include "config/field_read.h"
#include <string.h>

static void put_number(double x, Text *out)
{
    if (fabs(x) < 1e15 && x == floor(x))
        text_printf(out, "%.0f", x);
    else
        text_printf(out, "%g", x);
}

static void put_bounds(const Field *f, Text *out)
{
    bool has_min = f->min > -INFINITY, has_max = f->max < INFINITY;
    if (!(f->min < f->max) && !(f->min == f->max && f->min != 0)) return;
    if (has_min) {
        text_puts(out, f->flags & FIELD_OPEN_MIN ? ", greater than " : ", at least ");
        put_number(f->min, out);
    }
    if (has_max) {
        text_puts(out, has_min ? " and " : ", ");
        text_puts(out, f->flags & FIELD_OPEN_MAX ? "less than " : "at most ");
        put_number(f->max, out);
    }
}

static void put_choices(const Field *f, Text *out)
{
    for (int i = 0; f->choices[i]; i++) {
        const char *name = f->choices[i];
        text_puts(out, i ? ", " : "");
        text_add(out, name, strcspn(name, "|"));
    }
}

/* "integers", "texts": simple items; else the item in full. */
static void put_items(const Field *item, Text *out)
{
    bool is_simple = !item->choices && !item->is_pointer && !(item->min < item->max);
    const char *plural = NULL;
    if (item->type == FIELD_INT) plural = "integers";
    if (item->type == FIELD_FLOAT) plural = "numbers";
    if (item->type == FIELD_STRING) plural = "texts";
    if (item->type == FIELD_STRUCT) plural = "mappings";
    if (item->type == FIELD_COMPONENT)
        text_printf(out, "components%s%s", item->kind ? " " : "", item->kind ? item->kind : "");
    else if (plural && is_simple)
        text_puts(out, plural);
    else
        field_allowed(item, out);
}

static void put_list(const Field *f, Text *out)
{
    text_puts(out, "a list of ");
    if (f->min == f->max && f->min > 0) text_printf(out, "%g ", f->min);
    put_items(f->fields, out);
    if (f->min < f->max && f->min > 0) text_printf(out, ", at least %g", f->min);
    if (f->min < f->max && f->max < INFINITY) text_printf(out, ", at most %g", f->max);
    if (f->flags & FIELD_LIST_OR_ONE) text_puts(out, ", or a single one");
}

static void put_type(const Field *f, Text *out)
{
    switch (f->type) {
    case FIELD_BOOL:
        text_puts(out, "true or false");
        return;
    case FIELD_INT:
        text_puts(out, "an integer");
        break;
    case FIELD_FLOAT:
        text_puts(out, "a number");
        break;
    case FIELD_STRING:
        text_puts(out, "a text");
        return;
    case FIELD_PATH:
        text_puts(out, f->flags & (FIELD_EXISTS | FIELD_INPUT) ? "the path of an existing file"
                                                               : "a path");
        return;
    case FIELD_STRUCT:
        text_puts(out, "a mapping");
        return;
    case FIELD_MAP:
        text_puts(out, "a mapping to ");
        put_items(f->fields, out);
        return;
    case FIELD_LIST:
        put_list(f, out);
        return;
    case FIELD_COMPONENT:
        text_printf(out, "a component%s%s", f->kind ? " " : "", f->kind ? f->kind : "");
        return;
    case FIELD_UNION:
        for (const Field *o = f->fields; o->type != FIELD_END; o++) {
            text_puts(out, o == f->fields ? "" : ", or ");
            field_allowed(o, out);
        }
        return;
    default:
        text_puts(out, "any value");
        return;
    }
    put_bounds(f, out);
}

void field_allowed(const Field *f, Text *out)
{
    if (f->choices && (f->choices[1] || f->type == FIELD_CHOICE)) text_puts(out, "one of ");
    if (f->choices)
        put_choices(f, out);
    else
        put_type(f, out);
    if (f->is_pointer || f->flags & FIELD_NULLABLE || (f->fallback && !strcmp(f->fallback, "null")))
        text_puts(out, ", or null");
}
