/* row_shape.h - lines of JSON that differ in their numbers alone, as those of one training do. */
#ifndef MONITOR_ROW_SHAPE_H
#define MONITOR_ROW_SHAPE_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { MOST_NUMBERS = 64 };

/* The text before each number that stands outside of strings, and after the last one. */
typedef struct RowShape {
    Str piece[MOST_NUMBERS + 1];
    int n; /* numbers */
} RowShape;

/* The shape of a line of JSON, owned by the arena; false where it has too many numbers. NaN and
 * Infinity are numbers here. */
bool row_shape_of(Arena *a, Str line, RowShape *out);
/* The line of this shape whose numbers are 0, 1, 2 ... */
const char *row_shape_numbered(Arena *a, const RowShape *s);
/* The numbers of a line of this shape, NaN for what is not finite; false for any other line, and
 * for numbers that JSON does not have or a double does not hold. */
bool row_shape_read(const RowShape *s, Str line, double *out);
#endif
