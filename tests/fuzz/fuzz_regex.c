/* fuzz_regex.c - any pattern compiles or is refused; the matches of one that compiles are in order.
 *
 * An input is a byte that chooses the dialect, a pattern, a zero byte, and the text to search. */
#include "base/utf8.h"
#include "fuzz.h"
#include "tokenizer/regex/regex.h"
#include <string.h>

enum { LONGEST_TEXT = 40 }; /* patterns with nested repetitions take exponential time */

static void search(const Regex *r, Str text)
{
    RegexRoom room = { 0 };
    RegexSearch at = { 0 };
    RegexMatch m;
    size_t done = 0;
    for (bool found = true; found;) {
        Error *e = regex_next(r, &room, text, &at, &m, &found);
        error_free(e);
        if (e || !found) break;
        CHECK(m.from >= done && m.to >= m.from && m.to <= text.len);
        CHECK(utf8_valid_length((Str){ text.ptr + m.from, m.to - m.from }) == m.to - m.from);
        done = m.to;
    }
    regex_room_free(&room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    RegexDialect dialect = data[0] & 1 ? REGEX_RUST : REGEX_ONIGURUMA;
    const uint8_t *gap = memchr(data + 1, 0, size - 1);
    Str pattern = { (const char *)data + 1, gap ? (size_t)(gap - data) - 1 : size - 1 },
        text = { 0 };
    if (gap) text = (Str){ (const char *)gap + 1, size - pattern.len - 2 };
    if (text.len > LONGEST_TEXT) text.len = LONGEST_TEXT;
    if (utf8_valid_length(pattern) < pattern.len) return 0;
    text.len = utf8_valid_length(text);
    Arena *a = arena_new();
    const Regex *r;
    Error *e = regex_new(a, pattern, dialect, &r);
    if (!e && text.len) search(r, text);
    error_free(e);
    arena_free(a);
    return 0;
}
