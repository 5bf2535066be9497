/* yaml_tree.c - building, walking, comparing and naming the nodes of a YAML tree. */
#include "base/map.h"
#include "config/yaml.h"
#include "config/yaml_path.h"
#include "config/yaml_scalar.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 64 };

static Yaml *scalar(Arena *a, const char *text)
{
    Yaml *y = NEW(a, Yaml);
    y->type = YAML_STRING;
    y->text = arena_string(a, text);
    y->text_len = strlen(text);
    return y;
}

Yaml *yaml_scalar(Arena *a, const char *text)
{
    Yaml *y = scalar(a, text);
    yaml_resolve_scalar(a, y);
    return y;
}

Yaml *yaml_string(Arena *a, const char *text)
{
    Yaml *y = scalar(a, text);
    y->is_quoted = true;
    return y;
}

Yaml *yaml_literal(Arena *a, const char *text)
{
    Yaml *y = yaml_string(a, text);
    y->is_literal = true;
    return y;
}

Yaml *yaml_int(Arena *a, int64_t value)
{
    return yaml_scalar(a, arena_printf(a, "%lld", (long long)value));
}

Yaml *yaml_copy(Arena *a, const Yaml *node, Yaml *parent)
{
    Yaml *y = arena_copy(a, node, sizeof *node);
    y->parent = parent;
    yaml_empty(y);
    for (int64_t i = 0; i < node->n; i++) {
        yaml_append(a, y, yaml_copy(a, node->item[i], y));
        y->key[i] = node->key[i];
    }
    return y;
}

void yaml_empty(Yaml *y)
{
    y->n = 0;
    y->item = y->key = NULL;
    y->table = NULL;
}

/* The child of that key, from 1; 0: there is none. Maps get their table when they grow
 * beyond MANY; keys that were appended since are added when one is looked for. */
static int64_t place_of(const Yaml *map, const char *key)
{
    if (!map->table) {
        for (int64_t i = 0; i < map->n; i++)
            if (!strcmp(map->key[i]->text, key)) return i + 1;
        return 0;
    }
    Map *t = map->table;
    for (int64_t i = t->n; i < map->n; i++) {
        map_set(t, str_of(map->key[i]->text), (void *)(intptr_t)(i + 1));
        CHECK(t->n == i + 1); /* no key is there twice */
    }
    return (intptr_t)map_get(t, str_of(key));
}

Yaml *yaml_get(const Yaml *map, const char *key)
{
    if (!map || map->type != YAML_MAP) return NULL;
    int64_t place = place_of(map, key);
    return place && place <= map->n ? map->item[place - 1] : NULL;
}

const char *yaml_text_at(const Yaml *map, const char *key)
{
    const Yaml *y = yaml_get(map, key);
    return y && y->type == YAML_STRING ? y->text : "";
}

int64_t yaml_int_at(const Yaml *map, const char *key, int64_t otherwise)
{
    const Yaml *y = yaml_get(map, key);
    return y && y->type == YAML_INT ? y->integer : otherwise;
}

/* Both arrays hold a power of two, so a count that is one means that they are full. */
static void make_room(Arena *a, Yaml *y)
{
    if (y->n & (y->n - 1)) return;
    int64_t cap = y->n ? 2 * y->n : 1;
    Yaml **item = NEW_N(a, Yaml *, cap), **key = NEW_N(a, Yaml *, cap);
    if (y->n) {
        memcpy(item, y->item, sizeof *item * (size_t)y->n);
        memcpy(key, y->key, sizeof *key * (size_t)y->n);
    }
    y->item = item;
    y->key = key;
    if (y->type == YAML_MAP && cap > MANY && !y->table) y->table = map_new(a);
}

void yaml_append(Arena *a, Yaml *list, Yaml *value)
{
    make_room(a, list);
    value->parent = list;
    value->index = list->n;
    list->item[list->n++] = value;
}

void yaml_set(Arena *a, Yaml *map, const char *key, Yaml *value)
{
    const Yaml *old = yaml_get(map, key);
    if (old) {
        value->parent = map;
        value->index = old->index;
        map->item[old->index] = value;
        return;
    }
    yaml_append(a, map, value);
    map->key[value->index] = yaml_string(a, key);
}

/* The item that "3" names, or NULL. */
static Yaml *item_at(const Yaml *list, const char *text)
{
    char *end;
    long long i = strtoll(text, &end, 10);
    if (end == text || *end) return NULL;
    return i >= 0 && i < list->n ? list->item[i] : NULL;
}

Yaml *yaml_child(const Yaml *node, const char *name)
{
    return node->type == YAML_LIST ? item_at(node, name) : yaml_get(node, name);
}

StepResult yaml_next_step(Arena *a, const char **path, const char **name)
{
    const char *s = *path;
    if (!*s) return STEP_END;
    bool is_bracket = *s == '[';
    if (is_bracket || *s == '.') s++;
    size_t n = is_bracket ? strcspn(s, "]") : strcspn(s, ".[");
    if (!n || (is_bracket && s[n] != ']')) return STEP_MALFORMED;
    *name = arena_string_n(a, s, n);
    *path = s + n + is_bracket;
    if (**path == '.' && !(*path)[1]) return STEP_MALFORMED;
    return STEP_NAME;
}

Yaml *yaml_find(const Yaml *root, const char *path)
{
    Arena *scratch = arena_new();
    const Yaml *at = root;
    const char *name;
    StepResult step = STEP_END;
    while (at && (step = yaml_next_step(scratch, &path, &name)) == STEP_NAME)
        at = yaml_child(at, name);
    arena_free(scratch);
    return step == STEP_MALFORMED ? NULL : (Yaml *)at;
}

const char *yaml_path(Arena *a, const Yaml *node)
{
    if (!node->parent) return "";
    const char *above = yaml_path(a, node->parent);
    if (node->parent->type == YAML_LIST)
        return arena_printf(a, "%s[%lld]", above, (long long)node->index);
    return arena_printf(a, "%s%s%s", above, *above ? "." : "",
                        node->parent->key[node->index]->text);
}

const char *yaml_place(Arena *a, const Yaml *node)
{
    if (!node->file) return "";
    if (!node->line) return node->file;
    return arena_printf(a, "%s:%d:%d", node->file, node->line, node->column);
}

const char *yaml_show(Arena *a, const Yaml *node)
{
    enum { LONGEST = 60 };
    switch (node->type) {
    case YAML_NULL:
        return "null";
    case YAML_LIST:
        return arena_printf(a, "a list of %lld", (long long)node->n);
    case YAML_MAP:
        return "a mapping";
    case YAML_COMPONENT:
        return "a component";
    case YAML_STRING:
        if (node->text_len > LONGEST) return arena_printf(a, "\"%.*s...\"", LONGEST, node->text);
        return arena_printf(a, "\"%s\"", node->text);
    default:
        return node->text;
    }
}

const char *yaml_type_name(const Yaml *node)
{
    static const char *const name[] = { "null",   "a truth value", "an integer", "a number",
                                        "a text", "a list",        "a mapping",  "a component" };
    return name[node->type];
}

static bool same_number(double x, double y)
{
    return x == y || (x != x && y != y);
}

bool yaml_equal(const Yaml *x, const Yaml *y)
{
    if (x->type != y->type || x->n != y->n) return false;
    switch (x->type) {
    case YAML_NULL:
        return true;
    case YAML_BOOL:
        return x->boolean == y->boolean;
    case YAML_INT:
        return x->integer == y->integer && x->number == y->number;
    case YAML_FLOAT:
        return same_number(x->number, y->number);
    case YAML_STRING:
        return x->text_len == y->text_len && !memcmp(x->text, y->text, x->text_len);
    case YAML_COMPONENT:
        return x->component == y->component;
    default:
        break;
    }
    for (int64_t i = 0; i < x->n; i++) {
        if (x->type == YAML_MAP && strcmp(x->key[i]->text, y->key[i]->text)) return false;
        if (!yaml_equal(x->item[i], y->item[i])) return false;
    }
    return true;
}
