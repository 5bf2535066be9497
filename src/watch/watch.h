/* watch.h - those who look on while a program's nodes run: hooks, statistics, traces. */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H
#include "base/rank.h"
#include "exec/program.h"
#include "graph/op.h"

/* A node that has just run. */
typedef struct NodeRun {
    const Graph *graph;
    const Node *node;
    const Launch *launch;
    double begin, seconds; /* by clock_seconds() */
    bool is_wait; /* it has not run: for so long the computation waited for it, on another stream */
    const RunTime *now;
    Device *device;
    int64_t rank;
} NodeRun;

typedef struct Watch {
    struct Watch *next; /* who looks on at the same */
    /* A program is about to run nodes for the first time. NULL: nothing to prepare. */
    Error *(*start)(struct Watch *self, const Program *p);
    /* Its error ends the run. */
    Error *(*node)(struct Watch *self, const NodeRun *x);
    bool is_off;     /* at present it wants to see nothing */
    bool only_times; /* it reads no tensors, so nodes need not be waited for */
} Watch;

/* Puts `w` after the others of the list. */
void watch_add(Watch **list, Watch *w);

/* Everybody that looks on at one program; stays as long as the program. */
typedef struct Watchers {
    Watch *of_model, *of_run; /* lists; either may be NULL */
    Device *device;
    int64_t rank;
    const Program *program;
} Watchers;

/* Lets them see every node of the program from now on. */
Error *watchers_attach(Watchers *w, Program *p);
/* The tensor in host memory: itself, or a copy in `a`. */
Error *node_tensor(const NodeRun *x, const Tensor *t, Arena *a, Tensor *out);
/* "contract in transformer.h.0.attn.q_attn (forward)". */
const char *node_place(Arena *a, const Node *n);
/* The settings of a node's op as YAML: "{eps: 1e-05, weight: true}". */
const char *node_attrs(Arena *a, const Node *n);
#endif
