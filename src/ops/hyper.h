/* hyper.h - several streams that layers read and write by weights of the token:
 * manifold-constrained hyper-connections (Xie et al. 2026). */
#ifndef OPS_HYPER_H
#define OPS_HYPER_H
#include "graph/op.h"

/* Attributes of "hyper_weights" and of its gradient. */
typedef struct HyperWeights {
    int64_t streams;    /* k */
    int64_t iterations; /* of what makes the sums of the mix 1; 0: streams are not mixed */
    double eps;         /* added to what is divided by, and to weights */
    double write_scale; /* that weights of writing are below */
    bool reads_alone;   /* there are the k weights of reading alone */
} HyperWeights;

extern const OpDef op_hyper_weights;

/* Numbers of a token: k, where not reads_alone k more, and where streams are mixed k^2 more. */
static inline int64_t hyper_width(const HyperWeights *a)
{
    const int64_t k = a->streams;
    return a->reads_alone ? k : a->iterations ? (2 + k) * k : 2 * k;
}
/* Numbers of `scale`. */
static inline int64_t hyper_scales(const HyperWeights *a)
{
    return a->reads_alone ? 1 : a->iterations ? 3 : 2;
}
/* From x [* m] with base [m] and scale [hyper_scales] weights [* m] in f32 (f64): k by which
 * streams are read, sigmoid(scale x + base) + eps; k by which they are written, such a sigmoid
 * times write_scale, with eps where streams are not mixed; and what the streams are mixed by, row j
 * for stream j as it was: exponentials of scale x + base whose rows and columns are divided by
 * their sums in turn, columns last (Sinkhorn and Knopp 1967). */
Value *hyper_weights(Graph *g, Value *x, Value *base, Value *scale, const HyperWeights *a);
/* The sum of streams x [* k d] by the first k of w [* m]: [* d]. */
Value *hyper_read(Graph *g, Value *x, Value *w);
/* Streams x [* k d], mixed if `w` [* m] says so, with y [* d] times the weight of each: like x. `w`
 * has all weights: 2k, or more where streams are mixed. */
Value *hyper_write(Graph *g, Value *x, Value *y, Value *w);
#endif
