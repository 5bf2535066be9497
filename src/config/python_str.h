/* python_str.h - values as Python's str() writes them: what they are inside a longer text. */
#ifndef CONFIG_PYTHON_STR_H
#define CONFIG_PYTHON_STR_H
#include "config/yaml.h"

/* True, None, 1e-05, ['a', 1], {'a': 1}; a text stands for itself. */
const char *python_str(Arena *a, const Yaml *node);
#endif
