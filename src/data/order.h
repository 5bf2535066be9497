/* order.h - a fixed order of n samples: rising, torch's random permutation, made when first asked,
 * or a random permutation that is computed place by place. */
#ifndef DATA_ORDER_H
#define DATA_ORDER_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    ORDER_RISING,
    ORDER_TORCH,  /* torch.randperm: 4 bytes per sample once it was asked, 8 from 2^32 samples on */
    ORDER_FEISTEL /* no memory, no time to start */
} OrderKind;

/* The random kinds by name: "torch", "feistel"; ends with NULL. */
extern const char *const shuffle_methods[];

/* What the settings `shuffle` and `shuffle_method` mean together. */
OrderKind order_kind(bool shuffle, int shuffle_method);

/* Place `place` of one of the random permutations of [0, n), by its key: no memory, no time to
 * start. */
int64_t feistel_at(int64_t n, uint64_t key, int64_t place);

typedef struct Order Order;

/* Lives as long as the arena. is_shared: other processes of the machine have the same order, so
 * one of torch's that is long lies in memory once for all; where that cannot be, a warning says why
 * and each has its own. */
Order *order_new(Arena *a, int64_t n, OrderKind kind, uint64_t seed, bool is_shared);
/* The sample at a place of [0, n). Threads may ask at once. */
int64_t order_at(Order *o, int64_t place);
#endif
