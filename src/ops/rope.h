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

/* The same with -sin: turns back what stands at these positions. */
Value *rope_back(Graph *g, Value *x, Value *table);
/* Likewise x [b t ... d] of windows of so many tokens: by the position of the first token of each,
 * where row 0 is the window that RunTime.position is in. Windows beyond the table turn as its last
 * position. */
Value *rope_windows(Graph *g, Value *x, Value *table, int64_t rate);

/* The position by which window i turns where a text goes on at `begin`. On a GPU as well. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline int64_t
    rope_window_position(int64_t i, int64_t begin, int64_t rate, int64_t n_positions)
{
    const int64_t p = (begin / rate + i) * rate;
    return p < n_positions ? p : n_positions - 1;
}

/* Attributes of "rope_windows". */
typedef struct RopeWindows {
    bool inverse;
    int64_t rate;
} RopeWindows;

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
