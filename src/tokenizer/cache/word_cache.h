/* word_cache.h - the ids of words, remembered: nearly all words of a text have been seen before. */
#ifndef TOKENIZER_CACHE_WORD_CACHE_H
#define TOKENIZER_CACHE_WORD_CACHE_H
#include "tokenizer/cache/word_tables.h"
#include "tokenizer/model/model.h"
#include "tokenizer/tokenizer.h"

/* Bytes that must be readable after the last word. */
enum { WORD_SLACK = 16 };

/* One per encoder; its memory is bounded. Results never depend on what it remembers. */
typedef struct WordCache WordCache;

/* The model's ids are nearly all below n_ids: few take less room. `remember` false computes every
 * word anew (for tests and measurements). */
WordCache *word_cache_new(Arena *a, const WordModel *model, int64_t n_ids, bool remember);
/* Appends the ids of n words: the first is text[from, end[0]), the next text[end[0], end[1]), ...
 */
void word_cache_encode(WordCache *c, const char *text, uint32_t from, const uint32_t *end,
                       int64_t n, Ids *out);
/* Appends the ids of one word, or returns false when it is short enough to be remembered. */
bool word_cache_encode_long(WordCache *c, Str word, Ids *out);

/* In steps, for a model that leaves words to the caller. Looks n words up, cut likewise; returns
 * those that are left, in order, and their number: valid until the next words. */
const uint32_t *word_cache_look_up(WordCache *c, const char *text, uint32_t from,
                                   const uint32_t *end, int64_t n, int64_t *n_left);
/* Then appends the ids of all words before the next that is left, and goes on after it. */
void word_cache_next(WordCache *c, Ids *out);
/* How many ids the i-th word of those looked up has; it must not be left. */
int64_t word_cache_n_ids(const WordCache *c, int64_t i);
#endif
