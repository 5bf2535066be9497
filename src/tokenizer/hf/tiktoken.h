/* tiktoken.h - the rank files of the library tiktoken: a token of bytes and its rank, which is its
 * id, per line. Any two neighbours that make a token may merge, that of the lowest rank first. */
#ifndef TOKENIZER_HF_TIKTOKEN_H
#define TOKENIZER_HF_TIKTOKEN_H
#include "tokenizer/tokenizer.h"

typedef struct TiktokenOptions {
    const char *pattern; /* cuts text into words; NULL: that of the vocabulary, told by its size */
    bool allow_special;  /* special tokens in a text are themselves, else they are text */
} TiktokenOptions;

/* `options` may be NULL. Errors name file and line. The caller closes it. */
Error *tiktoken_open(const char *path, const TiktokenOptions *options, Tokenizer **out);
/* Whether a file with these first bytes is likely a rank file. */
bool tiktoken_looks_like(Str start);
#endif
