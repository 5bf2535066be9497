/* table.h - rows of cells as columns of text that line up within a width. */
#ifndef MONITOR_TABLE_H
#define MONITOR_TABLE_H
#include "base/arena.h"
#include "base/str.h"

enum { MAX_COLUMNS = 10 };

/* Zero-initialise but for the first three. Cells are counted in characters, UTF-8. */
typedef struct Table {
    Arena *arena;
    int n_columns;
    unsigned left; /* bit k: column k is aligned to the left; the others to the right */
    int elastic;   /* the column that is shortened where the width does not suffice */
    const char *(*row)[MAX_COLUMNS];
    int64_t n, cap;
} Table;

/* `cell` has n_columns texts, which must stay. */
void table_add(Table *t, const char *const *cell);
/* Two blanks between columns. Where shortening is not enough, columns are left out from the right;
 * columns without any text, too. */
void table_write(const Table *t, int width, Text *out);
/* Characters of a text. */
int text_columns(const char *s);
#endif
