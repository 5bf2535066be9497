/* initializer.h - how the parameters of a model get their first content. */
#ifndef MODELS_INITIALIZER_H
#define MODELS_INITIALIZER_H
#include "graph/graph.h"

typedef struct Initializer {
    /* Sets value->init of every parameter of the graph it has a rule for. */
    Error *(*apply)(const struct Initializer *self, Graph *g);
} Initializer;

/* What construction gives without any initializer, as torch does: linear layers uniform within
 * 1/sqrt(inputs), embeddings normal, norms 1 and 0. */
void initialize_by_construction(Graph *g);
/* True if the name ends so; matches whole parts between dots ("attn.c_proj.weight"). */
bool name_ends(const char *name, const char *tail);
#endif
