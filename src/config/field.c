/* field.c - looks up and verifies rows of tables. */
#include "config/field_read.h"
#include "config/interpolate.h"
#include <string.h>

const Field field_string_item = { .type = FIELD_STRING };
const Field field_int_item = { .type = FIELD_INT };
const Field field_float_item = { .type = FIELD_FLOAT };
const Field field_int_entry = { .type = FIELD_INT, .offset = offsetof(IntEntry, value) };
const Field field_string_entry = { .type = FIELD_STRING, .offset = offsetof(StringEntry, value) };

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
Yaml *field_default(Arena *a, const Field *f)
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
    in_place.flags &= ~(unsigned)(FIELD_EXISTS | FIELD_EXISTS_ANY | FIELD_INPUT);
    field_fill(&r, &in_place, field_default(a, f),
               arena_alloc(a, field_value_size(f) + sizeof(void *)));
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
