/* test_normalizer.c - normalizers, on every character and on texts. */
#include "base/utf8.h"
#include "golden.h"
#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/small_tokenizer.h"
#include <stdlib.h>
#include <string.h>

static Normalizer normalizer_of(Arena *a, const char *json)
{
    Normalizer n;
    assert_no_error(normalizer_load(json_node_of(a, json), a, &n));
    return n;
}

/* What the file says that single characters become; the others stay. */
static Str *read_mappings(Arena *a, const char *name)
{
    Str *becomes = NEW_N(a, Str, 0x110000), text;
    assert_no_error(file_read(
        a, shared_path(a, arena_printf(a, "data/goldens/tokenizers/unicode/%s.tsv", name)), &text));
    for (char *line = (char *)text.ptr, *end; *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        char *p, bytes[100];
        uint32_t c = (uint32_t)strtoul(line, &p, 16);
        size_t len = 0;
        if (p == line || *p != '\t') continue;
        for (p++; p < end; p += *p == ' ')
            len += (size_t)utf8_encode((uint32_t)strtoul(p, &p, 16), bytes + len);
        becomes[c] = (Str){ arena_string_n(a, bytes, len), len };
    }
    return becomes;
}

TEST(golden_characters_are_normalized_as_by_the_library)
{
    static const struct {
        const char *file, *json;
    } cases[] = {
        { "NFC", "{\"type\":\"NFC\"}" },
        { "NFD", "{\"type\":\"NFD\"}" },
        { "NFKC", "{\"type\":\"NFKC\"}" },
        { "NFKD", "{\"type\":\"NFKD\"}" },
        { "Lowercase", "{\"type\":\"Lowercase\"}" },
        { "BertNormalizer_strip_accents",
          "{\"type\":\"BertNormalizer\",\"clean_text\":false,\"handle_chinese_chars\":false,"
          "\"strip_accents\":true,\"lowercase\":false}" },
    };
    Arena *a = arena_new();
    NormalizerRoom room = { 0 };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Str *becomes = read_mappings(a, cases[k].file);
        Normalizer n = normalizer_of(a, cases[k].json);
        for (uint32_t c = 0; c < 0x110000; c++) {
            bool is_left_out =
                c == 1 || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xD800 && c < 0xE000);
            char bytes[4];
            Str text = { bytes, (size_t)utf8_encode(is_left_out ? 'x' : c, bytes) }, out;
            assert_no_error(normalizer_run(&n, text, &room, &out));
            if (!is_left_out && !str_equal(out, becomes[c].ptr ? becomes[c] : text))
                fail_msg("%s of U+%04X is \"%.*s\"", cases[k].file, c, (int)out.len, out.ptr);
        }
    }
    normalizer_room_free(&room);
    arena_free(a);
}

static void check(const char *json, const char *text, const char *expected)
{
    Arena *a = arena_new();
    NormalizerRoom room = { 0 };
    Normalizer n = normalizer_of(a, json);
    Str out;
    assert_no_error(normalizer_run(&n, str_of(text), &room, &out));
    if (!str_is(out, expected))
        fail_msg("%s: \"%.*s\", expected \"%s\"", text, (int)out.len, out.ptr, expected);
    normalizer_room_free(&room);
    arena_free(a);
}

TEST(marks_are_ordered_and_composed_over_others)
{
    check("{\"type\":\"NFC\"}", "a\u0323\u0307 a\u0307\u0323", "ạ\u0307 ạ\u0307");
    check("{\"type\":\"NFD\"}", "ạ\u0307 ḍ\u0307", "a\u0323\u0307 d\u0323\u0307");
    check("{\"type\":\"NFC\"}", "\u1100\u1161\u11A8\u1100\u1161", "\uAC01\uAC00");
    check("{\"type\":\"NFD\"}", "\uAC01", "\u1100\u1161\u11A8");
    check("{\"type\":\"NFKC\"}", "ﬁ①\uFF76\uFF9E", "fi1ガ");
    check("{\"type\":\"NFC\"}", "\u09C7\u09BE", "\u09CB");
}

TEST(replacements_are_literal_and_empty_patterns_match_everywhere)
{
    check("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(a)b\"},\"content\":\"$1\"}", "abc",
          "$1c");
    check("{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"-\"}", "ab", "-a-b-");
    check("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x*\"},\"content\":\"-\"}", "axb",
          "-a-b-");
    check("{\"type\":\"Replace\",\"pattern\":{\"String\":\"a.\"},\"content\":\"\"}", "a.aba.",
          "ab");
}

TEST(blanks_at_the_ends_are_stripped)
{
    check("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":false}", "\u3000 a b ", "a b ");
    check("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", " \t ", "");
}
