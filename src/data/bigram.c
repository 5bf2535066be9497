/* bigram.c - counts pairs of neighbouring tokens and predicts others with them.
 *
 * Kneser and Ney (1995), interpolated: p(w|v) = max(c(vw) - D, 0) / c(v) + D n(v.) / c(v) * q(w).
 * c counts in the text, n(v.) are the different successors of v, and q(w) grows with the number of
 * different predecessors of w, not with its frequency: "Francisco" is frequent, but only after
 * "San". D = n1 / (n1 + 2 n2) from the numbers of pairs seen once and twice. Among the known
 * smoothings of bigrams this is the strongest, so it is no straw man. */
#include "data/bigram.h"
#include "base/arena.h"
#include <math.h>
#include <stdlib.h>

typedef struct Bigrams {
    uint64_t *pair; /* previous << 32 | next, rising, each once */
    int64_t *count, n;
    int64_t *seen;         /* of a token as previous: c(v) */
    int64_t *successors;   /* different ones: n(v.) */
    int64_t *predecessors; /* different ones: n(.w) */
    int64_t vocab_size;
    double discount;
} Bigrams;

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static uint64_t pair_at(const Pbin *p, int64_t i)
{
    return (uint64_t)pbin_token(p, i - 1) << 32 | pbin_token(p, i);
}

static int64_t highest_id(const Pbin *p)
{
    int64_t highest = 0;
    for (int64_t i = 0; i < p->n_tokens; i++)
        if (pbin_token(p, i) > highest) highest = pbin_token(p, i);
    return highest;
}

/* Sorts all pairs and folds equal ones into counts. */
static void count_pairs(Arena *a, const Pbin *p, Bigrams *b)
{
    int64_t n = p->n_tokens - 1;
    b->pair = NEW_N(a, uint64_t, n);
    b->count = NEW_N(a, int64_t, n);
    for (int64_t i = 0; i < n; i++) b->pair[i] = pair_at(p, i + 1);
    qsort(b->pair, (size_t)n, sizeof *b->pair, by_value);
    for (int64_t i = 0; i < n; i++) {
        if (b->n == 0 || b->pair[b->n - 1] != b->pair[i]) b->pair[b->n++] = b->pair[i];
        b->count[b->n - 1]++;
    }
}

static void count_neighbours(Arena *a, Bigrams *b)
{
    int64_t once = 0, twice = 0;
    b->seen = NEW_N(a, int64_t, b->vocab_size);
    b->successors = NEW_N(a, int64_t, b->vocab_size);
    b->predecessors = NEW_N(a, int64_t, b->vocab_size);
    for (int64_t i = 0; i < b->n; i++) {
        uint64_t previous = b->pair[i] >> 32, next = b->pair[i] & 0xFFFFFFFFu;
        b->seen[previous] += b->count[i];
        b->successors[previous]++;
        b->predecessors[next]++;
        once += b->count[i] == 1;
        twice += b->count[i] == 2;
    }
    /* texts so small or so regular that the estimate fails get the middle */
    b->discount = once && twice ? (double)once / (double)(once + 2 * twice) : 0.5;
}

static int64_t count_of(const Bigrams *b, uint64_t pair)
{
    const uint64_t *at = bsearch(&pair, b->pair, (size_t)b->n, sizeof pair, by_value);
    return at ? b->count[at - b->pair] : 0;
}

/* A token without predecessors counts as half of one, so that nothing is impossible. */
static double probability(const Bigrams *b, uint64_t pair)
{
    uint64_t previous = pair >> 32, next = pair & 0xFFFFFFFFu;
    double q = ((double)b->predecessors[next] + 0.5) / ((double)b->n + 0.5 * (double)b->vocab_size);
    if (!b->seen[previous]) return q;
    double rest = b->discount * (double)b->successors[previous];
    return (fmax((double)count_of(b, pair) - b->discount, 0) + rest * q) /
           (double)b->seen[previous];
}

static Error *check_length(const Pbin *p)
{
    if (p->n_tokens >= 2) return NULL;
    return error_new("%s holds %lld tokens; pairs of neighbours need at least 2", p->path,
                     (long long)p->n_tokens);
}

Error *bigram_loss(const Pbin *train, const Pbin *validation, BigramLoss *out)
{
    TRY(error_join(check_length(train), check_length(validation)));
    int64_t highest = highest_id(train), other = highest_id(validation);
    Arena *a = arena_new();
    Bigrams b = { .vocab_size = 1 + (other > highest ? other : highest) };
    count_pairs(a, train, &b);
    count_neighbours(a, &b);
    double sum = 0;
    for (int64_t i = 1; i < validation->n_tokens; i++)
        sum -= log(probability(&b, pair_at(validation, i)));
    *out = (BigramLoss){ .nats = sum / (double)(validation->n_tokens - 1),
                         .n_predicted = validation->n_tokens - 1,
                         .n_different = b.n,
                         .vocab_size = b.vocab_size };
    arena_free(a);
    return NULL;
}
