/* unigram.h - the model Unigram: of all ways to cut a text into tokens the one with the highest sum
 * of scores (Kudo 2018), found by Viterbi's algorithm over the bytes. */
#ifndef TOKENIZER_UNIGRAM_H
#define TOKENIZER_UNIGRAM_H
#include "tokenizer/model.h"
#include "tokenizer/trie.h"

/* The tokens that may be used, and how sums are rounded: the library `tokenizers` adds in double
 * precision, SentencePiece keeps sums in single precision, and near ties show it. */
typedef struct Lattice {
    Trie trie;           /* to ids */
    const double *score; /* by id */
    const double *bonus; /* by id: per byte, for symbols that must win; NULL: no such symbols */
    double unk_score;    /* of a character that is no token */
    uint32_t unk_id;     /* NO_TOKEN: there is none */
    bool single;         /* sums are rounded to single precision */
} Lattice;

/* A token of the best way. */
typedef struct Step {
    uint32_t id, from, to; /* bytes [from, to) of the text */
} Step;

/* The best way through a text, in `scratch`; its steps start at *first. `start` is the sum that
 * lies before the text: it matters to rounding alone, and *end is the sum behind it. Returns the
 * number of steps, -1 when a character has no token and there is no unk_id. */
int64_t lattice_best(const Lattice *l, Buffer *scratch, Str text, double start, Step **first,
                     double *end);

/* Reads the model of a tokenizer.json. */
Error *unigram_load(JsonNode at, Arena *a, Model **out);
#endif
