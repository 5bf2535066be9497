/* cleanup.h - transformers' clean-up of decoded text: blanks before punctuation and English
 * contractions are removed. */
#ifndef TOKENIZER_DECODE_CLEANUP_H
#define TOKENIZER_DECODE_CLEANUP_H
#include "base/str.h"

/* Cleans the text from byte `from` on, in place. */
void decode_cleanup(Text *t, size_t from);
/* The clean-up of the decoders WordPiece and CTC, which knows one rule more. */
void decode_cleanup_token(Text *t, size_t from);
/* How many leading bytes of a cleaned text stay whatever is appended to what it was made from. */
size_t decode_cleanup_settled(Str cleaned);
#endif
