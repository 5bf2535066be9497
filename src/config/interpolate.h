/* interpolate.h - ${a.b}, ${.x}, ${resolver:arg}: OmegaConf's interpolation and its resolvers. */
#ifndef CONFIG_INTERPOLATE_H
#define CONFIG_INTERPOLATE_H
#include "base/rank.h"
#include "config/problem.h"

/* A further resolver: ${name:args}. The result is a new node (a scalar, list or map). */
typedef struct Resolver {
    const char *name;
    Error *(*resolve)(void *context, Arena *a, int64_t n, Yaml *const *arg, Yaml **out);
    void *context;
} Resolver;

/* What the resolvers of this program know. */
typedef struct ResolverContext {
    const char *config_file_path; /* ${modalities_env:...}; NULL: that name is unknown here */
    const char *experiments_root_path;
    const char *experiment_id;
    const Yaml *checkpoint_paths; /* ${warmstart_env:checkpoint_paths}; NULL: unknown here */
    const Rank *rank;             /* ${cuda_env:...}; NULL: the only one of its job */
    int64_t num_cpus;             /* ${node_env:num_cpus}; 0: of this machine */
    const Resolver *more;         /* ends with a row without name; NULL: none */
} ResolverContext;

/* A new tree without interpolations. What cannot be resolved leaves a hole and a problem. */
Yaml *interpolate_with_holes(Arena *a, const Yaml *root, const ResolverContext *c,
                             Problems *problems);
/* The same; every failure is reported at once, with place and key path. */
Error *interpolate(Arena *a, const Yaml *root, const ResolverContext *c, Yaml **out);
#endif
