/* components.h - the components that this program brings. */
#ifndef COMPONENTS_H
#define COMPONENTS_H
#include "config/config.h"
#include "config/registry.h"

/* Ends with NULL; sorted by kind and variant. */
extern const ComponentDef *const built_in_components[];
/* A registry that holds all of them. */
Error *components_registry(Arena *a, Registry **out);
/* Reads a file with its overrides and builds the one component of `kind` under a top-level key. The
 * object lives as long as the arena. */
Error *component_from_file(Arena *a, const char *path, StringList overrides, const char *key,
                           const char *kind, void **out);
/* The first of these keys (the last is NULL) that the file's resolved tree has at its top; NULL: it
 * has none. */
Error *config_find_key(Arena *a, const char *path, StringList overrides, const char *const *keys,
                       const char **out);
#endif
