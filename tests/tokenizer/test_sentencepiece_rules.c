/* test_sentencepiece_rules.c - texts are rewritten as one character after the other would be,
 * whatever the rules, on each instruction set. */
#include "base/rng.h"
#include "test.h"
#include "tokenizer/normalize/charsmap_build.h"
#include "tokenizer/reference.h"
#include <stdlib.h>
#include <string.h>

enum { N_TEXTS = 3000, MOST_PARTS = 12, MOST_SYMBOLS = 6 };

typedef struct Draw {
    uint64_t key, i;
} Draw;

static int64_t below(Draw *d, int64_t n)
{
    return (int64_t)(rng_bits(d->key, d->i++) % (uint64_t)n);
}

/* As long as a block of bytes, or about. */
static void add_run(Draw *d, Text *out)
{
    static const char *const letters[] = { "abcdefgh.ijkl mnop,qrstuvwxyz", "The End <x> OF It ",
                                           "e", " " };
    const char *of = letters[below(d, 40) < 3 ? 2 + below(d, 2) : below(d, 2)];
    int64_t n = below(d, 2) ? below(d, 12) : (8 << below(d, 5)) - 2 + below(d, 5);
    int64_t n_letters = (int64_t)strlen(of), first = below(d, n_letters);
    for (int64_t i = 0; i < n; i++) text_putc(out, of[(first + i) % n_letters]);
}

static void draw_text(uint64_t number, Text *out)
{
    static const Str odd[] = {
        { "\n", 1 },     { "\t", 1 },         { "\r\n", 2 },   { " ", 1 },
        { "  ", 2 },     { "\n\n ", 3 },      { "\0", 1 },     { "\x01", 1 },
        { "\x7F", 1 },   { "e\u0301", 3 },    { "\u0301", 2 }, { "\u0338", 2 },
        { "\u00E9", 2 }, { "\u00C9", 2 },     { "\u2019", 3 }, { "\u2026", 3 },
        { "\u00A0", 2 }, { "\u3000", 3 },     { "\u2581", 3 }, { "\u2581\u2581", 6 },
        { "\u4E2D", 3 }, { "\U0001F600", 4 }, { "\uFB01", 3 }, { "\uFDFA", 3 },
        { "<s>", 3 },    { "<s", 2 },         { "<", 1 },      { "the ", 4 },
        { "A", 1 },      { "ab", 2 },         { "q", 1 },      { "~", 1 },
        { "|", 1 },      { "\u00A8", 2 },
    };
    Draw d = { rng_key(51, RNG_DATA, number, 0), 0 };
    text_clear(out);
    for (int64_t n = below(&d, MOST_PARTS); n >= 0; n--) {
        if (below(&d, 2)) add_run(&d, out);
        Str s = odd[below(&d, sizeof odd / sizeof *odd)];
        if (below(&d, 4)) text_add(out, s.ptr, s.len);
    }
}

/* Rules of one byte for another, for none, for more; that begin with other rules, end with
 * characters of several bytes, or give blanks. Sorted. */
static CharRules odd_rules(void)
{
    static CharRule rules[] = {
        { { "\t", 1 }, { " ", 1 } },        { { "\n", 1 }, { "\u2581", 3 } },
        { { "A", 1 }, { "a", 1 } },         { { "ab", 2 }, { "B", 1 } },
        { { "c\u00E9", 3 }, { "C", 1 } },   { { "e\u0301", 3 }, { "\u00E9", 2 } },
        { { "q", 1 }, { "", 0 } },          { { "x", 1 }, { "\u00D7", 2 } },
        { { "|", 1 }, { "  | ", 4 } },      { { "~", 1 }, { " \u2581", 4 } },
        { { "\u00A0", 2 }, { " ", 1 } },    { { "\u00E9", 2 }, { "e", 1 } },
        { { "\u2026", 3 }, { "... ", 4 } }, { { "\u4E2D", 3 }, { "  ", 2 } },
    };
    return (CharRules){ rules, sizeof rules / sizeof *rules };
}

static const Charsmap *map_of(Arena *a, const CharRules *rules)
{
    const Charsmap *map = NULL;
    if (rules->n) assert_no_error(charsmap_read(a, charsmap_build(a, rules), &map));
    return map;
}

static void compare(const SpNormalizer *n, CpuLevel level, uint64_t number, Str text,
                    const Text *plain)
{
    Text fast = { 0 };
    text_puts(&fast, ".");
    /* A copy of its own, so that reading after it shows under a sanitizer. */
    char *copy = malloc(text.len);
    if (text.len) memcpy(copy, text.ptr, text.len);
    sp_normalize(n, (Str){ copy, text.len }, &fast);
    free(copy);
    if (!str_equal((Str){ fast.ptr, fast.len }, (Str){ plain->ptr, plain->len }))
        fail_msg("text %llu on %s: \"%.*s\" becomes \"%s\", not \"%s\"", (unsigned long long)number,
                 cpu_level_name(level), (int)text.len, text.ptr, fast.ptr, plain->ptr);
    assert_int_equal(fast.ptr[fast.len], 0);
    text_free(&fast);
}

/* Returns how many texts were compared. */
static int64_t compare_all(const SpFile *f, const SpRules *rules, uint64_t seed)
{
    Arena *a = arena_new();
    SpNormalizer n = sp_normalizer_new(a, f, rules, true);
    int64_t n_texts = test_share(N_TEXTS);
    Text text = { 0 }, plain = { 0 };
    for (int64_t i = 0; i < n_texts; i++) {
        uint64_t number = seed * N_TEXTS + (uint64_t)i;
        draw_text(number, &text);
        text_clear(&plain);
        text_puts(&plain, ".");
        reference_normalize(&n, (Str){ text.ptr, text.len }, &plain);
        for (CpuLevel level = CPU_SCALAR; level <= cpu_level_available(); level++) {
            ascii_rewrite_complete(&n.ascii, level);
            compare(&n, level, number, (Str){ text.ptr, text.len }, &plain);
        }
    }
    text_free(&text);
    text_free(&plain);
    arena_free(a);
    return n_texts;
}

static int64_t compare_symbols(const SpRules *rules, bool behind, uint64_t seed)
{
    static const Str symbols[][MOST_SYMBOLS] = {
        { { NULL, 0 } },
        { { "<s>", 3 }, { "</s>", 4 }, { "\0", 1 } },
        { { "the ", 4 },
          { "\n", 1 },
          { "e", 1 },
          { "\u00E9", 2 },
          { " \u2581", 4 },
          { "\u2019", 3 } },
    };
    int64_t n = 0;
    for (size_t k = 0; k < sizeof symbols / sizeof *symbols; k++) {
        Str name[MOST_SYMBOLS];
        uint8_t type[MOST_SYMBOLS];
        SpFile f = { .name = name, .type = type, .whitespace_as_suffix = behind };
        for (; f.n < MOST_SYMBOLS && symbols[k][f.n].len; f.n++) {
            name[f.n] = symbols[k][f.n];
            type[f.n] = SP_USER_DEFINED;
        }
        n += compare_all(&f, rules, seed + k);
    }
    return n;
}

static int64_t compare_maps(const Charsmap *map, uint64_t seed)
{
    enum { N_SETTINGS = 6 };
    static const bool drops[N_SETTINGS] = { 0, 1, 0, 1, 1, 0 };
    static const bool dummy[N_SETTINGS] = { 1, 1, 0, 0, 1, 0 };
    static const bool escapes[N_SETTINGS] = { 1, 1, 1, 0, 0, 0 };
    static const bool behind[N_SETTINGS] = { 0, 1, 0, 0, 1, 0 };
    int64_t n = 0;
    for (uint64_t i = 0; i < N_SETTINGS; i++) {
        SpRules rules = { map, dummy[i], drops[i], escapes[i] };
        n += compare_symbols(&rules, behind[i], seed * 100 + i * 10);
    }
    return n;
}

TEST(sentencepiece_rewrites_stretches_of_text_as_single_characters)
{
    static const char *const names[] = { "identity", "nfkc", "nmt_nfkc_cf" };
    Arena *a = arena_new();
    CharRules rules = odd_rules();
    int64_t n = compare_maps(map_of(a, &rules), 0);
    for (uint64_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_no_error(charsmap_rules(a, names[i], &rules));
        n += compare_maps(map_of(a, &rules), i + 1);
    }
    test_note("%lld texts", (long long)n);
    arena_free(a);
}
