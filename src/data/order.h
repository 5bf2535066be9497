/* order.h - a fixed order of n samples: rising, or torch's random permutation, made when first
 * asked. */
#ifndef DATA_ORDER_H
#define DATA_ORDER_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Order Order;

/* Lives as long as the arena; 4 bytes per sample once it was asked (8 from 2^32 samples on), and
 * none when not shuffled. */
Order *order_new(Arena *a, int64_t n, bool shuffle, uint64_t seed);
/* The sample at a place of [0, n). One thread at a time. */
int64_t order_at(Order *o, int64_t place);
#endif
