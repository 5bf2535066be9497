/* plan_memory.h - where every value of a program lies in its one block of memory.
 *
 * Lifetimes follow the order in which a schedule runs the nodes, for every microbatch in flight
 * (timeline.h), so the total is exact and known before anything runs. */
#ifndef EXEC_PLAN_MEMORY_H
#define EXEC_PLAN_MEMORY_H
#include "exec/timeline.h"

enum { NOT_PLANNED = -1 };

/* During moment `moment` of a timeline: from node `from` to node `to`, both included; -1 and
 * WHOLE_MOMENT: from before the first to after the last. */
typedef struct Span {
    int64_t moment, from, to;
} Span;

#define WHOLE_MOMENT INT64_MAX

/* Something that needs bytes during its spans, which are in the order of moments. */
typedef struct Block {
    size_t bytes;
    const Span *span;
    int64_t n_spans;
    int64_t offset; /* the answer */
    const char *what;
    const Value *value; /* whose memory it is; NULL: scratch or an extra */
} Block;

/* Gives every block an offset such that blocks alive at the same time do not overlap; returns the
 * total. Largest first into the lowest gap that fits. Multiples of 64 bytes. */
size_t place_blocks(Block *block, int64_t n);

typedef struct MemoryPlan {
    int64_t *offset;  /* [slot][value id], slots 0 to n_slots (timeline.h); NOT_PLANNED: leaves and
                         PREPARE results, which live in the store, and views */
    int64_t *scratch; /* by node index */
    int64_t *extra;   /* of what the caller asked for besides */
    size_t bytes, host_bytes; /* of the device; of the host, for values that lie there */
    Block *block;             /* those of the device, in no order, for the map */
    int64_t n_blocks;
} MemoryPlan;

typedef struct MemoryNeeds {
    size_t (*bytes_of)(void *ctx, const Value *v); /* of a value on this rank */
    size_t (*scratch_of)(void *ctx, int64_t node);
    void *ctx;
    const size_t *extra; /* bytes wanted throughout */
    const char *const *extra_name;
    int n_extra;
} MemoryNeeds;

/* Inputs and extras live throughout; outputs as long as their microbatch holds its slot. */
MemoryPlan *plan_memory(Arena *a, const Graph *g, const Timeline *t, const MemoryNeeds *needs);
/* The n largest blocks alive at the peak, one per line, and the sum of the rest. */
void memory_print(const MemoryPlan *m, int n, FILE *to);
#endif
