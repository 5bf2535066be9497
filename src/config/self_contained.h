/* self_contained.h - a configuration that can be read again elsewhere, with other --set. */
#ifndef CONFIG_SELF_CONTAINED_H
#define CONFIG_SELF_CONTAINED_H
#include "config/yaml.h"

/* A copy of `root`, as interpolate was given it, in which values that came from the environment
 * (oc.env) or from another checkpoint (warmstart_env) are those of `resolved`, what interpolate
 * made of it. References between keys stay, so that a later --set reaches every place. */
Yaml *config_self_contained(Arena *a, const Yaml *root, const Yaml *resolved);
#endif
