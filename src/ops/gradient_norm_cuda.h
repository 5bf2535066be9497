/* gradient_norm_cuda.h - what the kernel of the norm over all gradients is given. */
#ifndef OPS_GRADIENT_NORM_CUDA_H
#define OPS_GRADIENT_NORM_CUDA_H
#include <stdint.h>

enum { NORM_GROUP = 38 };

/* Partials that one launch joins; as many as the attributes of a Call hold. */
typedef struct NormGroup {
    int64_t p; /* as GradientNorm */
    int64_t n;
    const double *partial[NORM_GROUP];
} NormGroup;
#endif
