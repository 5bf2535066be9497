/* panels.h - weights in the order in which products with few rows read them.
 *
 * A matrix [n][k] lies in panels of 32 rows, one panel after the other, and each of them step by
 * step along k: [k][rows of the panel]. In bf16 two neighbours along k lie together:
 * [k / 2][rows][2]. The last panel has the rows that are left. So a product reads one stream of
 * memory, and each piece of it is one step of 32 columns. */
#ifndef OPS_PANELS_H
#define OPS_PANELS_H
#include "graph/op.h"

enum { PANEL_ROWS = 32 };

/* Both ops: whether the panels are bf16, in pairs along k (which is even), and not f32. */
typedef struct Panels {
    bool pairs;
} Panels;

extern const OpDef op_panels, op_contract_panels;

/* "nk->nk": an f32 or bf16 matrix as panels, in bf16 (rounded as high_half does) or in f32. */
Value *panels(Graph *g, Value *weight, bool pairs);
/* "*k,nk->*n": contract, of a weight that panels made. */
Value *contract_panels(Graph *g, Value *x, Value *weight, bool pairs);
#endif
