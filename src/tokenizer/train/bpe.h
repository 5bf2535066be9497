/* bpe.h - learning merges as the library's BpeTrainer does, for the kinds that merge. */
#ifndef TOKENIZER_TRAIN_BPE_H
#define TOKENIZER_TRAIN_BPE_H
#include "base/map.h"
#include "tokenizer/train/train.h"
#include <jansson.h>

/* The tokens. Zero-initialise with an arena. */
typedef struct TokenNames {
    Arena *arena;
    Map *by_name; /* id + 1 as a pointer */
    Str *name;    /* by id */
    int64_t n, cap;
} TokenNames;

/* The id of a name, a new one if it has none. */
uint32_t token_names_id(TokenNames *t, Str name);

/* A word as symbols: symbol[at, at + len). */
typedef struct SymbolWord {
    int64_t at, count;
    uint32_t len;
} SymbolWord;

typedef struct Symbols {
    SymbolWord *word;
    int64_t n_words;
    uint32_t *symbol; /* ids of tokens */
    int64_t n_symbols;
} Symbols;

/* Gives ids to the special tokens, to the characters, and to the characters with prefix or suffix;
 * and spells the words with them. Characters without an id are left out of their words. The memory
 * of `out` comes from the arena. */
void train_symbols(Arena *a, const BpeTrainSettings *s, const WordCounts *words, TokenNames *names,
                   Symbols *out);

/* What was learnt; byte-level names are in the byte alphabet. */
typedef struct TrainedBpe {
    TokenNames names;
    uint32_t *special; /* ids of the special tokens */
    uint32_t (*merge)[2];
    int64_t n_merges;
} TrainedBpe;

/* Chooses the merges; everything belongs to the arena. */
Error *train_merges(Arena *a, const TrainSettings *s, const WordCounts *words, TrainedBpe *out,
                    TrainSummary *summary);

/* {"name": id, ...} */
json_t *train_vocab_json(const TokenNames *t);
/* For TrainerKind.learn: chooses the merges and writes a tokenizer.json with the model made of
 * them. */
Error *train_bpe_learn(const TrainSettings *s, const WordCounts *words,
                       json_t *(*model_of)(const BpeTrainSettings *s, const TrainedBpe *b),
                       Text *file, TrainSummary *summary);
#endif
