/* mix_period.c - a fair order of turns (R. Tijdeman, The chairman assignment problem, 1980).
 *
 * A source may take a turn once it is 1/(2n - 2) of a turn after its share, and must before it is
 * 1 - 1/(2n - 2) after; of those that may, the one that must soonest does. Then nobody is ever
 * further off than that, which is the best there is. */
#include "data/mix_period.h"

static int64_t common_divisor(int64_t x, int64_t y)
{
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

static Error *reduce(Arena *a, const int64_t *weight, int64_t n, MixPeriod *out)
{
    int64_t divisor = 0, *share = NEW_N(a, int64_t, n);
    for (int64_t k = 0; k < n; k++) divisor = common_divisor(divisor, weight[k]);
    if (!divisor) return error_new("all weights are 0");
    *out = (MixPeriod){ .n_sources = n, .share = share };
    for (int64_t k = 0; k < n; k++) {
        share[k] = weight[k] / divisor;
        if (share[k] > MOST_MIX_PERIOD || (out->n += share[k]) > MOST_MIX_PERIOD)
            return error_new("weights without a common divisor must sum to at most %d",
                             MOST_MIX_PERIOD);
    }
    return NULL;
}

/* The source to take turn t; given[k] turns were k's. All fractions have been multiplied out. */
static int64_t choose(const MixPeriod *p, const int64_t *given, int64_t t)
{
    const int64_t c = p->n_sources > 1 ? 2 * p->n_sources - 2 : 1;
    int64_t best = -1, best_slack = 0;
    for (int64_t k = 0; k < p->n_sources; k++) {
        int64_t behind = p->share[k] * (t + 1) - p->n * given[k]; /* times n */
        if (!p->share[k] || c * behind < p->n) continue;
        int64_t slack = (c - 1) * p->n - c * behind; /* until it must, times n c share */
        bool is_sooner =
            best < 0 || (__int128)slack * p->share[best] < (__int128)best_slack * p->share[k];
        if (!is_sooner) continue;
        best = k;
        best_slack = slack;
    }
    CHECK(best >= 0);
    return best;
}

Error *mix_period_make(Arena *a, const int64_t *weight, int64_t n, MixPeriod *out)
{
    TRY(reduce(a, weight, n, out));
    int64_t *given = NEW_N(a, int64_t, n);
    out->source = NEW_N(a, int32_t, out->n);
    out->rank = NEW_N(a, int32_t, out->n);
    for (int64_t t = 0; t < out->n; t++) {
        int64_t k = choose(out, given, t);
        out->source[t] = (int32_t)k;
        out->rank[t] = (int32_t)given[k]++;
    }
    return NULL;
}

int64_t mix_period_count(const MixPeriod *p, int64_t turns, int64_t k)
{
    int64_t whole = turns / p->n * p->share[k];
    for (int64_t t = turns % p->n - 1; t >= 0; t--)
        if (p->source[t] == k) return whole + p->rank[t] + 1;
    return whole;
}
