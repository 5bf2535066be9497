/* sample.h - the next token from a model's logits. */
#ifndef TRAIN_SAMPLE_H
#define TRAIN_SAMPLE_H
#include "base/error.h"
#include "tensor/tensor.h"

/* How tokens are drawn; what is 0 does not count. They are applied in this order, as transformers
 * does. */
typedef struct Sampling {
    double repetition_penalty; /* logits of tokens that were there are divided by it, negative ones
                                  multiplied; 0 and 1: not */
    double temperature;        /* above 0: by softmax(logits / temperature); else the most likely */
    int64_t top_k;             /* only the most likely ones */
    double top_p;              /* only the fewest that are together at least so probable */
    double min_p;              /* only those at least so probable, relative to the most likely */
} Sampling;

/* A token drawn, a function of its arguments and of `key` (rng_key) alone; `before` are the tokens
 * so far. The first of equals is the most likely. Logits that are NaN, or all infinite, are an
 * error. */
Error *sample_token(const Tensor *logits, const Sampling *s, const uint32_t *before,
                    int64_t n_before, uint64_t key, uint32_t *out);
#endif
