/* utf8_fast.c - checks UTF-8 64 bytes at a time, by table look-ups (utf8_tables.h). */
#include "base/bytes64.h"
#include "base/utf8.h"

#if HAS_BYTES64
/* Where the character ends or begins that `at` may be in the middle of: not after `at`. */
static size_t character_edge(const char *text, size_t at)
{
    for (size_t back = 1; back <= 3 && back <= at; back++) {
        unsigned char c = (unsigned char)text[at - back];
        if (c < 0x80) return at;
        if (c < 0xC0) continue;
        return utf8_char_bytes(c) > back ? at - back : at;
    }
    return at;
}

static size_t valid_blocks(Str s)
{
    Bytes64 before = bytes64_zero();
    uint64_t open = 0; /* of `before` only the last three bytes count: are they ASCII, too? */
    size_t at = 0;
    for (; at + 64 <= s.len; at += 64) {
        Bytes64 x = bytes64_load(s.ptr + at);
        uint64_t high = bytes64_high(x);
        if (high | open && bytes64_utf8_faults(x, before, false)) break;
        before = x;
        open = high >> 61;
    }
    return character_edge(s.ptr, at);
}

const Utf8Level TABLE = { valid_blocks };
#else
const Utf8Level TABLE = { 0 };
#endif
