/* sampler.h - which sample of a dataset this rank sees when. */
#ifndef DATA_SAMPLER_H
#define DATA_SAMPLER_H
#include "data/data.h"
#include "data/order.h"

/* All n samples in order, on every rank. */
Sampler *sequential_sampler_new(Arena *a, int64_t n);

/* An error if samples whose order has a meaning are to be shuffled. */
Error *sampler_check_shuffle(const Dataset *d, bool shuffle);

typedef struct DistributedOrder {
    int64_t n; /* samples of the dataset */
    int64_t rank, num_replicas;
    OrderKind kind;
    int64_t seed;                    /* of a random permutation; epoch included */
    bool drop_last;                  /* false: filled up from the beginning of the whole order */
    int64_t skip_num_global_samples; /* already seen, on all ranks together */
    bool is_shared;                  /* other processes of this machine have the same order */
} DistributedOrder;

/* The order of all samples, less the skipped ones, dealt out in turn: rank r of R takes r, r + R,
 * ... The whole order does not depend on R, so a run may continue on another number of ranks. */
Error *distributed_sampler_new(Arena *a, const DistributedOrder *order, Sampler **out);
#endif
