/* test_fast_paths.c - texts cut into parts that are remembered have the ids of texts computed as a
 * whole, for one tokenizer of each family. */
#include "base/rng.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf_tokenizer.h"
#include "tokenizer/sentencepiece.h"
#include <string.h>

enum { N_TEXTS = 20000, MAX_PARTS = 24 };

typedef struct Draw {
    uint64_t key, i;
} Draw;

static int64_t below(Draw *d, int64_t n)
{
    return (int64_t)(rng_bits(d->key, d->i++) % (uint64_t)n);
}

static void add_times(Text *out, const char *s, size_t len, int64_t n)
{
    for (int64_t i = 0; i < n; i++) text_add(out, s, len);
}

/* What a tokenizer may stumble over: blanks, marks, unknown characters, special tokens, zero bytes.
 */
static void add_oddity(Draw *d, Text *out)
{
    static const Str odd[] = { { " ", 1 },
                               { "  ", 2 },
                               { "\n", 1 },
                               { "\t", 1 },
                               { "\xE2\x96\x81", 3 },
                               { "e\xCC\x81", 3 },
                               { "\xCC\x81", 2 },
                               { "\0", 1 },
                               { "<s>", 3 },
                               { "</s>", 4 },
                               { "[MASK]", 6 },
                               { "<|endoftext|>", 13 },
                               { "\xE4\xB8\xAD", 3 },
                               { "\xF0\x9F\x98\x80", 4 },
                               { "'s", 2 },
                               { "1234567", 7 },
                               { "...", 3 },
                               { "\xC2\xA0", 2 },
                               { "\xEF\xAC\x81", 3 },
                               { "\xE0\xB8\x81\xE0\xB8\xB3", 6 } };
    Str s = odd[below(d, sizeof odd / sizeof *odd)];
    add_times(out, s.ptr, s.len, below(d, 8) ? 1 : 1 + below(d, 20));
}

/* Tokens of the vocabulary behind each other, with oddities in between, from an offset around the
 * 64 bytes that are looked at together. */
static void draw_text(const Tokenizer *t, uint64_t seed, Text *out)
{
    Draw d = { rng_key(77, RNG_DATA, seed, 0), 0 };
    text_clear(out);
    text_puts(out, "");
    if (!below(&d, 3)) add_times(out, below(&d, 2) ? "a" : " ", 1, 58 + below(&d, 9));
    for (int64_t n = 1 + below(&d, MAX_PARTS); n > 0; n--) {
        if (!below(&d, 4)) {
            add_oddity(&d, out);
            continue;
        }
        uint32_t id[3];
        for (int i = 0; i < 3; i++) id[i] = (uint32_t)below(&d, t->vocab_size);
        assert_no_error(t->decode(t, id, 1 + below(&d, 3), false, out));
        if (!below(&d, 2)) text_putc(out, ' ');
    }
}

static void compare(const Tokenizer *fast, const Tokenizer *plain, Str text, Encoder *e,
                    Encoder *slow, Ids *ids, Ids *same, const char *what)
{
    ids->n = same->n = 0;
    assert_no_error(fast->encode(e, text, false, ids));
    assert_no_error(plain->encode(slow, text, false, same));
    int64_t i = 0;
    while (i < ids->n && i < same->n && ids->id[i] == same->id[i]) i++;
    if (ids->n != same->n || i < ids->n)
        fail_msg("%s: id %lld differs in \"%.*s\"", what, (long long)i, (int)text.len, text.ptr);
}

static void compare_many(Tokenizer *fast, Tokenizer *plain, const char *what)
{
    Encoder *e = fast->encoder_new(fast), *slow = plain->encoder_new(plain);
    Text text = { 0 }, all = { 0 };
    Ids ids = { 0 }, same = { 0 };
    for (uint64_t seed = 0; seed < N_TEXTS; seed++) {
        draw_text(fast, seed, &text);
        compare(fast, plain, (Str){ text.ptr, text.len }, e, slow, &ids, &same, what);
        if (seed < N_TEXTS / 10) text_add(&all, text.ptr, text.len);
    }
    /* One long text, whose sum of scores passes every limit. */
    compare(fast, plain, (Str){ all.ptr, all.len }, e, slow, &ids, &same, what);
    text_free(&text);
    text_free(&all);
    ids_free(&ids);
    ids_free(&same);
    fast->encoder_free(e);
    plain->encoder_free(slow);
    fast->close(fast);
    plain->close(plain);
}

static void compare_sentencepiece(const char *name)
{
    Arena *a = arena_new();
    SpOptions options = { .plain = true };
    Tokenizer *fast, *plain;
    const char *path = golden_tokenizer_path(a, name);
    assert_no_error(sentencepiece_open(path, NULL, &fast));
    assert_no_error(sentencepiece_open(path, &options, &plain));
    compare_many(fast, plain, name);
    arena_free(a);
}

static void compare_hf(const char *name)
{
    Arena *a = arena_new();
    HfTokenizer *plain;
    const char *file = hf_tokenizer_path(a, golden_tokenizer_path(a, name));
    assert_no_error(hf_tokenizer_read(file, &plain));
    plain->without_cache = true;
    assert_no_error(hf_tokenizer_finish(plain));
    compare_many(golden_tokenizer(a, name), &plain->base, name);
    arena_free(a);
}

TEST(fast_and_plain_paths_agree_for_sentencepiece_bpe)
{
    compare_sentencepiece("sp/mistral_v1");
}

TEST(fast_and_plain_paths_agree_for_sentencepiece_bpe_with_rules)
{
    compare_sentencepiece("sp/dclm_en_32k");
}

TEST(fast_and_plain_paths_agree_for_sentencepiece_unigram)
{
    compare_sentencepiece("sp/modalities_unigram");
}

TEST(fast_and_plain_paths_agree_for_word_piece)
{
    compare_hf("bert_base_uncased");
}

TEST(fast_and_plain_paths_agree_for_gpt2)
{
    compare_hf("gpt2");
}

TEST(fast_and_plain_paths_agree_for_cl100k)
{
    compare_hf("dolma2");
}
