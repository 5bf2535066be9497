/* features.h - rows of features: cut out, widened by zeros, and with those that heads share in
 * front of each head's own. */
#ifndef OPS_FEATURES_H
#define OPS_FEATURES_H
#include "graph/op.h"

extern const OpDef op_join_features;
/* The n features of x [* d] from feature `from` on: [* n]. */
Value *slice_features(Graph *g, Value *x, int64_t from, int64_t n);
/* x [* n] with zeros behind it: [* d]. */
Value *pad_features(Graph *g, Value *x, int64_t d);
/* Likewise with `from` zeros in front, and others behind where there is room. */
Value *place_features(Graph *g, Value *x, int64_t from, int64_t d);
/* For each head of x [* h c n] the features of front [* 1 c r], then its own: [* h c r+n]. */
Value *join_features(Graph *g, Value *x, Value *front);

/* Attributes of "slice_features" and "pad_features": where the narrow rows lie in the wide ones. */
typedef struct PlaceOfFeatures {
    int64_t from;
} PlaceOfFeatures;
#endif
