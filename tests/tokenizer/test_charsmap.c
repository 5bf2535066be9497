/* test_charsmap.c - rules of a small trie, and bytes that are none. */
#include "test.h"
#include "tokenizer/normalize/charsmap.h"
#include <string.h>

/* Rules a -> x, ab -> yz, c -> z, laid out by hand: a unit at i has its children around
 * i ^ offset. */
enum { N_UNITS = 1024 };

static uint32_t unit(uint32_t label, bool rule, uint32_t offset)
{
    return label | (uint32_t)rule << 8 | offset << 10;
}

static Str small_map(Arena *a, size_t *n_bytes)
{
    char *bytes = arena_alloc(a, 4 + 4 * N_UNITS + 5);
    uint32_t trie_bytes = 4 * N_UNITS, u[N_UNITS] = { 0 };
    u[0] = unit(0, false, 256);                        /* children around 256 */
    u[256 ^ 'a'] = unit('a', true, (256 ^ 'a') ^ 512); /* children around 512 */
    u[512] = 1u << 31 | 0;                             /* a -> "x" at 0 */
    u[512 ^ 'b'] = unit('b', true, (512 ^ 'b') ^ 768); /* children around 768 */
    u[768] = 1u << 31 | 2;                             /* ab -> "yz" at 2 */
    u[256 ^ 'c'] = unit('c', true, (256 ^ 'c') ^ 900);
    u[900] = 1u << 31 | 3; /* c -> the end of "yz", at 3 */
    memcpy(bytes, &trie_bytes, 4);
    memcpy(bytes + 4, u, sizeof u);
    memcpy(bytes + 4 + sizeof u, "x\0yz\0", 5);
    *n_bytes = 4 + sizeof u + 5;
    return (Str){ bytes, *n_bytes };
}

TEST(a_map_of_characters_finds_the_longest_and_the_shortest_rule)
{
    Arena *a = arena_new();
    size_t n;
    const Charsmap *c;
    Str to;
    assert_no_error(charsmap_read(a, small_map(a, &n), &c));
    assert_int_equal(charsmap_longest(c, str_of("abc"), &to), 2);
    assert_true(str_is(to, "yz"));
    assert_int_equal(charsmap_longest(c, str_of("aab"), &to), 1);
    assert_true(str_is(to, "x"));
    assert_int_equal(charsmap_longest(c, str_of("c"), &to), 1);
    assert_true(str_is(to, "z"));
    assert_int_equal(charsmap_longest(c, str_of("b"), &to), 0);
    assert_int_equal(charsmap_longest(c, (Str){ "\0a", 2 }, &to), 0);
    assert_true(charsmap_shortest(c, str_of("abc"), &to));
    assert_true(str_is(to, "x"));
    assert_false(charsmap_shortest(c, str_of(""), &to));
    arena_free(a);
}

TEST(a_broken_map_of_characters_is_refused_or_never_matches)
{
    Arena *a = arena_new();
    size_t n;
    const Charsmap *c;
    Str map = small_map(a, &n), to;
    assert_error_has(charsmap_read(a, (Str){ map.ptr, 3 }, &c), "found 3");
    assert_error_has(charsmap_read(a, (Str){ map.ptr, 100 }, &c), "4096 bytes does not fit");
    assert_error_has(charsmap_read(a, (Str){ "\2\0\0\0ab", 6 }, &c), "2 bytes does not fit");
    /* Offsets that lead out of the trie and values after the replacements. */
    char *bytes = arena_copy(a, map.ptr, n);
    memset(bytes + 4, 0xFF, 4);
    assert_no_error(charsmap_read(a, (Str){ bytes, n }, &c));
    assert_int_equal(charsmap_longest(c, str_of("ab"), &to), 0);
    memcpy(bytes + 4, map.ptr + 4, 4);
    memset(bytes + 4 + 4 * 512, 0xFF, 4);
    assert_no_error(charsmap_read(a, (Str){ bytes, n }, &c));
    assert_int_equal(charsmap_longest(c, str_of("a"), &to), 0);
    assert_int_equal(charsmap_longest(c, str_of("ab"), &to), 2);
    arena_free(a);
}
