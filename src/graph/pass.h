/* pass.h - a pass is one function that rewrites a whole graph; passes run in one fixed order. */
#ifndef GRAPH_PASS_H
#define GRAPH_PASS_H
#include "graph/graph.h"

struct Mesh;

/* Places in the fixed sequence, whatever the order in the YAML. */
typedef enum PassOrder {
    ORDER_INITIALIZE,
    ORDER_AUTODIFF,
    ORDER_PRECISION,
    ORDER_FLOAT8,
    ORDER_RECOMPUTE,
    ORDER_SHARD,
    ORDER_PIPELINE,
    ORDER_FUSE,
    ORDER_OPTIMIZE,
    ORDER_OVERLAP
} PassOrder;

typedef struct PassDef {
    const char *name, *doc;
    PassOrder order;
    Error *(*run)(Graph *g, const struct Mesh *mesh, const void *settings);
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

/* Where to print the graph: "after:recompute", "before:fuse" or "after:all"; NULL: nowhere. */
typedef struct PassTrace {
    const char *print;
    FILE *to;
} PassTrace;

/* Runs the passes by their order, checks the graph after each, prints where asked. */
Error *passes_run(Graph *g, const struct Mesh *mesh, const PassList *list, const PassTrace *trace);
#endif
