/* bigram.h - the loss of a model that sees only the token before: what every real model must beat.
 */
#ifndef DATA_BIGRAM_H
#define DATA_BIGRAM_H
#include "data/pbin.h"

typedef struct BigramLoss {
    double nats;         /* mean over the predicted tokens, natural logarithm */
    int64_t n_predicted; /* every token of the second file but its first */
    int64_t n_different; /* pairs seen in the first file */
    int64_t vocab_size;  /* highest id of both files, plus one */
} BigramLoss;

/* Counts the pairs of neighbours in `train`, across documents as training does, and predicts those
 * of `validation`: interpolated Kneser-Ney smoothing, whose one parameter follows from the counts.
 * Errors: a file with fewer than two tokens. */
Error *bigram_loss(const Pbin *train, const Pbin *validation, BigramLoss *out);
#endif
