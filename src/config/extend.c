/* extend.c - merges a configuration into those that it extends. */
#include "config/extend.h"
#include "base/file.h"
#include "base/log.h"
#include <string.h>

/* base_training.yaml as it stands. */
__asm__(".section .rodata\n"
        "base_training_yaml:\n"
        ".incbin \"src/config/base_training.yaml\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char base_training_yaml[] __attribute__((visibility("hidden")));

#define BUILT_IN "modalities/"

enum { DEEPEST = 16 };

typedef struct Chain {
    Arena *arena;
    const char *path[DEEPEST];
    int n;
} Chain;

static Error *read_file(Arena *a, const char *path, Yaml **out)
{
    if (!strncmp(path, BUILT_IN, strlen(BUILT_IN))) {
        if (strcmp(path, BUILT_IN "training") != 0)
            return error_new("there is no %s; allowed are " BUILT_IN "training, and paths of files",
                             path);
        return yaml_parse(a, str_of(base_training_yaml), path, out);
    }
    return yaml_read(a, path, out);
}

/* What names the kind of a component, or NULL where it says nothing of it. */
static bool is_other(const Yaml *base, const Yaml *more, const char *key)
{
    const Yaml *x = yaml_get(base, key), *y = yaml_get(more, key);
    return x && y && !yaml_equal(x, y);
}

/* A reference, too, takes the place of what was there. */
static bool replaces(const Yaml *base, const Yaml *more)
{
    if (base->type != YAML_MAP || more->type != YAML_MAP) return true;
    bool was_reference = yaml_get(base, "instance_key") != NULL,
         is_reference = yaml_get(more, "instance_key") != NULL;
    return is_other(base, more, "component_key") || is_other(base, more, "variant_key") ||
           was_reference != is_reference;
}

static void merge(Arena *a, Yaml *base, const Yaml *more)
{
    for (int64_t k = 0; k < more->n; k++) {
        const char *key = more->key[k]->text;
        Yaml *there = yaml_get(base, key);
        if (there && !replaces(there, more->item[k])) {
            merge(a, there, more->item[k]);
            continue;
        }
        yaml_set(a, base, key, yaml_copy(a, more->item[k], NULL));
        if (!there) *base->key[base->n - 1] = *more->key[k];
    }
}

static Yaml *without(Arena *a, const Yaml *map, const char *key)
{
    Yaml *out = yaml_copy(a, map, NULL);
    yaml_empty(out);
    for (int64_t k = 0; k < map->n; k++)
        if (strcmp(map->key[k]->text, key) != 0) {
            yaml_set(a, out, map->key[k]->text, yaml_copy(a, map->item[k], NULL));
            *out->key[out->n - 1] = *map->key[k];
        }
    return out;
}

static Error *extend(Chain *c, const char *path, Yaml **out);

/* In a file that extends none; keys at the top are free. */
static void note_misspelt(Arena *a, const Yaml *own)
{
    for (int64_t i = 0; i < own->n; i++) {
        const Yaml *value = own->item[i];
        if (value->type == YAML_STRING &&
            (strstr(value->text, ".yaml") || !strncmp(value->text, BUILT_IN, strlen(BUILT_IN))) &&
            nearest_name(own->key[i]->text, (const char *const[]){ "extends", NULL }))
            log_warning("%s: %s: this key is not used; did you mean \"extends\"?",
                        yaml_place(a, own->key[i]), own->key[i]->text);
    }
}

static Error *extend_by(Chain *c, const char *path, const Yaml *name, Yaml **base)
{
    Arena *a = c->arena;
    Yaml *more = NULL;
    if (name->type != YAML_STRING || !*name->text)
        return error_new("%s: extends takes paths of files, not %s", yaml_place(a, name),
                         yaml_show(a, name));
    bool is_beside = strncmp(name->text, BUILT_IN, strlen(BUILT_IN)) && name->text[0] != '/';
    const char *from = is_beside ? path_join(a, path_folder(a, path), name->text) : name->text;
    TRY(error_wrap(extend(c, from, &more), "%s: extends", yaml_place(a, name)));
    if (*base)
        merge(a, *base, more);
    else
        *base = more;
    return NULL;
}

static Error *extend(Chain *c, const char *path, Yaml **out)
{
    Arena *a = c->arena;
    Yaml *own = NULL, *base = NULL;
    const char *absolute = path_absolute(a, path);
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->path[i], absolute)) return error_new("%s extends itself", path);
    if (c->n == DEEPEST) return error_new("more than %d files extend each other", DEEPEST);
    TRY(read_file(a, path, &own));
    CHECK(own != NULL);
    if (own->type != YAML_MAP)
        return error_new("%s: a configuration is a mapping, not %s", path, yaml_type_name(own));
    const Yaml *names = yaml_get(own, "extends");
    if (!names) {
        note_misspelt(a, own);
        *out = own;
        return NULL;
    }
    c->path[c->n++] = absolute;
    bool is_list = names->type == YAML_LIST;
    if (is_list && !names->n) return error_new("%s: extends is empty", yaml_place(a, names));
    for (int64_t i = 0; i < (is_list ? names->n : 1); i++)
        TRY(extend_by(c, path, is_list ? names->item[i] : names, &base));
    c->n--;
    CHECK(base != NULL);
    merge(a, base, without(a, own, "extends"));
    base->file = own->file; /* errors of the whole are the file's that was asked for */
    *out = base;
    return NULL;
}

Error *config_extend(Arena *a, const char *path, Yaml **out)
{
    Chain c = { .arena = a };
    return extend(&c, path, out);
}
