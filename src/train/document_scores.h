/* document_scores.h - how likely a model finds each document of packed files. */
#ifndef TRAIN_DOCUMENT_SCORES_H
#define TRAIN_DOCUMENT_SCORES_H
#include "data/pbin.h"
#include "train/consensus.h"
#include "train/session.h"

/* Of the tokens after the first one, each given those before it. */
typedef struct DocumentScore {
    int64_t n_tokens, n_scored;
    double log_likelihood; /* natural logarithm, the sum */
    bool is_greedy;        /* each of them is the model's first choice */
} DocumentScore;

typedef struct Scoring {
    Session *session;
    const Model *model;
    int64_t sequence; /* tokens that the model sees at most: longer documents are scored in
                         windows of so many, one after the other */
    const Mesh *mesh;
    Consensus *together; /* NULL: one rank */
} Scoring;

/* All documents of the file, in its order; every rank gets all of them. A model whose parameters
 * are not set yet is given them by the caller between document_scoring_open and this. */
Error *document_scores(Arena *a, const Scoring *s, const Pbin *file, DocumentScore **out,
                       int64_t *n);
/* Makes the program that the scores need, so that the parameters are there. */
Error *document_scoring_open(const Scoring *s);
#endif
