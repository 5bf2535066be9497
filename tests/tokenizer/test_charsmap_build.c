/* test_charsmap_build.c - named normalizations have the library's rules, and a map that is written
 * is the one that is read. */
#include "base/map.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "test.h"
#include "tokenizer/normalize/charsmap.h"
#include "tokenizer/normalize/charsmap_build.h"
#include <string.h>

/* All rules, each as two texts that end with a zero byte. */
static Str listed(Arena *a, const CharRules *rules)
{
    Text t = { 0 };
    for (int64_t i = 0; i < rules->n; i++) {
        text_add(&t, rules->item[i].from.ptr, rules->item[i].from.len);
        text_putc(&t, 0);
        text_add(&t, rules->item[i].to.ptr, rules->item[i].to.len);
        text_putc(&t, 0);
    }
    Str all = { arena_string_n(a, t.ptr, t.len), t.len };
    text_free(&t);
    return all;
}

TEST(named_normalizations_have_the_rules_of_sentencepiece)
{
    /* Of the maps in models that sentencepiece 0.2.3 trained, taken apart. */
    static const struct {
        const char *name, *sha256;
        int64_t n;
    } cases[] = {
        { "nfkc", "75521325005e3895b72995e885c4ec3df21bf8e9a059d4211f0b6656a5ae9fca", 225232 },
        { "nmt_nfkc", "8616a66b7d2a74d6706485ffea00c0d2ce0375fae3449dc1c6ea6120c925a91a", 225276 },
        { "nfkc_cf", "92c9d2e5fc469cc1e11d6743c46f8fc49a126b4cb802dca66d662261329d41ef", 226640 },
        { "nmt_nfkc_cf", "e43e4be7d6d5bf0ed525a5a7c7350d022d0129c46505e74f6ec0d002454c09bb",
          226684 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *a = arena_new();
        CharRules rules;
        assert_no_error(charsmap_rules(a, cases[i].name, &rules));
        assert_int_equal(rules.n, cases[i].n);
        Str all = listed(a, &rules);
        char hash[65];
        sha256_hex(all.ptr, all.len, hash);
        assert_string_equal(hash, cases[i].sha256);
        arena_free(a);
    }
}

TEST(identity_has_no_rules_and_other_names_are_refused)
{
    Arena *a = arena_new();
    CharRules rules;
    assert_no_error(charsmap_rules(a, "identity", &rules));
    assert_int_equal(rules.n, 0);
    assert_int_equal(charsmap_build(a, &rules).len, 0);
    assert_error_has(charsmap_rules(a, "nfd", &rules), "\"nfd\" is no name of a normalization");
    arena_free(a);
}

TEST(every_rule_of_a_written_map_is_found_again)
{
    Arena *a = arena_new();
    CharRules rules;
    assert_no_error(charsmap_rules(a, "nmt_nfkc_cf", &rules));
    Str bytes = charsmap_build(a, &rules);
    assert_true(bytes.len < 260000); /* the library's has 247,164 */
    const Charsmap *map;
    assert_no_error(charsmap_read(a, bytes, &map));
    for (int64_t i = 0; i < rules.n; i++) {
        Str to;
        assert_int_equal(charsmap_longest(map, rules.item[i].from, &to), rules.item[i].from.len);
        assert_true(str_equal(to, rules.item[i].to));
    }
    arena_free(a);
}

/* Rules over few letters, so that many begin alike, and are equal from some place on. */
TEST(the_longest_rule_of_a_written_map_matches_and_no_other)
{
    static const char letters[] = "abc\x01\xC3\xA9";
    for (uint64_t round = 0; round < 200; round++) {
        Arena *a = arena_new();
        uint64_t key = rng_key(round, RNG_SAMPLE, 0, 0), at = 0;
        Map *all = map_new(a);
        for (int k = 0; k < 60; k++) {
            char from[8];
            size_t len = 1 + rng_bits(key, at++) % 6;
            for (size_t i = 0; i < len; i++) from[i] = letters[rng_bits(key, at++) % 6];
            Str *to = NEW(a, Str);
            *to = str_of(arena_printf(a, "%d", (int)(rng_bits(key, at++) % 9)));
            if (rng_bits(key, at++) % 9 == 0) to->len = 0;
            map_set(all, (Str){ from, len }, to);
        }
        CharRules rules = { NEW_N(a, CharRule, all->n), all->n };
        for (int64_t i = 0; i < all->n; i++) {
            int64_t k = i; /* sorted by insertion */
            Str from = all->entry[i].key;
            for (; k; k--) {
                Str other = rules.item[k - 1].from;
                int order =
                    memcmp(from.ptr, other.ptr, from.len < other.len ? from.len : other.len);
                if (order > 0 || (!order && from.len > other.len)) break;
                rules.item[k] = rules.item[k - 1];
            }
            rules.item[k] = (CharRule){ from, *(Str *)all->entry[i].value };
        }
        const Charsmap *map;
        assert_no_error(charsmap_read(a, charsmap_build(a, &rules), &map));
        for (int k = 0; k < 200; k++) {
            char text[8];
            size_t len = 1 + rng_bits(key, at++) % 8, wanted = 0;
            for (size_t i = 0; i < len; i++) text[i] = letters[rng_bits(key, at++) % 6];
            if (rng_bits(key, at++) % 4 == 0) text[rng_bits(key, at++) % len] = 0;
            Str *to = NULL, found;
            for (size_t n = 1; n <= len; n++) {
                Str *value = map_get(all, (Str){ text, n });
                if (value) to = value, wanted = n;
            }
            assert_int_equal(charsmap_longest(map, (Str){ text, len }, &found), wanted);
            if (to) assert_true(str_equal(found, *to));
        }
        arena_free(a);
    }
}
