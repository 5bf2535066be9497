/* float8.h - products of linear layers, and those of their gradients, with factors in eight bits:
 * E4M3, and E5M2 for gradients of results unless scales are by rows (Micikevicius et al. 2022). */
#ifndef PASSES_FLOAT8_H
#define PASSES_FLOAT8_H
#include "graph/pass.h"

typedef enum Float8Recipe {
    FLOAT8_TENSORWISE, /* one scale for a factor */
    FLOAT8_ROWWISE,    /* one for each row that is summed over, a power of two */
} Float8Recipe;

typedef struct Float8 {
    Float8Recipe recipe;
    const char *const *excluded;       /* patterns of weights, see models/parameter_pattern.h */
    int64_t first_layers, last_layers; /* of each stack, that stay as they are */
} Float8;
extern const PassDef pass_float8;
#endif
