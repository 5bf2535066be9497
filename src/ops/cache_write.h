/* cache_write.h - keys and values of earlier tokens. */
#ifndef OPS_CACHE_WRITE_H
#define OPS_CACHE_WRITE_H
#include "graph/op.h"

/* Writes x[b s ...] into cache[b t ...] at rows RunTime.position + i; returns the cache. */
Value *cache_write(Graph *g, Value *cache, Value *x);
/* Likewise windows of so many tokens, from row RunTime.position / rate on; what has no row there is
 * left out. */
Value *cache_write_windows(Graph *g, Value *cache, Value *x, int64_t rate);
/* Attributes of "cache_write_windows". */
typedef struct CacheWindows {
    int64_t rate;
} CacheWindows;
#endif
