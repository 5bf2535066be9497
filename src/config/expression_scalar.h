/* expression_scalar.h - the types of unquoted words inside "${...}". */
#ifndef CONFIG_EXPRESSION_SCALAR_H
#define CONFIG_EXPRESSION_SCALAR_H
#include "config/yaml.h"

/* null, true, an integer, 1_000.5e3, inf, or else a text. */
Yaml *expression_scalar(Arena *a, const char *text);
#endif
