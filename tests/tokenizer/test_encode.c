/* test_encode.c - what must hold for any text: round trip, caches that do not matter, long words.
 */
#include "base/rng.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include "tokenizer/random_text.h"
#include "tokenizer/small_tokenizer.h"
#include <string.h>

static HfTokenizer *without_cache(Arena *a)
{
    HfTokenizer *t;
    assert_no_error(hf_tokenizer_read(shared_path(a, "data/tokenizers/gpt2/tokenizer.json"), &t));
    t->without_cache = true;
    assert_no_error(hf_tokenizer_finish(t));
    return t;
}

static void assert_same_ids(const Ids *a, const Ids *b)
{
    assert_int_equal(a->n, b->n);
    if (a->n) assert_memory_equal(a->id, b->id, (size_t)a->n * sizeof *a->id);
}

TEST(encoding_does_not_depend_on_the_cache_and_decodes_to_the_text)
{
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, "gpt2");
    HfTokenizer *plain = without_cache(a);
    Encoder *e = t->encoder_new(t), *slow = plain->base.encoder_new(&plain->base);
    for (uint64_t seed = 0; seed < 1500; seed++) {
        Text text = { 0 }, back = { 0 };
        Ids ids = { 0 }, same = { 0 };
        random_text(seed, (int)(seed % 60) + 1, &text);
        Str s = { text.ptr, text.len };
        assert_no_error(t->encode(e, s, false, &ids));
        assert_no_error(plain->base.encode(slow, s, false, &same));
        assert_same_ids(&ids, &same);
        assert_no_error(t->decode(t, ids.id, ids.n, false, &back));
        assert_int_equal(back.len, text.len);
        assert_memory_equal(back.ptr, text.ptr, text.len);
        text_free(&text);
        text_free(&back);
        ids_free(&ids);
        ids_free(&same);
    }
    t->encoder_free(e);
    t->close(t);
    plain->base.encoder_free(slow);
    plain->base.close(&plain->base);
    arena_free(a);
}

/* One word of this many bytes; merges of pairs, fours, eights ... of one letter. */
TEST(a_word_of_a_megabyte_is_encoded_quickly)
{
    static const char *const merges[] = { "a a", "aa aa", "aaaa aaaa", NULL };
    Arena *a = arena_new();
    Tokenizer *t = small_tokenizer_open(a, merges, "[]");
    Encoder *e = t->encoder_new(t);
    Text text = { 0 };
    for (int i = 0; i < 1 << 20; i++) text_putc(&text, 'a');
    text_puts(&text, "aaa");
    Ids ids = { 0 };
    assert_no_error(t->encode(e, (Str){ text.ptr, text.len }, false, &ids));
    assert_int_equal(ids.n, (1 << 17) + 2);
    for (int i = 0; i < 1 << 17; i++) assert_int_equal(ids.id[i], 258);
    assert_int_equal(ids.id[1 << 17], 256);
    assert_int_equal(ids.id[(1 << 17) + 1], 'a');
    ids_free(&ids);
    text_free(&text);
    t->encoder_free(e);
    t->close(t);
    arena_free(a);
}

/* The plain rule: the merge of lowest rank, leftmost first, again and again. */
static int64_t merge_by_rule(const char *const *merges, const char *word, int *out)
{
    char part[200][64];
    int64_t n = 0;
    for (const char *p = word; *p; p++) snprintf(part[n++], 64, "%c", *p);
    for (bool found = true; found;) {
        found = false;
        for (int m = 0; merges[m] && !found; m++) {
            for (int64_t i = 0; i + 1 < n && !found; i++) {
                char pair[160];
                snprintf(pair, sizeof pair, "%s %s", part[i], part[i + 1]);
                if (strcmp(pair, merges[m])) continue;
                snprintf(pair, sizeof pair, "%s%s", part[i], part[i + 1]);
                snprintf(part[i], sizeof part[i], "%.63s", pair);
                memmove(part[i + 1], part[i + 2], (size_t)(n - i - 2) * 64);
                n--;
                found = true;
            }
        }
    }
    for (int64_t i = 0; i < n; i++) out[i] = (int)strlen(part[i]);
    return n;
}

TEST(merges_follow_the_rule_in_words_of_every_length)
{
    static const char *const merges[] = { "b c",   "a b",  "c c", "ab c",  "a a",   "aa b", "bc bc",
                                          "aa aa", "cc a", "b b", "aab c", "bb cc", NULL };
    Arena *a = arena_new();
    Tokenizer *t = small_tokenizer_open(a, merges, "[]");
    Encoder *e = t->encoder_new(t);
    for (uint64_t seed = 0; seed < 2000; seed++) {
        char word[160] = "";
        uint64_t key = rng_key(seed, RNG_SAMPLE, 1, 0);
        int n = 1 + (int)(seed % 150);
        for (int i = 0; i < n; i++) word[i] = "aabbccd"[rng_bits(key, (uint64_t)i) % 7];
        int expected[200];
        int64_t n_expected = merge_by_rule(merges, word, expected);
        Ids ids = { 0 };
        assert_no_error(t->encode(e, str_of(word), false, &ids));
        assert_int_equal(ids.n, n_expected);
        for (int64_t i = 0; i < ids.n; i++) {
            Str name;
            assert_true(t->token_name(t, ids.id[i], &name));
            assert_int_equal(name.len, expected[i]);
        }
        ids_free(&ids);
    }
    t->encoder_free(e);
    t->close(t);
    arena_free(a);
}

TEST(text_that_is_no_utf8_is_refused_with_the_place)
{
    static const char *const none[] = { NULL };
    Arena *a = arena_new();
    Tokenizer *t = small_tokenizer_open(a, none, "[]");
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    assert_error_has(t->encode(e, str_of("ab\xC3("), false, &ids), "byte 2 (0xC3)");
    assert_int_equal(ids.n, 0);
    assert_no_error(t->encode(e, (Str){ NULL, 0 }, true, &ids));
    assert_int_equal(ids.n, 0);
    ids_free(&ids);
    t->encoder_free(e);
    t->close(t);
    arena_free(a);
}
