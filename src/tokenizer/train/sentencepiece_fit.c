/* sentencepiece_fit.c - the scores of the pieces of a unigram model, by expectation maximization.
 *
 * All ways to write a unit are walked by the seeds that start at each place, from the longest to
 * its parents, so no text is looked up. Expected counts are summed as integers, so that the sums do
 * not depend on the order of threads: the sum over all pieces is at most the number of characters,
 * which gives the scale. */
#include "tokenizer/train/sentencepiece_learner.h"
#include <math.h>

/* Probabilities of ways so far are kept from vanishing: below TINY they are multiplied by HUGE. */
#define TINY 0x1p-400
#define HUGE_FACTOR 0x1p400
static const double LEAST_EXPECTED = 0.5;

/* Arrays over the places of a unit, one more than its characters. */
typedef struct Places {
    double *ahead; /* of all ways to the place, times HUGE_FACTOR^grown */
    double
        *behind; /* of all ways from it to the end, over that of the whole; in the same measure */
    int32_t *grown;
} Places;

static Places places(Buffer *room, uint32_t n)
{
    double *p = buffer_grow(room, (size_t)(n + 1) * (2 * sizeof(double) + sizeof(int32_t)));
    return (Places){ p, p + n + 1, (int32_t *)(p + 2 * (n + 1)) };
}

/* Keeps what is reached from place i on in range. */
static int32_t grow(double *ahead, uint32_t i, uint32_t last, int32_t grown)
{
    for (; ahead[i] < TINY; grown++) {
        for (uint32_t k = i; k <= last; k++) ahead[k] *= HUGE_FACTOR;
    }
    return grown;
}

static void go_ahead(const SpLearner *l, const SpUnit *unit, Places p)
{
    const uint32_t *longest = l->seeds.longest + unit->at;
    const SpSeed *seed = l->seeds.item;
    double unknown = exp(l->unknown_score);
    uint32_t n = unit->len, reach = (uint32_t)l->settings->sentencepiece.max_sentencepiece_length;
    int32_t grown = 0;
    p.ahead[0] = 1;
    for (uint32_t i = 1; i <= n; i++) p.ahead[i] = 0;
    for (uint32_t i = 0; i < n; i++) {
        grown = grow(p.ahead, i, n - i < reach ? n : i + reach, grown);
        p.grown[i] = grown;
        uint32_t len = 0;
        for (uint32_t k = longest[i]; k != NO_SEED; k = seed[k].parent) {
            len = seed[k].len;
            p.ahead[i + len] += p.ahead[i] * l->probability[k];
        }
        if (len != 1) p.ahead[i + 1] += p.ahead[i] * unknown;
    }
    p.grown[n] = grow(p.ahead, n, n, grown);
}

/* The share of a step from i to k, but for the ways to i. */
static double share(Places p, uint32_t i, uint32_t k, double probability)
{
    double x = probability * p.behind[k];
    for (int32_t grown = p.grown[i]; grown < p.grown[k]; grown++) x *= HUGE_FACTOR;
    return x;
}

static void expect_unit(const SpLearner *l, const SpUnit *unit, Buffer *room, int64_t *sum)
{
    const uint32_t *longest = l->seeds.longest + unit->at;
    const SpSeed *seed = l->seeds.item;
    uint32_t n = unit->len;
    Places p = places(room, n);
    go_ahead(l, unit, p);
    double unknown = exp(l->unknown_score), weight = (double)unit->count * l->scale;
    p.behind[n] = 1 / p.ahead[n];
    for (uint32_t i = n; i-- > 0;) {
        double all = 0;
        uint32_t len = 0;
        for (uint32_t k = longest[i]; k != NO_SEED; k = seed[k].parent) {
            len = seed[k].len;
            double x = share(p, i, i + len, l->probability[k]);
            sum[k] += (int64_t)(x * p.ahead[i] * weight + 0.5);
            all += x;
        }
        if (len != 1) all += share(p, i, i + 1, unknown);
        p.behind[i] = all;
    }
}

static void expect_task(void *arg, int64_t i, int thread)
{
    const SpLearner *l = arg;
    int64_t from, to;
    sp_learner_units(l, i, &from, &to);
    for (; from < to; from++)
        expect_unit(l, &l->units->unit[from], &l->room[thread], l->thread_sum[thread]);
}

static double digamma(double x)
{
    double result = 0;
    while (x < 7) result -= 1 / x++;
    x -= 0.5;
    double y = 1 / (x * x), z = y * y;
    return result + log(x) + y / 24 - 7 * z / 960 + 31 * z * y / 8064 - 127 * z * z / 30720;
}

/* The digamma function favours few pieces: a Dirichlet prior. */
void sp_learner_fit(SpLearner *l)
{
    Arena *work = arena_new();
    bool *stays = NEW_N(work, bool, l->seeds.n + 1);
    double all = 0;
    sp_learner_walk(l, expect_task);
    for (int64_t i = 0; i < l->seeds.n; i++) {
        double expected = (double)l->sum[i] / l->scale;
        stays[i] = expected >= LEAST_EXPECTED;
        if (!stays[i]) continue;
        all += expected;
        l->score[i] = digamma(expected);
    }
    double log_all = digamma(all);
    for (int64_t i = 0; i < l->seeds.n; i++) l->score[i] -= log_all;
    sp_learner_keep(l, stays);
    arena_free(work);
}
