/* sample.c - greedy choice, and drawing by the inverse of the distribution function. */
#include "train/sample.h"
#include "base/rng.h"
#include <math.h>

static Error *find_top(const Tensor *logits, int64_t *out)
{
    double top = -INFINITY;
    int64_t at = -1;
    for (int64_t i = 0; i < tensor_count(logits); i++) {
        double x = dtype_get(logits->dtype, logits->data, i);
        if (isnan(x) || x == INFINITY)
            return error_new("the model's logit of token %lld is %g", (long long)i, x);
        if (x > top) {
            top = x;
            at = i;
        }
    }
    if (at < 0) return error_new("the model's logits are all -inf");
    *out = at;
    return NULL;
}

/* Proportional to the probability: exp((logit - top) / temperature). */
static double weight(const Tensor *logits, int64_t i, double top, double temperature)
{
    return exp((dtype_get(logits->dtype, logits->data, i) - top) / temperature);
}

static int64_t draw(const Tensor *logits, int64_t top_at, double temperature, uint64_t key)
{
    double top = dtype_get(logits->dtype, logits->data, top_at), sum = 0, seen = 0;
    int64_t n = tensor_count(logits);
    for (int64_t i = 0; i < n; i++) sum += weight(logits, i, top, temperature);
    double at = rng_uniform(key, 0) * sum;
    for (int64_t i = 0; i < n; i++) {
        seen += weight(logits, i, top, temperature);
        if (seen > at) return i;
    }
    return top_at; /* rounding: `at` lies at the end of the last piece */
}

Error *sample_token(const Tensor *logits, double temperature, uint64_t key, uint32_t *out)
{
    int64_t at = 0;
    TRY(find_top(logits, &at));
    *out = (uint32_t)(temperature > 0 ? draw(logits, at, temperature, key) : at);
    return NULL;
}
