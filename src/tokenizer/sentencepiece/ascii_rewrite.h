/* ascii_rewrite.h - rewriting ASCII text of which each byte has its own rule: the stretches of a
 * text between characters that need a closer look. */
#ifndef TOKENIZER_SENTENCEPIECE_ASCII_REWRITE_H
#define TOKENIZER_SENTENCEPIECE_ASCII_REWRITE_H
#include "base/cpu.h"
#include "base/str.h"
#include <stdint.h>

/* Bytes after the result that may be written. In AsciiRewrite.to: the byte needs a closer look. */
enum { ASCII_REWRITE_SLACK = 64, CLOSER_LOOK = 0x80 };

/* Of the 16 bytes of one high half, by the low one: what to flip in them. `is` is FF at that half.
 */
typedef struct AsciiRow {
    char is[16], flip[16];
} AsciiRow;

typedef struct AsciiRewrite AsciiRewrite;
typedef size_t AsciiRewriter(const AsciiRewrite *r, Str text, bool after_blank, char *to);

struct AsciiRewrite {
    uint8_t to[256]; /* an ASCII byte, or CLOSER_LOOK and more */
    bool one_blank;  /* a blank after a blank needs a closer look, too */
    /* The same for blocks of bytes: by the low half of a byte a bit for each high half it may have
     * without a closer look, and where bytes change. */
    char known[16];
    AsciiRow row[8];
    int n_rows;
    AsciiRewriter *rewrite;
};

/* Makes the rest out of `to` of ASCII bytes, and `one_blank`. */
void ascii_rewrite_complete(AsciiRewrite *r, CpuLevel level);
/* Writes what the bytes at the start become, up to one that needs a closer look; returns how many,
 * as there are as many. `to` has room for the text and the slack. */
static inline size_t ascii_rewrite(const AsciiRewrite *r, Str text, bool after_blank, char *to)
{
    return r->rewrite(r, text, after_blank, to);
}

extern AsciiRewriter ascii_rewrite_scalar, ascii_rewrite_avx2, ascii_rewrite_avx512;
#endif
