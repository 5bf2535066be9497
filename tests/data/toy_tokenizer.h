/* toy_tokenizer.h - every byte is a token: enough to see what happens to documents. */
#ifndef TESTS_DATA_TOY_TOKENIZER_H
#define TESTS_DATA_TOY_TOKENIZER_H
#include "tokenizer/tokenizer.h"

/* Ids are byte values; the token "<eod>" is '\n'. With a vocab_size above 256 tokens get two bytes.
 * Text with a '#' is refused, and '~' gives the id 70000. */
Tokenizer toy_tokenizer(int64_t vocab_size);
#endif
