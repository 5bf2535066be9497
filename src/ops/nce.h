/* nce.h - noise contrastive estimation: which of a batch's rows belong together. */
#ifndef OPS_NCE_H
#define OPS_NCE_H
#include "graph/op.h"

typedef struct Nce {
    double temperature;
    bool symmetric; /* also which x belongs to a y, added up */
} Nce;

/* Of x and y [b d] with similarities x y^T / temperature the mean of -log softmax at the own one:
 * a scalar in f32 or better. */
Value *nce(Graph *g, Value *x, Value *y, const Nce *attrs);
#endif
