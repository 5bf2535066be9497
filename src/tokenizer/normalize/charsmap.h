/* charsmap.h - SentencePiece's precompiled map of characters: rules "this text becomes that one" in
 * a double-array trie (Yata et al. 2007, as the library Darts lays it out), with the replacements
 * after it. A tokenizer.json carries the same bytes in its normalizer Precompiled. */
#ifndef TOKENIZER_NORMALIZE_CHARSMAP_H
#define TOKENIZER_NORMALIZE_CHARSMAP_H
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

typedef struct Charsmap Charsmap;

/* Copies the bytes (trie size as u32, trie, replacements that each end with a zero byte) into the
 * arena. Any bytes are safe: a broken trie is refused, or its broken rules never match. */
Error *charsmap_read(Arena *a, Str bytes, const Charsmap **out);
/* SentencePiece's walk: the longest rule that matches at the start of `text`. Returns the bytes it
 * takes, 0 when there is none. */
size_t charsmap_longest(const Charsmap *c, Str text, Str *replacement);
/* What Hugging Face asks for a grapheme cluster of less than 6 bytes and then for each of its
 * characters: the shortest rule that matches at the start of `text`, which then replaces all of
 * `text`. False when there is none. */
bool charsmap_shortest(const Charsmap *c, Str text, Str *replacement);
/* Whether a rule may start with these two bytes. */
bool charsmap_has_pair(const Charsmap *c, uint8_t first, uint8_t second);
/* Whether no rule goes on after this byte with an ASCII one. */
bool charsmap_is_alone(const Charsmap *c, uint8_t byte);
/* Whether this ASCII byte, before another one or at the end, is left as it is by that walk. */
bool charsmap_is_plain(const Charsmap *c, uint8_t byte);
#endif
