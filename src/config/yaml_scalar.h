/* yaml_scalar.h - typing of plain scalars; used by the reader and the writer of YAML. */
#ifndef CONFIG_YAML_SCALAR_H
#define CONFIG_YAML_SCALAR_H
#include "config/yaml.h"

/* Sets type and value of a scalar from its text; anything unknown is a string. */
void yaml_resolve_scalar(Arena *a, Yaml *y);
/* True when PyYAML's own rules (timestamps, a narrower float) read the plain text as a string. */
bool yaml_is_plain_string(const char *text);
/* The decimal text of an integer; its own text when it is too large for 64 bits. `buf` holds 32
 * bytes. */
const char *yaml_int_text(const Yaml *y, char *buf);
#endif
