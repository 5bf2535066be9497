/* field_paths.c - walks a mapping by its table and collects paths. */
#include "config/field_paths.h"
#include "config/field_read.h"

static void add_struct(PathRoles *to, Arena *a, const Field *fields, const Yaml *from,
                       PathNames how);

static const char *name_of(Arena *a, const Field *option, const Yaml *y, PathNames how)
{
    if (how == NAMED_AS_KEYS) return yaml_path(a, y);
    return arena_printf(a, option->flags & FIELD_ARGUMENT ? "%s" : "--%s", option->name);
}

/* `f` describes the value, `option` the whole one that it is an item of. */
static void add_value(PathRoles *to, Arena *a, const Field *f, const Field *option, const Yaml *y,
                      PathNames how)
{
    bool is_path = f->type == FIELD_PATH || (f->type == FIELD_STRING && f->role);
    if (is_path && y->type == YAML_STRING)
        path_roles_add(to, f->role, name_of(a, option, y, how), y->text);
    else if (f->type == FIELD_LIST && y->type == YAML_LIST)
        for (int64_t i = 0; i < y->n; i++) add_value(to, a, f->fields, option, y->item[i], how);
    else if (f->type == FIELD_LIST)
        add_value(to, a, f->fields, option, y, how);
    else if (f->type == FIELD_STRUCT)
        add_struct(to, a, f->fields, y, how);
    else if (f->type == FIELD_UNION)
        for (const Field *one = f->fields; one->type != FIELD_END; one++)
            add_value(to, a, one, option, y, how);
}

static void add_struct(PathRoles *to, Arena *a, const Field *fields, const Yaml *from,
                       PathNames how)
{
    for (const Field *f = fields; from->type == YAML_MAP && f && f->type != FIELD_END; f++) {
        const Yaml *y = field_value(f, from);
        if (y) add_value(to, a, f, f, y, how);
    }
}

void field_paths_add(PathRoles *to, Arena *a, const Field *fields, const Yaml *from, PathNames how)
{
    add_struct(to, a, fields, from, how);
}

void builder_paths_add(PathRoles *to, const Builder *b, const Field *keys)
{
    Arena *a = builder_arena((Builder *)b);
    add_struct(to, a, keys, builder_root(b), NAMED_AS_KEYS);
    for (int64_t i = 0; i < builder_count(b); i++) {
        const Component *c = builder_at(b, i);
        if (c->def && c->config) add_struct(to, a, c->def->fields, c->config, NAMED_AS_KEYS);
    }
}
