/* field_read.c - reads mappings, lists, unions and components by their tables.
 *
 * A union takes the alternative that has most of the given keys, then the one that converts least,
 * then the first, as pydantic's smart mode does. */
#include "config/builder.h"
#include "config/field_scalar.h"
#include <string.h>

static void read_value(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit);
static void read_struct(FieldReader *r, const Field *fields, const Yaml *y, bool ignores_others,
                        void *to, Fit *fit);

static bool is_nullable(const Field *f)
{
    return f->is_pointer || f->flags & FIELD_NULLABLE ||
           (f->fallback && !strcmp(f->fallback, "null"));
}

/* A mapping that would be a component, or a reference to one, with a key spelt right. */
static const char *hint_of_component(Arena *a, const Yaml *y)
{
    static const char *const keys[] = { "component_key", "instance_key", "pass_type" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys && y->type == YAML_MAP; i++) {
        const char *hint = problem_typo_hint(a, y, keys[i]);
        if (*hint) return arena_printf(a, "; %s is missing%s", keys[i], hint);
    }
    return "";
}

static void read_component(FieldReader *r, const Field *f, const Yaml *y, void **to)
{
    if (y->type != YAML_COMPONENT) {
        const char *hint = hint_of_component(r->arena, y);
        if (!*hint) return field_refuse(r, f, y, "is_instance_of");
        problem_add(r->problems, y, NULL, "is_instance_of", "a mapping; allowed: a component %s%s",
                    f->kind ? f->kind : "of any kind", hint);
        return;
    }
    const Component *c = y->component;
    *to = c->object;
    if (c->failed) {
        r->has_holes = true;
        return;
    }
    if (!c->object) r->has_gaps = true;
    if (!f->kind || !strcmp(c->gives, GIVES_ANY) || !strcmp(c->gives, f->kind)) return;
    problem_add(r->problems, y, NULL, "is_instance_of", "%s.%s gives a %s; allowed: a component %s",
                c->kind, c->variant, c->gives, f->kind);
}

/* What could not be resolved and a component that failed may stand for anything: what is wrong with
 * them is known. */
static bool is_hole(FieldReader *r, const Field *f, const Yaml *y)
{
    if (y->is_hole) r->has_holes = true;
    if (y->is_hole) return true;
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
    if (y->type != YAML_LIST && !is_one) return field_refuse(r, f, y, "list_type");
    to->n = is_one ? 1 : y->n;
    to->item = arena_alloc(r->arena, (size_t)to->n * f->size + 1);
    for (int64_t i = 0; i < to->n; i++)
        read_value(r, f->fields, is_one ? y : y->item[i], to->item + (size_t)i * f->size, fit);
    bool is_bounded = f->min < f->max || (f->min == f->max && f->min > 0);
    if (is_bounded && ((double)to->n < f->min || (double)to->n > f->max))
        field_refuse(r, f, y, (double)to->n < f->min ? "too_short" : "too_long");
}

static void read_map(FieldReader *r, const Field *f, const Yaml *y, AnyList *to, Fit *fit)
{
    if (y->type != YAML_MAP) return field_refuse(r, f, y, "dict_type");
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
                             Problems *problems, Problems *notes, Fit *fit, bool *has_holes)
{
    FieldReader own = { .arena = r->arena, .problems = problems, .notes = r->notes ? notes : NULL };
    char *made = arena_alloc(r->arena, f->size);
    *(int *)made = i;
    read_value(&own, &f->fields[i], y, made, fit);
    *has_holes = own.has_holes;
    r->has_gaps |= own.has_gaps;
    return made;
}

static bool is_better(Fit a, Fit b)
{
    return a.n_keys != b.n_keys ? a.n_keys > b.n_keys : a.exactness > b.exactness;
}

static void read_union(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit)
{
    Fit best = { -1, CONVERTED };
    Problems nearest = { 0 }, noted = { 0 };
    for (int i = 0; f->fields[i].type != FIELD_END; i++) {
        Problems problems = { .arena = r->arena }, notes = problems;
        Fit own = { 0, EXACT };
        bool has_holes;
        void *made = try_alternative(r, f, i, y, &problems, &notes, &own, &has_holes);
        if (!problems.n && is_better(own, best)) {
            best = own;
            noted = notes;
            memcpy(to, made, f->size);
            r->has_holes |= has_holes;
        }
        bool is_alike = f->fields[i].type == FIELD_STRUCT && y->type == YAML_MAP;
        if (is_alike && problems.n && (!nearest.n || problems.n < nearest.n)) nearest = problems;
    }
    if (best.n_keys >= 0) {
        fit->n_keys += best.n_keys;
        fit_converted(fit, best.exactness);
        if (r->notes) problems_append(r->notes, &noted);
    } else if (nearest.n) { /* the mapping that it comes closest to tells most */
        problems_append(r->problems, &nearest);
    } else {
        field_refuse(r, f, y, "union");
    }
}

static void read_present(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit)
{
    switch (f->type) {
    case FIELD_BOOL:
    case FIELD_INT:
    case FIELD_FLOAT:
    case FIELD_STRING:
    case FIELD_PATH:
    case FIELD_CHOICE:
        scalar_fill(r, f, y, to, fit);
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

size_t field_value_size(const Field *f)
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
    if (is_hole(r, f, y) || (y->type == YAML_NULL && is_nullable(f))) return;
    if (f->is_pointer) {
        void *value = arena_alloc(r->arena, field_value_size(f));
        *(void **)member = value;
        member = value;
    }
    read_present(r, f, y, member, fit);
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

static const char *known_keys(Arena *a, const Field *fields)
{
    const char *all = "";
    for (const Field *f = fields; f->type != FIELD_END; f++)
        all = arena_printf(a, "%s%s%s", all, *all ? ", " : "", f->name);
    return all;
}

/* The row that a key that is unknown to the table most likely means, first among those that the
 * mapping lacks; NULL: none is near. */
static const char *meant_key(FieldReader *r, const Field *fields, const Yaml *map, const char *key)
{
    const char **names = names_of(r->arena, fields);
    const char **absent = names_of(r->arena, fields);
    int n = 0;
    for (int i = 0; names[i]; i++)
        if (!yaml_get(map, names[i])) absent[n++] = names[i];
    absent[n] = NULL;
    const char *near = nearest_name(key, absent);
    return near ? near : nearest_name(key, names);
}

static const char *path_of_key(FieldReader *r, const Yaml *map, const char *name)
{
    const char *where = yaml_path(r->arena, map);
    return arena_printf(r->arena, "%s%s%s", where, *where ? "." : "", name);
}

static void report_unknown(FieldReader *r, const Field *fields, const Yaml *map, int64_t i)
{
    const char *key = map->key[i]->text, *near = meant_key(r, fields, map, key);
    const char *path = yaml_path(r->arena, map->item[i]), *all = known_keys(r->arena, fields);
    const Yaml *at = map->key[i]->file ? map->key[i] : map->item[i];
    if (near)
        problem_add(r->problems, at, path, "unknown_key",
                    "unknown key \"%s\"; did you mean \"%s\"?", key, near)
            ->subject = path_of_key(r, map, near);
    else if (!*all)
        problem_add(r->problems, at, path, "unknown_key",
                    "unknown key \"%s\"; no key is allowed here", key);
    else
        problem_add(r->problems, at, path, "unknown_key", "unknown key \"%s\"; known: %s", key,
                    all);
}

/* Where other keys are free they are there for a ${...}; one that none takes may be a misspelled
 * one. If a required key is missing for it, that is an error which names this key. */
static void note_unknown(FieldReader *r, const Field *fields, const Yaml *map, int64_t i)
{
    if (map->key[i]->is_referred) return;
    const char *near = meant_key(r, fields, map, map->key[i]->text);
    const Field *meant = near ? field_find(fields, near) : NULL;
    if (meant && !meant->fallback && !field_value(meant, map)) return;
    problem_add(r->notes, map->key[i]->file ? map->key[i] : map->item[i],
                yaml_path(r->arena, map->item[i]), "unknown_key",
                near ? "nothing uses this key; did you mean \"%s\"?"
                     : "nothing uses this key; known are %s",
                near ? near : known_keys(r->arena, fields));
}

/* The key of the mapping that seems to be this one, misspelt; NULL: there is none. */
static const Yaml *misspelt_key(FieldReader *r, const Field *fields, const Field *f,
                                const Yaml *map)
{
    enum { MOST = 1000 }; /* keys that are compared */
    for (int64_t i = 0; i < map->n && i < MOST; i++) {
        const char *key = map->key[i]->text;
        if (field_find(fields, key) || map->key[i]->is_referred) continue;
        const char *near = meant_key(r, fields, map, key);
        if (near && field_find(fields, near) == f) return map->key[i];
    }
    return NULL;
}

static void report_missing(FieldReader *r, const Field *fields, const Field *f, const Yaml *map)
{
    const Yaml *typo = misspelt_key(r, fields, f, map);
    const char *path = path_of_key(r, map, f->name), *hint = "";
    Text allowed = { 0 };
    field_allowed(f, &allowed);
    if (typo) hint = arena_printf(r->arena, "; is it meant by \"%s\" here?", typo->text);
    problem_add(r->problems, typo && typo->file ? typo : map, path, "missing",
                "this key is required: %s%s%s%s", allowed.ptr, f->doc ? "; " : "",
                f->doc ? f->doc : "", hint)
        ->subject = path;
    text_free(&allowed);
}

/* Whatever was there: null and what is refused leave zeros. */
static void clear_member(const Field *f, void *to)
{
    size_t size = f->is_pointer ? 0 : field_value_size(f);
    memset((char *)to + f->offset, 0, size ? size : sizeof(void *));
}

static void read_field(FieldReader *r, const Field *fields, const Field *f, const Yaml *map,
                       void *to, Fit *fit)
{
    clear_member(f, to);
    const Yaml *value = field_value(f, map);
    if (value && f->alias && yaml_get(map, f->name) && yaml_get(map, f->alias))
        problem_add(r->problems, yaml_get(map, f->alias), NULL, "unknown_key",
                    "\"%s\" and \"%s\" are the same; give one", f->name, f->alias);
    if (value) {
        fit->n_keys++;
        read_value(r, f, value, to, fit);
    } else if (f->fallback) {
        Fit of_default = { 0 };
        read_value(r, f, field_default(r->arena, f), to, &of_default);
    } else {
        report_missing(r, fields, f, map);
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
    for (const Field *f = fields; f->type != FIELD_END; f++) read_field(r, fields, f, y, to, fit);
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
