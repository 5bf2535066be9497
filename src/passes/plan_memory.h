/* plan_memory.h - where every value of a program lies in its one block of memory.
 *
 * Lifetimes follow from the order of nodes, so the total is exact and known before anything runs.
 */
#ifndef PASSES_PLAN_MEMORY_H
#define PASSES_PLAN_MEMORY_H
#include "graph/graph.h"

enum { NOT_PLANNED = -1 };

/* Something that needs bytes from node `from` to node `to`, both included. */
typedef struct Block {
    size_t bytes;
    int64_t from, to;
    int64_t offset; /* the answer */
    const char *what;
} Block;

/* Gives every block an offset such that blocks alive at the same time do not overlap; returns the
 * total. Largest first into the lowest gap that fits. Multiples of 64 bytes. */
size_t place_blocks(Block *block, int64_t n);

/* The storage a value uses: itself, or the input it is a view of, found through all views. */
const Value *value_storage(const Value *v);

typedef struct MemoryPlan {
    int64_t *offset;  /* by value id; NOT_PLANNED for leaves and PREPARE results, which live in the
                         store */
    int64_t *scratch; /* by node index */
    size_t bytes;
    Block *block; /* all blocks, in no order, for the map */
    int64_t n_blocks;
} MemoryPlan;

/* `bytes_of` gives a value's local size; `scratch_of` a node's. Inputs and outputs live through. */
MemoryPlan *plan_memory(Arena *a, const Graph *g, size_t (*bytes_of)(void *ctx, const Value *v),
                        size_t (*scratch_of)(void *ctx, int64_t node), void *ctx);
/* The n largest blocks alive at the peak, one per line, and the sum of the rest. */
void memory_print(const MemoryPlan *m, int n, FILE *to);
#endif
