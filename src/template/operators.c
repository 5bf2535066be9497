/* operators.c - arithmetic, comparison and membership with Python's rules. */
#include "template/characters.h"
#include "template/evaluate.h"
#include <math.h>

static Error *no_operator(Sign sign, TemplateValue x, TemplateValue y)
{
    static const char *const name[] = { "+", "-", "*", "/", "//", "%", "**" };
    return error_new("%s %s %s is not defined", value_kind_name(x), name[sign], value_kind_name(y));
}

static Error *too_large(void)
{
    return error_new("the result does not fit into 64 bits");
}

/* ---- numbers ---- */

static int64_t floor_quotient(int64_t x, int64_t y)
{
    int64_t q = x / y;
    return q - ((x % y != 0) && ((x < 0) != (y < 0)));
}

static Error *power(int64_t x, int64_t y, TemplateValue *out)
{
    if (y < 0) {
        if (!x) return error_new("0 to a negative power");
        *out = value_float(pow((double)x, (double)y));
        return NULL;
    }
    int64_t result = 1;
    for (; y; y >>= 1) {
        if (y & 1 && __builtin_mul_overflow(result, x, &result)) return too_large();
        if (y > 1 && __builtin_mul_overflow(x, x, &x)) return too_large();
    }
    *out = value_int(result);
    return NULL;
}

static Error *compute_ints(Sign sign, int64_t x, int64_t y, TemplateValue *out)
{
    int64_t z = 0;
    bool overflows = false, divides = sign >= SIGN_DIVIDE && sign <= SIGN_REMAINDER;
    if (divides && !y) return error_new("division by zero");
    if (divides && sign != SIGN_DIVIDE && y == -1 && x == INT64_MIN) return too_large();
    switch (sign) {
    case SIGN_ADD:
        overflows = __builtin_add_overflow(x, y, &z);
        break;
    case SIGN_SUBTRACT:
        overflows = __builtin_sub_overflow(x, y, &z);
        break;
    case SIGN_MULTIPLY:
        overflows = __builtin_mul_overflow(x, y, &z);
        break;
    case SIGN_DIVIDE:
        *out = value_float((double)x / (double)y);
        return NULL;
    case SIGN_FLOOR_DIVIDE:
        z = floor_quotient(x, y);
        break;
    case SIGN_REMAINDER:
        z = x - y * floor_quotient(x, y);
        break;
    default:
        return power(x, y, out);
    }
    *out = value_int(z);
    return overflows ? too_large() : NULL;
}

/* The remainder has the sign of y. */
static double float_remainder(double x, double y)
{
    double z = fmod(x, y);
    if (z == 0) return copysign(0, y);
    return (z < 0) != (y < 0) ? z + y : z;
}

static Error *compute_floats(Sign sign, double x, double y, TemplateValue *out)
{
    if (sign >= SIGN_DIVIDE && sign <= SIGN_REMAINDER && y == 0)
        return error_new("division by zero");
    double z = 0;
    switch (sign) {
    case SIGN_ADD:
        z = x + y;
        break;
    case SIGN_SUBTRACT:
        z = x - y;
        break;
    case SIGN_MULTIPLY:
        z = x * y;
        break;
    case SIGN_DIVIDE:
        z = x / y;
        break;
    case SIGN_FLOOR_DIVIDE: {
        double rest = float_remainder(x, y), q = (x - rest) / y;
        z = q == 0 ? copysign(0, x / y) : round(q);
        break;
    }
    case SIGN_REMAINDER:
        z = float_remainder(x, y);
        break;
    default:
        if ((x < 0 && y != floor(y)) || (x == 0 && y < 0))
            return error_new("this power is no real number");
        z = pow(x, y);
        if (isinf(z) && isfinite(x) && isfinite(y)) return too_large();
    }
    *out = value_float(z);
    return NULL;
}

/* ---- texts and lists ---- */

static Error *join_lists(Run *r, TemplateValue x, TemplateValue y, TemplateValue *out)
{
    TemplateValue *item;
    TRY(new_list(r, x.kind, x.list->n + y.list->n, &item, out));
    for (int64_t i = 0; i < x.list->n; i++) item[i] = x.list->item[i];
    for (int64_t i = 0; i < y.list->n; i++) item[x.list->n + i] = y.list->item[i];
    return NULL;
}

static Error *join_texts(Run *r, Str x, Str y, TemplateValue *out)
{
    Text t = { 0 };
    Error *e = meter_add(&r->meter, &t, x);
    if (!e) e = meter_add(&r->meter, &t, y);
    return finish_text(r, &t, e, out);
}

static Error *repeat_text(Run *r, Str s, int64_t times, TemplateValue *out)
{
    Text t = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; !e && s.len && i < times; i++) e = meter_add(&r->meter, &t, s);
    return finish_text(r, &t, e, out);
}

static Error *repeat_list(Run *r, TemplateValue list, int64_t times, TemplateValue *out)
{
    int64_t n = list.list->n, total;
    if (times < 0) times = 0;
    if (__builtin_mul_overflow(n, times, &total)) return too_large();
    TemplateValue *item;
    TRY(new_list(r, list.kind, total, &item, out));
    for (int64_t i = 0; i < total; i++) item[i] = list.list->item[i % n];
    return NULL;
}

static bool is_list(TemplateValue v)
{
    return v.kind == TEMPLATE_LIST || v.kind == TEMPLATE_TUPLE;
}

static Error *repeat(Run *r, TemplateValue x, TemplateValue y, TemplateValue *out)
{
    if (x.kind == TEMPLATE_INT) {
        TemplateValue swapped = x;
        x = y;
        y = swapped;
    }
    if (y.kind != TEMPLATE_INT) return no_operator(SIGN_MULTIPLY, x, y);
    return x.kind == TEMPLATE_TEXT ? repeat_text(r, x.text, y.integer, out)
                                   : repeat_list(r, x, y.integer, out);
}

static Error *check_defined(TemplateValue v)
{
    if (v.kind != TEMPLATE_UNDEFINED) return NULL;
    return error_new("'%.*s' is undefined", (int)v.text.len, v.text.ptr);
}

Error *compute_values(Run *r, Sign sign, TemplateValue x, TemplateValue y, TemplateValue *out)
{
    TRY(check_defined(x));
    TRY(check_defined(y));
    if (value_is_number(x) && value_is_number(y)) {
        if (x.kind != TEMPLATE_FLOAT && y.kind != TEMPLATE_FLOAT)
            return compute_ints(sign, x.kind == TEMPLATE_BOOL ? x.boolean : x.integer,
                                y.kind == TEMPLATE_BOOL ? y.boolean : y.integer, out);
        return compute_floats(sign, value_number(x), value_number(y), out);
    }
    if (sign == SIGN_ADD && x.kind == TEMPLATE_TEXT && y.kind == TEMPLATE_TEXT)
        return join_texts(r, x.text, y.text, out);
    if (sign == SIGN_ADD && is_list(x) && x.kind == y.kind) return join_lists(r, x, y, out);
    bool repeats = x.kind == TEMPLATE_TEXT || is_list(x) || y.kind == TEMPLATE_TEXT || is_list(y);
    if (sign == SIGN_MULTIPLY && repeats && (x.kind == TEMPLATE_INT || y.kind == TEMPLATE_INT))
        return repeat(r, x, y, out);
    return no_operator(sign, x, y);
}

/* ---- comparison ---- */

Error *value_contains(Run *r, TemplateValue container, TemplateValue v, bool *out)
{
    *out = false;
    if (container.kind == TEMPLATE_TEXT) {
        if (v.kind != TEMPLATE_TEXT)
            return error_new("%s in text is not defined", value_kind_name(v));
        TRY(meter_spend(&r->meter, (int64_t)container.text.len));
        *out = str_find(container.text, v.text, 0) >= 0;
        return NULL;
    }
    if (container.kind == TEMPLATE_MAP) {
        *out = v.kind == TEMPLATE_TEXT && map_has(container.map, v.text);
        return NULL;
    }
    TemplateValue list;
    TRY(list_of(r, container, &list));
    for (int64_t i = 0; !*out && i < list.list->n; i++)
        TRY(value_equal(&r->meter, list.list->item[i], v, out));
    return NULL;
}

Error *compare_values(Run *r, Sign sign, TemplateValue x, TemplateValue y, bool *out)
{
    if (sign == SIGN_EQUAL || sign == SIGN_UNEQUAL) {
        TRY(value_equal(&r->meter, x, y, out));
        *out ^= sign == SIGN_UNEQUAL;
        return NULL;
    }
    if (sign == SIGN_IN || sign == SIGN_NOT_IN) {
        TRY(value_contains(r, y, x, out));
        *out ^= sign == SIGN_NOT_IN;
        return NULL;
    }
    TRY(check_defined(x));
    TRY(check_defined(y));
    int order;
    TRY(value_order(&r->meter, x, y, &order));
    *out = sign == SIGN_LESS         ? order < 0
           : sign == SIGN_LESS_EQUAL ? order <= 0
           : sign == SIGN_GREATER    ? order > 0
                                     : order >= 0;
    return NULL;
}
