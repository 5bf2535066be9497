/* sample.c - greedy choice, and drawing by the inverse of the distribution function from those
 * tokens that the settings leave. */
#include "train/sample.h"
#include "base/arena.h"
#include "base/rng.h"
#include <math.h>
#include <stdlib.h>

/* The logits of one token, in double. */
typedef struct Choice {
    double *logit;  /* -inf: left out */
    double *weight; /* proportional to the probability */
    int64_t n, top;
} Choice;

static Error *find_top(Choice *c)
{
    double top = -INFINITY;
    c->top = -1;
    for (int64_t i = 0; i < c->n; i++) {
        const double x = c->logit[i];
        if (isnan(x) || x == INFINITY)
            return error_new("the model's logit of token %lld is %g", (long long)i, x);
        if (x > top) {
            top = x;
            c->top = i;
        }
    }
    return c->top < 0 ? error_new("the model's logits are all -inf") : NULL;
}

/* Each token once, however often it was there. */
static void penalize(Arena *a, Choice *c, double penalty, const uint32_t *before, int64_t n)
{
    bool *done = NEW_N(a, bool, c->n);
    for (int64_t i = 0; i < n; i++) {
        if (before[i] >= c->n || done[before[i]]) continue;
        double *x = &c->logit[before[i]];
        *x = *x > 0 ? *x / penalty : *x * penalty;
        done[before[i]] = true;
    }
}

typedef struct Ranked {
    double weight;
    int64_t id;
} Ranked;

static int by_weight(const void *x, const void *y)
{
    const Ranked *a = x, *b = y;
    if (a->weight != b->weight) return a->weight < b->weight ? 1 : -1;
    return a->id < b->id ? -1 : 1;
}

/* Leaves the top_k heaviest, and of those the fewest that have the share top_p. */
static void keep_heaviest(Arena *a, Choice *c, int64_t top_k, double top_p)
{
    Ranked *r = NEW_N(a, Ranked, c->n);
    double sum = 0, seen = 0;
    for (int64_t i = 0; i < c->n; i++) r[i] = (Ranked){ c->weight[i], i };
    qsort(r, (size_t)c->n, sizeof *r, by_weight);
    int64_t kept = top_k > 0 && top_k < c->n ? top_k : c->n;
    for (int64_t i = 0; i < kept; i++) sum += r[i].weight;
    for (int64_t i = 0; top_p > 0 && i < kept; i++) {
        seen += r[i].weight;
        if (seen >= top_p * sum) kept = i + 1;
    }
    for (int64_t i = kept; i < c->n; i++) c->weight[r[i].id] = 0;
}

static int64_t draw(Arena *a, Choice *c, const Sampling *s, uint64_t key)
{
    double sum = 0, seen = 0;
    c->weight = NEW_N(a, double, c->n);
    for (int64_t i = 0; i < c->n; i++)
        c->weight[i] = exp((c->logit[i] - c->logit[c->top]) / s->temperature);
    if (s->top_k > 0 || (s->top_p > 0 && s->top_p < 1)) keep_heaviest(a, c, s->top_k, s->top_p);
    for (int64_t i = 0; i < c->n; i++)
        if (c->weight[i] < s->min_p) c->weight[i] = 0; /* the most likely has weight 1 */
    for (int64_t i = 0; i < c->n; i++) sum += c->weight[i];
    const double at = rng_uniform(key, 0) * sum;
    for (int64_t i = 0; i < c->n; i++) {
        seen += c->weight[i];
        if (seen > at) return i;
    }
    return c->top; /* rounding: `at` lies at the end of the last piece */
}

static Error *choose(Arena *a, const Tensor *logits, const Sampling *s, const uint32_t *before,
                     int64_t n_before, uint64_t key, uint32_t *out)
{
    Choice c = { .n = tensor_count(logits) };
    c.logit = NEW_N(a, double, c.n);
    for (int64_t i = 0; i < c.n; i++) c.logit[i] = dtype_get(logits->dtype, logits->data, i);
    const double penalty = s->repetition_penalty;
    if (penalty > 0 && penalty != 1) penalize(a, &c, penalty, before, n_before);
    TRY(find_top(&c));
    *out = (uint32_t)(s->temperature > 0 ? draw(a, &c, s, key) : c.top);
    return NULL;
}

Error *sample_token(const Tensor *logits, const Sampling *s, const uint32_t *before,
                    int64_t n_before, uint64_t key, uint32_t *out)
{
    Arena *a = arena_new();
    Error *e = choose(a, logits, s, before, n_before, key, out);
    arena_free(a);
    return e;
}
