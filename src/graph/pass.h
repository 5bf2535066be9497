/* pass.h - a pass is one function that rewrites a whole graph; passes/all_passes.c has their order.
 */
#ifndef GRAPH_PASS_H
#define GRAPH_PASS_H
#include "graph/graph.h"

struct Mesh;
struct Purpose;

typedef struct PassDef {
    const char *name, *doc;
    Error *(*run)(Graph *g, const struct Mesh *mesh, const void *settings);
    /* Whether every graph of this purpose (passes/all_passes.h) goes through it, and with which
     * settings. NULL: only those that ask for it by passes_add. */
    bool (*wanted)(const struct Purpose *p, const void **settings);
    bool backward; /* left out where there are no gradients */
} PassDef;

/* A pass that somebody asked for, with its settings. */
typedef struct PassUse {
    const PassDef *pass;
    const void *settings;
} PassUse;

typedef struct PassList {
    Arena *arena;
    PassUse *use;
    int64_t n, cap;
} PassList;

/* Adds a pass; several uses of one pass stay in the order of adding. */
void passes_add(PassList *list, const PassDef *pass, const void *settings);
#endif
