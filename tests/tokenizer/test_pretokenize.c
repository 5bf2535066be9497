/* test_pretokenize.c - regular expressions and pre-tokenizers: their words, and which characters
 * their classes have. */
#include "base/utf8.h"
#include "golden.h"
#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/pretokenize/regex_words.h"
#include "tokenizer/small_tokenizer.h"
#include <stdlib.h>
#include <string.h>

/* The words, with "|" before each. */
static const char *joined(Arena *a, const Words *w)
{
    Text all = { 0 };
    text_puts(&all, "");
    for (int64_t i = 0; i < w->n; i++) {
        Str word = words_at(w, i);
        text_puts(&all, "|");
        text_add(&all, word.ptr, word.len);
    }
    const char *kept = arena_string_n(a, all.ptr, all.len);
    text_free(&all);
    return kept;
}

static void check_pattern(RegexDialect dialect, const char *pattern, const char *text,
                          const char *expected)
{
    Arena *a = arena_new();
    const Regex *r;
    RegexRoom room = { 0 };
    Words words = { 0 };
    assert_no_error(regex_new(a, str_of(pattern), dialect, &r));
    assert_no_error(split_regex(r, &room, SPLIT_ISOLATED, false, str_of(text), &words));
    assert_string_equal(joined(a, &words), expected);
    words_free(&words);
    regex_room_free(&room);
    arena_free(a);
}

TEST(patterns_mean_what_they_mean_in_ruby)
{
    static const char *const cases[][3] = {
        { "^a", "a\nab", "|a|\n|a|b" },
        { "a$", "ba\na", "|b|a|\n|a" },
        { ".", "a\nb", "|a|\n|b" },
        { "(?m:.+)", "a\nb", "|a\nb" },
        { "\\w+", "aé_1²‿ -", "|aé_1²‿| -" },
        { "a{2}+", "aaaaa", "|aaaa|a" },
        { "a{,2}b", "aaab", "|a|aab" },
        { "a{2}?b", "baab", "|b|aab" },
        { "a{x", "a{x", "|a{x" },
        { "[a-c&&[^b]]+", "abcab", "|a|b|ca|b" },
        { "[^(\\s|[.,])]+", "a b,c(d", "|a| |b|,|c|(|d" },
        { "[[:alpha:]]+", "a1é", "|a|1|é" },
        { "[]a]+", "b]a", "|b|]a" },
        { "\\h+", "xfA0y", "|x|fA0|y" },
        { "\\bb", "ab b", "|ab |b" },
        { "a(?i)b|c", "aBacC", "|aB|ac|C" },
        { "(?<x>a)(b)\\k<x>", "aba", "|aba" },
        { "(a)\\1", "aab", "|aa|b" },
        { "(?x: a # comment [\n b )", "ab", "|ab" },
        { "\\p{^Lu}", "aB", "|a|B" },
        { "\\x41|\\u0062|\\103", "AbCd", "|A|b|C|d" },
        { "(?i:'s|'ll)", "'S'ſ'LL", "|'S|'ſ|'LL" },
        { "(?i)[^a]", "aAb", "|aA|b" },
        { "(?<=a)b", "abb", "|a|b|b" },
        { "\\p{Hiragana}+", "あいa", "|あい|a" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_pattern(REGEX_ONIGURUMA, cases[i][0], cases[i][1], cases[i][2]);
}

TEST(patterns_mean_what_they_mean_in_rust)
{
    check_pattern(REGEX_RUST, "a{1,2}+", "aaa", "|aa|a");
    check_pattern(REGEX_RUST, "a$|^a", "a\nba\na", "|a|\nba\n|a");
    check_pattern(REGEX_RUST, "(?s:.+)", "a\nb", "|a\nb");
    check_pattern(REGEX_RUST,
                  "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| "
                  "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
                  "I'LL go  12345!\n\n x  ", "|I|'LL| go| | |123|45|!\n\n| x|  ");
}

TEST(patterns_that_are_wrong_are_refused_with_the_place)
{
    static const char *const cases[][2] = {
        { "a(b", "( without a closing parenthesis (at byte 3" },
        { "a)b", ") without an opening parenthesis (at byte 1" },
        { "[a", "[ without a closing bracket (at byte 2" },
        { "*a", "nothing to repeat (at byte 0" },
        { "\\p{Nope}", "\"Nope\" is no property of characters" },
        { "[b-a]", "a range that runs backwards" },
        { "(?s)a", "undefined option of a group" },
        { "(?<=a+)b", "lookbehind assertion is not fixed length" },
        { "a\\", "a backslash at the end" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Regex *r;
        assert_error_has(regex_new(a, str_of(cases[i][0]), REGEX_ONIGURUMA, &r), cases[i][1]);
    }
    arena_free(a);
}

static void check_words(const char *json, const char *text, const char *expected)
{
    Arena *a = arena_new();
    PreTokenizer p;
    PreTokenizerRoom room = { 0 };
    const Words *words;
    assert_no_error(pretokenizer_load(json_node_of(a, json), false, a, &p));
    assert_true(p.n_steps > 0);
    assert_no_error(pretokenizer_run(&p, str_of(text), true, &room, &words));
    assert_string_equal(joined(a, words), expected);
    pretokenizer_room_free(&room);
    arena_free(a);
}

#define SPLIT(pattern, behavior, invert)                                                           \
    "{\"type\":\"Split\",\"pattern\":{\"String\":\"" pattern "\"},\"behavior\":\"" behavior        \
    "\",\"invert\":" invert "}"

TEST(matches_become_words_as_the_behavior_says)
{
    check_words(SPLIT("-", "Removed", "false"), "-a--b-", "|a|b");
    check_words(SPLIT("-", "Isolated", "false"), "-a--b-", "|-|a|-|-|b|-");
    check_words(SPLIT("-", "Contiguous", "false"), "-a--b-", "|-|a|--|b|-");
    check_words(SPLIT("-", "MergedWithPrevious", "false"), "-a--b-", "|-|a-|-|b-");
    check_words(SPLIT("-", "MergedWithNext", "false"), "-a--b-", "|-a|-|-b|-");
    check_words(SPLIT("-", "Removed", "true"), "-a--b-", "|-|-|-|-");
    check_words(SPLIT("-", "MergedWithPrevious", "true"), "-a--b-", "|-a|-|-b|-");
}

TEST(metaspace_marks_the_start_of_words)
{
    static const char
        always[] = "{\"type\":\"Metaspace\",\"replacement\":\"_\"}",
        first[] = "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\","
                  "\"individual_digits\":true},{\"type\":\"Metaspace\","
                  "\"replacement\":\"_\",\"prepend_scheme\":\"first\"}]}",
        whole[] = "{\"type\":\"Metaspace\",\"replacement\":\"_\","
                  "\"prepend_scheme\":\"never\",\"split\":false}",
        after_skip[] = "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"},"
                       "{\"type\":\"Metaspace\",\"replacement\":\"_\","
                       "\"prepend_scheme\":\"first\"}]}";
    check_words(always, "a  b ", "|_a|_|_b|_");
    check_words(always, " a", "|_a");
    check_words(first, "a1b", "|_a|1|b");
    check_words(whole, "a b", "|a_b");
    check_words(after_skip, "a b", "|_a|b");
    check_words(after_skip, " a b", "|a|b");
}

TEST(other_pretokenizers_cut_where_the_library_does)
{
    check_words("{\"type\":\"Whitespace\"}", " ab, c.! ", "|ab|,|c|.!");
    check_words("{\"type\":\"WhitespaceSplit\"}", "\u3000a b\xC2\x85", "|a|b");
    check_words("{\"type\":\"BertPreTokenizer\"}", "a b,$c", "|a|b|,|$|c");
    check_words("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"é\"}", "aébééc", "|a|b|c");
    check_words("{\"type\":\"FixedLength\",\"length\":2}", "aéb", "|aé|b");
    check_words("{\"type\":\"UnicodeScripts\"}", " ab の京 д1", "|ab |の京 |д|1");
    check_words("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\","
                "\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},{\"type\":"
                "\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\"}]}",
                "a é", "|Ġa|ĠÃ©");
    /* After ByteLevel steps see the byte alphabet, and words come back as bytes. */
    check_words("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\","
                "\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false},{\"type\":"
                "\"Split\",\"pattern\":{\"String\":\"Ġ\"},\"behavior\":\"Isolated\",\"invert\":"
                "false}]}",
                "a b", "|a| |b");
}

/* How often the words of a text of one character, or what it is normalized to, differ from it. */
typedef struct ClassCase {
    const char *name, *json;
    const char *around; /* the character stands in place of ? */
    const char *yes;    /* what a member makes of it; ? is the character */
    bool is_normalizer;
} ClassCase;

#define CLASS(pattern)                                                                             \
    {                                                                                              \
        "split_regex:" pattern,                                                                    \
            "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\" pattern                              \
            "\"},\"behavior\":\"Isolated\",\"invert\":false}",                                     \
            "??", "|?|?", false                                                                    \
    }

static const ClassCase class_cases[] = {
    CLASS("\\d"),
    CLASS("\\p{Han}"),
    CLASS("\\p{Ll}"),
    CLASS("\\p{Lm}"),
    CLASS("\\p{Lo}"),
    CLASS("\\p{Lt}"),
    CLASS("\\p{Lu}"),
    CLASS("\\p{L}"),
    CLASS("\\p{M}"),
    CLASS("\\p{N}"),
    CLASS("\\p{P}"),
    CLASS("\\p{S}"),
    CLASS("\\s"),
    CLASS("\\w"),
    { "BertPreTokenizer:isolated", "{\"type\":\"BertPreTokenizer\"}", "a?", "|a|?", false },
    { "Punctuation:punctuation", "{\"type\":\"Punctuation\"}", "a?", "|a|?", false },
    { "Digits:numeric", "{\"type\":\"Digits\",\"individual_digits\":true}", "a?", "|a|?", false },
    { "WhitespaceSplit:whitespace", "{\"type\":\"WhitespaceSplit\"}", "a?", "|a", false },
    { "StripAccents:removed", "{\"type\":\"StripAccents\"}", "a?b", "ab", true },
    { "Nmt:removed", "{\"type\":\"Nmt\"}", "a?b", "ab", true },
    { "Nmt:to_space", "{\"type\":\"Nmt\"}", "a?b", "a b", true },
    { "BertNormalizer_clean:removed",
      "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":false,"
      "\"strip_accents\":false,\"lowercase\":false}",
      "a?b", "ab", true },
    { "BertNormalizer_clean:to_space",
      "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":false,"
      "\"strip_accents\":false,\"lowercase\":false}",
      "a?b", "a b", true },
    { "BertNormalizer_chinese:padded",
      "{\"type\":\"BertNormalizer\",\"clean_text\":false,\"handle_chinese_chars\":true,"
      "\"strip_accents\":false,\"lowercase\":false}",
      "a?b", "a ? b", true },
};

static const char *with_character(Arena *a, const char *form, uint32_t c)
{
    char out[64];
    size_t len = 0;
    for (; *form; form++) {
        if (*form == '?')
            len += (size_t)utf8_encode(c, out + len);
        else
            out[len++] = *form;
    }
    return arena_string_n(a, out, len);
}

/* Does a character make of the text what a member does? */
static bool is_member(Arena *a, const ClassCase *k, const Normalizer *n, const PreTokenizer *p,
                      NormalizerRoom *normalizing, PreTokenizerRoom *cutting, uint32_t c)
{
    const char *text = with_character(a, k->around, c), *yes = with_character(a, k->yes, c);
    if (k->is_normalizer) {
        Str out;
        assert_no_error(normalizer_run(n, str_of(text), normalizing, &out));
        return str_is(out, yes);
    }
    const Words *words;
    assert_no_error(pretokenizer_run(p, str_of(text), true, cutting, &words));
    return !strcmp(joined(a, words), yes);
}

static void check_class(const ClassCase *k, const bool *in)
{
    Arena *a = arena_new(), *scratch = arena_new();
    Normalizer n;
    PreTokenizer p;
    NormalizerRoom normalizing = { 0 };
    PreTokenizerRoom cutting = { 0 };
    if (k->is_normalizer)
        assert_no_error(normalizer_load(json_node_of(a, k->json), a, &n));
    else
        assert_no_error(pretokenizer_load(json_node_of(a, k->json), false, a, &p));
    for (uint32_t c = 1; c < 0x110000; c++) {
        bool is_surrogate = c >= 0xD800 && c < 0xE000;
        /* Planes without a character are only sampled. */
        bool is_passed = c >= 0x40000 && c < 0xE0000 && c % 0x101;
        /* The letters around it would be their own neighbours. */
        if (is_surrogate || is_passed || c == '|' || c == '?' || c == ' ') continue;
        bool member = is_member(scratch, k, &n, &p, &normalizing, &cutting, c);
        if (member != in[c]) fail_msg("U+%04X in %s", c, k->name);
        if (c % 256 == 0) arena_clear(scratch);
    }
    normalizer_room_free(&normalizing);
    pretokenizer_room_free(&cutting);
    arena_free(scratch);
    arena_free(a);
}

TEST(golden_classes_hold_for_every_character)
{
    Arena *a = arena_new();
    Str text;
    assert_no_error(
        file_read(a, shared_path(a, "data/goldens/tokenizers/unicode/classes.tsv"), &text));
    bool *in = NEW_N(a, bool, 0x110000);
    size_t n_checked = 0;
    for (char *line = (char *)text.ptr, *end; *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        char *p = memchr(line, '\t', (size_t)(end - line));
        memset(in, 0, 0x110000);
        for (p = strchr(p + 1, '\t') + 1; p < end;) {
            uint32_t from = (uint32_t)strtoul(p, &p, 16), to = from;
            if (*p == '-') to = (uint32_t)strtoul(p + 1, &p, 16);
            for (uint32_t c = from; c <= to; c++) in[c] = true;
            while (*p == ' ') p++;
        }
        for (size_t k = 0; k < sizeof class_cases / sizeof *class_cases; k++) {
            size_t len = strlen(class_cases[k].name);
            if (strncmp(class_cases[k].name, line, len) || line[len] != '\t') continue;
            check_class(&class_cases[k], in);
            n_checked++;
        }
    }
    assert_int_equal(n_checked, sizeof class_cases / sizeof *class_cases);
    arena_free(a);
}
