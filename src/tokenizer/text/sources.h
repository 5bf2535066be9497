/* sources.h - where the bytes of a rewritten text come from, kept on request: offsets of ids in the
 * original text are made of it (hf_offsets.h).
 *
 * A stage that rewrites a text says for every byte that it writes which byte of its input that
 * counts as, as the library `tokenizers` does in its NormalizedString. */
#ifndef TOKENIZER_TEXT_SOURCES_H
#define TOKENIZER_TEXT_SOURCES_H
#include "base/buffer.h"
#include "base/str.h"
#include <stdint.h>

#define NO_SOURCE UINT32_MAX /* nothing: the empty place at the start of the text */

/* n of uint32_t. Zero-initialise; free with buffer_free. All functions take NULL: nobody asks. */
typedef struct Sources {
    Buffer index;
    int64_t n;
} Sources;

/* The next n bytes are those from `from` on; what lies before byte 0 counts as byte 0. */
void sources_copy(Sources *s, int64_t from, size_t n);
/* The next n bytes all come from this one. */
void sources_repeat(Sources *s, uint32_t from, size_t n);

/* A character that is written: with change 0 it replaces the next one of the input, with 1 it is
 * added after, with -k it replaces one and k after that are removed. */
typedef struct SourceChange {
    int32_t bytes, change;
} SourceChange;
/* The changes that made a text of text[from, ...). */
void sources_change(Sources *s, Str text, size_t from, const SourceChange *change, int64_t n);
#endif
