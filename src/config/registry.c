/* registry.c - components sorted by kind and variant. */
#include "config/registry.h"
#include "config/original_names.h"
#include <string.h>

struct Registry {
    Arena *arena;
    const ComponentDef **def; /* sorted */
    int64_t n, cap;
    RegistryLoader *load; /* NULL: nobody adds anything */
    void *context;
};

Registry *registry_new(Arena *a)
{
    Registry *r = NEW(a, Registry);
    r->arena = a;
    return r;
}

static int compare(const ComponentDef *d, const char *kind, const char *variant)
{
    CHECK(kind != NULL && variant != NULL);
    int order = strcmp(d->kind, kind);
    return order ? order : strcmp(d->variant, variant);
}

static bool answers(const ComponentDef *d, const char *kind, const char *variant)
{
    return !strcmp(d->kind, kind) &&
           (!strcmp(d->variant, variant) || (d->also && !strcmp(d->also, variant)));
}

static const ComponentDef *lookup(const Registry *r, const char *kind, const char *variant)
{
    for (int64_t i = 0; i < r->n; i++)
        if (answers(r->def[i], kind, variant)) return r->def[i];
    return NULL;
}

Error *registry_add(Registry *r, const ComponentDef *def)
{
    const char *names[] = { def->variant, def->also };
    for (int i = 0; i < 2; i++)
        if (names[i] && lookup(r, def->kind, names[i]))
            return error_new("component %s.%s exists already", def->kind, names[i]);
    if (def->fields)
        TRY(error_wrap(fields_verify(def->fields), "component %s.%s", def->kind, def->variant));
    r->def = arena_grow(r->arena, r->def, r->n, &r->cap, sizeof *r->def);
    int64_t at = r->n++;
    for (; at > 0 && compare(r->def[at - 1], def->kind, def->variant) > 0; at--)
        r->def[at] = r->def[at - 1];
    r->def[at] = def;
    return NULL;
}

/* The names near which a misspelled one may lie: kinds when `kind` is NULL, else its variants. */
static const char **names_of(const Registry *r, const char *kind, Arena *a)
{
    const char **names = NEW_N(a, const char *, 2 * r->n + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const ComponentDef *d = r->def[i];
        if (!kind) {
            if (!n || strcmp(names[n - 1], d->kind)) names[n++] = d->kind;
        } else if (!strcmp(d->kind, kind)) {
            names[n++] = d->variant;
            if (d->also) names[n++] = d->also;
        }
    }
    return names;
}

static Error *unknown(const Registry *r, const char *kind, const char *variant)
{
    Arena *a = arena_new();
    const char **variants = names_of(r, kind, a);
    Text known = { 0 };
    Error *e;
    if (!variants[0]) {
        const char *near = nearest_name(kind, names_of(r, NULL, a));
        e = near ? error_new("unknown component_key \"%s\"; did you mean \"%s\"?", kind, near)
                 : error_new("unknown component_key \"%s\"", kind);
    } else {
        const char *near = nearest_name(variant, variants);
        for (int i = 0; variants[i]; i++) text_printf(&known, "%s%s", i ? ", " : "", variants[i]);
        e = error_new("%s has no variant_key \"%s\"; %s%s%sknown: %s", kind, variant,
                      near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "",
                      known.ptr);
    }
    text_free(&known);
    arena_free(a);
    return e;
}

Error *registry_find(const Registry *r, const char *kind, const char *variant,
                     const ComponentDef **out)
{
    *out = lookup(r, kind, variant);
    if (*out) return NULL;
    Error *e = original_name_answer(kind, variant);
    return e ? e : unknown(r, kind, variant);
}

void registry_set_loader(Registry *r, RegistryLoader *load, void *context)
{
    r->load = load;
    r->context = context;
}

void *registry_loader(const Registry *r)
{
    return r->context;
}

void registry_load(const Registry *r, const Yaml *root, Problems *problems)
{
    if (r->load) r->load(r->context, root, problems);
}

Arena *registry_arena(const Registry *r)
{
    return r->arena;
}

int64_t registry_count(const Registry *r)
{
    return r->n;
}

const ComponentDef *registry_at(const Registry *r, int64_t i)
{
    CHECK(i >= 0 && i < r->n);
    return r->def[i];
}
