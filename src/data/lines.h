/* lines.h - the lines of a text, found with all cores. */
#ifndef DATA_LINES_H
#define DATA_LINES_H
#include "base/arena.h"
#include "base/str.h"
#include <stdint.h>

/* A line is what ends with '\n', and the rest after the last one, if any. */
typedef struct Lines {
    Str text;
    int64_t n;
    int64_t *first_of_block; /* number of the first line that begins in each block of the text */
    int64_t n_blocks;
} Lines;

/* Counts the lines; takes 8 bytes of memory per MiB of text. */
void lines_count(Arena *a, Str text, Lines *out);
/* Lines [from, to), each with its '\n'. */
void lines_get(const Lines *l, int64_t from, int64_t to, Str *out);
#endif
