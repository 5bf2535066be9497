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

Value value_undefined(Str name)
{
    return (Value){ .kind = VALUE_UNDEFINED, .text = name };
}

Value value_none(void)
{
    return (Value){ .kind = VALUE_NONE };
}

Value value_bool(bool b)
{
    return (Value){ .kind = VALUE_BOOL, .boolean = b };
}

Value value_int(int64_t i)
{
    return (Value){ .kind = VALUE_INT, .integer = i };
}

Value value_float(double x)
{
    return (Value){ .kind = VALUE_FLOAT, .number = x };
}

Value value_text(Str s)
{
    return (Value){ .kind = VALUE_TEXT, .text = s };
}

Value value_text_copy(Arena *a, const Text *t)
{
    return value_text((Str){ t->len ? arena_string_n(a, t->ptr, t->len) : "", t->len });
}

Value value_list(Arena *a, ValueKind kind, int64_t n, Value **item)
{
    ValueList *l = NEW(a, ValueList);
    *l = (ValueList){ .item = n ? NEW_N(a, Value, n) : NULL, .n = n };
    *item = l->item;
    return (Value){ .kind = kind, .list = l };
}

Value value_map(Arena *a)
{
    return (Value){ .kind = VALUE_MAP, .map = map_new(a) };
}

void value_map_set(Value map, Str key, Value value)
{
    map_set(map.map, key, arena_copy(map.map->arena, &value, sizeof value));
}

const Value *value_map_get(Value map, Str key)
{
    return map_get(map.map, key);
}

const char *value_kind_name(Value v)
{
    static const char *const name[] = {
        [VALUE_UNDEFINED] = "undefined",
        [VALUE_NONE] = "none",
        [VALUE_BOOL] = "a boolean",
        [VALUE_INT] = "an integer",
        [VALUE_BIG] = "a huge integer",
        [VALUE_FLOAT] = "a number",
        [VALUE_TEXT] = "text",
        [VALUE_LIST] = "a list",
        [VALUE_TUPLE] = "a tuple",
        [VALUE_GENERATOR] = "a generator (| list makes a list of it)",
        [VALUE_MAP] = "a mapping",
        [VALUE_NAMESPACE] = "a namespace",
        [VALUE_LOOP] = "a loop",
        [VALUE_MACRO] = "a macro",
        [VALUE_FUNCTION] = "a function",
    };
    return name[v.kind];
}

bool value_is_true(Value v)
{
    switch (v.kind) {
    case VALUE_UNDEFINED:
    case VALUE_NONE:
        return false;
    case VALUE_BOOL:
        return v.boolean;
    case VALUE_INT:
        return v.integer != 0;
    case VALUE_FLOAT:
        return v.number != 0;
    case VALUE_TEXT:
        return v.text.len > 0;
    case VALUE_LIST:
    case VALUE_TUPLE:
        return v.list->n > 0;
    case VALUE_MAP:
        return v.map->n > 0;
    case VALUE_BIG:
    case VALUE_GENERATOR:
    case VALUE_NAMESPACE:
    case VALUE_LOOP:
    case VALUE_MACRO:
    case VALUE_FUNCTION:
        return true;
    }
    return true;
}

bool value_is_number(Value v)
{
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

double value_number(Value v)
{
    return v.kind == VALUE_BOOL ? v.boolean : v.kind == VALUE_INT ? (double)v.integer : v.number;
}

/* ---- comparing ---- */

static bool is_whole(Value v)
{
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT;
}

static int64_t whole(Value v)
{
    return v.kind == VALUE_BOOL ? v.boolean : v.integer;
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
static int compare_numbers(Value x, Value y)
{
    if (is_whole(x) && is_whole(y)) return (whole(x) > whole(y)) - (whole(x) < whole(y));
    if (is_whole(x)) return compare_mixed(whole(x), y.number);
    if (is_whole(y)) return -compare_mixed(whole(y), x.number);
    return (x.number > y.number) - (x.number < y.number);
}

static bool is_nan(Value v)
{
    return v.kind == VALUE_FLOAT && v.number != v.number;
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
        const Value *other = map_get(y, x->entry[i].key);
        *out = other != NULL;
        if (other) TRY(value_equal(m, *(const Value *)x->entry[i].value, *other, out));
    }
    return NULL;
}

static Error *equal(Meter *m, Value x, Value y, bool *out)
{
    *out = false;
    if (value_is_number(x) && value_is_number(y))
        *out = !is_nan(x) && !is_nan(y) && compare_numbers(x, y) == 0;
    else if (x.kind != y.kind)
        return NULL;
    else if (x.kind == VALUE_TEXT || x.kind == VALUE_BIG)
        *out = str_equal(x.text, y.text);
    else if (x.kind == VALUE_LIST || x.kind == VALUE_TUPLE)
        return equal_lists(m, x.list, y.list, out);
    else if (x.kind == VALUE_MAP)
        return equal_maps(m, x.map, y.map, out);
    else
        *out = x.kind == VALUE_NONE || x.kind == VALUE_UNDEFINED || x.map == y.map;
    return NULL;
}

Error *value_equal(Meter *m, Value x, Value y, bool *out)
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

static Error *order(Meter *m, Value x, Value y, int *out)
{
    if (value_is_number(x) && value_is_number(y)) {
        if (is_nan(x) || is_nan(y)) return error_new("NaN has no order");
        *out = compare_numbers(x, y);
    } else if (x.kind == VALUE_TEXT && y.kind == VALUE_TEXT) {
        TRY(meter_spend(m, (int64_t)x.text.len));
        *out = order_texts(x.text, y.text);
    } else if (x.kind == y.kind && (x.kind == VALUE_LIST || x.kind == VALUE_TUPLE)) {
        return order_lists(m, x.list, y.list, out);
    } else {
        return error_new("%s and %s have no order", value_kind_name(x), value_kind_name(y));
    }
    return NULL;
}

Error *value_order(Meter *m, Value x, Value y, int *out)
{
    TRY(meter_enter(m));
    TRY(order(m, x, y, out));
    meter_leave(m);
    return NULL;
}
