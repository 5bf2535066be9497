/* test_unicode.c - the generated tables against the classes of the library. */
#include "golden.h"
#include "tokenizer/text/byte_alphabet.h"
#include "tokenizer/text/unicode.h"
#include <stdlib.h>
#include <string.h>

GOLDEN_CASES(unicode_cases)
{
    golden_add_files(to, "tokenizers/unicode/", "tokenizers/unicode", "*.tsv", ".tsv");
}

/* Marks the code points of a class; false when the file has no such line. */
static bool read_class(const char *text, const char *name, bool *in)
{
    memset(in, 0, 0x110000);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t n = strlen(name);
        if (strncmp(line, name, n) || line[n] != '\t') continue;
        char *p = strchr(line + n + 1, '\t') + 1;
        while (*p && *p != '\n') {
            uint32_t from = (uint32_t)strtoul(p, &p, 16), to = from;
            if (*p == '-') to = (uint32_t)strtoul(p + 1, &p, 16);
            for (uint32_t c = from; c <= to; c++) in[c] = true;
            while (*p == ' ') p++;
        }
        return true;
    }
    return false;
}

TEST(golden_unicode_classes_are_those_of_the_tables)
{
    static const struct {
        const char *name;
        unsigned flag;
    } class[] = {
        { "split_regex:\\p{L}", UNICODE_LETTER },
        { "split_regex:\\p{N}", UNICODE_NUMBER },
        { "split_regex:\\s", UNICODE_SPACE },
        { "tiktoken:\\p{L}", UNICODE_LETTER },
        { "tiktoken:\\p{N}", UNICODE_NUMBER },
        { "tiktoken:\\s", UNICODE_SPACE },
        { "WhitespaceSplit:whitespace", UNICODE_SPACE },
    };
    Arena *a = arena_new();
    Str text;
    assert_no_error(
        file_read(a, shared_path(a, "data/goldens/tokenizers/unicode/classes.tsv"), &text));
    bool *in = NEW_N(a, bool, 0x110000);
    for (size_t k = 0; k < sizeof class / sizeof *class; k++) {
        assert_true(read_class(text.ptr, class[k].name, in));
        for (uint32_t c = 0; c < 0x110000; c++) {
            if (in[c] != !!(unicode_flags(c) & class[k].flag))
                fail_msg("U+%04X in %s", c, class[k].name);
        }
    }
    arena_free(a);
}

/* Counted with a single_word token beside every character, tokenizers 0.22.2. */
TEST(word_characters_are_as_many_as_the_library_has)
{
    int n = 0;
    for (uint32_t c = 0; c < 0x110000; c++) n += !!(unicode_flags(c) & UNICODE_WORD);
    assert_int_equal(n, 144667);
    assert_true(unicode_flags('_') & UNICODE_WORD);
    assert_true(unicode_flags(0x24B6) & UNICODE_WORD);
    assert_false(unicode_flags(0xB2) & UNICODE_WORD);
}

TEST(byte_alphabet_has_a_character_for_every_byte)
{
    for (int b = 0; b < 256; b++) assert_int_equal(char_to_byte(byte_to_char((uint8_t)b)), b);
    int n = 0;
    for (uint32_t c = 0; c < 0x1000; c++) n += char_to_byte(c) >= 0;
    assert_int_equal(n, 256);
    Text name = { 0 }, bytes = { 0 };
    bytes_to_name(str_of(" the\n"), &name);
    assert_string_equal(name.ptr, "ĠtheĊ");
    assert_true(name_to_bytes(str_of(name.ptr), &bytes));
    assert_string_equal(bytes.ptr, " the\n");
    assert_false(name_to_bytes(str_of("a b"), &bytes));
    text_free(&name);
    text_free(&bytes);
}
