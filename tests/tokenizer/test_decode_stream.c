/* test_decode_stream.c - pieces of a stream are whole characters and add up to the decoded whole.
 */
#include "base/rng.h"
#include "base/utf8.h"
#include "tokenizer/decode/stream.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf/pretrained.h"
#include <string.h>

static Error *stream_all(DecodeStream *s, const Ids *ids, Text *joined)
{
    for (int64_t i = 0; i < ids->n; i++) {
        size_t before = joined->len;
        TRY(decode_stream_add(s, ids->id[i], joined));
        Str piece = { joined->ptr + before, joined->len - before };
        assert_int_equal(utf8_valid_length(piece), piece.len);
    }
    return decode_stream_finish(s, joined);
}

/* Where the whole is an error, so is the stream. */
static void check_stream(const Tokenizer *t, const Ids *ids)
{
    DecodeStream *s = decode_stream_new(t, false);
    Text whole = { 0 }, joined = { 0 };
    text_puts(&whole, "");
    text_puts(&joined, "");
    Error *streaming = stream_all(s, ids, &joined);
    Error *decoding = t->decode(t, ids->id, ids->n, false, &whole);
    assert_true(!streaming == !decoding);
    if (!decoding && !str_equal((Str){ whole.ptr, whole.len }, (Str){ joined.ptr, joined.len })) {
        fail_msg("stream \"%s\", whole \"%s\"", joined.ptr, whole.ptr);
    }
    error_free(streaming);
    error_free(decoding);
    text_free(&whole);
    text_free(&joined);
    decode_stream_free(s);
}

/* Bytes of broken characters, blanks and the pieces that the clean-up looks for, among ordinary
 * tokens. */
static void random_ids(const Tokenizer *t, uint64_t seed, Ids *out)
{
    static const char *const tricky[] = { "Ġ",   "ĠĠ", ".",  "Ġ.", ",",  "?", "'",  "Ġ'",
                                          "''",  "n",  "Ġn", "t",  "'t", "s", "'s", "ve",
                                          "'ve", "re", "v",  "e",  "r",  "m", "Ċ",  "a",
                                          "Ġa",  "ä",  "¸",  "Ń",  "ð",  "Ł", "ĺ",  "Ģ" };
    uint64_t key = rng_key(seed, RNG_SAMPLE, 2, 0);
    int n = 1 + (int)(seed % 40);
    for (int i = 0; i < n; i++) {
        uint64_t bits = rng_bits(key, (uint64_t)i);
        int64_t id = t->token_id(t, str_of(tricky[(bits >> 8) % (sizeof tricky / sizeof *tricky)]));
        if (bits % 8 == 0) id = (int64_t)(bits >> 8) % t->n_ids;
        if (id >= 0) ids_add(out, (uint32_t)id);
    }
}

static void check_random_streams(const Tokenizer *t)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        Ids ids = { 0 };
        random_ids(t, seed, &ids);
        check_stream(t, &ids);
        ids_free(&ids);
    }
}

TEST(a_stream_adds_up_to_the_whole)
{
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, "gpt2");
    check_random_streams(t);
    t->close(t);
    arena_free(a);
}

TEST(a_stream_with_cleaned_blanks_adds_up_to_the_whole)
{
    Arena *a = arena_new();
    PretrainedHf settings = { .path = shared_path(a, "data/tokenizers/gpt2"), .max_length = -1 };
    Tokenizer *t;
    assert_no_error(pretrained_hf_open(&settings, &t));
    check_random_streams(t);
    t->close(t);
    arena_free(a);
}

TEST(a_stream_gives_a_character_when_its_last_byte_comes)
{
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, "gpt2");
    DecodeStream *s = decode_stream_new(t, true);
    static const char *const names[] = { "ð", "Ł", "ĺ", "Ģ", "ĠHello", "<|endoftext|>", "ä" };
    static const char *const expected[] = { "", "", "", "\U0001F600", " Hello", "", "" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Text piece = { 0 };
        text_puts(&piece, "");
        assert_no_error(decode_stream_add(s, (uint32_t)t->token_id(t, str_of(names[i])), &piece));
        assert_string_equal(piece.ptr, expected[i]);
        text_free(&piece);
    }
    Text rest = { 0 };
    assert_no_error(decode_stream_finish(s, &rest));
    assert_string_equal(rest.ptr, "\uFFFD");
    text_free(&rest);
    decode_stream_free(s);
    t->close(t);
    arena_free(a);
}

/* Each byte might still be part of a character that never comes. */
TEST(a_stream_of_broken_characters_stays_short)
{
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, "gpt2");
    Ids ids = { 0 };
    for (int i = 0; i < 20000; i++) ids_add(&ids, (uint32_t)t->token_id(t, str_of("ä")));
    check_stream(t, &ids);
    ids_free(&ids);
    t->close(t);
    arena_free(a);
}

/* Without a decoder names are joined by blanks, also around a token that is left out. */
TEST(a_stream_joins_names_where_there_is_no_decoder)
{
    static const char json[] = "{\"added_tokens\":[{\"id\":2,\"content\":\"<s>\",\"single_word\":"
                               "false,\"lstrip\":false,\"rstrip\":false,"
                               "\"normalized\":false,\"special\":true}],\"pre_tokenizer\":{"
                               "\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                               "\"trim_offsets\":true},\"model\":{\"type\":\"BPE\",\"vocab\":{"
                               "\"a\":0,\"b\":1},\"merges\":[]}}";
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "tokenizer.json");
    assert_no_error(file_write(path, json, strlen(json)));
    Tokenizer *t;
    assert_no_error(tokenizer_open(path, &t));
    DecodeStream *s = decode_stream_new(t, true);
    static const uint32_t ids[] = { 0, 2, 2, 1, 2, 0 };
    Text joined = { 0 };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_no_error(decode_stream_add(s, ids[i], &joined));
    assert_no_error(decode_stream_finish(s, &joined));
    assert_string_equal(joined.ptr, "a b a");
    text_free(&joined);
    decode_stream_free(s);
    t->close(t);
    arena_free(a);
}

/* What is given so far never depends on what follows: every decoder is asked for the starts of a
 * list, too. */
static void check_starts(const Tokenizer *t, const Ids *ids)
{
    DecodeStream *s = decode_stream_new(t, false);
    Text given = { 0 };
    text_puts(&given, "");
    for (int64_t i = 0; i < ids->n; i++) {
        Error *e = decode_stream_add(s, ids->id[i], &given);
        Text start = { 0 };
        text_puts(&start, "");
        if (!e) e = t->decode(t, ids->id, i + 1, false, &start);
        if (!e && (start.len < given.len || memcmp(start.ptr, given.ptr, given.len) != 0))
            fail_msg("given \"%s\", but %lld ids are \"%s\"", given.ptr, (long long)i + 1,
                     start.ptr);
        text_free(&start);
        error_free(e);
        if (e) break;
    }
    text_free(&given);
    decode_stream_free(s);
}

TEST(streams_of_every_decoder_add_up_to_the_whole)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    golden_add_files(&cases, "", "tokenizers/synthetic", "*", NULL);
    assert_true(cases.n > 20);
    for (int64_t k = 0; k < cases.n; k++) {
        Tokenizer *t = golden_tokenizer_in(
            a, arena_printf(a, "data/goldens/tokenizers/synthetic/%s", cases.name[k]));
        for (uint64_t seed = 0; seed < 300; seed++) {
            Ids ids = { 0 };
            uint64_t key = rng_key(seed, RNG_SAMPLE, 3, (uint64_t)k), n = 1 + seed % 20;
            uint64_t among =
                seed % 2 ? 40 : (uint64_t)t->n_ids; /* repeats and marks lie in front */
            for (uint64_t i = 0; i < n; i++) ids_add(&ids, (uint32_t)(rng_bits(key, i) % among));
            check_stream(t, &ids);
            check_starts(t, &ids);
            ids_free(&ids);
        }
        t->close(t);
    }
    arena_free(a);
}
