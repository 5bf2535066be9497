/* field.c - reads settings by their tables, with pydantic's rules for what converts to what.
 *
 * Strict rows take only their own type (an integer is a number, too). Others convert: "7" and 7.0
 * are the integer 7, 1 and "yes" are true. A union takes the alternative that has most of the given
 * keys, then the one that converts least, then the first. */
#include "base/file.h"
#include "config/builder.h"
#include "config/field_read.h"
#include "config/interpolate.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const Field field_string_item = { .type = FIELD_STRING };
const Field field_int_item = { .type = FIELD_INT };
const Field field_float_item = { .type = FIELD_FLOAT };
const Field field_int_entry = { .type = FIELD_INT, .offset = offsetof(IntEntry, value) };
const Field field_string_entry = { .type = FIELD_STRING, .offset = offsetof(StringEntry, value) };

/* How well a value fits: more is better, keys first. */
enum { CONVERTED, WIDENED, EXACT };
typedef struct Fit {
    int64_t n_keys;
    int exactness;
} Fit;

static void read_value(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit);
static void read_struct(FieldReader *r, const Field *fields, const Yaml *y, bool ignores_others,
                        void *to, Fit *fit);

static bool is_nullable(const Field *f)
{
    return f->is_pointer || f->flags & FIELD_NULLABLE ||
           (f->fallback && !strcmp(f->fallback, "null"));
}

static void converted(Fit *fit, int exactness)
{
    if (exactness < fit->exactness) fit->exactness = exactness;
}

/* "VALUE, but allowed is ..."; says where an interpolated value came from. */
static void refuse(FieldReader *r, const Field *f, const Yaml *y, const char *code)
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
        return refuse(r, f, y, "bool_type");
    else if (y->type == YAML_STRING && text_is_true(y->text, to))
        converted(fit, CONVERTED);
    else if (is_number && (y->number == 0 || y->number == 1))
        *to = y->number == 1, converted(fit, CONVERTED);
    else
        return refuse(r, f, y, y->type == YAML_STRING || is_number ? "bool_parsing" : "bool_type");
    if (f->choices && strcmp(f->choices[0], *to ? "true" : "false"))
        refuse(r, f, y, "literal_error");
}

static bool in_bounds(FieldReader *r, const Field *f, const Yaml *y, double value)
{
    if (!(f->min < f->max)) return true;
    const char *code = NULL;
    if (f->flags & FIELD_OPEN_MIN ? !(value > f->min) : !(value >= f->min))
        code = f->flags & FIELD_OPEN_MIN ? "greater_than" : "greater_than_equal";
    else if (f->flags & FIELD_OPEN_MAX ? !(value < f->max) : !(value <= f->max))
        code = f->flags & FIELD_OPEN_MAX ? "less_than" : "less_than_equal";
    if (code) refuse(r, f, y, code);
    return !code;
}

/* An integer's text as Python's int() takes it, or one with zeros behind the point. */
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
        if (fabs(y->number) > 9.3e18) return refuse(r, f, y, "int_parsing_size");
        *to = y->integer;
    } else if (is_strict) {
        return refuse(r, f, y, "int_type");
    } else if (y->type == YAML_BOOL) {
        *to = y->boolean;
        converted(fit, CONVERTED);
    } else if (y->type == YAML_FLOAT) {
        if (y->number != floor(y->number) || fabs(y->number) >= 9.2e18)
            return refuse(r, f, y, "int_from_float");
        *to = (int64_t)y->number;
        converted(fit, CONVERTED);
    } else if (y->type == YAML_STRING) {
        if (!text_is_int(trimmed(r->arena, y->text), to)) return refuse(r, f, y, "int_parsing");
        converted(fit, CONVERTED);
    } else {
        return refuse(r, f, y, "int_type");
    }
    in_bounds(r, f, y, (double)*to);
}

static void read_float(FieldReader *r, const Field *f, const Yaml *y, double *to, Fit *fit)
{
    if (y->type == YAML_FLOAT || y->type == YAML_INT) {
        *to = y->number;
        if (y->type == YAML_INT) converted(fit, WIDENED);
    } else if (f->flags & FIELD_STRICT) {
        return refuse(r, f, y, "float_type");
    } else if (y->type == YAML_BOOL) {
        *to = y->boolean;
        converted(fit, CONVERTED);
    } else if (y->type == YAML_STRING) {
        const char *s = trimmed(r->arena, y->text);
        char *end;
        *to = strtod(s, &end);
        if (end == s || *end || strpbrk(s, "xX")) return refuse(r, f, y, "float_parsing");
        converted(fit, CONVERTED);
    } else {
        return refuse(r, f, y, "float_type");
    }
    in_bounds(r, f, y, *to);
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
    if (!near) return refuse(r, f, y, code);
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
    if (y->type != YAML_STRING) return refuse(r, f, y, "string_type");
    if (strlen(y->text) != y->text_len) return refuse(r, f, y, "string_unicode");
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
        return refuse(r, f, y, "path_type");
    *to = y->text;
    if (f->flags & FIELD_EXISTS && !is_file(y->text))
        problem_add(r->problems, y, NULL, "path_not_file", "there is no file %s",
                    yaml_show(r->arena, y));
    else if (f->flags & FIELD_EXISTS_ANY && !file_exists(y->text))
        problem_add(r->problems, y, NULL, "path_not_exists", "there is no file or folder %s",
                    yaml_show(r->arena, y));
}

static void read_component(FieldReader *r, const Field *f, const Yaml *y, void **to)
{
    if (y->type != YAML_COMPONENT) return refuse(r, f, y, "is_instance_of");
    const Component *c = y->component;
    *to = c->object;
    if (c->failed) {
        r->has_holes = true;
        return;
    }
    if (!f->kind || !strcmp(c->gives, GIVES_ANY) || !strcmp(c->gives, f->kind)) return;
    problem_add(r->problems, y, NULL, "is_instance_of", "%s.%s gives a %s; allowed: a component %s",
                c->kind, c->variant, c->gives, f->kind);
}

/* A component that failed may stand for anything: what is wrong with it is known. */
static bool is_hole(FieldReader *r, const Field *f, const Yaml *y)
{
    if (y->type != YAML_COMPONENT || f->type == FIELD_COMPONENT) return false;
    const Component *c = y->component;
    if (c->failed) r->has_holes = true;
    return c->failed;
}

typedef struct AnyList {
    char *item;
    int64_t n;
} AnyList;

static bool is_any(const Yaml *y)
{
    return y->type == YAML_COMPONENT &&
           !strcmp(((const Component *)y->component)->gives, GIVES_ANY);
}

static void read_list(FieldReader *r, const Field *f, const Yaml *y, AnyList *to, Fit *fit)
{
    bool is_one = y->type != YAML_LIST && (f->flags & FIELD_LIST_OR_ONE || is_any(y));
    if (y->type != YAML_LIST && !is_one) return refuse(r, f, y, "list_type");
    to->n = is_one ? 1 : y->n;
    to->item = arena_alloc(r->arena, (size_t)to->n * f->size + 1);
    for (int64_t i = 0; i < to->n; i++)
        read_value(r, f->fields, is_one ? y : y->item[i], to->item + (size_t)i * f->size, fit);
    bool is_bounded = f->min < f->max || (f->min == f->max && f->min > 0);
    if (is_bounded && ((double)to->n < f->min || (double)to->n > f->max))
        refuse(r, f, y, (double)to->n < f->min ? "too_short" : "too_long");
}

static void read_map(FieldReader *r, const Field *f, const Yaml *y, AnyList *to, Fit *fit)
{
    if (y->type != YAML_MAP) return refuse(r, f, y, "dict_type");
    to->n = y->n;
    to->item = arena_alloc(r->arena, (size_t)to->n * f->size + 1);
    for (int64_t i = 0; i < y->n; i++) {
        char *entry = to->item + (size_t)i * f->size;
        *(const char **)entry = y->key[i]->text;
        read_value(r, f->fields, y->item[i], entry, fit);
    }
}

/* Reads with one alternative into a fresh union; the problems are its own. */
static void *try_alternative(FieldReader *r, const Field *f, int i, const Yaml *y,
                             Problems *problems, Fit *fit, bool *has_holes)
{
    FieldReader own = { .arena = r->arena, .problems = problems };
    char *made = arena_alloc(r->arena, f->size);
    *(int *)made = i;
    read_value(&own, &f->fields[i], y, made, fit);
    *has_holes = own.has_holes;
    return made;
}

static bool is_better(Fit a, Fit b)
{
    return a.n_keys != b.n_keys ? a.n_keys > b.n_keys : a.exactness > b.exactness;
}

static void read_union(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit)
{
    Fit best = { -1, CONVERTED };
    Problems nearest = { 0 };
    for (int i = 0; f->fields[i].type != FIELD_END; i++) {
        Problems problems = { .arena = r->arena };
        Fit own = { 0, EXACT };
        bool has_holes;
        void *made = try_alternative(r, f, i, y, &problems, &own, &has_holes);
        if (!problems.n && is_better(own, best)) {
            best = own;
            memcpy(to, made, f->size);
            r->has_holes |= has_holes;
        }
        bool is_alike = f->fields[i].type == FIELD_STRUCT && y->type == YAML_MAP;
        if (is_alike && problems.n && (!nearest.n || problems.n < nearest.n)) nearest = problems;
    }
    if (best.n_keys >= 0) {
        fit->n_keys += best.n_keys;
        converted(fit, best.exactness);
    } else if (nearest.n) { /* the mapping that it comes closest to tells most */
        for (int64_t i = 0; i < nearest.n; i++) {
            r->problems->item = arena_grow(r->problems->arena, r->problems->item, r->problems->n,
                                           &r->problems->cap, sizeof *r->problems->item);
            r->problems->item[r->problems->n++] = nearest.item[i];
        }
    } else {
        refuse(r, f, y, "union");
    }
}

static void read_present(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit)
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
    case FIELD_CHOICE:
        read_choice(r, f, y, to);
        return;
    case FIELD_STRUCT:
        read_struct(r, f->fields, y, f->flags & FIELD_IGNORE_OTHERS, to, fit);
        return;
    case FIELD_UNION:
        read_union(r, f, y, to, fit);
        return;
    case FIELD_LIST:
        read_list(r, f, y, to, fit);
        return;
    case FIELD_MAP:
        read_map(r, f, y, to, fit);
        return;
    case FIELD_COMPONENT:
        read_component(r, f, y, to);
        return;
    case FIELD_ANY:
        *(const Yaml **)to = y;
        return;
    case FIELD_END:
        break;
    }
}

static size_t size_of(const Field *f)
{
    switch (f->type) {
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_INT:
        return sizeof(int64_t);
    case FIELD_FLOAT:
        return sizeof(double);
    case FIELD_CHOICE:
        return sizeof(int);
    case FIELD_LIST:
    case FIELD_MAP:
        return sizeof(AnyList);
    default:
        return f->size;
    }
}

/* `to` is the struct that holds the member. */
static void read_value(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit)
{
    char *member = (char *)to + f->offset;
    if ((y->type == YAML_NULL && is_nullable(f)) || is_hole(r, f, y)) return;
    if (f->is_pointer) {
        void *value = arena_alloc(r->arena, size_of(f));
        *(void **)member = value;
        member = value;
    }
    read_present(r, f, y, member, fit);
}

const Field *field_find(const Field *fields, const char *name)
{
    for (; fields->type != FIELD_END; fields++)
        if (!strcmp(fields->name, name) || (fields->alias && !strcmp(fields->alias, name)))
            return fields;
    return NULL;
}

const Yaml *field_value(const Field *f, const Yaml *map)
{
    const Yaml *value = yaml_get(map, f->name);
    return value || !f->alias ? value : yaml_get(map, f->alias);
}

/* The default as a value: its text for texts, else YAML; "${...}" is resolved. */
static Yaml *default_value(Arena *a, const Field *f)
{
    bool is_text = f->type == FIELD_STRING || f->type == FIELD_PATH || f->type == FIELD_CHOICE;
    bool is_expression = strstr(f->fallback, "${") != NULL;
    if (is_text && strcmp(f->fallback, "null") && !is_expression)
        return yaml_string(a, f->fallback);
    Yaml *value;
    Error *e = yaml_parse(a, str_of(f->fallback), "default", &value);
    if (!e && is_expression) e = interpolate(a, value, &(ResolverContext){ 0 }, &value);
    if (e) value = yaml_scalar(a, f->fallback); /* which the row refuses, as fields_verify finds */
    error_free(e);
    return value;
}

/* The names and aliases of a table, ending with NULL. */
static const char **names_of(Arena *a, const Field *fields)
{
    int n = 0;
    for (const Field *f = fields; f->type != FIELD_END; f++) n++;
    const char **names = NEW_N(a, const char *, 2 * n + 1);
    n = 0;
    for (const Field *f = fields; f->type != FIELD_END; f++) {
        names[n++] = f->name;
        if (f->alias) names[n++] = f->alias;
    }
    return names;
}

static void report_unknown(FieldReader *r, const Field *fields, const Yaml *map, int64_t i)
{
    const char *key = map->key[i]->text, *near = nearest_name(key, names_of(r->arena, fields));
    const char *path = yaml_path(r->arena, map->item[i]), *all = "";
    const Yaml *at = map->key[i]->file ? map->key[i] : map->item[i];
    for (const Field *f = fields; f->type != FIELD_END; f++)
        all = arena_printf(r->arena, "%s%s%s", all, *all ? ", " : "", f->name);
    if (near)
        problem_add(r->problems, at, path, "unknown_key",
                    "unknown key \"%s\"; did you mean \"%s\"?", key, near);
    else if (!*all)
        problem_add(r->problems, at, path, "unknown_key",
                    "unknown key \"%s\"; no key is allowed here", key);
    else
        problem_add(r->problems, at, path, "unknown_key", "unknown key \"%s\"; known: %s", key,
                    all);
}

/* Where other keys are free, one that is nearly a known one that is missing is worth a note. */
static void note_unknown(FieldReader *r, const Field *fields, const Yaml *map, int64_t i)
{
    const char *key = map->key[i]->text, *near = nearest_name(key, names_of(r->arena, fields));
    if (!near || field_value(field_find(fields, near), map)) return;
    problem_add(r->notes, map->key[i], yaml_path(r->arena, map->item[i]), "unknown_key",
                "this key is not used; did you mean \"%s\"?", near);
}

static void report_missing(FieldReader *r, const Field *f, const Yaml *map)
{
    const char *where = yaml_path(r->arena, map);
    const char *path = arena_printf(r->arena, "%s%s%s", where, *where ? "." : "", f->name);
    Text allowed = { 0 };
    field_allowed(f, &allowed);
    problem_add(r->problems, map, path, "missing", "this key is required: %s%s%s", allowed.ptr,
                f->doc ? "; " : "", f->doc ? f->doc : "");
    text_free(&allowed);
}

static void read_field(FieldReader *r, const Field *f, const Yaml *map, void *to, Fit *fit)
{
    const Yaml *value = field_value(f, map);
    if (value && f->alias && yaml_get(map, f->name) && yaml_get(map, f->alias))
        problem_add(r->problems, yaml_get(map, f->alias), NULL, "unknown_key",
                    "\"%s\" and \"%s\" are the same; give one", f->name, f->alias);
    if (value) {
        fit->n_keys++;
        read_value(r, f, value, to, fit);
    } else if (f->fallback) {
        Fit of_default = { 0 };
        read_value(r, f, default_value(r->arena, f), to, &of_default);
    } else {
        report_missing(r, f, map);
    }
}

static void read_struct(FieldReader *r, const Field *fields, const Yaml *y, bool ignores_others,
                        void *to, Fit *fit)
{
    if (y->type != YAML_MAP) {
        problem_add(r->problems, y, NULL, "model_type", "%s; allowed: a mapping",
                    yaml_show(r->arena, y));
        return;
    }
    for (int64_t i = 0; i < y->n; i++) {
        if (field_find(fields, y->key[i]->text)) continue;
        if (!ignores_others)
            report_unknown(r, fields, y, i);
        else if (r->notes)
            note_unknown(r, fields, y, i);
    }
    for (const Field *f = fields; f->type != FIELD_END; f++) read_field(r, f, y, to, fit);
}

void fields_fill(FieldReader *r, const Field *fields, const Yaml *from, bool ignores_others,
                 void *to)
{
    static const Field none[] = { { 0 } };
    Fit fit = { 0, EXACT };
    read_struct(r, fields ? fields : none, from, ignores_others, to, &fit);
}

void field_fill(FieldReader *r, const Field *f, const Yaml *value, void *to)
{
    Fit fit = { 0, EXACT };
    read_value(r, f, value, to, &fit);
}

Error *fields_read(const Field *fields, const Yaml *from, Arena *a, void *to)
{
    static const Yaml empty = { .type = YAML_MAP };
    Problems problems = { .arena = a };
    FieldReader r = { .arena = a, .problems = &problems };
    fields_fill(&r, fields, from ? from : &empty, false, to);
    return problems_error(&problems);
}

/* The member itself can be NULL. */
static bool holds_pointer(const Field *f)
{
    return f->is_pointer || f->type == FIELD_STRING || f->type == FIELD_PATH ||
           f->type == FIELD_COMPONENT || f->type == FIELD_ANY;
}

static Error *verify_default(const Field *f)
{
    bool is_null = !strcmp(f->fallback, "null");
    if (is_null && !holds_pointer(f))
        return error_new("\"%s\" may be null, so its member must be a pointer", f->name);
    if (is_null) return NULL;
    Arena *a = arena_new();
    Problems problems = { .arena = a };
    FieldReader r = { .arena = a, .problems = &problems };
    Field in_place = *f; /* a default path may be missing here */
    in_place.offset = 0;
    in_place.flags &= ~(unsigned)(FIELD_EXISTS | FIELD_EXISTS_ANY);
    field_fill(&r, &in_place, default_value(a, f), arena_alloc(a, size_of(f) + sizeof(void *)));
    Error *e = error_wrap(problems_error(&problems), "the default of \"%s\"", f->name);
    arena_free(a);
    return e;
}

static Error *verify_row(const Field *fields, const Field *f)
{
    bool needs_table = f->type == FIELD_STRUCT || f->type == FIELD_UNION || f->type == FIELD_LIST ||
                       f->type == FIELD_MAP;
    if (!f->name) return error_new("a row has no name");
    if (field_find(fields, f->name) != f || (f->alias && field_find(fields, f->alias) != f))
        return error_new("\"%s\" is there twice", f->name);
    if (!f->doc || !*f->doc) return error_new("\"%s\" has no description", f->name);
    if (needs_table && !f->fields) return error_new("\"%s\" has no table", f->name);
    if (f->type == FIELD_CHOICE && !f->choices) return error_new("\"%s\" has no choices", f->name);
    if (f->type == FIELD_STRUCT || f->type == FIELD_UNION)
        TRY(error_wrap(fields_verify(f->fields), "in \"%s\"", f->name));
    return f->fallback ? verify_default(f) : NULL;
}

Error *fields_verify(const Field *fields)
{
    for (const Field *f = fields; f->type != FIELD_END; f++) TRY(verify_row(fields, f));
    return NULL;
}
