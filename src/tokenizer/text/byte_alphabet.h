/* byte_alphabet.h - the 256 printable characters that stand for bytes in byte-level vocabularies.
 */
#ifndef TOKENIZER_TEXT_BYTE_ALPHABET_H
#define TOKENIZER_TEXT_BYTE_ALPHABET_H
#include "tokenizer/text/sources.h"
#include <stdbool.h>

/* '!' to '~', U+00A1 to U+00AC and U+00AE to U+00FF stand for themselves; the other 68 bytes, in
 * order, are U+0100, U+0101, ... */
uint32_t byte_to_char(uint8_t byte);
/* The byte that a character stands for, or -1. */
int char_to_byte(uint32_t c);
/* Appends the characters of the bytes as UTF-8. */
void bytes_to_name(Str bytes, Text *out);
/* Where the bytes come from that it appends. */
void byte_name_sources(Str bytes, Sources *sources);
/* Appends the bytes of a name (valid UTF-8); false, with nothing appended, when a character is
 * outside the alphabet. */
bool name_to_bytes(Str name, Text *out);
#endif
