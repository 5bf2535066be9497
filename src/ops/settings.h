/* settings.h - attributes of ops that both their definition and their tuned kernels read. */
#ifndef OPS_SETTINGS_H
#define OPS_SETTINGS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct Scale {
    double factor;
} Scale;

typedef struct Norm {
    double eps;
    bool weight, bias; /* which of the two are inputs */
} Norm;

typedef struct Rope {
    bool inverse;
} Rope;

/* 1, 2, or 0 for the maximum norm. */
typedef struct GradientNorm {
    int64_t p;
} GradientNorm;

typedef struct Dropout {
    double p;
    int64_t salt;
} Dropout;

#endif
