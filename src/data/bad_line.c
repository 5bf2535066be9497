/* bad_line.c - names lines that cannot be used. */
#include "data/bad_line.h"
#include "base/json.h"
#include <string.h>

const char *const bad_line_policies[] = { "stop|error", "skip", NULL };

int64_t line_at(LineCounter *c, int64_t offset)
{
    CHECK(offset >= 0 && offset <= (int64_t)c->text.len);
    if (c->line == 0 || offset < c->offset) *c = (LineCounter){ .text = c->text, .line = 1 };
    const char *p = c->text.ptr + c->offset, *to = c->text.ptr + offset;
    for (; (p = memchr(p, '\n', (size_t)(to - p))); p++) c->line++;
    c->offset = offset;
    return c->line;
}

/* The bytes around the fault, quoted. */
static void add_excerpt(Text *t, Str line, int64_t column)
{
    enum { BEFORE = 30, BEHIND = 30 };
    int64_t from = column > BEFORE ? column - BEFORE : 0, to = (column > 0 ? column : 0) + BEHIND;
    if (to > (int64_t)line.len) to = (int64_t)line.len;
    if (from > 0) text_puts(t, "...");
    text_json_string(t, (Str){ line.ptr + from, (size_t)(to - from) });
    if (to < (int64_t)line.len) text_puts(t, "...");
}

Error *bad_line_error(const char *path, int64_t line_number, int64_t offset, Str line,
                      int64_t column, Error *reason)
{
    Text excerpt = { 0 };
    add_excerpt(&excerpt, line, column);
    Text place = { 0 };
    text_printf(&place, "%s:%lld", path, (long long)line_number);
    if (column >= 0) text_printf(&place, ":%lld", (long long)column + 1);
    Error *e = error_new("%s: %s (byte %lld of the file, in %s)", place.ptr, error_text(reason),
                         (long long)offset + (column > 0 ? column : 0), excerpt.ptr);
    error_free(reason);
    text_free(&excerpt);
    text_free(&place);
    return e;
}

int64_t most_line_bytes(int64_t max_line_bytes)
{
    return max_line_bytes ? max_line_bytes : DEFAULT_MAX_LINE_BYTES;
}

Error *line_too_long(int64_t length, int64_t max_line_bytes)
{
    int64_t most = most_line_bytes(max_line_bytes);
    if (length <= most) return NULL;
    return error_new("a line of more than %lld bytes (max_line_bytes)", (long long)most);
}

Error *bad_line_stops(Error *e, const char *skipping)
{
    return error_join(e, error_new("nothing was written; with %s such lines are named, counted "
                                   "and left out",
                                   skipping));
}
