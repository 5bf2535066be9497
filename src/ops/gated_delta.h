/* gated_delta.h - linear attention by the gated delta rule (Yang et al. 2025, Gated DeltaNet), with
 * a decay of each feature of keys, too (Kimi Team 2025, Kimi Linear), or by that of state spaces
 * (Dao and Gu 2024, Mamba-2). */
#ifndef OPS_GATED_DELTA_H
#define OPS_GATED_DELTA_H
#include "graph/op.h"

typedef struct GatedDelta {
    double scale;     /* of what is read by a query */
    double key_scale; /* of keys; with queries of any length and this, keys may be normalized ones
                       */
    bool adds;        /* state spaces: values are added, whatever the matrix has under their keys */
} GatedDelta;
extern const Field gated_delta_fields[]; /* of its attributes */

/* Each head has a matrix S [d e], zeros at first, which a token lets fade, corrects and reads:
 *
 *     P = exp(decay) S    S = P + rate k (v - P^T k)^T    o = scale S^T q
 *
 * Where it adds, S = P + rate k v^T: nothing is corrected.
 *
 * q and k [b s g d], v [b s g r e], decay (at most 0) and rate [b s g r], documents [b s] or NULL:
 * S begins anew with each. Decays may be [b s g r d], one for each row of S. Result: o [b s g r e].
 */
Value *gated_delta(Graph *g, Value *q, Value *k, Value *v, Value *decay, Value *rate,
                   Value *documents, const GatedDelta *attrs);
/* The same for a text that is continued: `state` [b 1 g r d e] is S behind its last token, and gets
 * that behind the new ones. A text that begins (RunTime.position is 0) has none. */
Value *gated_delta_cached(Graph *g, Value *state, Value *q, Value *k, Value *v, Value *decay,
                          Value *rate, const GatedDelta *attrs);
#endif
