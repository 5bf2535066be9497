/* config.c - loads a configuration file: parse, override, interpolate. */
#include "config/config.h"
#include "config/extend.h"
#include "config/yaml_path.h"
#include <string.h>

/* The deepest mapping or list on the way of a key, and the rest of the way. */
typedef struct Way {
    Yaml *node;       /* what exists, or NULL when the last step is missing */
    Yaml *holder;     /* where the last step belongs */
    const char *last; /* its name */
} Way;

static Error *missing(Arena *a, const char *assignment, const Yaml *in, const char *name)
{
    const char **names = NEW_N(a, const char *, in->n + 1);
    for (int64_t i = 0; i < in->n && in->type == YAML_MAP; i++) names[i] = in->key[i]->text;
    const char *near = in->type == YAML_MAP ? nearest_name(name, names) : NULL;
    const char *where = yaml_path(a, in);
    return error_new("--set %s: there is no \"%s\" in %s%s%s%s", assignment, name,
                     *where ? where : "the file", near ? "; did you mean \"" : "", near ? near : "",
                     near ? "\"?" : "");
}

static Error *walk(Arena *a, const char *assignment, const char *path, Yaml *root, Way *way)
{
    const char *rest = path, *name;
    CHECK(root != NULL); /* an empty file is refused before */
    *way = (Way){ .node = root };
    for (;;) {
        StepResult step = yaml_next_step(a, &rest, &name);
        if (step == STEP_MALFORMED || (step == STEP_END && rest == path))
            return error_new("--set %s: \"%s\" is no key path", assignment, path);
        if (step == STEP_END) return NULL;
        if (!way->node) return missing(a, assignment, way->holder, way->last);
        bool has_children = way->node->type == YAML_MAP || way->node->type == YAML_LIST;
        if (!has_children)
            return error_new("--set %s: %s is %s and has no \"%s\"", assignment,
                             yaml_path(a, way->node), yaml_type_name(way->node), name);
        way->holder = way->node;
        way->last = name;
        way->node = yaml_child(way->holder, name);
    }
}

static void set_place(Yaml *y, const char *place)
{
    y->file = place;
    y->line = y->column = 0;
    for (int64_t i = 0; i < y->n; i++) {
        set_place(y->item[i], place);
        if (y->type == YAML_MAP) set_place(y->key[i], place);
    }
}

static Error *parse_value(Arena *a, const char *text, const char *place, Yaml **out)
{
    if (*text)
        TRY(yaml_parse(a, str_of(text), place, out));
    else
        *out = yaml_scalar(a, "");
    set_place(*out, place);
    return NULL;
}

/* A new key below the top is checked by the table of its mapping later. A new top-level key is
 * looked at only when something refers to it, so a single value there can only be a typing mistake.
 */
static bool may_add(const Way *way, const Yaml *value)
{
    bool is_top = !way->holder->parent;
    return way->holder->type == YAML_MAP &&
           (!is_top || value->type == YAML_MAP || value->type == YAML_LIST);
}

/* "key+=x" adds an item to a list, "key+=[x, y]" several. */
static Error *append(Arena *a, const char *assignment, Yaml *list, Yaml *value)
{
    if (!list || list->type != YAML_LIST)
        return error_new("--set %s: += adds to a list, and this is %s", assignment,
                         list ? yaml_type_name(list) : "not there");
    if (value->type != YAML_LIST) {
        yaml_append(a, list, value);
        return NULL;
    }
    for (int64_t i = 0; i < value->n; i++) yaml_append(a, list, value->item[i]);
    return NULL;
}

Error *config_override(Arena *a, Yaml *root, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        return error_usage("--set %s: the form is --set key.path=value", assignment);
    bool appends = equals[-1] == '+';
    const char *path = arena_string_n(a, assignment, (size_t)(equals - assignment) - appends);
    Way way;
    TRY(error_as_usage(walk(a, assignment, path, root, &way)));
    CHECK(way.holder != NULL);
    Yaml *value;
    TRY(error_as_usage(
        parse_value(a, equals + 1, arena_printf(a, "--set %s", assignment), &value)));
    if (appends) return error_as_usage(append(a, assignment, way.node, value));
    if (!way.node && !may_add(&way, value))
        return error_as_usage(missing(a, assignment, way.holder, way.last));
    if (way.holder->type == YAML_LIST) {
        value->parent = way.holder;
        value->index = way.node->index;
        way.holder->item[way.node->index] = value;
    } else {
        yaml_set(a, way.holder, way.last, value);
    }
    return NULL;
}

Error *config_read(Arena *a, const char *path, StringList overrides, Yaml **out)
{
    Yaml *root;
    TRY(config_extend(a, path, &root));
    Error *e = NULL;
    for (int64_t i = 0; i < overrides.n; i++)
        e = error_join(e, config_override(a, root, overrides.item[i]));
    *out = root;
    return e;
}

Error *config_load_with_holes(Arena *a, const char *path, StringList overrides,
                              const ResolverContext *c, Yaml **out, Problems *unresolved)
{
    Yaml *root = NULL;
    TRY(config_read(a, path, overrides, &root));
    unresolved->arena = a;
    *out = interpolate_with_holes(a, root, c, unresolved);
    return NULL;
}

Error *config_load(Arena *a, const char *path, StringList overrides, const ResolverContext *c,
                   Yaml **out)
{
    Problems unresolved = { 0 };
    TRY(config_load_with_holes(a, path, overrides, c, out, &unresolved));
    return problems_error(&unresolved);
}
