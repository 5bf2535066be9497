/* gated_recurrence.h - the Real-Gated Linear Recurrent Unit (De et al. 2024, Griffin): each feature
 * keeps one number, which gates of the token let fade and add to. */
#ifndef OPS_GATED_RECURRENCE_H
#define OPS_GATED_RECURRENCE_H
#include "graph/op.h"

/* What it reads: features of the token, what their two gates are sigmoids of, and what each feature
 * has learned. */
typedef struct GatedRecurrence {
    Value *x, *in, *fade; /* [b s c] */
    Value *speed;         /* [c] */
} GatedRecurrence;

/* A token makes h of the h in front of it:
 *
 *     keep = exp(-8 sigmoid(fade) softplus(speed))
 *     h = keep h + sqrt(1 - keep^2) sigmoid(in) x
 *
 * Where a text or document begins, h = sigmoid(in) x. The slope of the root is taken for at most
 * 1000. documents [b s] or NULL: h begins anew with each. Result: h [b s c]. */
Value *gated_recurrence(Graph *g, const GatedRecurrence *r, Value *documents);
/* The same for a text that is continued: `state` [b 1 c] is h behind its last token, and gets that
 * behind the new ones. A text that begins (RunTime.position is 0) has none. */
Value *gated_recurrence_cached(Graph *g, Value *state, const GatedRecurrence *r);
#endif
