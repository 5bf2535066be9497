/* registry.h - what components exist: {component_key, variant_key} to a definition. */
#ifndef CONFIG_REGISTRY_H
#define CONFIG_REGISTRY_H
#include "config/field.h"
#include "config/problem.h"

typedef struct Builder Builder; /* builder.h */

typedef struct ComponentDef {
    const char *kind, *variant; /* component_key and variant_key */
    const char *doc;            /* one sentence */
    const Field *fields;        /* of the settings struct; NULL: no settings */
    size_t settings_size;
    /* Rules over several fields; components among the settings are NULL here. NULL: none. */
    Error *(*check)(const void *settings);
    /* Makes the object. Settings and object live as long as the builder's arena. */
    Error *(*build)(Builder *b, const void *settings, void **out);
    const char *gives; /* the kind of the object where it is not `kind`; see GIVES_* */
    const char *also;  /* a second variant name, accepted with a notice */
    bool is_light;     /* build is quick and changes nothing: runs during validation, too */
    bool leaves_files; /* build makes files or folders: it is left out of a trial */
} ComponentDef;

/* The object is an int64_t that stands where an integer is expected. */
#define GIVES_INT "int"
/* The kind follows from the settings: build calls builder_gives(). */
#define GIVES_ANY "any"

typedef struct Registry Registry;

Registry *registry_new(Arena *a);
/* Refuses a second (kind, variant) and a table that fields_verify refuses. `def` must stay. */
Error *registry_add(Registry *r, const ComponentDef *def);
/* An error says what is planned or renamed of the original's names, else names the nearest kind or
 * variant. */
Error *registry_find(const Registry *r, const char *kind, const char *variant,
                     const ComponentDef **out);
/* Who adds what a configuration brings itself; what it cannot add is a problem. */
typedef void RegistryLoader(void *context, const Yaml *root, Problems *problems);
void registry_set_loader(Registry *r, RegistryLoader *load, void *context);
/* The context of that loader, or NULL. */
void *registry_loader(const Registry *r);
/* Lets the loader add what this configuration brings. */
void registry_load(const Registry *r, const Yaml *root, Problems *problems);
Arena *registry_arena(const Registry *r);
/* All definitions, sorted by kind and variant. */
int64_t registry_count(const Registry *r);
const ComponentDef *registry_at(const Registry *r, int64_t i);
#endif
