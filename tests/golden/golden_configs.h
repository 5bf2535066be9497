/* golden_configs.h - the original's configurations with its environment and its verdicts. */
#ifndef TESTS_GOLDEN_CONFIGS_H
#define TESTS_GOLDEN_CONFIGS_H
#include "config/field.h"
#include "config/interpolate.h"
#include "test.h"
#include <jansson.h>

typedef struct GoldenConfig {
    const char *file;     /* "tests/x/y.yaml" as the goldens name it */
    const char *name;     /* "tests__x__y" */
    const char *path;     /* where it lies here, relative to the original's root */
    const char *resolved; /* the expected tree */
    Rank rank;
    ResolverContext context;
    const json_t *verdict; /* its record of validation.json */
} GoldenConfig;

typedef struct GoldenConfigs {
    GoldenConfig *item;
    int64_t n;
    json_t *validation;
    const char *root,
        *home; /* folders; the original's root is made at the first golden_config_enter */
    Arena *arena;
} GoldenConfigs;

/* A text of a record. */
const char *verdict_text(const json_t *record, const char *key);
/* "a[0].b" to "a.0.b", as the goldens spell it. */
const char *verdict_path(Arena *a, const char *path);
/* A component of the original ("model.coca") that tests/golden_later.txt holds back. */
bool golden_component_is_later(Arena *a, const char *name);

GoldenConfigs *golden_configs_open(Arena *a);
void golden_configs_close(GoldenConfigs *g);
/* "kind.variant" of all that the original built in them, each once. */
StringList golden_configs_components(Arena *a, const GoldenConfigs *g);
/* Sets RANK, LOCAL_RANK and WORLD_SIZE as they were for this file, and changes into the copy of the
 * original's root, to which paths in the configurations are relative. */
void golden_config_enter(GoldenConfigs *g, const GoldenConfig *c);
void golden_config_leave(const GoldenConfigs *g);
#endif
