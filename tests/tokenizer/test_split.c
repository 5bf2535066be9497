/* test_split.c - words of GPT-2's pattern: the pattern's own examples, and every version of the
 * splitter against the table-driven one. */
#include "base/rng.h"
#include "base/utf8.h"
#include "device/device.h"
#include "test.h"
#include "tokenizer/pretokenize/cl100k.h"
#include "tokenizer/random_text.h"
#include <string.h>

/* The words, put together with '|' between them; found in pieces of `step` bytes. */
static void join_words(WordSplitter *split, Str text, uint32_t step, Text *out)
{
    Buffer room = { 0 };
    Arena *a = arena_new();
    uint32_t *end = NEW_N(a, uint32_t, SPLIT_ROOM);
    Str s = pretokenizer_place(&(PreTokenizer){ 0 }, text, &room);
    for (uint32_t from = 0, len = (uint32_t)s.len; from < len;) {
        uint32_t until = len - from < step ? len : from + step;
        int64_t n = split(s.ptr, len, from, until, end);
        assert_true(n >= 1 && n <= SPLIT_ROOM);
        assert_true(end[n - 1] >= until && end[n - 1] <= len);
        for (int64_t i = 0; i < n; from = end[i++]) {
            assert_true(end[i] > from);
            if (from) text_putc(out, '|');
            text_add(out, s.ptr + from, end[i] - from);
        }
    }
    buffer_free(&room);
    arena_free(a);
}

enum { GPT2, CL100K, QWEN2, PATTERNS };

typedef struct Version {
    const char *name;
    WordSplitter *split[PATTERNS];
} Version;

/* The table's, and those that this CPU can run; ends with a NULL. */
static const Version *versions(void)
{
    static Version v[4] = { { "table", { split_gpt2, split_cl100k, split_qwen2 } } };
#if defined(__x86_64__)
    if (cpu_level_available() >= CPU_AVX2)
        v[1] = (Version){ "AVX2", { split_gpt2_avx2, split_cl100k_avx2, split_qwen2_avx2 } };
    if (cpu_level_available() >= CPU_AVX512 && __builtin_cpu_supports("avx512vbmi2"))
        v[2] =
            (Version){ "AVX-512", { split_gpt2_avx512, split_cl100k_avx512, split_qwen2_avx512 } };
#endif
    return v;
}

static void assert_words(int pattern, const char *text, const char *expected)
{
    for (const Version *v = versions(); v->name; v++) {
        Text words = { 0 };
        join_words(v->split[pattern], str_of(text), SPLIT_BYTES, &words);
        if (strcmp(words.ptr, expected))
            fail_msg("by %s \"%s\", should be \"%s\"", v->name, words.ptr, expected);
        text_free(&words);
    }
}

TEST(words_are_those_of_the_pattern)
{
    static const char *const cases[][2] = {
        { "Hello world", "Hello| world" },
        { "  two   blanks  ", " | two|  | blanks|  " },
        { "it's I'll we've 're 'S", "it|'s| I|'ll| we|'ve| '|re| '|S" },
        { "'s'tll''d!'m", "'s|'t|ll|''|d|!'|m" },
        { "a1b22 333.4", "a|1|b|22| 333|.|4" },
        { "x\n\ny\n z\t\tw", "x|\n|\n|y|\n| z|\t|\t|w" },
        { "\u3000\u3000a \u3000b", "\u3000|\u3000|a| |\u3000|b" },
        { "é\u0301½²中文 !?…", "é|\u0301|½²|中文| !?…" },
        { "'", "'" },
        { " ", " " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_words(GPT2, cases[i][0], cases[i][1]);
}

/* As Python's regex module cuts them. */
TEST(words_are_those_of_cl100k)
{
    static const char *const cases[][2] = {
        { "Hello world", "Hello| world" },
        { "  two   blanks  ", " | two|  | blanks|  " },
        { "it's I'LL we\u2019ve 're 'S'sa", "it|'s| I|'LL| we|\u2019ve| '|re| '|S|'s|a" },
        { "don'\u017Ft ''s (a) !a\t!b", "don|'\u017F|t| ''|s| (|a|)| !|a|\t|!b" },
        { "1234567 12", "123|456|7| |12" },
        { "x !\n\n  y \n z\t\tw\r\n\r\n", "x| !\n\n| | y| \n| z|\t|\tw|\r\n\r\n" },
        { "a  \n  \n  b\n\n\n  ", "a|  \n  \n| | b|\n\n\n|  " },
        { "\u3000\u3000a \u3000b\u00A01", "\u3000|\u3000a| |\u3000b|\u00A0|1" },
        { "é\u0301½²中文\u3002a !?…\n", "é|\u0301|½²|中文|\u3002a| !?…\n" },
        { "'", "'" },
        { " ", " " },
        { "\n", "\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_words(CL100K, cases[i][0], cases[i][1]);
    assert_words(QWEN2, "x12 ½²3", "x|1|2| |½|²|3");
}

static void assert_same_words(int pattern, Str text, uint32_t step)
{
    Text table = { 0 }, words = { 0 };
    join_words(versions()->split[pattern], text, step, &table);
    for (const Version *v = versions() + 1; v->name; v++) {
        text_clear(&words);
        join_words(v->split[pattern], text, step, &words);
        if (table.len != words.len || memcmp(table.ptr, words.ptr, table.len))
            fail_msg("pattern %d, step %u: by table \"%s\", by %s \"%s\"", pattern, step, table.ptr,
                     v->name, words.ptr);
    }
    text_free(&table);
    text_free(&words);
}

TEST(blocks_of_bytes_give_the_words_of_the_table)
{
    if (!versions()[1].name) test_skip("this CPU has no AVX2");
    static const uint32_t steps[] = { SPLIT_BYTES, 1, 59, 200 };
    for (uint64_t seed = 0; seed < 4000; seed++) {
        Text text = { 0 };
        random_text(seed, (int)(seed % 80) + 1, &text);
        for (int pattern = 0; pattern < PATTERNS; pattern++)
            assert_same_words(pattern, (Str){ text.ptr, text.len }, steps[seed % 4]);
        text_free(&text);
    }
}

/* Each character, beside others, at every place of a block. */
TEST(every_character_is_classified_in_blocks_as_in_the_table)
{
    if (!versions()[1].name) test_skip("this CPU has no AVX2");
    Text text = { 0 };
    for (uint32_t c = 1; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000) continue;
        char bytes[4];
        int n = utf8_encode(c, bytes);
        text_add(&text, bytes, (size_t)n);
        text_puts(&text, &"a1 '"[c % 4]);
        text_add(&text, bytes, (size_t)n);
        if (text.len < 4000 && c + 1 < 0x110000) continue;
        for (int pattern = 0; pattern < PATTERNS; pattern++)
            assert_same_words(pattern, (Str){ text.ptr, text.len }, SPLIT_BYTES);
        text_clear(&text);
    }
    text_free(&text);
}

TEST(contractions_are_found_across_the_edges_of_blocks)
{
    if (!versions()[1].name) test_skip("this CPU has no AVX2");
    static const char *const ends[] = { "'s",  "'ve!", "'llx", "'re 1", "''d",
                                        " 'm", "'st",  "'v",   "'" };
    for (int before = 0; before < 140; before++) {
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            Text text = { 0 };
            for (int k = 0; k < before; k++) text_putc(&text, "ab1 "[k % 7 % 4]);
            text_puts(&text, ends[i]);
            text_puts(&text, i % 2 ? "" : "tail");
            for (int pattern = 0; pattern < PATTERNS; pattern++)
                assert_same_words(pattern, (Str){ text.ptr, text.len }, SPLIT_BYTES);
            text_free(&text);
        }
    }
}
