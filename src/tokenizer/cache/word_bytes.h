/* word_bytes.h - the bytes of a word as numbers, for hash tables. A word must have 16 readable
 * bytes after it. */
#ifndef TOKENIZER_CACHE_WORD_BYTES_H
#define TOKENIZER_CACHE_WORD_BYTES_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* [len]: keeps the first 8, and the further 8 bytes of a word of up to 16, clears those after it.
 */
extern const uint64_t word_low_mask[17], word_high_mask[17];

static inline uint64_t word_load(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* For words of any length; its upper half is the better one. */
static inline uint64_t word_hash(const char *p, size_t len)
{
    uint64_t h = len;
    for (; len > 8; p += 8, len -= 8) h = (h ^ word_load(p)) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    return (h ^ (word_load(p) & word_low_mask[len])) * 0x9E3779B97F4A7C15u;
}
#endif
