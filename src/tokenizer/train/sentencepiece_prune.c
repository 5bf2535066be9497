/* sentencepiece_prune.c - the pieces of a unigram model that may go: those without which the units
 * are hardly less likely. */
#include "tokenizer/train/sentencepiece_learner.h"
#include <math.h>

#define NONE (NO_SEED - 1)
enum { SEEDS_PER_TASK = 1024 };

/* The best way to each place and the seed of its last step, NO_SEED for an unknown character. */
typedef struct Best {
    double score;
    uint32_t seed;
} Best;

/* The best way through `n` characters, which does not use the seed `without`, or NONE. */
static Best *best_way(const SpLearner *l, uint32_t at, uint32_t n, uint32_t without, Buffer *room)
{
    const uint32_t *longest = l->seeds.longest + at;
    const SpSeed *seed = l->seeds.item;
    Best *best = buffer_grow(room, (size_t)(n + 1) * sizeof *best);
    for (uint32_t i = 1; i <= n; i++) best[i] = (Best){ -INFINITY, NO_SEED };
    best[0] = (Best){ 0, NO_SEED };
    for (uint32_t i = 0; i < n; i++) {
        uint32_t len = 0;
        for (uint32_t k = longest[i]; k != NO_SEED; k = seed[k].parent) {
            len = seed[k].len;
            if (len > n - i || k == without) continue;
            double score = best[i].score + l->score[k];
            if (score > best[i + len].score) best[i + len] = (Best){ score, k };
        }
        double unknown = best[i].score + l->unknown_score;
        if (len != 1 && unknown > best[i + 1].score) best[i + 1] = (Best){ unknown, NO_SEED };
    }
    return best;
}

static uint32_t step_len(const SpLearner *l, uint32_t seed)
{
    return seed == NO_SEED ? 1 : l->seeds.item[seed].len;
}

static void use_task(void *arg, int64_t i, int thread)
{
    const SpLearner *l = arg;
    int64_t from, to;
    sp_learner_units(l, i, &from, &to);
    for (; from < to; from++) {
        const SpUnit *unit = &l->units->unit[from];
        const Best *best = best_way(l, unit->at, unit->len, NONE, &l->room[thread]);
        for (uint32_t at = unit->len; at; at -= step_len(l, best[at].seed)) {
            if (best[at].seed != NO_SEED) l->thread_sum[thread][best[at].seed] += unit->count;
        }
    }
}

#define KEEP INFINITY
#define DROP (-INFINITY)

/* How much less likely the units are without a piece, if its uses are written in the best other
 * way. */
static double loss_of(const SpLearner *l, uint32_t k, Buffer *room)
{
    const SpSeed *s = &l->seeds.item[k];
    double used = (double)l->sum[k];
    if (!l->sum[k]) return DROP;
    if (s->len == 1) return KEEP;
    const Best *best = best_way(l, s->at, s->len, k, room);
    if (best[s->len].score > l->score[k]) return DROP;
    int64_t n = 0;
    for (uint32_t at = s->len; at; at -= step_len(l, best[at].seed), n++) {
        if (best[at].seed == NO_SEED) return KEEP; /* nothing else can write it */
    }
    double log_all = log((double)l->total + used * (double)(n - 1)), otherwise = 0;
    for (uint32_t at = s->len; at; at -= step_len(l, best[at].seed))
        otherwise += log((double)l->sum[best[at].seed] + used) - log_all;
    return used * (log(used) - l->log_total - otherwise);
}

static void loss_task(void *arg, int64_t i, int thread)
{
    SpLearner *l = arg;
    int64_t from = i * SEEDS_PER_TASK, to = from + SEEDS_PER_TASK;
    for (; from < to && from < l->seeds.n; from++)
        l->loss[from] = loss_of(l, (uint32_t)from, &l->room[thread]);
}

void sp_learner_prune(SpLearner *l, int64_t most)
{
    Arena *work = arena_new();
    bool *stays = NEW_N(work, bool, l->seeds.n + 1);
    SpRanked *ranked = NEW_N(work, SpRanked, l->seeds.n + 1);
    int64_t n_kept = 0, n = 0;
    sp_learner_walk(l, use_task);
    l->total = 0;
    for (int64_t i = 0; i < l->seeds.n; i++) l->total += l->sum[i];
    l->log_total = l->total ? log((double)l->total) : 0;
    pool_run(l->pool, (l->seeds.n + SEEDS_PER_TASK - 1) / SEEDS_PER_TASK, loss_task, l);
    for (int64_t i = 0; i < l->seeds.n; i++) {
        stays[i] = l->loss[i] == KEEP;
        n_kept += stays[i];
        if (!stays[i] && l->loss[i] != DROP) ranked[n++] = (SpRanked){ l->loss[i], (uint32_t)i };
    }
    sp_rank(ranked, n);
    for (int64_t i = 0; i < n && n_kept < most; i++, n_kept++) stays[ranked[i].seed] = true;
    sp_learner_keep(l, stays);
    arena_free(work);
}
