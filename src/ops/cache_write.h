/* cache_write.h - keys and values of earlier tokens. */
#ifndef OPS_CACHE_WRITE_H
#define OPS_CACHE_WRITE_H
#include "graph/op.h"

/* Writes x[b s ...] into cache[b t ...] at rows RunTime.position + i; returns the cache. */
Value *cache_write(Graph *g, Value *cache, Value *x);
#endif
