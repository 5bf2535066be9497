/* sample.h - the next token from a model's logits. */
#ifndef TRAIN_SAMPLE_H
#define TRAIN_SAMPLE_H
#include "base/error.h"
#include "tensor/tensor.h"

/* With a temperature above 0 a token drawn by softmax(logits / temperature), a function of the
 * logits and `key` (rng_key) alone; else the most likely token, the first of equals. Logits that
 * are NaN, or all infinite, are an error. */
Error *sample_token(const Tensor *logits, double temperature, uint64_t key, uint32_t *out);
#endif
