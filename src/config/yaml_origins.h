/* yaml_origins.h - a tree as YAML in which a comment tells where each value comes from. */
#ifndef CONFIG_YAML_ORIGINS_H
#define CONFIG_YAML_ORIGINS_H
#include "config/yaml.h"

/* Keys stay in their order; the comments are in one column. */
void yaml_origins(const Yaml *root, Text *out);
#endif
