/* adapters.h - low-rank adapters (LoRA, Hu et al. 2021): y = W x + alpha/rank B A x, where A and B
 * are trained and W is not. */
#ifndef PASSES_ADAPTERS_H
#define PASSES_ADAPTERS_H
#include "graph/pass.h"

typedef struct Adapters {
    int64_t rank;
    double alpha;
    const char *const *parameters;   /* patterns of weights that get adapters */
    const char *const *also_trained; /* patterns of what is trained besides */
} Adapters;
extern const PassDef pass_adapters;
#endif
