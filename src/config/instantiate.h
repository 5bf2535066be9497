/* instantiate.h - one component from its mapping, and the state of the builder that walks to it. */
#ifndef CONFIG_INSTANTIATE_H
#define CONFIG_INSTANTIATE_H
#include "base/map.h"
#include "config/builder.h"

enum { MAX_DEPTH = 64 }; /* of top-level keys that need one another */

struct Builder {
    Arena *arena;
    const Registry *registry;
    const Yaml *root;
    const Rank *rank;
    bool is_dry;   /* validation */
    bool is_trial; /* what leaves files, and what needs that, is not built */
    bool may_lack; /* absent inputs are warnings, told once */
    Problems told;
    int64_t n_absent; /* lines of them */
    bool was_checked; /* notices were given */
    Problems problems, notes;
    Problems plugins;            /* of what the configuration brings */
    const Problems *known;       /* of the tree itself; NULL: none */
    Map *done;                   /* top-level key to its rebuilt value */
    const char *open[MAX_DEPTH]; /* top-level keys that are being built */
    int n_open;
    Component **built;
    int64_t n, cap;
    Component *self;
};

/* A node that takes the place of `at`: same position, same parent, nothing in it. */
Yaml *builder_stand_in(Builder *b, const Yaml *at, YamlType type);
/* Checks the component at `y` and builds it unless this is a validation of something heavy; the
 * node that stands for it. `config` are its settings with components in place; NULL: missing. */
Yaml *instantiate(Builder *b, const Yaml *y, const Yaml *config);
/* A placeholder for what could not be built. */
Yaml *instantiate_hole(Builder *b, const Yaml *at);
#endif
