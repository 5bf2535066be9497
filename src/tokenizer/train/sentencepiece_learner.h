/* sentencepiece_learner.h - a unigram model on the way: its pieces are fitted to the units and
 * pruned, in turns. */
#ifndef TOKENIZER_TRAIN_SENTENCEPIECE_LEARNER_H
#define TOKENIZER_TRAIN_SENTENCEPIECE_LEARNER_H
#include "tokenizer/train/sentencepiece_seed.h"

typedef struct SpLearner {
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
    double *loss; /* by seed: what dropping it costs, or an infinity */
    double log_total;
    int64_t total;
} SpLearner;

/* Sets the probabilities by the scores. */
void sp_learner_set_probabilities(SpLearner *l);
double sp_learner_min_score(const SpLearner *l);
/* Drops seeds and moves the scores of the others along, then sets the probabilities. */
void sp_learner_keep(SpLearner *l, const bool *stays);
/* Runs a task for all units and sums up what it adds to thread_sum, whichever thread walks them. */
void sp_learner_walk(SpLearner *l, void (*task)(void *arg, int64_t i, int thread));
/* The units of a task. */
void sp_learner_units(const SpLearner *l, int64_t task, int64_t *from, int64_t *to);

/* Fits the scores to the units, once; drops pieces that are hardly expected. */
void sp_learner_fit(SpLearner *l);
/* Keeps at most so many pieces, but all that nothing else can write. */
void sp_learner_prune(SpLearner *l, int64_t most);
#endif
