/* field_scalar.c - reads one truth value, number, text, path or choice, with pydantic's rules for
 * what converts.
 *
 * Strict rows take only their own type (an integer is a number, too). Others convert: "7" and 7.0
 * are the integer 7, 1 and "yes" are true. */
#include "config/field_scalar.h"
#include "base/file.h"
#include "base/text_input.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void fit_converted(Fit *fit, int exactness)
{
    if (exactness < fit->exactness) fit->exactness = exactness;
}

void field_refuse(FieldReader *r, const Field *f, const Yaml *y, const char *code)
{
    Text allowed = { 0 };
    field_allowed(f, &allowed);
    const char *origin = "";
    if (y->from)
        origin = arena_printf(r->arena, " (from %s, %s)", yaml_path(r->arena, y->from),
                              yaml_place(r->arena, y->from));
    problem_add(r->problems, y, NULL, code, "%s%s; allowed: %s", yaml_show(r->arena, y), origin,
                allowed.ptr);
    text_free(&allowed);
}

static const char *trimmed(Arena *a, const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) n--;
    return arena_string_n(a, text, n);
}

static bool text_is_true(const char *s, bool *out)
{
    static const char *const yes[] = { "1", "on", "t", "true", "y", "yes", NULL };
    static const char *const no[] = { "0", "off", "f", "false", "n", "no", NULL };
    for (int i = 0; yes[i]; i++) {
        *out = !strcasecmp(s, yes[i]);
        if (*out || !strcasecmp(s, no[i])) return true;
    }
    return false;
}

static void read_bool(FieldReader *r, const Field *f, const Yaml *y, bool *to, Fit *fit)
{
    bool is_number = y->type == YAML_INT || y->type == YAML_FLOAT;
    if (y->type == YAML_BOOL)
        *to = y->boolean;
    else if (f->flags & FIELD_STRICT)
        return field_refuse(r, f, y, "bool_type");
    else if (y->type == YAML_STRING && text_is_true(y->text, to))
        fit_converted(fit, CONVERTED);
    else if (is_number && (y->number == 0 || y->number == 1))
        *to = y->number == 1, fit_converted(fit, CONVERTED);
    else
        return field_refuse(r, f, y,
                            y->type == YAML_STRING || is_number ? "bool_parsing" : "bool_type");
    if (f->choices && strcmp(f->choices[0], *to ? "true" : "false"))
        field_refuse(r, f, y, "literal_error");
}

static bool in_bounds(FieldReader *r, const Field *f, const Yaml *y, double value)
{
    if (!(f->min < f->max)) return true;
    const char *code = NULL;
    if (f->flags & FIELD_OPEN_MIN ? !(value > f->min) : !(value >= f->min))
        code = f->flags & FIELD_OPEN_MIN ? "greater_than" : "greater_than_equal";
    else if (f->flags & FIELD_OPEN_MAX ? !(value < f->max) : !(value <= f->max))
        code = f->flags & FIELD_OPEN_MAX ? "less_than" : "less_than_equal";
    if (code) field_refuse(r, f, y, code);
    return !code;
}

/* An integer's text as Python's int() takes it, or one followed by zeros the point. */
static bool text_is_int(const char *s, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(s, &end, 10);
    if (end == s || errno) return false;
    if (*end == '.') end += 1 + strspn(end + 1, "0");
    return !*end;
}

static void read_int(FieldReader *r, const Field *f, const Yaml *y, int64_t *to, Fit *fit)
{
    bool is_strict = f->flags & FIELD_STRICT;
    if (y->type == YAML_INT) {
        if (y->is_too_large) return field_refuse(r, f, y, "int_parsing_size");
        *to = y->integer;
    } else if (is_strict) {
        return field_refuse(r, f, y, "int_type");
    } else if (y->type == YAML_BOOL) {
        *to = y->boolean;
        fit_converted(fit, CONVERTED);
    } else if (y->type == YAML_FLOAT) {
        if (y->number != floor(y->number) || fabs(y->number) >= 9.2e18)
            return field_refuse(r, f, y, "int_from_float");
        *to = (int64_t)y->number;
        fit_converted(fit, CONVERTED);
    } else if (y->type == YAML_STRING) {
        if (!text_is_int(trimmed(r->arena, y->text), to))
            return field_refuse(r, f, y, "int_parsing");
        fit_converted(fit, CONVERTED);
    } else {
        return field_refuse(r, f, y, "int_type");
    }
    in_bounds(r, f, y, (double)*to);
}

static void read_float(FieldReader *r, const Field *f, const Yaml *y, double *to, Fit *fit)
{
    if (y->type == YAML_FLOAT || y->type == YAML_INT) {
        *to = y->number;
        if (y->type == YAML_INT) fit_converted(fit, WIDENED);
    } else if (f->flags & FIELD_STRICT) {
        return field_refuse(r, f, y, "float_type");
    } else if (y->type == YAML_BOOL) {
        *to = y->boolean;
        fit_converted(fit, CONVERTED);
    } else if (y->type == YAML_STRING) {
        const char *s = trimmed(r->arena, y->text);
        char *end;
        *to = strtod(s, &end);
        if (end == s || *end || strpbrk(s, "xX")) return field_refuse(r, f, y, "float_parsing");
        fit_converted(fit, CONVERTED);
    } else {
        return field_refuse(r, f, y, "float_type");
    }
    if (!in_bounds(r, f, y, *to) || isfinite(*to)) return;
    Text allowed = { 0 };
    field_allowed(f, &allowed);
    problem_add(r->problems, y, NULL, "finite_number", "%s is not finite; allowed: %s",
                yaml_show(r->arena, y), allowed.ptr);
    text_free(&allowed);
}

/* The index of the choice whose first or second spelling is this text, or -1. */
static int choice_index(const char *const *choices, const char *text)
{
    for (int i = 0; choices[i]; i++) {
        const char *bar = strchr(choices[i], '|');
        size_t n = bar ? (size_t)(bar - choices[i]) : strlen(choices[i]);
        if ((strlen(text) == n && !memcmp(choices[i], text, n)) || (bar && !strcmp(bar + 1, text)))
            return i;
    }
    return -1;
}

static bool is_scalar(const Yaml *y)
{
    return y->type != YAML_LIST && y->type != YAML_MAP && y->type != YAML_COMPONENT &&
           y->type != YAML_NULL;
}

static void refuse_choice(FieldReader *r, const Field *f, const Yaml *y, const char *code)
{
    int n = 0;
    while (f->choices[n]) n++;
    const char **names = NEW_N(r->arena, const char *, n + 1);
    for (int i = 0; i < n; i++)
        names[i] = arena_string_n(r->arena, f->choices[i], strcspn(f->choices[i], "|"));
    const char *near = is_scalar(y) ? nearest_name(y->text, names) : NULL;
    if (!near) return field_refuse(r, f, y, code);
    Text allowed = { 0 };
    field_allowed(f, &allowed);
    problem_add(r->problems, y, NULL, code, "%s; did you mean \"%s\"? allowed: %s",
                yaml_show(r->arena, y), near, allowed.ptr);
    text_free(&allowed);
}

static void read_choice(FieldReader *r, const Field *f, const Yaml *y, int *to)
{
    *to = is_scalar(y) ? choice_index(f->choices, y->text) : -1;
    if (*to < 0) refuse_choice(r, f, y, "enum");
}

static void read_text(FieldReader *r, const Field *f, const Yaml *y, const char **to)
{
    if (y->type != YAML_STRING) return field_refuse(r, f, y, "string_type");
    if (strlen(y->text) != y->text_len) return field_refuse(r, f, y, "string_unicode");
    *to = y->text;
    if (f->choices && choice_index(f->choices, y->text) < 0)
        refuse_choice(r, f, y, "literal_error");
}

static bool is_file(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode);
}

static void read_path(FieldReader *r, const Field *f, const Yaml *y, const char **to)
{
    if (y->type != YAML_STRING || strlen(y->text) != y->text_len)
        return field_refuse(r, f, y, "path_type");
    *to = y->text;
    Problem *p = NULL;
    if (f->flags & FIELD_EXISTS && is_directory(y->text))
        p = problem_add(r->problems, y, NULL, "path_not_file", "%s is a folder, not a file",
                        yaml_show(r->arena, y));
    else if (f->flags & FIELD_EXISTS && !is_file(y->text))
        p = problem_add(r->problems, y, NULL, "path_not_file",
                        file_exists(y->text) ? "%s is no regular file" : "there is no file %s",
                        yaml_show(r->arena, y));
    else if (f->flags & FIELD_EXISTS_ANY && !file_exists(y->text))
        p = problem_add(r->problems, y, NULL, "path_not_exists", "there is no file or folder %s",
                        yaml_show(r->arena, y));
    else if (f->flags & FIELD_INPUT && !text_input_exists(y->text))
        p = problem_add(r->problems, y, NULL, "path_not_file", "there is no file %s",
                        yaml_show(r->arena, y));
    if (p) p->is_absent = !file_exists(y->text);
}

void scalar_fill(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit)
{
    switch (f->type) {
    case FIELD_BOOL:
        read_bool(r, f, y, to, fit);
        return;
    case FIELD_INT:
        read_int(r, f, y, to, fit);
        return;
    case FIELD_FLOAT:
        read_float(r, f, y, to, fit);
        return;
    case FIELD_STRING:
        read_text(r, f, y, to);
        return;
    case FIELD_PATH:
        read_path(r, f, y, to);
        return;
    default:
        read_choice(r, f, y, to);
        return;
    }
}
