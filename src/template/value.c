/* value.c - making and comparing values as Python does. */
#include "template/value.h"
#include <string.h>

Error *meter_spend(Meter *m, int64_t work)
{
    m->work_left -= work;
    return m->work_left < 0 ? error_new("the template does too much work: it never ends, or makes "
                                        "texts or lists without bound")
                            : NULL;
}

Error *meter_enter(Meter *m)
{
    if (m->depth_left <= 0) return error_new("nested too deeply");
    m->depth_left--;
    return meter_spend(m, 16);
}

void meter_leave(Meter *m)
{
    m->depth_left++;
}

Error *meter_add(Meter *m, Text *t, Str s)
{
    TRY(meter_spend(m, (int64_t)s.len));
    text_add(t, s.ptr, s.len);
    return NULL;
}

TemplateValue value_undefined(Str name)
{
    return (TemplateValue){ .kind = TEMPLATE_UNDEFINED, .text = name };
}

TemplateValue value_none(void)
{
    return (TemplateValue){ .kind = TEMPLATE_NONE };
}

TemplateValue value_bool(bool b)
{
    return (TemplateValue){ .kind = TEMPLATE_BOOL, .boolean = b };
}

TemplateValue value_int(int64_t i)
{
    return (TemplateValue){ .kind = TEMPLATE_INT, .integer = i };
}

TemplateValue value_float(double x)
{
    return (TemplateValue){ .kind = TEMPLATE_FLOAT, .number = x };
}

TemplateValue value_text(Str s)
{
    return (TemplateValue){ .kind = TEMPLATE_TEXT, .text = s };
}

TemplateValue value_text_copy(Arena *a, const Text *t)
{
    return value_text((Str){ t->len ? arena_string_n(a, t->ptr, t->len) : "", t->len });
}

TemplateValue value_list(Arena *a, TemplateKind kind, int64_t n, TemplateValue **item)
{
    ValueList *l = NEW(a, ValueList);
    *l = (ValueList){ .item = n ? NEW_N(a, TemplateValue, n) : NULL, .n = n };
    *item = l->item;
    return (TemplateValue){ .kind = kind, .list = l };
}

TemplateValue value_map(Arena *a)
{
    return (TemplateValue){ .kind = TEMPLATE_MAP, .map = map_new(a) };
}

void value_map_set(TemplateValue map, Str key, TemplateValue value)
{
    map_set(map.map, key, arena_copy(map.map->arena, &value, sizeof value));
}

const TemplateValue *value_map_get(TemplateValue map, Str key)
{
    return map_get(map.map, key);
}

const char *value_kind_name(TemplateValue v)
{
    static const char *const name[] = {
        [TEMPLATE_UNDEFINED] = "undefined",
        [TEMPLATE_NONE] = "none",
        [TEMPLATE_BOOL] = "a boolean",
        [TEMPLATE_INT] = "an integer",
        [TEMPLATE_BIG] = "a huge integer",
        [TEMPLATE_FLOAT] = "a number",
        [TEMPLATE_TEXT] = "text",
        [TEMPLATE_LIST] = "a list",
        [TEMPLATE_TUPLE] = "a tuple",
        [TEMPLATE_GENERATOR] = "a generator (| list makes a list of it)",
        [TEMPLATE_MAP] = "a mapping",
        [TEMPLATE_NAMESPACE] = "a namespace",
        [TEMPLATE_LOOP] = "a loop",
        [TEMPLATE_MACRO] = "a macro",
        [TEMPLATE_FUNCTION] = "a function",
    };
    return name[v.kind];
}

bool value_is_true(TemplateValue v)
{
    switch (v.kind) {
    case TEMPLATE_UNDEFINED:
    case TEMPLATE_NONE:
        return false;
    case TEMPLATE_BOOL:
        return v.boolean;
    case TEMPLATE_INT:
        return v.integer != 0;
    case TEMPLATE_FLOAT:
        return v.number != 0;
    case TEMPLATE_TEXT:
        return v.text.len > 0;
    case TEMPLATE_LIST:
    case TEMPLATE_TUPLE:
        return v.list->n > 0;
    case TEMPLATE_MAP:
        return v.map->n > 0;
    case TEMPLATE_BIG:
    case TEMPLATE_GENERATOR:
    case TEMPLATE_NAMESPACE:
    case TEMPLATE_LOOP:
    case TEMPLATE_MACRO:
    case TEMPLATE_FUNCTION:
        return true;
    }
    return true;
}

bool value_is_number(TemplateValue v)
{
    return v.kind == TEMPLATE_BOOL || v.kind == TEMPLATE_INT || v.kind == TEMPLATE_FLOAT;
}

double value_number(TemplateValue v)
{
    return v.kind == TEMPLATE_BOOL  ? v.boolean
           : v.kind == TEMPLATE_INT ? (double)v.integer
                                    : v.number;
}

/* ---- comparing ---- */

static bool is_whole(TemplateValue v)
{
    return v.kind == TEMPLATE_BOOL || v.kind == TEMPLATE_INT;
}

static int64_t whole(TemplateValue v)
{
    return v.kind == TEMPLATE_BOOL ? v.boolean : v.integer;
}

/* Exact: an integer beyond 2^53 differs from the float that it would be rounded to. */
static int compare_mixed(int64_t i, double x)
{
    if (x >= 0x1p63) return -1;
    if (x < -0x1p63) return 1;
    int64_t floor = (int64_t)x; /* towards zero */
    if (i != floor) return i < floor ? -1 : 1;
    double rest = x - (double)floor;
    return rest > 0 ? -1 : rest < 0;
}

/* Of two numbers, none of which is NaN. */
static int compare_numbers(TemplateValue x, TemplateValue y)
{
    if (is_whole(x) && is_whole(y)) return (whole(x) > whole(y)) - (whole(x) < whole(y));
    if (is_whole(x)) return compare_mixed(whole(x), y.number);
    if (is_whole(y)) return -compare_mixed(whole(y), x.number);
    return (x.number > y.number) - (x.number < y.number);
}

static bool is_nan(TemplateValue v)
{
    return v.kind == TEMPLATE_FLOAT && v.number != v.number;
}

static Error *equal_lists(Meter *m, const ValueList *x, const ValueList *y, bool *out)
{
    *out = x->n == y->n;
    for (int64_t i = 0; *out && i < x->n; i++) TRY(value_equal(m, x->item[i], y->item[i], out));
    return NULL;
}

static Error *equal_maps(Meter *m, const Map *x, const Map *y, bool *out)
{
    *out = x->n == y->n;
    for (int64_t i = 0; *out && i < x->n; i++) {
        const TemplateValue *other = map_get(y, x->entry[i].key);
        *out = other != NULL;
        if (other) TRY(value_equal(m, *(const TemplateValue *)x->entry[i].value, *other, out));
    }
    return NULL;
}

static Error *equal(Meter *m, TemplateValue x, TemplateValue y, bool *out)
{
    *out = false;
    if (value_is_number(x) && value_is_number(y))
        *out = !is_nan(x) && !is_nan(y) && compare_numbers(x, y) == 0;
    else if (x.kind != y.kind)
        return NULL;
    else if (x.kind == TEMPLATE_TEXT || x.kind == TEMPLATE_BIG)
        *out = str_equal(x.text, y.text);
    else if (x.kind == TEMPLATE_LIST || x.kind == TEMPLATE_TUPLE)
        return equal_lists(m, x.list, y.list, out);
    else if (x.kind == TEMPLATE_MAP)
        return equal_maps(m, x.map, y.map, out);
    else
        *out = x.kind == TEMPLATE_NONE || x.kind == TEMPLATE_UNDEFINED || x.map == y.map;
    return NULL;
}

Error *value_equal(Meter *m, TemplateValue x, TemplateValue y, bool *out)
{
    TRY(meter_enter(m));
    TRY(equal(m, x, y, out));
    meter_leave(m);
    return NULL;
}

static int order_texts(Str x, Str y)
{
    int c = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return c ? c : (x.len > y.len) - (x.len < y.len);
}

static Error *order_lists(Meter *m, const ValueList *x, const ValueList *y, int *out)
{
    for (int64_t i = 0; i < x->n && i < y->n; i++) {
        bool is_equal;
        TRY(value_equal(m, x->item[i], y->item[i], &is_equal));
        if (!is_equal) return value_order(m, x->item[i], y->item[i], out);
    }
    *out = (x->n > y->n) - (x->n < y->n);
    return NULL;
}

static Error *order(Meter *m, TemplateValue x, TemplateValue y, int *out)
{
    if (value_is_number(x) && value_is_number(y)) {
        if (is_nan(x) || is_nan(y)) return error_new("NaN has no order");
        *out = compare_numbers(x, y);
    } else if (x.kind == TEMPLATE_TEXT && y.kind == TEMPLATE_TEXT) {
        TRY(meter_spend(m, (int64_t)x.text.len));
        *out = order_texts(x.text, y.text);
    } else if (x.kind == y.kind && (x.kind == TEMPLATE_LIST || x.kind == TEMPLATE_TUPLE)) {
        return order_lists(m, x.list, y.list, out);
    } else {
        return error_new("%s and %s have no order", value_kind_name(x), value_kind_name(y));
    }
    return NULL;
}

Error *value_order(Meter *m, TemplateValue x, TemplateValue y, int *out)
{
    TRY(meter_enter(m));
    TRY(order(m, x, y, out));
    meter_leave(m);
    return NULL;
}
