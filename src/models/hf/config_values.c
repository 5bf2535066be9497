/* config_values.c - single values of config.json, and what is wrong with one. */
#include "config/field_read.h"
#include "models/hf/config_parts.h"
#include <string.h>

Error *hf_unknown(const HfReading *r, const char *key, const char *allowed)
{
    const Yaml *v = yaml_get(r->root, key);
    const HfDialect *own = r->family->dialect;
    for (const HfRenamed *n = own ? own->renamed : NULL; n && n->theirs; n++)
        if (!strcmp(n->ours, key) && yaml_get(r->root, n->theirs)) key = n->theirs;
    if (!v) return error_new("%s: %s is missing; %s", yaml_place(r->arena, r->root), key, allowed);
    return error_new("%s: %s: %s is not known; %s", yaml_place(r->arena, v), key,
                     yaml_show(r->arena, v), allowed);
}

static void set_at(Arena *a, Yaml *root, const char *key, Yaml *value, const Yaml *place)
{
    value->file = place->file;
    value->line = place->line;
    value->column = place->column;
    yaml_set(a, root, key, value);
}

void hf_set_option(Arena *a, Yaml *root, const char *key, const Yaml *value)
{
    set_at(a, root, key, yaml_copy(a, value, NULL), value);
}

void hf_put_option(Arena *a, Yaml *root, const char *key, const char *value)
{
    set_at(a, root, key, yaml_scalar(a, value), root);
}

Yaml *hf_rename_options(HfReading *r, const HfRenamed *renamed, const HfSilent *silent)
{
    Yaml *root = yaml_copy(r->arena, r->root, NULL);
    for (const HfRenamed *n = renamed; n->theirs; n++) {
        const Yaml *given = yaml_get(root, n->theirs);
        if (given) hf_set_option(r->arena, root, n->ours, given);
    }
    for (const HfSilent *s = silent; s->key; s++)
        if (!yaml_get(root, s->key))
            set_at(r->arena, root, s->key, yaml_scalar(r->arena, s->value), r->root);
    if (r->whole == r->root) r->whole = root; /* it is no part of another */
    r->root = root;
    return root;
}

double hf_number(const Yaml *map, const char *key, double otherwise)
{
    const Yaml *v = yaml_get(map, key);
    return v && (v->type == YAML_INT || v->type == YAML_FLOAT) ? v->number : otherwise;
}

const int64_t *hf_count(const HfReading *r, const char *key)
{
    const Yaml *v = yaml_get(r->root, key);
    return v && v->type == YAML_INT ? &v->integer : NULL;
}

const char *hf_text(const HfReading *r, const char *key)
{
    const Yaml *v = yaml_get(r->root, key);
    return v && v->type == YAML_STRING ? v->text : NULL;
}

Error *hf_read_fields(const HfReading *r, const Field *fields, void *to)
{
    Problems problems = { .arena = r->arena };
    FieldReader reader = { .arena = r->arena, .problems = &problems };
    fields_fill(&reader, fields, r->root, true, to);
    return problems_error(&problems);
}
