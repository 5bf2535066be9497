/* test_split.c - words of GPT-2's pattern: the pattern's own examples, and every version of the
 * splitter against the table-driven one. */
#include "base/rng.h"
#include "base/utf8.h"
#include "device/device.h"
#include "test.h"
#include "tokenizer/pretokenize.h"
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

typedef struct Version {
    const char *name;
    WordSplitter *split;
} Version;

/* The table's, and those that this CPU can run; ends with NULL. */
static const Version *versions(void)
{
    static Version v[4] = { { "table", split_gpt2 } };
#if defined(__x86_64__)
    if (cpu_level_available() >= CPU_AVX2) v[1] = (Version){ "AVX2", split_gpt2_avx2 };
    if (cpu_level_available() >= CPU_AVX512 && __builtin_cpu_supports("avx512vbmi2"))
        v[2] = (Version){ "AVX-512", split_gpt2_avx512 };
#endif
    return v;
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (const Version *v = versions(); v->split; v++) {
            Text words = { 0 };
            join_words(v->split, str_of(cases[i][0]), SPLIT_BYTES, &words);
            assert_string_equal(words.ptr, cases[i][1]);
            text_free(&words);
        }
    }
}

static void assert_same_words(Str text, uint32_t step)
{
    Text table = { 0 }, words = { 0 };
    join_words(split_gpt2, text, step, &table);
    for (const Version *v = versions() + 1; v->split; v++) {
        text_clear(&words);
        join_words(v->split, text, step, &words);
        if (table.len != words.len || memcmp(table.ptr, words.ptr, table.len))
            fail_msg("step %u: by table \"%s\", by %s \"%s\"", step, table.ptr, v->name, words.ptr);
    }
    text_free(&table);
    text_free(&words);
}

TEST(blocks_of_bytes_give_the_words_of_the_table)
{
    if (!versions()[1].split) test_skip("this CPU has no AVX2");
    static const uint32_t steps[] = { SPLIT_BYTES, 1, 59, 200 };
    for (uint64_t seed = 0; seed < 4000; seed++) {
        Text text = { 0 };
        random_text(seed, (int)(seed % 80) + 1, &text);
        assert_same_words((Str){ text.ptr, text.len }, steps[seed % 4]);
        text_free(&text);
    }
}

/* Each character, beside others, at every place of a block. */
TEST(every_character_is_classified_in_blocks_as_in_the_table)
{
    if (!versions()[1].split) test_skip("this CPU has no AVX2");
    Text text = { 0 };
    for (uint32_t c = 1; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000) continue;
        char bytes[4];
        int n = utf8_encode(c, bytes);
        text_add(&text, bytes, (size_t)n);
        text_puts(&text, &"a1 '"[c % 4]);
        text_add(&text, bytes, (size_t)n);
        if (text.len < 4000 && c + 1 < 0x110000) continue;
        assert_same_words((Str){ text.ptr, text.len }, SPLIT_BYTES);
        text_clear(&text);
    }
    text_free(&text);
}

TEST(contractions_are_found_across_the_edges_of_blocks)
{
    if (!versions()[1].split) test_skip("this CPU has no AVX2");
    static const char *const ends[] = { "'s",  "'ve!", "'llx", "'re 1", "''d",
                                        " 'm", "'st",  "'v",   "'" };
    for (int before = 0; before < 140; before++) {
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            Text text = { 0 };
            for (int k = 0; k < before; k++) text_putc(&text, "ab1 "[k % 7 % 4]);
            text_puts(&text, ends[i]);
            text_puts(&text, i % 2 ? "" : "tail");
            assert_same_words((Str){ text.ptr, text.len }, SPLIT_BYTES);
            text_free(&text);
        }
    }
}
