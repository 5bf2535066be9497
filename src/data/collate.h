/* collate.h - stacking samples, for collators. */
#ifndef DATA_COLLATE_H
#define DATA_COLLATE_H
#include "data/data.h"

/* Stacks item `from_name` of n samples into a batch item `to_name` with a new first dimension. Of
 * arrays of one dimension, the elements [skip, size - drop) are taken. U8 and U16 become I32.
 * Samples that lack the item or differ in shape are an error. */
Error *collate_stack(const Sample *sample, int64_t n, const char *from_name, const char *to_name,
                     int64_t skip, int64_t drop, Batch *out);

/* Stacks every item under its own name; what a loader does without a collator. */
extern const Collator collate_all;
#endif
