/* test_utf8.c - every code point is read back; broken bytes are counted as Unicode counts them. */
#include "base/cpu.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "test.h"
#include <string.h>

TEST(utf8_every_code_point_is_read_back)
{
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        char bytes[4];
        int len, n = utf8_encode(c, bytes);
        assert_int_equal(utf8_decode(bytes, &len), c);
        assert_int_equal(len, n);
        assert_int_equal(utf8_valid_length((Str){ bytes, (size_t)n }), n);
        if (n > 1) assert_int_equal(utf8_valid_length((Str){ bytes, (size_t)n - 1 }), 0);
    }
}

TEST(utf8_finds_the_first_invalid_byte_wherever_it_is)
{
    static const char *const broken[] = { "\x80",         "\xC1\xBF",         "\xE0\x9F\xBF",
                                          "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF",
                                          "\xC3",         "\xE4\xB8",         "\xF0\x9F\x98" };
    for (size_t before = 0; before < 80; before++) {
        for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
            char text[200];
            memset(text, 'a', sizeof text);
            size_t n = strlen(broken[i]);
            memcpy(text + before, broken[i], n);
            assert_int_equal(utf8_valid_length((Str){ text, sizeof text }), before);
            assert_int_equal(utf8_valid_length((Str){ text, before + n }), before);
        }
    }
}

static size_t below(uint64_t *drawn, size_t n)
{
    return rng_bits(5, (*drawn)++) % n;
}

/* Every path of this CPU against the table, on text with a fault or none. */
TEST(utf8_in_blocks_finds_the_same_end)
{
    enum { LEN = 300 };
    static const uint32_t range[] = { 0x80, 0x80, 0x800, 0x10000, 0x110000 };
    uint64_t drawn = 0;
    for (int round = 0; round < 20000; round++) {
        char text[LEN + 4];
        size_t n = 0;
        while (n < LEN) {
            uint32_t c = (uint32_t)below(&drawn, range[below(&drawn, 5)]);
            if (c < 0xD800 || c > 0xDFFF) n += (size_t)utf8_encode(c, text + n);
        }
        if (round % 4) text[below(&drawn, n)] = (char)below(&drawn, 256);
        Str s = { text, n - below(&drawn, 64) };
        size_t valid = 0;
        for (size_t step; valid < s.len; valid += step) {
            step = 0; /* by single characters, which are not looked at in blocks */
            for (size_t len = 1; len <= 4 && valid + len <= s.len && !step; len++)
                step = utf8_valid_length((Str){ text + valid, len }) == len ? len : 0;
            if (!step) break;
        }
        for (CpuLevel level = CPU_SCALAR; level <= cpu_level_available(); level++)
            assert_int_equal(utf8_valid_length_at(level, s), valid);
    }
}

/* The example of Unicode 3.9, table 3-8, and cut characters at the end. */
TEST(utf8_repairs_one_replacement_per_maximal_subpart)
{
    static const char *const pair[][2] = {
        { "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64",
          "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd" },
        { "\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
          "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA" },
        { "\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD" },
        { "x\xF0\x9F\x98", "x\uFFFD" },
        { "\xE4\xB8\xE4\xB8\xAD", "\uFFFD中" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        Text t = { 0 };
        utf8_add_repaired(&t, str_of(pair[i][0]));
        assert_string_equal(t.ptr ? t.ptr : "", pair[i][1]);
        text_free(&t);
    }
}
