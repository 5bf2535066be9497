/* batch_generator.h - batches out of nothing, for measurements. */
#ifndef DATA_BATCH_GENERATOR_H
#define DATA_BATCH_GENERATOR_H
#include "config/field.h"
#include "data/data.h"

typedef struct BatchGenerator {
    IntMap dims; /* names and sizes, outermost first */
    Dtype dtype;
    int64_t min, max; /* integers in [min, max); floats uniform between them */
    int64_t n_made;
} BatchGenerator;

/* The next batch: the items "input_ids" and "target_ids" of these sizes; integers as I32, as
 * loaders give them. Other numbers in every batch, the same in every run. */
void batch_generator_next(BatchGenerator *g, Batch *out);
#endif
