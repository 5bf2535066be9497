/* filters.c - filters of texts, numbers and single values. */
#include "template/change_text.h"
#include "template/value_json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

/* Filters take what is no text by its printed form. */
static Error *printed(Run *r, const Call *c, Str *out)
{
    TemplateValue v;
    *out = c->self.text;
    if (c->self.kind == TEMPLATE_TEXT) return NULL;
    Text t = { 0 };
    TRY(finish_text(r, &t, value_print(&r->meter, c->self, &t), &v));
    *out = v.text;
    return NULL;
}

static Error *upper(Run *r, const Call *c, TemplateValue *out)
{
    Str s;
    TRY(printed(r, c, &s));
    return change_case(r, s, CASE_UPPER, out);
}

static Error *lower(Run *r, const Call *c, TemplateValue *out)
{
    Str s;
    TRY(printed(r, c, &s));
    return change_case(r, s, CASE_LOWER, out);
}

static Error *capitalize(Run *r, const Call *c, TemplateValue *out)
{
    Str s;
    TRY(printed(r, c, &s));
    return capitalize_text(r, s, out);
}

/* Words begin after white space and these characters. */
static bool ends_word(Str character)
{
    static const char signs[] = "-({[<";
    return memchr(signs, character.ptr[0], sizeof signs - 1) ||
           !characters_strip(character, NULL, STRIP_LEFT).len;
}

static Error *put_title(Run *r, Str s, Text *t)
{
    bool begins = true;
    for (size_t at = 0; at < s.len;) {
        size_t len = characters_offset((Str){ s.ptr + at, s.len - at }, 1);
        Str one = { s.ptr + at, len };
        TRY(meter_spend(&r->meter, 2 * (int64_t)len));
        TRY(characters_to_case(one, begins ? CASE_UPPER : CASE_LOWER, t));
        begins = ends_word(one);
        at += len;
    }
    return NULL;
}

static Error *title(Run *r, const Call *c, TemplateValue *out)
{
    Str s;
    Text t = { 0 };
    TRY(printed(r, c, &s));
    return finish_text(r, &t, put_title(r, s, &t), out);
}

static Error *trim(Run *r, const Call *c, TemplateValue *out)
{
    Call text = *c;
    Str s;
    TRY(printed(r, c, &s));
    text.self = value_text(s);
    return strip_text(r, &text, STRIP_LEFT | STRIP_RIGHT, out);
}

static Error *replace(Run *r, const Call *c, TemplateValue *out)
{
    Str s, from, to;
    int64_t most;
    TRY(printed(r, c, &s));
    TRY(argument_text(c, 0, str_of(""), &from));
    TRY(argument_text(c, 1, str_of(""), &to));
    TRY(argument_int(c, 2, -1, &most));
    return replace_text(r, s, from, to, most, out);
}

static Error *put_indented(Run *r, Str s, Str with, bool first, bool blank, Text *t)
{
    bool has_end = true;
    if (first) TRY(meter_add(&r->meter, t, with));
    for (int64_t i = 0; has_end; i++) {
        Str line = characters_line(s, &s, &has_end);
        if (i) text_putc(t, '\n');
        if (i && (line.len || blank)) TRY(meter_add(&r->meter, t, with));
        TRY(meter_add(&r->meter, t, line));
        TRY(meter_spend(&r->meter, 1));
    }
    return NULL;
}

static Error *indent(Run *r, const Call *c, TemplateValue *out)
{
    Str s;
    int64_t width = 4;
    TemplateValue with;
    Text t = { 0 };
    TRY(self_text(c, &s));
    if (c->is_given[0] && c->arg[0].kind == TEMPLATE_TEXT) {
        with = c->arg[0];
    } else {
        TRY(argument_int(c, 0, 4, &width));
        TRY(compute_values(r, SIGN_MULTIPLY, value_text(str_of(" ")), value_int(width), &with));
    }
    bool first = argument_is_true(c, 1, false), blank = argument_is_true(c, 2, false);
    return finish_text(r, &t, put_indented(r, s, with.text, first, blank, &t), out);
}

static Error *string(Run *r, const Call *c, TemplateValue *out)
{
    Str s;
    TRY(printed(r, c, &s));
    *out = value_text(s);
    return NULL;
}

/* ---- numbers ---- */

/* Digits with single underscores between them and a sign in front. */
static bool parse_int(Str s, Error **too_large, int64_t *out)
{
    Text digits = { 0 };
    s = characters_strip(s, NULL, STRIP_LEFT | STRIP_RIGHT);
    bool is_int = false, allows_gap = false;
    for (size_t i = 0; i < s.len; i++) {
        char x = s.ptr[i];
        bool is_digit = x >= '0' && x <= '9', is_sign = i == 0 && (x == '-' || x == '+');
        bool is_gap = x == '_' && allows_gap;
        allows_gap = is_int = is_digit;
        if (!is_digit && !is_sign && !is_gap) break;
        if (!is_gap) text_putc(&digits, x);
    }
    if (is_int) {
        *out = strtoll(digits.ptr, NULL, 10);
        if (*out == INT64_MAX || *out == INT64_MIN)
            *too_large = error_new("an integer beyond 64 bits");
    }
    text_free(&digits);
    return is_int;
}

/* What float() of Python reads. */
static bool parse_float(Arena *a, Str s, double *out)
{
    s = characters_strip(s, NULL, STRIP_LEFT | STRIP_RIGHT);
    char *text = arena_string_n(a, s.ptr, s.len), *end;
    const char *word = text + (*text == '-' || *text == '+');
    bool is_word =
        !strcasecmp(word, "inf") || !strcasecmp(word, "infinity") || !strcasecmp(word, "nan");
    if (!s.len || (!is_word && strspn(text, "+-.0123456789eE") != s.len)) return false;
    *out = strtod(text, &end);
    return end == text + s.len;
}

/* self as a float; false when it is none. */
static bool to_float(Run *r, TemplateValue v, double *out)
{
    if (value_is_number(v)) *out = value_number(v);
    return value_is_number(v) || (v.kind == TEMPLATE_TEXT && parse_float(r->arena, v.text, out));
}

static Error *to_int(Run *r, const Call *c, TemplateValue *out)
{
    Error *too_large = NULL;
    int64_t i = 0;
    double x = 0;
    TemplateValue v = c->self;
    *out = c->is_given[0] ? c->arg[0] : value_int(0);
    TRY(meter_spend(&r->meter, v.kind == TEMPLATE_TEXT ? (int64_t)v.text.len : 0));
    if (v.kind == TEMPLATE_UNDEFINED) return error_new("int of something undefined");
    if (v.kind == TEMPLATE_INT || v.kind == TEMPLATE_BOOL) {
        *out = value_int(v.kind == TEMPLATE_BOOL ? v.boolean : v.integer);
    } else if (v.kind == TEMPLATE_TEXT && parse_int(v.text, &too_large, &i)) {
        *out = value_int(i);
    } else if (to_float(r, v, &x) && isfinite(x)) {
        if (fabs(x) >= 0x1p63) return error_new("an integer beyond 64 bits");
        *out = value_int((int64_t)x);
    }
    return too_large;
}

static Error *to_float_filter(Run *r, const Call *c, TemplateValue *out)
{
    double x = 0;
    *out = c->is_given[0] ? c->arg[0] : value_float(0);
    if (c->self.kind == TEMPLATE_UNDEFINED) return error_new("float of something undefined");
    TRY(meter_spend(&r->meter, c->self.kind == TEMPLATE_TEXT ? (int64_t)c->self.text.len : 0));
    if (to_float(r, c->self, &x)) *out = value_float(x);
    return NULL;
}

static Error *absolute(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    if (!value_is_number(c->self))
        return error_new("abs of %s is not defined", value_kind_name(c->self));
    *out = c->self;
    if (out->kind == TEMPLATE_FLOAT) {
        out->number = fabs(out->number);
        return NULL;
    }
    int64_t i = out->kind == TEMPLATE_BOOL ? out->boolean : out->integer;
    if (i == INT64_MIN) return error_new("an integer beyond 64 bits");
    *out = value_int(i < 0 ? -i : i);
    return NULL;
}

enum { MOST_DECIMALS = 15 };

static Error *round_number(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    int64_t decimals;
    Str method;
    TRY(argument_int(c, 0, 0, &decimals));
    TRY(argument_text(c, 1, str_of("common"), &method));
    bool is_common = str_is(method, "common"), is_ceil = str_is(method, "ceil");
    if (!is_common && !is_ceil && !str_is(method, "floor"))
        return error_new("round: no method '%.*s'; allowed are common, ceil and floor",
                         (int)method.len, method.ptr);
    if (!value_is_number(c->self))
        return error_new("round of %s is not defined", value_kind_name(c->self));
    if (decimals < 0 || decimals > MOST_DECIMALS)
        return error_new("round: precision %lld, allowed are 0 to %d", (long long)decimals,
                         MOST_DECIMALS);
    double x = value_number(c->self), scale = pow(10, (double)decimals);
    if (is_common && c->self.kind != TEMPLATE_FLOAT)
        *out = value_int(c->self.kind == TEMPLATE_BOOL ? c->self.boolean : c->self.integer);
    else if (is_common)
        *out = value_float(round_decimals(x, (int)decimals));
    else
        *out = value_float((is_ceil ? ceil(x * scale) : floor(x * scale)) / scale);
    return NULL;
}

/* ---- any value ---- */

static Error *otherwise(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    bool replaces_false = argument_is_true(c, 1, false);
    bool is_kept = replaces_false ? value_is_true(c->self) : c->self.kind != TEMPLATE_UNDEFINED;
    *out = is_kept ? c->self : c->is_given[0] ? c->arg[0] : value_text(str_of(""));
    return NULL;
}

static Error *unchanged(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    *out = c->self;
    return NULL;
}

static Error *read_separators(const Call *c, JsonStyle *style)
{
    if (!c->is_given[2] || c->arg[2].kind == TEMPLATE_NONE) return NULL;
    TemplateValue v = c->arg[2];
    bool is_pair = (v.kind == TEMPLATE_TUPLE || v.kind == TEMPLATE_LIST) && v.list->n == 2 &&
                   v.list->item[0].kind == TEMPLATE_TEXT && v.list->item[1].kind == TEMPLATE_TEXT;
    if (!is_pair) return error_new("tojson: separators are two texts, for items and keys");
    style->item_separator = v.list->item[0].text;
    style->key_separator = v.list->item[1].text;
    return NULL;
}

static Error *read_indent(Run *r, const Call *c, JsonStyle *style)
{
    TemplateValue with = { 0 };
    if (!c->is_given[1] || c->arg[1].kind == TEMPLATE_NONE) return NULL;
    if (c->arg[1].kind == TEMPLATE_TEXT) {
        with = c->arg[1];
    } else {
        int64_t width;
        TRY(argument_int(c, 1, 0, &width));
        TRY(compute_values(r, SIGN_MULTIPLY, value_text(str_of(" ")), value_int(width), &with));
    }
    style->has_indent = true;
    style->indent = with.text;
    style->item_separator = str_of(",");
    return NULL;
}

static Error *tojson(Run *r, const Call *c, TemplateValue *out)
{
    JsonStyle style = json_plain;
    Text t = { 0 };
    style.escapes = argument_is_true(c, 0, false);
    style.sorts_keys = argument_is_true(c, 3, false);
    TRY(read_indent(r, c, &style));
    TRY(read_separators(c, &style));
    return finish_text(r, &t, value_to_json(&r->meter, c->self, &style, &t), out);
}

const Function filter_functions[] = {
    { .name = "abs", .call = absolute },
    { .name = "capitalize", .call = capitalize },
    { .name = "d", .call = otherwise, .parameters = { "default_value", "boolean" } },
    { .name = "default", .call = otherwise, .parameters = { "default_value", "boolean" } },
    { .name = "float", .call = to_float_filter, .parameters = { "default" } },
    { .name = "indent", .call = indent, .parameters = { "width", "first", "blank" } },
    { .name = "int", .call = to_int, .parameters = { "default" } },
    { .name = "lower", .call = lower },
    { .name = "replace",
      .call = replace,
      .parameters = { "old", "new", "count" },
      .n_required = 2 },
    { .name = "round", .call = round_number, .parameters = { "precision", "method" } },
    { .name = "safe", .call = unchanged },
    { .name = "string", .call = string },
    { .name = "title", .call = title },
    { .name = "tojson",
      .call = tojson,
      .parameters = { "ensure_ascii", "indent", "separators", "sort_keys" } },
    { .name = "trim", .call = trim, .parameters = { "chars" } },
    { .name = "upper", .call = upper },
    { 0 },
};
