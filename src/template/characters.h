/* characters.h - texts by character, as Python's str counts, strips, splits and changes them. */
#ifndef TEMPLATE_CHARACTERS_H
#define TEMPLATE_CHARACTERS_H
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

/* Number of characters of valid UTF-8. */
int64_t characters_count(Str s);
/* The byte where character `i` begins; s.len from the end on. */
size_t characters_offset(Str s, int64_t i);

/* str.isspace of one character. */
bool is_space_character(uint32_t c);
enum { STRIP_LEFT = 1, STRIP_RIGHT = 2 };
/* Without white space at these sides, or without the characters of `set` when that is given. */
Str characters_strip(Str s, const Str *set, int sides);
/* The first line of s, as str.splitlines has lines; *rest is what follows its end, and *has_end
 * tells whether it had one. */
Str characters_line(Str s, Str *rest, bool *has_end);
/* The place of `part` in `s` from byte `from` on, or -1. */
int64_t str_find(Str s, Str part, size_t from);

typedef enum { CASE_LOWER, CASE_UPPER, CASE_TITLE } LetterCase;
/* Appends s in one case. A character whose other case is not one character is an error. */
Error *characters_to_case(Str s, LetterCase to, Text *out);
#endif
