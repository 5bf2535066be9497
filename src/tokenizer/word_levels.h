/* word_levels.h - the inner loops of the word cache, compiled for each instruction set. */
#ifndef TOKENIZER_WORD_LEVELS_H
#define TOKENIZER_WORD_LEVELS_H
#include "tokenizer/word_tables.h"

/* The first word is text[from, end[0]), the next text[end[0], end[1]), ... */
typedef struct WordBatch {
    const char *text;
    uint32_t from;
    const uint32_t *end;
    int64_t n;
    PackedIds *packed; /* result, one per word */
    uint64_t *work;    /* room for one per word */
} WordBatch;

static inline uint32_t batch_start(const WordBatch *b, int64_t i)
{
    return i ? b->end[i - 1] : b->from;
}

/* Further entries that the list of words, and the ids written, may run over. */
enum { LIST_ROOM = 16, WRITE_ROOM = 32 };

typedef struct WordLevels {
    /* Looks all words up in the small table. Lists those it does not know in `missed`, which has
     * room for n + LIST_ROOM, and returns their number. */
    int64_t (*small)(const WordTables *t, const WordBatch *b, uint32_t *missed);
    /* Looks the words of the list up in the middle table and keeps in the list those that it does
     * not know either. */
    int64_t (*middle)(const WordTables *t, const WordBatch *b, uint32_t *missed, int64_t n);
    /* Writes the ids that lie inside packed[from], packed[from + 1], ... until one has its ids
     * elsewhere, whose place is returned (n: none). Moves *to. */
    int64_t (*write)(const WordBatch *b, int64_t from, uint32_t **to);
} WordLevels;

/* The one for this CPU and MODALITIES_CPU; those of each instruction set. */
const WordLevels *word_levels(void);
extern const WordLevels word_levels_scalar, word_levels_avx2, word_levels_avx512;
#endif
