/* units.h - parameters that are whole together, and so are gathered and reduced together: those of
 * some blocks, or what stands before the blocks or after them. */
#ifndef PASSES_UNITS_H
#define PASSES_UNITS_H
#include "graph/graph.h"

enum { UNIT_FORWARD, UNIT_BACKWARD, UNIT_PREPARE };

typedef struct Unit {
    int block;  /* the first of its blocks; -1: none */
    int region; /* with block -1: changes between blocks and what is none, so far; the head's
                   forward and backward pass are one */
    int stage;  /* with block -1: of a pipeline; what is gathered is there when the stage runs */
    int pass;   /* UNIT_FORWARD or UNIT_BACKWARD of blocks; UNIT_PREPARE: made once per step */
} Unit;

bool unit_is_same(const Unit *a, const Unit *b);
/* The unit of each node. */
const Unit *units_find(const Graph *g, int64_t blocks_per_unit);
#endif
