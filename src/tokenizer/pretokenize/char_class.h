/* char_class.h - characters of a text and the classes that patterns ask for. */
#ifndef TOKENIZER_PRETOKENIZE_CHAR_CLASS_H
#define TOKENIZER_PRETOKENIZE_CHAR_CLASS_H
#include "base/utf8.h"
#include "tokenizer/text/unicode.h"

/* One character and its class: one of the UNICODE_ flags, or 0 for all others. */
typedef struct Char {
    unsigned class;
    uint32_t len; /* 0 at the end of the text, where the class is NONE */
} Char;

enum { CLASSES = UNICODE_LETTER | UNICODE_NUMBER | UNICODE_SPACE, NONE = 255 };

static inline Char char_at(const char *text, uint32_t len, uint32_t at)
{
    if (at == len) return (Char){ NONE, 0 };
    unsigned char c = (unsigned char)text[at];
    if (c < 0x80) return (Char){ unicode_page_flags[0][c] & CLASSES, 1 };
    int n;
    unsigned flags = unicode_flags(utf8_decode(text + at, &n));
    return (Char){ flags & CLASSES, (uint32_t)n };
}

/* The end of the run of this class that goes on at `at`. */
static inline uint32_t run_end(const char *text, uint32_t len, uint32_t at, unsigned class)
{
    for (Char c; (c = char_at(text, len, at)).class == class;) at += c.len;
    return at;
}
#endif
