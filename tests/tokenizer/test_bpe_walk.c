/* test_bpe_walk.c - walking along a text gives the ids that merging it gives, for small random
 * vocabularies and for real ones. */
#include "base/rng.h"
#include "test.h"
#include "tokenizer/bpe/walk.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include <string.h>

enum { N_VOCABS = 1000, N_TEXTS = 60, MAX_LEN = 120, MAX_PIECES = 40, MAX_PIECE = 9 };
static const char WIDE = '~';

typedef struct Draw {
    uint64_t key, i;
} Draw;

static uint32_t below(Draw *d, uint32_t n)
{
    return (uint32_t)(rng_bits(d->key, d->i++) % n);
}

/* Letters are the first symbols: a, b, c, or with a byte in front of some of them, so that the last
 * byte of a symbol does not tell which it is; pieces, longer ones, have an order each. */
typedef struct SmallVocab {
    Bpe bpe;
    Str name[3 + MAX_PIECES];
    uint32_t n_letters, n;
    bool is_wide; /* some have */
} SmallVocab;

static uint32_t find(const SmallVocab *v, Str name)
{
    for (uint32_t id = 0; id < v->n; id++) {
        if (str_equal(v->name[id], name)) return id;
    }
    return NO_TOKEN;
}

static uint32_t symbol_at(const void *vocab, Str text, size_t *len)
{
    const SmallVocab *v = vocab;
    *len = *text.ptr == WIDE && text.len > 1 ? 2 : 1;
    return find(v, (Str){ text.ptr, *len });
}

static void add_piece(Arena *a, Draw *d, SmallVocab *v)
{
    char piece[2 * MAX_PIECE];
    size_t len = 0;
    for (int i = 0; i < 2; i++) { /* mostly two pieces put together */
        Str part = v->name[below(d, v->n)];
        if (len + part.len > MAX_PIECE) return;
        memcpy(piece + len, part.ptr, part.len);
        len += part.len;
    }
    if (!v->is_wide && !below(d, 8))
        piece[below(d, (uint32_t)len)] = (char)('a' + below(d, v->n_letters));
    if (find(v, (Str){ piece, len }) != NO_TOKEN) return;
    v->name[v->n++] = (Str){ arena_string_n(a, piece, len), len };
}

static void add_letters(Arena *a, Draw *d, SmallVocab *v)
{
    while (v->n < v->n_letters) {
        size_t wide = v->is_wide && below(d, 2);
        const char letter = (char)('a' + (v->is_wide ? below(d, 3) : v->n)),
                   both[] = { WIDE, letter };
        Str name = { both + 1 - wide, 1 + wide };
        if (find(v, name) != NO_TOKEN) continue;
        v->name[v->n++] = (Str){ arena_string_n(a, name.ptr, name.len), name.len };
    }
}

/* Any two pieces that make one may be merged. Orders rise, mostly, and some are equal. */
static void make_vocab(Arena *a, Draw *d, bool is_wide, SmallVocab *v)
{
    *v = (SmallVocab){ .n_letters = 1 + below(d, 3), .is_wide = is_wide };
    add_letters(a, d, v);
    for (uint32_t n = 1 + below(d, MAX_PIECES); n > 0; n--) add_piece(a, d, v);
    bpe_tables_new(&v->bpe, a, MAX_PIECES * MAX_PIECE, v->n);
    v->bpe.order = NEW_N(a, uint32_t, v->n);
    uint32_t step = 1 + below(d, 4), disorder = below(d, 3) ? 0 : below(d, 8);
    for (uint32_t made = 0; made < v->n; made++) {
        v->bpe.merged[made] = made;
        v->bpe.order[made] = made / step + below(d, 1 + disorder);
        Str name = v->name[made];
        for (size_t at = 1; at < name.len; at++) {
            uint32_t left = find(v, (Str){ name.ptr, at });
            uint32_t right = find(v, (Str){ name.ptr + at, name.len - at });
            if (left != NO_TOKEN && right != NO_TOKEN) bpe_add_pair(&v->bpe, left, right, made);
        }
    }
}

static void compare(const SmallVocab *v, const BpeWalk *w, Str text, Buffer *scratch)
{
    uint32_t merged[MAX_LEN], walked[MAX_LEN];
    int64_t n = 0, n_walked = 0;
    for (size_t at = 0, len; at < text.len; at += len)
        merged[n++] = symbol_at(v, (Str){ text.ptr + at, text.len - at }, &len);
    n = bpe_merge(&v->bpe, scratch, merged, n);
    assert_int_equal(bpe_walk(w, scratch, text, walked, &n_walked), text.len);
    assert_int_equal(n_walked, n);
    assert_memory_equal(walked, merged, (size_t)n * sizeof *merged);
}

static void compare_texts(Draw *d, const SmallVocab *v, const BpeWalk *w, Buffer *scratch)
{
    for (int i = 0; i < N_TEXTS; i++) {
        char text[MAX_LEN];
        size_t len = 0, most = 1 + below(d, MAX_LEN - MAX_PIECE);
        while (len < most) {
            Str part = v->name[below(d, below(d, 2) ? v->n_letters : v->n)];
            memcpy(text + len, part.ptr, part.len);
            len += part.len;
        }
        compare(v, w, (Str){ text, len }, scratch);
    }
}

static void compare_vocabs(bool are_wide)
{
    Buffer scratch = { 0 };
    int n_walked = 0;
    for (uint64_t seed = 0; seed < N_VOCABS; seed++) {
        Draw d = { rng_key(31, RNG_DATA, seed, 0), 0 };
        Arena *a = arena_new();
        SmallVocab *v = NEW(a, SmallVocab);
        make_vocab(a, &d, are_wide, v);
        const BpeWalk *w = bpe_walk_new(a, &v->bpe, v->name, v->n, symbol_at, v);
        if (w) compare_texts(&d, v, w, &scratch);
        n_walked += w != NULL;
        arena_free(a);
    }
    assert_in_range(n_walked, N_VOCABS / 2, N_VOCABS - 1); /* some must be refused */
    buffer_free(&scratch);
}

TEST(walking_gives_what_merging_gives_for_small_vocabularies)
{
    compare_vocabs(false);
}

TEST(walking_gives_what_merging_gives_for_symbols_of_two_bytes)
{
    compare_vocabs(true);
}

TEST(walking_stops_at_a_character_that_is_no_symbol)
{
    Arena *a = arena_new();
    Draw d = { 0 };
    SmallVocab *v = NEW(a, SmallVocab);
    make_vocab(a, &d, false, v);
    const BpeWalk *w = bpe_walk_new(a, &v->bpe, v->name, v->n, symbol_at, v);
    assert_non_null(w);
    Buffer scratch = { 0 };
    uint32_t out[8] = { 7, 7 };
    int64_t n = 1;
    assert_int_equal(bpe_walk(w, &scratch, str_of("xa"), out, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(bpe_walk(w, &scratch, str_of("ax"), out, &n), 1);
    assert_int_equal(n, 2);
    assert_int_equal(out[1], 0);
    buffer_free(&scratch);
    arena_free(a);
}

TEST(a_vocabulary_that_merges_a_whole_before_its_part_is_refused)
{
    Arena *a = arena_new();
    SmallVocab *v = NEW(a, SmallVocab);
    static const char *const name[] = { "a", "b", "ab", "aba" };
    for (; v->n < 4; v->n++) v->name[v->n] = str_of(name[v->n]);
    bpe_tables_new(&v->bpe, a, 4, 4);
    static const uint32_t merged[] = { 0, 1, 2, 3 };
    memcpy(v->bpe.merged, merged, sizeof merged);
    bpe_add_pair(&v->bpe, 0, 1, 3); /* ab last */
    v->bpe.merged[3] = 2;
    bpe_add_pair(&v->bpe, 2, 0, 2); /* aba of ab and a */
    v->bpe.merged[2] = 3;
    assert_null(bpe_walk_new(a, &v->bpe, v->name, v->n, symbol_at, v));
    arena_free(a);
}

/* A tokenizer whose words are merged, never walked through. */
static Tokenizer *without_walk(Arena *a, const char *name)
{
    HfTokenizer *t;
    assert_no_error(hf_tokenizer_read(hf_tokenizer_path(a, golden_tokenizer_path(a, name)), &t));
    t->without_cache = true;
    ((Bpe *)t->model)->walk = NULL;
    assert_no_error(hf_tokenizer_finish(t));
    return &t->base;
}

/* Long words: pieces of the vocabulary without blanks, runs, and random letters. */
static void draw_words(const Tokenizer *t, uint64_t seed, Text *out)
{
    Draw d = { rng_key(32, RNG_DATA, seed, 0), 0 };
    text_clear(out);
    uint32_t kind = below(&d, 4), letters = 1 + below(&d, 6);
    while (out->len < 1500) {
        if (kind < 2) {
            uint32_t id = below(&d, (uint32_t)t->vocab_size);
            assert_no_error(t->decode(t, &id, 1, false, out));
        } else if (kind == 2) {
            text_putc(out, (char)('a' + below(&d, letters)));
        } else {
            char c = "a!=\n -"[below(&d, 6)];
            for (uint32_t n = 1 + below(&d, 200); n > 0; n--) text_putc(out, c);
        }
    }
}

static void compare_real(const char *name)
{
    Arena *a = arena_new();
    Tokenizer *walks = golden_tokenizer(a, name), *merges = without_walk(a, name);
    assert_non_null(((const Bpe *)((const HfTokenizer *)walks)->model)->walk);
    Encoder *e[2] = { walks->encoder_new(walks), merges->encoder_new(merges) };
    Ids ids[2] = { { 0 } };
    Text text = { 0 };
    for (uint64_t seed = 0; seed < 200; seed++) {
        draw_words(walks, seed, &text);
        Str s = { text.ptr, text.len };
        ids[0].n = ids[1].n = 0;
        assert_no_error(walks->encode(e[0], s, false, &ids[0]));
        assert_no_error(merges->encode(e[1], s, false, &ids[1]));
        assert_int_equal(ids[0].n, ids[1].n);
        assert_memory_equal(ids[0].id, ids[1].id, (size_t)ids[0].n * sizeof(uint32_t));
    }
    text_free(&text);
    for (int i = 0; i < 2; i++) ids_free(&ids[i]);
    walks->encoder_free(e[0]);
    merges->encoder_free(e[1]);
    walks->close(walks);
    merges->close(merges);
    arena_free(a);
}

TEST(walking_gives_what_merging_gives_for_gpt2)
{
    compare_real("gpt2");
}

TEST(walking_gives_what_merging_gives_for_gpt_neox)
{
    compare_real("gpt_neox_olmo");
}

TEST(walking_gives_what_merging_gives_for_cl100k)
{
    compare_real("dolma2");
}
