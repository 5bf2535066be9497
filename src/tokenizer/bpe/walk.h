/* walk.h - BPE of long stretches of text in linear time, by walking instead of merging.
 *
 * The ids of a text are the only sequence of tokens that covers it and in which any two neighbours
 * stay apart when their text alone is merged: whatever merge first joined two tokens of such a
 * sequence would join them in the text of these two as well, and what merging leaves of a text, it
 * leaves of each part of it. The walk takes the longest token that stays apart from the one before,
 * a shorter one where it runs into a dead end, and never comes back to a place that was one. */
#ifndef TOKENIZER_BPE_WALK_H
#define TOKENIZER_BPE_WALK_H
#include "tokenizer/bpe/bpe.h"

typedef struct BpeWalk BpeWalk;

/* Bytes of the longest words that are faster merged: in parts that were seen before, where symbols
 * are bytes; where they are characters. */
enum { LONGEST_MERGED = 256, LONGEST_MERGED_CHARS = 4 };

/* The symbol at the start of a text, or NO_TOKEN, and its bytes. */
typedef uint32_t BpeSymbolAt(const void *model, Str text, size_t *len);

/* `text[id]` for n ids: what a token stands for; len 0: for nothing. NULL when the walk would not
 * be exact, because the merge of a token comes before one that makes a part of it. */
const BpeWalk *bpe_walk_new(Arena *a, const Bpe *b, const Str *text, int64_t n,
                            BpeSymbolAt *symbol_at, const void *model);
/* The same for symbols that are bytes. */
const BpeWalk *bpe_walk_new_bytes(Arena *a, const Bpe *b, const Str *bytes, int64_t n);
/* Whether merging the text of a token makes the token. */
bool bpe_walk_makes(const BpeWalk *w, int64_t id);
/* Forgets the pairs of a model with a walk over `n` ids that never lie side by side: what is left
 * is merged faster. */
void bpe_walk_keep_pairs(Arena *a, Bpe *b, int64_t n);
/* Appends the ids of the text up to the first character that is no symbol to out[0..*n). Returns
 * the bytes covered. */
size_t bpe_walk(const BpeWalk *w, Buffer *scratch, Str text, uint32_t *out, int64_t *n);
#endif
