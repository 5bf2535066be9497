/* rank_plan.h - what a program takes on one rank, known before it runs. */
#ifndef EXEC_RANK_PLAN_H
#define EXEC_RANK_PLAN_H
#include "exec/program.h"

/* What the nodes of one op send along some axes of the mesh, in one step. */
typedef struct Traffic {
    const char *op;
    unsigned axes;
    int64_t n; /* transfers */
    double bytes;
} Traffic;

typedef struct RankPlan {
    size_t parameters, gradients, states, derived; /* bytes that the store keeps */
    size_t halves;    /* of the bytes of parameters: those that lie in two halves */
    size_t workspace; /* bytes of activations and scratch */
    size_t host;      /* bytes of activations that wait in host memory, beside the others */
    double flops;     /* of a step, matrix products only */
    Traffic *traffic;
    int64_t n_traffic;
} RankPlan;

/* The program may be planned only. All lists are of the arena. */
RankPlan program_rank_plan(const Program *p, Arena *a);
size_t rank_plan_bytes(const RankPlan *r);
/* FLOPs that a microbatch needs of this rank: the matrix products of the forward pass, and twice as
 * many for its gradients; what is computed again counts for nothing. */
double program_needed_flops(const Program *p);
/* Lines for people. */
void rank_plan_print(const RankPlan *r, FILE *to);
#endif
