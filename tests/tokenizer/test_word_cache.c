/* test_word_cache.c - ids of any number and size come back; what happens when a cache is full. */
#include "base/cpu.h"
#include "tokenizer/cache/word_cache.h"
#include "tokenizer/small_tokenizer.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_WORDS = 100000, LONG = 20 };

/* A word of `len` letters for each number. */
static Str letters(uint64_t number, size_t len, char *to)
{
    for (size_t i = 0; i < len; i++, number /= 26) to[i] = (char)('a' + number % 26);
    return (Str){ to, len };
}

/* A cache made now stays as small as any may be. */
static void set_little_memory(bool is_little)
{
    if (is_little)
        setenv("MODALITIES_MEMORY_LIMIT", "1", 1);
    else
        unsetenv("MODALITIES_MEMORY_LIMIT");
}

TEST(ids_of_forgotten_words_stay_the_same)
{
    static const char *const merges[] = { "a b", "c d", "ab cd", NULL };
    Arena *a = arena_new();
    Tokenizer *t = small_tokenizer_open(a, merges, "[]");
    set_little_memory(true);
    Encoder *little = t->encoder_new(t);
    set_little_memory(false);
    Encoder *ample = t->encoder_new(t);
    Text text = { 0 };
    char word[LONG];
    for (uint64_t i = 0; i < N_WORDS; i++) {
        Str s = letters(i, i % 3 ? 6 : LONG, word);
        text_add(&text, s.ptr, s.len);
        text_add(&text, i % 2 ? " " : "\n", 1);
    }
    Ids expected = { 0 }, ids = { 0 };
    assert_no_error(t->encode(ample, (Str){ text.ptr, text.len }, false, &expected));
    for (int round = 0; round < 3; round++) {
        ids.n = 0;
        assert_no_error(t->encode(little, (Str){ text.ptr, text.len }, false, &ids));
        assert_int_equal(ids.n, expected.n);
        assert_memory_equal(ids.id, expected.id, (size_t)ids.n * sizeof *ids.id);
    }
    ids_free(&ids);
    ids_free(&expected);
    text_free(&text);
    t->encoder_free(little);
    t->encoder_free(ample);
    t->close(t);
    arena_free(a);
}

/* The entry of word i; its ids say which it is. */
static LargeEntry *large_entry(WordTables *t, uint64_t i)
{
    char text[16] = { 0 };
    WordKey key = word_key(letters(i, 8, text).ptr, 8);
    return word_tables_large(t, key, word_hash16(key), 8);
}

static void add(WordTables *t, uint64_t i)
{
    char text[16] = { 0 };
    uint32_t id = (uint32_t)i;
    WordKey key = word_key(letters(i, 8, text).ptr, 8);
    word_tables_add_large(t, large_entry(t, i), key, 8, word_tables_pack(t, &id, 1));
}

TEST(a_full_table_keeps_the_words_that_were_seen_again)
{
    enum { N_AGAIN = 1000 };
    set_little_memory(true);
    WordTables *t = word_tables_new(N_WORDS), *before = t;
    set_little_memory(false);
    uint64_t n = 0;
    for (; t == before && n < N_WORDS; n++) {
        t = word_tables_make_room(t, 1);
        add(t, n);
        if (n < N_AGAIN) large_entry(t, n)->uses = 2 + (uint32_t)n % 5;
    }
    assert_true(t != before && n > (1 << LARGE_BITS) / 2);
    assert_int_equal(t->n_large, N_AGAIN + 1);
    for (uint64_t i = 0; i < n; i++) {
        const LargeEntry *e = large_entry(t, i);
        assert_int_equal(e->len, i < N_AGAIN || i == n - 1 ? 8 : 0);
        if (e->len) assert_int_equal(e->ids, (uint64_t)1 << 60 | i);
    }
    word_tables_free(t);
}

TEST(a_table_grows_as_long_as_there_is_memory)
{
    WordTables *t = word_tables_new(N_WORDS);
    t->most_large_bits = LARGE_BITS + 2;
    for (uint64_t i = 0; i < N_WORDS; i++) {
        t = word_tables_make_room(t, 1);
        add(t, i);
    }
    assert_int_equal(t->large_bits, LARGE_BITS + 2);
    assert_int_equal(t->n_large, N_WORDS);
    for (uint64_t i = 0; i < N_WORDS; i++)
        assert_int_equal(large_entry(t, i)->ids, (uint64_t)1 << 60 | i);
    word_tables_free(t);
}

/* Gives a word up to seven ids, which follow from its length and first letters. */
typedef struct CountingModel {
    WordModel base;
    uint32_t n_ids;
} CountingModel;

static int64_t counting_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    (void)scratch;
    uint32_t number = (uint32_t)word.len, n_ids = ((const CountingModel *)self)->n_ids;
    for (size_t i = 0; i < 3; i++) number = number * 31 + (uint32_t)word.ptr[i];
    int64_t n = number % 8;
    for (int64_t i = 0; i < n; i++)
        out[i] = n_ids - 1 - (number * 7919 + (uint32_t)i * 101) % n_ids;
    return n;
}

/* Words of 3 to 80 bytes, looked up twice, in batches of every size. */
static bool counted_come_back(const CountingModel *m, int64_t n_told)
{
    enum { N = 600, MOST = 80 };
    static char text[N * MOST + WORD_SLACK];
    static uint32_t end[N], expected[N * 8];
    int64_t n_expected = 0;
    uint32_t len = 0;
    for (uint32_t i = 0; i < N; i++) {
        Str word = letters(i * 977, 3 + i % (i % 5 ? 14 : 78), text + len);
        n_expected += counting_ids(&m->base, NULL, word, expected + n_expected);
        end[i] = len += (uint32_t)word.len;
    }
    Arena *a = arena_new();
    WordCache *c = word_cache_new(a, &m->base, n_told, true);
    Ids ids = { 0 };
    bool same = true;
    for (int round = 0; round < 2; round++) {
        ids.n = 0;
        for (int64_t i = 0, n = 1; i < N; i += n, n = n % 37 + 1) {
            if (n > N - i) n = N - i;
            word_cache_encode(c, text, i ? end[i - 1] : 0, end + i, n, &ids);
        }
        same &= ids.n == n_expected;
        same &= same && !memcmp(ids.id, expected, (size_t)ids.n * sizeof *ids.id);
    }
    ids_free(&ids);
    arena_free(a);
    return same;
}

static bool all_come_back(void)
{
    static const uint32_t n_ids[] = { 10, 1 << NARROW_IDS, (1 << NARROW_IDS) + 1, 1 << WIDE_IDS,
                                      (1 << WIDE_IDS) + 1000 };
    bool same = true;
    for (int i = 0; i < 5; i++) {
        CountingModel m = { { .kind = "counting", .ids_per_byte = 3, .word_ids = counting_ids },
                            n_ids[i] };
        same &= counted_come_back(&m, n_ids[i]);
        same &= counted_come_back(&m, 10); /* more than was told */
    }
    return same;
}

/* In processes of their own, as a process has one instruction set. */
TEST(ids_of_any_number_and_size_come_back)
{
    for (CpuLevel level = CPU_SCALAR; level <= cpu_level_available(); level++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            setenv("MODALITIES_CPU", cpu_level_name(level), 1);
            _exit(all_come_back() ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}
