/* all_passes.h - the passes that this program has, in the order in which they run. */
#ifndef PASSES_ALL_PASSES_H
#define PASSES_ALL_PASSES_H
#include "graph/pass.h"

struct Halves;
struct Mesh;
struct Model;
struct Optimize;
struct PanelsChoice;
struct Precision;

/* What a graph is built for: each pass takes from it whether to run, and its settings. */
typedef struct Purpose {
    const struct Model *model; /* its initializer, and the passes that its wrappers asked for */
    const struct Precision *precision;
    const struct Mesh *mesh;         /* NULL: one rank */
    const struct Optimize *optimize; /* NULL: parameters stay what they are */
    const struct Halves *halves;     /* NULL: no parameter is kept in two halves */
    struct PanelsChoice *panels;     /* NULL: weights lie as they are (passes/panels.h) */
    bool gradients;
    bool averages;  /* averages may stand for the parameters */
    bool epilogues; /* the device's products can end with more than a sum */
} Purpose;

/* Where to print the graph: "after:recompute", "before:fuse" or "after:all"; NULL: nowhere. */
typedef struct PassTrace {
    const char *print;
    FILE *to;
} PassTrace;

/* The passes in their order; NULL after the last. */
const PassDef *pass_at(int i);
/* The pass of that name, or NULL. */
const PassDef *pass_find(const char *name);
/* What graphs of this purpose go through. */
PassList passes_for(Arena *a, const Purpose *p);
/* Runs the passes in the order of pass_at, checks the graph after each, prints where asked. */
Error *passes_run(Graph *g, const struct Mesh *mesh, const PassList *list, const PassTrace *trace);
#endif
