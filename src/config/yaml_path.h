/* yaml_path.h - walking a tree along "a.b[0].c". */
#ifndef CONFIG_YAML_PATH_H
#define CONFIG_YAML_PATH_H
#include "config/yaml.h"

typedef enum StepResult { STEP_END, STEP_NAME, STEP_MALFORMED } StepResult;

/* Takes the next key or index from *path. */
StepResult yaml_next_step(Arena *a, const char **path, const char **name);
/* The child that a key or an index names, or NULL. */
Yaml *yaml_child(const Yaml *node, const char *name);
#endif
