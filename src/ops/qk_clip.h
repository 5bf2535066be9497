/* qk_clip.h - steps of clipping attention by its logits (QK clip of MuonClip, Kimi K2 2025). */
#ifndef OPS_QK_CLIP_H
#define OPS_QK_CLIP_H
#include "graph/op.h"

extern const OpDef op_keep_largest;
/* In place: `kept` [h], a state, becomes the larger of it and x [h], and at least 0; the first
 * microbatch of a step begins anew. */
void keep_largest(Graph *g, Value *x, Value *kept);

typedef struct LogitClip {
    double threshold; /* of logits */
    double exponent;  /* of threshold / logit */
    int64_t groups;   /* heads of keys */
} LogitClip;
/* What each of n rows of a weight, those of a head after those of the other, is multiplied by:
 * (threshold / m)^exponent, at most 1, where m is the largest of `logit` [h] among the query heads
 * that share the row's head of keys. */
Value *logit_factors(Graph *g, Value *logit, int64_t n, const LogitClip *c);
/* Multiplies the rows of `param` [n] or [n k] in place. */
void scale_param_rows(Graph *g, Value *param, Value *factor);
#endif
