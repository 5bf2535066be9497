/* charsmap.c - walks the double-array trie of a precompiled map of characters.
 *
 * A unit is 32 bits: the label of the edge to it (bits 0-7; bit 31 is set in units that hold a
 * value), whether a rule ends here (bit 8), and how far away its children lie (bits 10-30, times
 * 256 when bit 9 is set). The child for byte b of a unit at i lies at i ^ offset ^ b, the value of
 * a rule that ends at it at i ^ offset: the place of its replacement. */
#include "tokenizer/normalize/charsmap.h"
#include <string.h>

struct Charsmap {
    const uint32_t *unit;
    uint32_t n_units;
    Str replacements; /* its last byte is zero */
};

static uint32_t label(uint32_t unit)
{
    return unit & (1u << 31 | 0xFF);
}
static bool has_rule(uint32_t unit)
{
    return unit >> 8 & 1;
}
static uint32_t offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & 1u << 9) >> 6);
}
static uint32_t value(uint32_t unit)
{
    return unit & ~(1u << 31);
}

/* Goes on from the unit whose children lie around `*base`; false when no rule goes on like this. */
static bool step(const Charsmap *c, uint32_t *base, uint8_t byte, uint32_t *unit)
{
    uint32_t at = *base ^ byte;
    if (!byte || at >= c->n_units || label(c->unit[at]) != byte) return false;
    *unit = c->unit[at];
    *base = at ^ offset(*unit);
    return true;
}

/* The replacement of the rule that ends at a unit; false when there is none. */
static bool rule_at(const Charsmap *c, uint32_t unit, uint32_t base, Str *out)
{
    if (!has_rule(unit) || base >= c->n_units) return false;
    uint32_t at = value(c->unit[base]);
    if (at >= c->replacements.len) return false;
    *out = str_of(c->replacements.ptr + at);
    return true;
}

size_t charsmap_longest(const Charsmap *c, Str text, Str *replacement)
{
    size_t longest = 0;
    uint32_t base = offset(c->unit[0]), unit;
    for (size_t i = 0; i < text.len && step(c, &base, (uint8_t)text.ptr[i], &unit); i++) {
        if (rule_at(c, unit, base, replacement)) longest = i + 1;
    }
    return longest;
}

bool charsmap_shortest(const Charsmap *c, Str text, Str *replacement)
{
    uint32_t base = offset(c->unit[0]), unit;
    for (size_t i = 0; i < text.len && step(c, &base, (uint8_t)text.ptr[i], &unit); i++) {
        if (rule_at(c, unit, base, replacement)) return true;
    }
    return false;
}

bool charsmap_has_pair(const Charsmap *c, uint8_t first, uint8_t second)
{
    uint32_t base = offset(c->unit[0]), unit;
    return step(c, &base, first, &unit) && step(c, &base, second, &unit);
}

bool charsmap_is_alone(const Charsmap *c, uint8_t byte)
{
    for (int next = 1; next < 0x80; next++)
        if (charsmap_has_pair(c, byte, (uint8_t)next)) return false;
    return true;
}

bool charsmap_is_plain(const Charsmap *c, uint8_t byte)
{
    const char text[] = { (char)byte };
    Str replacement;
    return !charsmap_longest(c, (Str){ text, 1 }, &replacement) && charsmap_is_alone(c, byte);
}

Error *charsmap_read(Arena *a, Str bytes, const Charsmap **out)
{
    uint32_t trie_bytes;
    if (bytes.len < sizeof trie_bytes) {
        return error_new("a map of characters has at least 8 bytes (found %zu)", bytes.len);
    }
    memcpy(&trie_bytes, bytes.ptr, sizeof trie_bytes);
    Str rest = { bytes.ptr + sizeof trie_bytes, bytes.len - sizeof trie_bytes };
    if (trie_bytes < sizeof(uint32_t) || trie_bytes % sizeof(uint32_t) || trie_bytes > rest.len) {
        return error_new("a trie of %u bytes does not fit into a map of characters of %zu bytes",
                         trie_bytes, bytes.len);
    }
    Charsmap *c = NEW(a, Charsmap);
    c->unit = arena_copy(a, rest.ptr, trie_bytes);
    c->n_units = trie_bytes / sizeof(uint32_t);
    /* The arena puts a zero byte after the copy. */
    c->replacements.len = rest.len - trie_bytes + 1;
    c->replacements.ptr = arena_string_n(a, rest.ptr + trie_bytes, rest.len - trie_bytes);
    *out = c;
    return NULL;
}
