/* config.h - from a file to a resolved tree: parse, apply --set, interpolate.
 *
 * Reading order: yaml.h (the tree), field.h (tables), registry.h (components), builder.h (objects).
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H
#include "config/field.h"
#include "config/interpolate.h"

/* Reads `path`, applies the overrides "a.b=value" in order, resolves every ${...}. What cannot be
 * resolved leaves a hole and is added to `unresolved`, so that a builder can check the rest. */
Error *config_load_with_holes(Arena *a, const char *path, StringList overrides,
                              const ResolverContext *c, Yaml **out, Problems *unresolved);
/* The same; an error where anything is left unresolved. */
Error *config_load(Arena *a, const char *path, StringList overrides, const ResolverContext *c,
                   Yaml **out);
/* The first step of both: what interpolate is given. */
Error *config_read(Arena *a, const char *path, StringList overrides, Yaml **out);
/* One override "a.b=value" on an unresolved tree; "a.b+=value" adds to a list. A key that leads
 * nowhere is an error with the nearest name; a new key in a mapping below the top is accepted here
 * and judged by that mapping's table later. */
Error *config_override(Arena *a, Yaml *root, const char *assignment);
#endif
