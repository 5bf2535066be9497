/* words.h - the words that a pre-tokenizer makes of a text, as the steps hand them on. */
#ifndef TOKENIZER_PRETOKENIZE_WORDS_H
#define TOKENIZER_PRETOKENIZE_WORDS_H
#include "base/buffer.h"
#include "tokenizer/text/sources.h"

/* The words lie after one another. Zero-initialise; free with words_free. */
typedef struct Words {
    Text text;   /* all of them, and what is open */
    Buffer ends; /* n of uint32_t */
    int64_t n;
    Sources *sources; /* of each byte of the text; NULL: nobody asks */
    const char *base; /* byte 0 that these count from: where the word starts that is cut */
    bool skipped;     /* something was left out before the first word */
} Words;

void words_clear(Words *w);
void words_free(Words *w);
/* Appends a word; empty ones are left out. */
void words_add(Words *w, Str word);
/* Leaves a stretch of text out. */
void words_skip(Words *w, Str text);
/* Closes the word that was written to w->text after the last one. */
void words_close(Words *w);
const uint32_t *words_ends(const Words *w);
/* The i-th word; valid until w changes. */
Str words_at(const Words *w, int64_t i);
#endif
