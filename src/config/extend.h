/* extend.h - configurations that begin with others: `extends: base.yaml`. */
#ifndef CONFIG_EXTEND_H
#define CONFIG_EXTEND_H
#include "config/yaml.h"

/* Reads a file and what it extends: a path beside the file, or a list of them of which later ones
 * count more, or "modalities/training", which comes with the program. Mappings are merged key by
 * key; a component of another kind or variant, a list, or a single value takes the place of the
 * earlier one. The key `extends` itself is gone. An error if a file extends itself. */
Error *config_extend(Arena *a, const char *path, Yaml **out);
#endif
