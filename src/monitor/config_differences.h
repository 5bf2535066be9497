/* config_differences.h - which settings of several resolved configurations differ. */
#ifndef MONITOR_CONFIG_DIFFERENCES_H
#define MONITOR_CONFIG_DIFFERENCES_H
#include "config/yaml.h"

typedef struct ConfigDifference {
    const char *path;   /* "optimizer.config.lr" */
    int64_t n_alike;    /* further settings with the same values: those that follow from it */
    const char **value; /* of each configuration; "-": it has none */
} ConfigDifference;

/* In the order of the first configuration that has them; experiments' own ids and paths do not
 * count. Returns their number. */
int64_t config_differences(Arena *a, const Yaml *const *config, int64_t n, ConfigDifference **out);
#endif
