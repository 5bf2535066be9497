/* muon.h - the steps of Muon around its matrix products: momentum, unit matrices, blends, update.
 */
#ifndef OPS_MUON_H
#define OPS_MUON_H
#include "graph/op.h"

typedef struct MuonMomentum {
    double momentum;
    bool nesterov;
} MuonMomentum;
/* In place: momentum = m momentum + (1 - m) grad factor, and clears the gradient. Returns the
 * direction: the new momentum, or with Nesterov m of it and (1 - m) of the gradient. */
Value *muon_momentum(Graph *g, Value *grad, Value *momentum, Value *factor,
                     const MuonMomentum *attrs);
/* Each matrix (the last two dimensions) divided by its Frobenius norm, or by eps if that is less.
 */
Value *unit_matrix(Graph *g, Value *x, double eps);
/* a x + b y. */
Value *blend(Graph *g, double a, Value *x, double b, Value *y);

typedef struct MuonUpdate {
    double weight_decay, scale; /* scale: of the rate for the direction alone */
    int64_t group;              /* of RunTime.rate */
} MuonUpdate;
/* In place: param = (1 - lr weight_decay) param - lr scale direction. */
void muon_update(Graph *g, Value *param, Value *direction, const MuonUpdate *attrs);

/* Attributes of "unit_matrix" and "blend". */
typedef struct UnitMatrix {
    double eps;
} UnitMatrix;
typedef struct Blend {
    double a, b;
} Blend;
#endif
