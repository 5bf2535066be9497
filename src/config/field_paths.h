/* field_paths.h - the paths that options and settings name, each with the role of its row. */
#ifndef CONFIG_FIELD_PATHS_H
#define CONFIG_FIELD_PATHS_H
#include "base/path_roles.h"
#include "config/builder.h"

/* The names that paths are told by: "--output_path" and "src_path", or "settings.dst_path". */
typedef enum PathNames { NAMED_AS_OPTIONS, NAMED_AS_KEYS } PathNames;

/* Adds the paths of a mapping that a table describes. */
void field_paths_add(PathRoles *to, Arena *a, const Field *fields, const Yaml *from, PathNames how);
/* Those of a configuration that was validated or built: of its keys and of all its components. */
void builder_paths_add(PathRoles *to, const Builder *b, const Field *keys);
#endif
