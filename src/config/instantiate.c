/* instantiate.c - makes one component: looks it up, reads its settings, checks and builds it. */
#include "config/instantiate.h"
#include "base/log.h"
#include "config/field_read.h"
#include <string.h>

Yaml *builder_stand_in(Builder *b, const Yaml *at, YamlType type)
{
    Yaml *y = arena_copy(b->arena, at, sizeof *at);
    y->type = type;
    yaml_empty(y);
    return y;
}

static Yaml *component_node(Builder *b, Component *c)
{
    if (!c->failed && c->object && !strcmp(c->gives, GIVES_INT)) {
        Yaml *y = builder_stand_in(b, c->at, YAML_INT);
        y->integer = *(int64_t *)c->object;
        y->number = (double)y->integer;
        y->text = arena_printf(b->arena, "%lld", (long long)y->integer);
        y->text_len = strlen(y->text);
        return y;
    }
    Yaml *y = builder_stand_in(b, c->at, YAML_COMPONENT);
    y->component = c;
    return y;
}

Yaml *instantiate_hole(Builder *b, const Yaml *at)
{
    Component *c = NEW(b->arena, Component);
    *c = (Component){
        .at = at, .path = yaml_path(b->arena, at), .gives = GIVES_ANY, .failed = true
    };
    return component_node(b, c);
}

static const char *text_at(Builder *b, const Yaml *map, const char *key)
{
    const Yaml *y = yaml_get(map, key);
    if (y && y->type == YAML_STRING) return y->text;
    if (y && y->is_hole) return NULL;
    if (y)
        problem_add(&b->problems, y, NULL, "string_type", "%s; allowed: a text",
                    yaml_show(b->arena, y));
    else
        problem_add(&b->problems, map, NULL, "missing",
                    "a component needs component_key, variant_key and config; %s is missing%s", key,
                    problem_typo_hint(b->arena, map, key));
    return NULL;
}

static bool has_kind(const Registry *r, const char *kind)
{
    for (int64_t i = 0; i < registry_count(r); i++)
        if (!strcmp(registry_at(r, i)->kind, kind)) return true;
    return false;
}

static const ComponentDef *find_def(Builder *b, const Yaml *y, Component *c)
{
    c->kind = text_at(b, y, "component_key");
    c->variant = text_at(b, y, "variant_key");
    if (!c->kind || !c->variant) return NULL;
    const ComponentDef *def;
    Error *e = registry_find(b->registry, c->kind, c->variant, &def);
    if (e) {
        const Yaml *at =
            yaml_get(y, has_kind(b->registry, c->kind) ? "variant_key" : "component_key");
        problem_add(&b->problems, at, yaml_path(b->arena, y), "unknown_component", "%s",
                    error_text(e));
        error_free(e);
        return NULL;
    }
    if (!b->was_checked && strcmp(def->variant, c->variant))
        log_info("%s: %s.%s is accepted as %s.%s", yaml_place(b->arena, y), c->kind, c->variant,
                 def->kind, def->variant);
    return def;
}

static void record(Builder *b, Component *c)
{
    b->built = arena_grow(b->arena, b->built, b->n, &b->cap, sizeof *b->built);
    b->built[b->n++] = c;
}

/* The first setting below `y` that the command line gave, or NULL. */
static const Yaml *given_by_set(const Yaml *y)
{
    if (!y) return NULL;
    if (y->file && !strncmp(y->file, "--set ", 6)) return y;
    for (int64_t i = 0; i < y->n; i++) {
        const Yaml *given = given_by_set(y->item[i]);
        if (given) return given;
    }
    return NULL;
}

/* What settings do wrong together is told at the one that the command line gave, if there is one:
 * that is where to mend it. */
static void add_error(Builder *b, const Component *c, const char *code, Error *e)
{
    if (!e) return;
    const Yaml *at = yaml_get(c->at, "config"), *given = given_by_set(at);
    if (given && !strcmp(code, "value_error")) at = given;
    problem_add(&b->problems, at ? at : c->at, c->path, code, "%s.%s: %s", c->kind, c->variant,
                error_text(e))
        ->is_absent = error_is_absent(e);
    error_free(e);
}

/* Reads the settings, checks them, and builds unless this is a validation of something heavy. */
static void finish(Builder *b, Component *c)
{
    const ComponentDef *def = c->def;
    int64_t n_before = b->problems.n;
    FieldReader r = { .arena = b->arena, .problems = &b->problems };
    void *settings = arena_alloc(b->arena, def->settings_size + 1);
    fields_fill(&r, def->fields, c->config, false, settings);
    bool is_sound = b->problems.n == n_before && !r.has_holes;
    if (is_sound && b->is_dry && def->check) add_error(b, c, "value_error", def->check(settings));
    is_sound = is_sound && b->problems.n == n_before;
    bool is_left_out = b->is_trial && !b->is_dry && (def->leaves_files || r.has_gaps);
    if (is_sound && (!b->is_dry || def->is_light) && !is_left_out) {
        Component *outer = b->self;
        b->self = c;
        add_error(b, c, "build_error", def->build(b, settings, &c->object));
        b->self = outer;
        is_sound = b->problems.n == n_before;
    }
    c->failed = !is_sound;
}

/* The setting over which a list maps, if a list is given for it. */
static const Yaml *mapped_list(const ComponentDef *def, const Yaml *config)
{
    for (const Field *f = def->fields; f && f->type != FIELD_END; f++) {
        const Yaml *value = f->flags & FIELD_MAPS ? field_value(f, config) : NULL;
        if (value && value->type == YAML_LIST) return value;
    }
    return NULL;
}

/* One component per item of the list; together they stand as a list. */
static Yaml *finish_each(Builder *b, Component *c, const Yaml *list)
{
    Yaml *made = builder_stand_in(b, c->at, YAML_LIST);
    for (int64_t i = 0; i < list->n; i++) {
        Component *part = arena_copy(b->arena, c, sizeof *c);
        Yaml *config = arena_copy(b->arena, c->config, sizeof *c->config);
        config->item = arena_copy(b->arena, config->item, sizeof *config->item * (size_t)config->n);
        config->item[list->index] = list->item[i];
        part->config = config;
        finish(b, part);
        c->failed |= part->failed;
        yaml_append(b->arena, made, component_node(b, part));
    }
    return made;
}

Yaml *instantiate(Builder *b, const Yaml *y, const Yaml *config)
{
    Component *c = NEW(b->arena, Component);
    *c = (Component){ .at = y, .path = yaml_path(b->arena, y), .failed = true };
    c->def = find_def(b, y, c);
    c->config = config;
    bool is_hole = c->config && c->config->is_hole;
    if (!is_hole && (!c->config || c->config->type != YAML_MAP))
        problem_add(&b->problems, y, NULL, "missing",
                    "a component needs a mapping \"config\"; {} when it has no settings%s",
                    problem_typo_hint(b->arena, y, "config"));
    c->gives = !c->def ? GIVES_ANY : c->def->gives ? c->def->gives : c->kind;
    const Yaml *list = c->def && c->config ? mapped_list(c->def, c->config) : NULL;
    Yaml *made = NULL;
    if (c->def && c->config && c->config->type == YAML_MAP) {
        if (list)
            made = finish_each(b, c, list);
        else
            finish(b, c);
    }
    record(b, c);
    return made ? made : component_node(b, c);
}
