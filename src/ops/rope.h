/* rope.h - rotary positions. */
#ifndef OPS_ROPE_H
#define OPS_ROPE_H
#include "graph/op.h"

extern const OpDef op_rope;

/* cos and sin of p * base^(-2j/d): table [t d], first half cos, second half sin; made once (phase
 * PREPARE, no block). `rounded`: frequencies are rounded to bf16 first, as the original's bf16 runs
 * do. */
Value *rope_table(Graph *g, Dtype t, int64_t n_positions, int64_t d, double base, bool rounded);
/* Frequency j of d/2, rounded to float in each step as the original's buffer `inv_freq`. */
float rope_frequency(double base, int64_t j, int64_t d);
/* x[b s ... d] rotated by halves, x*cos + (-x2, x1)*sin, at the position of s (plus
 * RunTime.position). */
Value *rope(Graph *g, Value *x, Value *table);

/* Attributes of "rope". */
typedef struct Rope {
    bool inverse;
} Rope;

/* Attributes of "rope_table". */
typedef struct RopeTable {
    double base;
    bool rounded;
    int dtype;
} RopeTable;
#endif
