/* kept_params.h - the parameters of a small job after its last step. */
#ifndef TESTS_KEPT_PARAMS_H
#define TESTS_KEPT_PARAMS_H
#include "train/small_job.h"

enum { MOST_KEPT = 128 };

typedef struct KeptParams {
    Arena *arena;
    int64_t n;
    Tensor tensor[MOST_KEPT];
    const char *name[MOST_KEPT];
    bool has_states[MOST_KEPT], has_gradient[MOST_KEPT];
    double first_loss; /* of the first microbatch */
} KeptParams;

/* Trains the small job with these overrides. */
KeptParams kept_params(Arena *a, Words set);
/* Bits of the i-th of both. */
bool kept_is_same(const KeptParams *x, const KeptParams *y, int64_t i);
/* The place of a parameter; -1: there is none. */
int64_t kept_find(const KeptParams *k, const char *name);
#endif
