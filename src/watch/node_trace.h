/* node_trace.h - the nodes that ran, with their times, as a Chrome trace and as tables. */
#ifndef WATCH_NODE_TRACE_H
#define WATCH_NODE_TRACE_H
#include "watch/watch.h"

typedef struct TraceEntry {
    const char *op, *module, *kernel; /* "contract", "transformer.h.0.mlp.W", "avx512" */
    const char *attrs;                /* its settings */
    const char *shapes;               /* of the inputs; NULL: not asked for */
    const char *axes;                 /* it talks to the ranks along these, "cp x tp"; NULL: none */
    int64_t ranks;                    /* how many, itself included */
    int64_t peer;                     /* the one among all, where there is only one; -1: all */
    double sent;                      /* bytes that this rank sends */
    bool is_wait;                     /* not the node, but the computation waiting for it */
    Phase phase;
    int stream;
    double begin, seconds;
    double bytes, flops;
    Dtype dtype; /* that it computes in */
    int64_t step, microbatch;
} TraceEntry;

typedef struct NodeTrace {
    Watch base; /* to be added to a list; set is_off to rest */
    Arena *arena;
    bool with_shapes;
    int64_t rank;
    TraceEntry *entry;
    int64_t n, cap;
    Device *device; /* NULL: nothing was seen */
} NodeTrace;

/* Belongs to the arena; sees every node from the moment that it is added to a list. */
NodeTrace *node_trace_new(Arena *a, bool with_shapes);
/* For chrome://tracing and Perfetto. */
Error *node_trace_write(const NodeTrace *t, const char *path);
/* Tables by op and by module: calls, time, share of it, bytes and FLOPs per second, share of what
 * the machine can do at most. */
void node_trace_tables(const NodeTrace *t, Text *out);
#endif
