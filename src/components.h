/* components.h - the components that this program brings. */
#ifndef COMPONENTS_H
#define COMPONENTS_H
#include "config/registry.h"

/* Ends with NULL; sorted by kind and variant. */
extern const ComponentDef *const built_in_components[];
/* A registry that holds all of them. */
Error *components_registry(Arena *a, Registry **out);
#endif
