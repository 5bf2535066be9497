/* offload.h - activations that wait in host memory, from their forward pass to their backward pass.
 */
#ifndef PASSES_OFFLOAD_H
#define PASSES_OFFLOAD_H
#include "graph/pass.h"

typedef struct Offload {
    int64_t every; /* blocks k of a stack with (k + 1) % every == 0; at least 1 */
} Offload;
extern const PassDef pass_offload;

#endif
