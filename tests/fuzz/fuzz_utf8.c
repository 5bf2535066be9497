/* fuzz_utf8.c - any bytes as UTF-8: all instruction sets find the same end of what is valid, and
 * repairing gives valid text that keeps it. */
#include "base/utf8.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

/* Character by character, by what decoding and encoding again gives. */
static size_t plain_valid_length(Str s)
{
    size_t at = 0;
    while (at < s.len) {
        char padded[4] = { 0 }, again[4];
        size_t left = s.len - at;
        int len;
        memcpy(padded, s.ptr + at, left < 4 ? left : 4);
        uint8_t first = (uint8_t)padded[0];
        if ((first >= 0x80 && first < 0xC0) || first >= 0xF8) break;
        uint32_t c = utf8_decode(padded, &len);
        if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) || (size_t)len > left) break;
        if (utf8_encode(c, again) != len || memcmp(again, padded, (size_t)len) != 0) break;
        at += (size_t)len;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size ? size : 1); /* of exactly this size: reading on is noticed */
    if (size) memcpy(bytes, data, size);
    Str s = { bytes, size };
    size_t valid = plain_valid_length(s);
    for (CpuLevel level = CPU_SCALAR; level <= cpu_level_available(); level++)
        CHECK(utf8_valid_length_at(level, s) == valid);
    Text repaired = { 0 };
    utf8_add_repaired(&repaired, s);
    Str r = { repaired.ptr ? repaired.ptr : "", repaired.len };
    CHECK(utf8_valid_length(r) == r.len && r.len >= valid);
    CHECK(!valid || !memcmp(r.ptr, bytes, valid));
    CHECK((valid == size) == (r.len == size && (!size || !memcmp(r.ptr, bytes, size))));
    text_free(&repaired);
    free(bytes);
    return 0;
}
