/* unigram.h - the model Unigram: of all ways to cut a text into tokens the one with the highest sum
 * of scores (Kudo 2018), found by Viterbi's algorithm over the bytes. */
#ifndef TOKENIZER_UNIGRAM_UNIGRAM_H
#define TOKENIZER_UNIGRAM_UNIGRAM_H
#include "tokenizer/model/model.h"
#include "tokenizer/text/trie.h"

/* The tokens that may be used, and how sums are rounded: the library `tokenizers` adds in double
 * precision. SentencePiece keeps sums in single precision, and near ties show it; where a sum falls
 * below LATTICE_FLOOR it counts anew from there, so that sums stay small. */
#define LATTICE_FLOOR (-100000.0)

typedef struct Lattice {
    Trie trie;           /* to ids */
    const double *score; /* by id */
    double unk_score;    /* of a character that is no token */
    uint32_t unk_id;     /* NO_TOKEN: there is none */
    bool single;         /* as SentencePiece */
} Lattice;

/* A token of the best way. */
typedef struct Step {
    uint32_t id, from, to; /* bytes [from, to) of the text */
} Step;

/* The best way through a text, in scratch memory. */
typedef struct Way {
    const Step *step;
    int64_t n;        /* -1: a character has no token and there is no unk_id */
    double sum;       /* of the scores, `start` included */
    double low, high; /* with `single`: the least and the largest sum of any way that was tried */
    double margin;    /* lattice_margin: how much better it is than any other, at least */
} Way;

/* `start` is the sum that lies before the text: it matters to rounding alone. */
Way lattice_best(const Lattice *l, Buffer *scratch, Str text, double start);
/* Without rounding, whatever l->single; but the margin is what is left of it when each step of any
 * way may be rounded by so much. */
Way lattice_margin(const Lattice *l, Buffer *scratch, Str text, double rounding);

/* Reads the model of a tokenizer.json. */
Error *unigram_load(JsonNode at, Arena *a, WordModel **out);
#endif
