/* sentencepiece_unigram.c - SentencePiece's unigram model (Kudo 2018): from many seeds, those
 * pieces stay without which the units would be least likely.
 *
 * In turns, the probabilities of the pieces are fitted to the units (sentencepiece_fit.c), and the
 * pieces whose loss costs least are dropped (sentencepiece_prune.c). Memory: 8 bytes per seed and
 * thread, and 32 per seed. */
#include "tokenizer/train/sentencepiece_learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double UNKNOWN_PENALTY = 10;
enum { UNITS_PER_TASK = 256 };

double sp_learner_min_score(const SpLearner *l)
{
    double least = INFINITY;
    for (int64_t i = 0; i < l->seeds.n; i++) least = fmin(least, l->score[i]);
    return least;
}

void sp_learner_set_probabilities(SpLearner *l)
{
    for (int64_t i = 0; i < l->seeds.n; i++) l->probability[i] = exp(l->score[i]);
    l->unknown_score = sp_learner_min_score(l) - UNKNOWN_PENALTY;
}

void sp_learner_keep(SpLearner *l, const bool *stays)
{
    Arena *work = arena_new();
    uint32_t *kept = NEW_N(work, uint32_t, l->seeds.n + 1);
    sp_seeds_keep(&l->seeds, l->units->n_text, stays, kept);
    for (int64_t i = 0; i < l->seeds.n; i++) l->score[i] = l->score[kept[i]];
    sp_learner_set_probabilities(l);
    arena_free(work);
}

void sp_learner_units(const SpLearner *l, int64_t i, int64_t *from, int64_t *to)
{
    *from = i * UNITS_PER_TASK;
    *to = *from + UNITS_PER_TASK < l->units->n_units ? *from + UNITS_PER_TASK : l->units->n_units;
}

void sp_learner_walk(SpLearner *l, void (*task)(void *arg, int64_t i, int thread))
{
    size_t bytes = (size_t)l->seeds.n * sizeof(int64_t);
    for (int t = 0; t < pool_size(l->pool); t++) memset(l->thread_sum[t], 0, bytes);
    pool_run(l->pool, (l->units->n_units + UNITS_PER_TASK - 1) / UNITS_PER_TASK, task, l);
    memset(l->sum, 0, bytes);
    for (int t = 0; t < pool_size(l->pool); t++) {
        for (int64_t i = 0; i < l->seeds.n; i++) l->sum[i] += l->thread_sum[t][i];
    }
}

/* Seeds start with their share of count times length. */
static void start(SpLearner *l)
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
    sp_learner_set_probabilities(l);
}

static Error *improve(SpLearner *l)
{
    const SpTrainSettings *s = &l->settings->sentencepiece;
    int64_t desired = (int64_t)((double)l->settings->vocab_size * 1.1), first = l->seeds.n;
    for (int64_t round = 0;; round++) {
        for (int64_t i = 0; i < s->num_sub_iterations; i++) {
            sp_learner_fit(l);
            double gone = log((double)first / (double)l->seeds.n);
            double goal = log((double)first / (double)desired);
            TRY(train_step(l->settings, "fitting pieces", goal > 0 ? (int64_t)(1000 * gone) : 0,
                           goal > 0 ? (int64_t)(1000 * goal) + 1 : 1));
        }
        int64_t n = l->seeds.n, most = (int64_t)(s->shrinking_factor * (double)n);
        if (n <= desired) return NULL;
        sp_learner_prune(l, most > desired ? most : desired);
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
static void take_pieces(const SpLearner *l, Arena *a, int64_t n_wanted, SpPieces *out)
{
    const SpUnits *u = l->units;
    Arena *work = arena_new();
    double *of_char = NEW_N(work, double, u->n_chars + 1), lowest = sp_learner_min_score(l),
           more = 0;
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
    SpLearner l = { .settings = s, .units = u, .arena = arena_new() };
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
