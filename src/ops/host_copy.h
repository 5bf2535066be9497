/* host_copy.h - values on their way between the device's memory and the host's. */
#ifndef OPS_HOST_COPY_H
#define OPS_HOST_COPY_H
#include "graph/graph.h"

/* The same value in host memory, or in the device's again. */
Value *host_copy(Graph *g, Value *x, bool to_host);

#endif
