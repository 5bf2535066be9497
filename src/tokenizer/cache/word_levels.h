/* word_levels.h - the inner loops of the word cache, compiled for each instruction set. */
#ifndef TOKENIZER_CACHE_WORD_LEVELS_H
#define TOKENIZER_CACHE_WORD_LEVELS_H
#include "tokenizer/cache/word_tables.h"

/* Word i is text[limit[i], limit[i + 1]). */
typedef struct WordBatch {
    const char *text;
    const uint32_t *limit;
    int64_t n;
    PackedIds *packed; /* result, one per word */
    uint64_t *work;    /* room for one per word */
    uint64_t *hash;    /* word_hash16 of the words of a list, in its order; room as for the list */
    const uint32_t *other; /* words whose ids lie outside or are not remembered, in order */
    int64_t n_others;
} WordBatch;

/* How far a batch is written: the next word, and the next of `other`. */
typedef struct WordPlace {
    int64_t word, other;
} WordPlace;

/* Further entries that the list of words, and the ids written, may run over. */
enum { LIST_ROOM = 16, WRITE_ROOM = 32 };

typedef struct WordLevels {
    /* Looks all words up in the small table. Lists those it does not know in `missed`, which has
     * room for n + LIST_ROOM, and returns their number. */
    int64_t (*small)(const WordTables *t, const WordBatch *b, uint32_t *missed);
    /* Looks the words of the list up in the middle table, keeps in the list those that it does not
     * know either, and notes their hashes. */
    int64_t (*middle)(const WordTables *t, const WordBatch *b, uint32_t *missed, int64_t n);
    /* The same with the large table and hashes that are noted. `counts`: counts the words' uses and
     * moves those with many to the tables in front. */
    int64_t (*large)(WordTables *t, const WordBatch *b, uint32_t *missed, int64_t n, bool counts);
    /* Lists the words whose ids do not lie inside in `others`, which has room for n + LIST_ROOM;
     * returns their number. */
    int64_t (*others)(const WordBatch *b, uint32_t *others);
    /* Writes the ids of the words from `place` on until one is PASSING, where `place` then is, or
     * all are written; returns where the next go. `t` NULL: all are PASSING. */
    uint32_t *(*write)(const WordTables *t, const WordBatch *b, WordPlace *place, uint32_t *to);
} WordLevels;

/* The one for this CPU and MODALITIES_CPU; those of each instruction set. */
const WordLevels *word_levels(void);
extern const WordLevels word_levels_scalar, word_levels_avx2, word_levels_avx512;
#endif
