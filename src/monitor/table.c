/* table.c - rows of cells as columns of text that line up within a width. */
#include "monitor/table.h"
#include <string.h>

enum { LEAST = 12, GAP = 2 }; /* columns of a shortened cell; between columns */

int text_columns(const char *s)
{
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s >> 6) != 2;
    return n;
}

void table_add(Table *t, const char *const *cell)
{
    t->row = arena_grow(t->arena, t->row, t->n, &t->cap, sizeof *t->row);
    for (int k = 0; k < t->n_columns; k++) t->row[t->n][k] = cell[k];
    t->n++;
}

/* The first bytes that make `n` characters. */
static size_t first_bytes(const char *s, int n)
{
    size_t at = 0;
    for (; n > 0 && s[at]; n--) do
            at++;
        while (((unsigned char)s[at] >> 6) == 2);
    return at;
}

/* Beginning and end of what is too long: names of runs begin with the time and end with what tells
 * them apart. */
static void put_shortened(const char *s, int width, Text *out)
{
    int all = text_columns(s), head = (width - 1) / 2, tail = width - 1 - head;
    if (all <= width) {
        text_puts(out, s);
        return;
    }
    text_add(out, s, first_bytes(s, head));
    text_printf(out, "~%s", s + first_bytes(s, all - tail));
}

static int total(const int *wide, int n)
{
    int sum = 0;
    for (int k = 0; k < n; k++) sum += wide[k] ? wide[k] + (sum ? GAP : 0) : 0;
    return sum;
}

/* The widths of the columns; 0: left out. */
static void fit(const Table *t, int width, int *wide)
{
    for (int k = 0; k < t->n_columns; k++) wide[k] = 0;
    for (int64_t i = 0; i < t->n; i++)
        for (int k = 0; k < t->n_columns; k++) {
            int n = text_columns(t->row[i][k]);
            if (n > wide[k]) wide[k] = n;
        }
    for (int last = t->n_columns - 1; total(wide, t->n_columns) > width && last > 0; last--) {
        int more = total(wide, t->n_columns) - width, room = wide[t->elastic] - LEAST;
        if (more <= room)
            wide[t->elastic] -= more;
        else if (last != t->elastic)
            wide[last] = 0;
    }
}

void table_write(const Table *t, int width, Text *out)
{
    int wide[MAX_COLUMNS] = { 0 };
    fit(t, width, wide);
    for (int64_t i = 0; i < t->n; i++) {
        size_t start = out->len;
        for (int k = 0; k < t->n_columns; k++) {
            if (!wide[k]) continue;
            if (out->len > start) text_printf(out, "%*s", GAP, "");
            int n = text_columns(t->row[i][k]), pad = n < wide[k] ? wide[k] - n : 0;
            if (!(t->left >> k & 1)) text_printf(out, "%*s", pad, "");
            put_shortened(t->row[i][k], wide[k], out);
            if (t->left >> k & 1) text_printf(out, "%*s", pad, "");
        }
        while (out->len > start && out->ptr[out->len - 1] == ' ') out->ptr[--out->len] = 0;
        text_putc(out, '\n');
    }
}
