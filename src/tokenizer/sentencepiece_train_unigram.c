/* sentencepiece_train_unigram.c - SentencePiece's unigram model (Kudo 2018): from many seeds, those
 * pieces stay without which the units would be least likely.
 *
 * In turns, the probabilities of the pieces are fitted to the units by expectation maximization,
 * and the pieces whose loss costs least are dropped. All ways to write a unit are walked by the
 * seeds that start at each place, from the longest to its parents, so no text is looked up.
 *
 * Expected counts are summed as integers, so that the sums do not depend on the order of threads:
 * the sum over all pieces is at most the number of characters, which gives the scale. Memory: 8
 * bytes per seed and thread, and 32 per seed. */
#include "tokenizer/sentencepiece_seed.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Probabilities of ways so far are kept from vanishing: below TINY they are multiplied by HUGE. */
#define TINY 0x1p-400
#define HUGE_FACTOR 0x1p400
#define NONE (NO_SEED - 1)
static const double UNKNOWN_PENALTY = 10, LEAST_EXPECTED = 0.5;
enum { UNITS_PER_TASK = 256, SEEDS_PER_TASK = 1024 };

typedef struct Learner {
    const TrainSettings *settings;
    const SpUnits *units;
    Pool *pool;
    Arena *arena;
    SpSeeds seeds;
    double *score, *probability; /* by seed: the logarithm of the latter */
    double unknown_score;        /* of a character that is no seed any more */
    double scale;                /* of counts */
    int64_t *sum;                /* by seed: counts of the last walk */
    int64_t **thread_sum;
    Buffer *room; /* by thread */
    double *loss; /* by seed: KEEP, DROP, or what dropping it costs */
    double log_total;
    int64_t total;
} Learner;

static double min_score(const Learner *l)
{
    double least = INFINITY;
    for (int64_t i = 0; i < l->seeds.n; i++) least = fmin(least, l->score[i]);
    return least;
}

static void set_probabilities(Learner *l)
{
    for (int64_t i = 0; i < l->seeds.n; i++) l->probability[i] = exp(l->score[i]);
    l->unknown_score = min_score(l) - UNKNOWN_PENALTY;
}

/* ---- expectations ---- */

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

static void go_ahead(const Learner *l, const SpUnit *unit, Places p)
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

static void expect_unit(const Learner *l, const SpUnit *unit, Buffer *room, int64_t *sum)
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

static void task_units(const Learner *l, int64_t i, int64_t *from, int64_t *to)
{
    *from = i * UNITS_PER_TASK;
    *to = *from + UNITS_PER_TASK < l->units->n_units ? *from + UNITS_PER_TASK : l->units->n_units;
}

static void expect_task(void *arg, int64_t i, int thread)
{
    const Learner *l = arg;
    int64_t from, to;
    task_units(l, i, &from, &to);
    for (; from < to; from++)
        expect_unit(l, &l->units->unit[from], &l->room[thread], l->thread_sum[thread]);
}

/* Sums over all units, whichever thread walks them. */
static void walk_units(Learner *l, void (*task)(void *arg, int64_t i, int thread))
{
    size_t bytes = (size_t)l->seeds.n * sizeof(int64_t);
    for (int t = 0; t < pool_size(l->pool); t++) memset(l->thread_sum[t], 0, bytes);
    pool_run(l->pool, (l->units->n_units + UNITS_PER_TASK - 1) / UNITS_PER_TASK, task, l);
    memset(l->sum, 0, bytes);
    for (int t = 0; t < pool_size(l->pool); t++) {
        for (int64_t i = 0; i < l->seeds.n; i++) l->sum[i] += l->thread_sum[t][i];
    }
}

/* ---- maximization ---- */

static double digamma(double x)
{
    double result = 0;
    while (x < 7) result -= 1 / x++;
    x -= 0.5;
    double y = 1 / (x * x), z = y * y;
    return result + log(x) + y / 24 - 7 * z / 960 + 31 * z * y / 8064 - 127 * z * z / 30720;
}

/* Drops seeds and moves the scores of the others along. */
static void keep(Learner *l, const bool *stays)
{
    Arena *work = arena_new();
    uint32_t *kept = NEW_N(work, uint32_t, l->seeds.n + 1);
    sp_seeds_keep(&l->seeds, l->units->n_text, stays, kept);
    for (int64_t i = 0; i < l->seeds.n; i++) l->score[i] = l->score[kept[i]];
    arena_free(work);
}

/* The digamma function favours few pieces: a Dirichlet prior. */
static void fit(Learner *l)
{
    Arena *work = arena_new();
    bool *stays = NEW_N(work, bool, l->seeds.n + 1);
    double all = 0;
    walk_units(l, expect_task);
    for (int64_t i = 0; i < l->seeds.n; i++) {
        double expected = (double)l->sum[i] / l->scale;
        stays[i] = expected >= LEAST_EXPECTED;
        if (!stays[i]) continue;
        all += expected;
        l->score[i] = digamma(expected);
    }
    double log_all = digamma(all);
    for (int64_t i = 0; i < l->seeds.n; i++) l->score[i] -= log_all;
    keep(l, stays);
    set_probabilities(l);
    arena_free(work);
}

/* ---- pruning ---- */

/* The best way to each place and the seed of its last step, NO_SEED for an unknown character. */
typedef struct Best {
    double score;
    uint32_t seed;
} Best;

/* The best way through `n` characters, which does not use the seed `without`, or NONE. */
static Best *best_way(const Learner *l, uint32_t at, uint32_t n, uint32_t without, Buffer *room)
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

static uint32_t step_len(const Learner *l, uint32_t seed)
{
    return seed == NO_SEED ? 1 : l->seeds.item[seed].len;
}

static void use_task(void *arg, int64_t i, int thread)
{
    const Learner *l = arg;
    int64_t from, to;
    task_units(l, i, &from, &to);
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
static double loss_of(const Learner *l, uint32_t k, Buffer *room)
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
    Learner *l = arg;
    int64_t from = i * SEEDS_PER_TASK, to = from + SEEDS_PER_TASK;
    for (; from < to && from < l->seeds.n; from++)
        l->loss[from] = loss_of(l, (uint32_t)from, &l->room[thread]);
}

/* Keeps at most so many pieces, but all that nothing else can write. */
static void prune(Learner *l, int64_t most)
{
    Arena *work = arena_new();
    bool *stays = NEW_N(work, bool, l->seeds.n + 1);
    SpRanked *ranked = NEW_N(work, SpRanked, l->seeds.n + 1);
    int64_t n_kept = 0, n = 0;
    walk_units(l, use_task);
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
    keep(l, stays);
    set_probabilities(l);
    arena_free(work);
}

/* ---- the whole ---- */

/* Seeds start with their share of count times length. */
static void start(Learner *l)
{
    SpSeeds *s = &l->seeds;
    double all = 0, n_chars = 1;
    for (int64_t i = 0; i < s->n; i++) all += (double)s->item[i].count * s->item[i].len;
    l->score = NEW_N(l->arena, double, s->n + 1);
    l->probability = NEW_N(l->arena, double, s->n + 1);
    l->loss = NEW_N(l->arena, double, s->n + 1);
    l->sum = NEW_N(l->arena, int64_t, s->n + 1);
    for (int64_t i = 0; i < s->n; i++)
        l->score[i] = log((double)s->item[i].count * s->item[i].len) - log(all);
    for (int64_t i = 0; i < l->units->n_units; i++)
        n_chars += (double)l->units->unit[i].len * (double)l->units->unit[i].count;
    l->scale = exp2(fmin(32, floor(61 - log2(n_chars))));
    int n_threads = pool_size(l->pool);
    l->thread_sum = NEW_N(l->arena, int64_t *, n_threads);
    l->room = NEW_N(l->arena, Buffer, n_threads);
    for (int t = 0; t < n_threads; t++) l->thread_sum[t] = NEW_N(l->arena, int64_t, s->n + 1);
    set_probabilities(l);
}

static Error *improve(Learner *l)
{
    const SpTrainSettings *s = &l->settings->sentencepiece;
    int64_t desired = (int64_t)((double)l->settings->vocab_size * 1.1), first = l->seeds.n;
    for (int64_t round = 0;; round++) {
        for (int64_t i = 0; i < s->num_sub_iterations; i++) {
            fit(l);
            double gone = log((double)first / (double)l->seeds.n);
            double goal = log((double)first / (double)desired);
            TRY(train_step(l->settings, "fitting pieces", goal > 0 ? (int64_t)(1000 * gone) : 0,
                           goal > 0 ? (int64_t)(1000 * goal) + 1 : 1));
        }
        int64_t n = l->seeds.n, most = (int64_t)(s->shrinking_factor * (double)n);
        if (n <= desired) return NULL;
        prune(l, most > desired ? most : desired);
        if (l->seeds.n == n) return NULL; /* nothing else can be dropped */
    }
}

static int by_score(const void *x, const void *y)
{
    const SpPiece *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    size_t n = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = memcmp(a->name.ptr, b->name.ptr, n);
    return order ? order : (a->name.len > b->name.len) - (a->name.len < b->name.len);
}

/* All characters, then the pieces with the highest scores. A character that was dropped gets a
 * score near the lowest. */
static void take_pieces(const Learner *l, Arena *a, int64_t n_wanted, SpPieces *out)
{
    const SpUnits *u = l->units;
    Arena *work = arena_new();
    double *of_char = NEW_N(work, double, u->n_chars + 1), lowest = min_score(l), more = 0;
    SpRanked *ranked = NEW_N(work, SpRanked, l->seeds.n + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < l->seeds.n; i++) {
        const SpSeed *s = &l->seeds.item[i];
        if (s->len == 1)
            of_char[u->text[s->at]] = l->score[i];
        else
            ranked[n++] = (SpRanked){ l->score[i], (uint32_t)i };
    }
    for (int64_t i = 0; i < u->n_chars; i++) {
        uint32_t number = u->ch[i].number;
        double score = of_char[number];
        if (score == 0) {
            score = lowest + more;
            more += 0.0001;
        }
        sp_pieces_add(a, out, sp_spell(a, u, &number, 1), score);
    }
    sp_rank(ranked, n);
    for (int64_t i = 0; i < n && out->n < n_wanted; i++) {
        const SpSeed *s = &l->seeds.item[ranked[i].seed];
        sp_pieces_add(a, out, sp_spell(a, u, u->text + s->at, s->len), ranked[i].score);
    }
    if (out->n) qsort(out->item, (size_t)out->n, sizeof *out->item, by_score);
    arena_free(work);
}

Error *sp_learn_unigram(Arena *a, const TrainSettings *s, const SpUnits *u, int64_t n_wanted,
                        SpPieces *out)
{
    Learner l = { .settings = s, .units = u, .arena = arena_new() };
    l.pool = pool_new(s->n_threads);
    Error *e =
        sp_seeds_find(l.arena, s, u, s->sentencepiece.seed_sentencepiece_size, l.pool, &l.seeds);
    if (!e) {
        start(&l);
        e = improve(&l);
        for (int t = 0; t < pool_size(l.pool); t++) buffer_free(&l.room[t]);
    }
    if (!e) take_pieces(&l, a, n_wanted, out);
    pool_free(l.pool);
    arena_free(l.arena);
    return e;
}
