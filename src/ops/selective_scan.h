/* selective_scan.h - state spaces whose steps, and what goes into a state and comes out of it,
 * depend on the token (Gu and Dao 2023, Mamba). */
#ifndef OPS_SELECTIVE_SCAN_H
#define OPS_SELECTIVE_SCAN_H
#include "graph/op.h"

/* What the scan reads: products of the token, and what each feature has learned. */
typedef struct SelectiveScan {
    Value *step, *x;            /* [b s c] */
    Value *in, *out;            /* [b s n], of all features; the B and C of the paper */
    Value *speed, *bias, *skip; /* [c n], [c], [c] */
} SelectiveScan;

/* Each feature has n numbers h, zeros at first, which a token lets fade, adds to and reads:
 *
 *     dt = softplus(step + bias)    h = exp(-exp(speed) dt) h + dt x in    y = out h + skip x
 *
 * documents [b s] or NULL: h begins anew with each. Result: y [b s c]. */
Value *selective_scan(Graph *g, const SelectiveScan *s, Value *documents);
/* The same for a text that is continued: `state` [b 1 c n] is h behind its last token, and gets
 * that behind the new ones. A text that begins (RunTime.position is 0) has none. */
Value *selective_scan_cached(Graph *g, Value *state, const SelectiveScan *s);
#endif
