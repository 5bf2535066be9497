/* model.h - the models of a .model file: normalized text to symbols, symbols to ids
 * or pieces.
 *
 * A symbol is the id of a piece, or a number of at least SpFile.n, which stands for one character
 * that is no piece. */
#ifndef TOKENIZER_SENTENCEPIECE_MODEL_H
#define TOKENIZER_SENTENCEPIECE_MODEL_H
#include "tokenizer/bpe/bpe.h"
#include "tokenizer/sentencepiece/rules.h"
#include "tokenizer/unigram/unigram.h"

typedef struct SpModel {
    WordModel base; /* of words: parts that no piece joins to their neighbours */
    const SpFile *file;
    Str *name;     /* by id: as normalized text has it; len 0: never there */
    Vocab symbols; /* these names; after the pieces, the characters that only longer ones have */
    Trie keep;     /* user-defined symbols, which stay whole */
    JoinTable *joins;
    JoinsCut *cut; /* by the table */
    /* First bytes of user-defined symbols of several bytes; `start` is one of them. */
    bool starts_symbol[256];
    int n_starts;
    char start;
    uint32_t *shown; /* by symbol: what the name means when it is a reserved one, too; else NULL */
    bool resplits;   /* BPE with unused pieces: made by merging, then taken apart again */
    Bpe bpe;
    Lattice lattice;  /* Unigram */
    float *score;     /* likewise: by id; of an unknown character all on its first byte */
    double max_score; /* the largest absolute value of a score */
    bool falls;       /* only user-defined symbols have scores above 0 */
    int64_t (*symbolize)(const struct SpModel *m, Buffer *scratch, Str text, uint32_t *out);
} SpModel;

Error *sp_model_new(Arena *a, const SpFile *f, SpModel **out);
/* At most this many ids stand for one byte of normalized text. */
int64_t sp_model_ids_per_byte(const SpFile *f);
/* Writes the ids of a text's symbols, with bytes or the unknown piece for unknown characters. */
int64_t sp_model_ids(const SpModel *m, Str text, const uint32_t *symbol, int64_t n, uint32_t *out);
/* Calls `add` with each piece and its id. */
void sp_model_pieces(const SpModel *m, Str text, const uint32_t *symbol, int64_t n,
                     void (*add)(void *to, Str piece, uint32_t id), void *to);

/* cut.c: the table of joints, and WordModel.cut. */
void sp_cut_prepare(Arena *a, SpModel *m);
/* bpe.c: the tables, and merging. */
Error *sp_bpe_prepare(Arena *a, SpModel *m);
/* unigram.c: likewise. */
void sp_unigram_prepare(Arena *a, SpModel *m);
/* A way as symbols. */
int64_t sp_way_symbols(const SpModel *m, const Way *way, uint32_t *out);
#endif
