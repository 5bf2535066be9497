/* test_joins.c - cutting text by groups of bytes: the same places for every instruction set, and
 * never one where something joins. */
#include "base/cpu.h"
#include "base/rng.h"
#include "test.h"
#include "tokenizer/bpe/joins.h"
#include <string.h>

enum { N_TABLES = 20, N_TEXTS = 60, MAX_LEN = 300 };

typedef struct Draw {
    uint64_t key, i;
} Draw;

static uint64_t below(Draw *d, uint64_t n)
{
    return rng_bits(d->key, d->i++) % n;
}

static uint8_t any_byte(Draw *d)
{
    return (uint8_t)(below(d, 4) ? 32 + below(d, 96) : below(d, 256));
}

static JoinTable *any_table(Arena *a, Draw *d)
{
    JoinTable *j = joins_new(a);
    uint64_t n = 1 + below(d, 6000);
    for (uint64_t i = 0; i < n; i++) joins_set(j, any_byte(d), any_byte(d));
    joins_group(j);
    return j;
}

/* The places that the exact table allows are more, never fewer. */
static void assert_apart(const JoinTable *j, const char *text, uint32_t len, const uint32_t *end,
                         int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (end[i] == len) continue;
        uint8_t left = (uint8_t)text[end[i] - 1], right = (uint8_t)text[end[i]];
        assert_true(end[i] < len && (!i || end[i - 1] < end[i]));
        assert_false(joins_can(j, left, right));
    }
}

static void compare_cuts(const JoinTable *j, const char *text, uint32_t len, uint32_t from,
                         uint32_t until)
{
    uint32_t end[MAX_LEN + 128], same[MAX_LEN + 128];
    int64_t n = joins_cut_groups(j, text, len, from, until, end);
    assert_true(end[n - 1] >= until && (n == 1 || end[n - 2] < until));
    assert_apart(j, text, len, end, n);
#if defined(__x86_64__)
    JoinsCut *const other[] = { j->cut_groups, joins_cut_groups_avx2, joins_cut_groups_avx512 };
    bool vbmi = __builtin_cpu_supports("avx512vbmi2");
#else
    JoinsCut *const other[] = { j->cut_groups, NULL, NULL };
    bool vbmi = false;
#endif
    bool has[] = { true, cpu_level_available() >= CPU_AVX2,
                   vbmi && cpu_level_available() >= CPU_AVX512 };
    for (int i = 0; i < 3; i++) {
        if (!has[i]) continue;
        assert_int_equal(other[i](j, text, len, from, until, same), n);
        assert_memory_equal(same, end, (size_t)n * sizeof *end);
    }
}

TEST(all_versions_cut_text_at_the_same_places_where_nothing_joins)
{
    Draw d = { rng_key(5, RNG_DATA, 0, 0), 0 };
    for (int t = 0; t < N_TABLES; t++) {
        Arena *a = arena_new();
        const JoinTable *j = any_table(a, &d);
        for (int i = 0; i < N_TEXTS; i++) {
            char text[MAX_LEN + JOINS_SLACK];
            uint32_t len = 1 + (uint32_t)below(&d, MAX_LEN), from = (uint32_t)below(&d, len);
            for (size_t k = 0; k < sizeof text; k++) text[k] = (char)any_byte(&d);
            compare_cuts(j, text, len, from, from + 1 + (uint32_t)below(&d, len - from));
        }
        arena_free(a);
    }
}

TEST(bytes_that_join_alike_are_one_group)
{
    Arena *a = arena_new();
    JoinTable *j = joins_new(a);
    for (int left = 'a'; left <= 'z'; left++) {
        joins_set(j, ' ', (uint8_t)left);
        for (int right = 'a'; right <= 'z'; right++) joins_set(j, (uint8_t)left, (uint8_t)right);
    }
    joins_group(j);
    char text[64 + JOINS_SLACK] = "the cat, sat";
    uint32_t end[128];
    assert_int_equal(j->cut_groups(j, text, 12, 0, 12, end), 4);
    const uint32_t expected[] = { 3, 7, 8, 12 };
    assert_memory_equal(end, expected, sizeof expected);
    arena_free(a);
}
