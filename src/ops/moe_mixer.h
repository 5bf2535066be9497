/* moe_mixer.h - a router whose choices are weighed against those that were nearly taken. */
#ifndef OPS_MOE_MIXER_H
#define OPS_MOE_MIXER_H
#include "graph/op.h"

typedef struct MoeMixer {
    int64_t top_k;
    double near; /* half of the distance, in shares of logits, up to which others count */
} MoeMixer;

/* Whether a logit counts beside the largest one; on a GPU as well. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline bool
    mixer_counts(double top, double x, double near)
{
    const double size = x < 0 ? -x : x;
    return !((top - x) / (size > top ? size : top) > 2 * near);
}

/* Logits [* e] give the weights [* k] (f32 or better), and in *expert [* k] the experts, in the
 * order of the choice. */
Value *moe_mixer(Graph *g, Value *logits, const MoeMixer *attrs, Value **expert);
#endif
