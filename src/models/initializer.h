/* initializer.h - how the parameters of a model get their first content, instead of that which
 * their layers give them. */
#ifndef MODELS_INITIALIZER_H
#define MODELS_INITIALIZER_H
#include "graph/graph.h"

typedef struct Initializer {
    /* Sets value->init of every parameter of the graph it has a rule for, by role. */
    Error *(*apply)(const struct Initializer *self, Graph *g);
} Initializer;
#endif
