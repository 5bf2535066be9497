/* test_train.c - training gives the same whatever the threads and blocks, and names what is wrong.
 */
#include "base/json.h"
#include "base/rng.h"
#include "test.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/random_text.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/train_bpe.h"
#include "tokenizer/vocab.h"
#include <stdlib.h>
#include <string.h>

/* Writes `n_bytes` or more of JSON lines with words of few letters. */
static const char *write_corpus(Arena *a, const char *name, size_t n_bytes)
{
    Text file = { 0 };
    uint64_t key = rng_key(5, RNG_SAMPLE, 0, 0), i = 0;
    while (file.len < n_bytes) {
        text_puts(&file, "{\"id\": 1, \"text\": \"");
        for (uint64_t words = 5 + rng_bits(key, i++) % 60; words; words--) {
            uint64_t bits = rng_bits(key, i++);
            for (uint64_t letters = 1 + bits % 4; letters; letters--) {
                bits >>= 4;
                text_putc(&file, "etaoinshrdluetao"[bits & 15]);
            }
            text_putc(&file, ' ');
        }
        text_puts(&file, "\"}\n");
    }
    const char *path = path_join(a, test_folder(), name);
    assert_no_error(file_write(path, file.ptr, file.len));
    text_free(&file);
    return path;
}

static TrainSettings settings(const char *const *path, int n_threads)
{
    static const char *const special[] = { "<|endoftext|>", "<|endoftext|>", "<pad>" };
    return (TrainSettings){
        .corpus = { .path = path, .n_paths = 1, .key = "text" },
        .vocab_size = 500,
        .bpe = { .min_frequency = 2,
                 .special_tokens = special,
                 .n_special_tokens = 3,
                 .all_bytes = true },
        .n_threads = n_threads,
    };
}

static Str trained(Arena *a, const TrainSettings *s, TrainSummary *summary)
{
    const char *out = path_join(a, test_folder(), "tokenizer.json");
    Str json;
    assert_no_error(tokenizer_train(&trainer_bpe, s, out, summary));
    assert_no_error(file_read(a, out, &json));
    return json;
}

TEST(training_does_not_depend_on_the_number_of_threads)
{
    Arena *a = arena_new();
    const char *path = write_corpus(a, "corpus.jsonl", 9 << 20); /* three blocks */
    TrainSummary summary;
    TrainSettings s = settings(&path, 1);
    Str one = trained(a, &s, &summary);
    assert_int_equal(summary.n_ids, 500);
    assert_true(summary.n_texts > 1000);
    s.n_threads = 3;
    assert_true(str_equal(one, trained(a, &s, &summary)));
    s.max_words = 5000; /* some are forgotten */
    Str fewer = trained(a, &s, &summary);
    assert_true(summary.dropped_count > 0);
    assert_true(summary.n_words <= 2500);
    s.n_threads = 1;
    assert_true(str_equal(fewer, trained(a, &s, &summary)));
    arena_free(a);
}

TEST(a_trained_tokenizer_can_be_opened)
{
    Arena *a = arena_new();
    const char *path = write_corpus(a, "corpus.jsonl", 1 << 16);
    TrainSummary summary;
    TrainSettings s = settings(&path, 2);
    trained(a, &s, &summary);
    Tokenizer *t;
    assert_no_error(tokenizer_open(test_folder(), &t));
    assert_int_equal(t->n_ids, 500);
    assert_int_equal(t->token_id(t, str_of("<|endoftext|>")), 0);
    assert_int_equal(t->token_id(t, str_of("<pad>")), 1);
    assert_true(t->is_special(t, 0) && t->is_special(t, 1) && !t->is_special(t, 2));
    Encoder *e = t->encoder_new(t);
    for (uint64_t seed = 0; seed < 50; seed++) {
        Text text = { 0 }, back = { 0 };
        Ids ids = { 0 };
        random_text(seed, 30, &text);
        assert_no_error(t->encode(e, (Str){ text.ptr, text.len }, false, &ids));
        assert_no_error(t->decode(t, ids.id, ids.n, false, &back));
        assert_int_equal(back.len, text.len);
        assert_memory_equal(back.ptr, text.ptr, text.len);
        ids_free(&ids);
        text_free(&text);
        text_free(&back);
    }
    t->encoder_free(e);
    t->close(t);
    arena_free(a);
}

static int compare(const void *x, const void *y)
{
    const Str *a = x, *b = y;
    int order = memcmp(a->ptr, b->ptr, a->len < b->len ? a->len : b->len);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* "word count" for each, sorted. */
static Str *sorted(Arena *a, const WordCounts *w)
{
    Str *list = NEW_N(a, Str, w->n);
    int64_t n = 0;
    for (int64_t i = 0; i < w->n_slots; i++) {
        if (!w->slot[i].count) continue;
        Str word = word_counts_text(w, &w->slot[i]);
        list[n++] = str_of(
            arena_printf(a, "%.*s %lld", (int)word.len, word.ptr, (long long)w->slot[i].count));
    }
    assert_int_equal(n, w->n);
    qsort(list, (size_t)n, sizeof *list, compare);
    return list;
}

static void assert_equal_counts(Arena *a, const WordCounts *x, const WordCounts *y)
{
    assert_int_equal(x->n, y->n);
    Str *xs = sorted(a, x), *ys = sorted(a, y);
    for (int64_t i = 0; i < x->n; i++) assert_true(str_equal(xs[i], ys[i]));
}

/* Blocks cut a file where no word is cut. */
TEST(a_file_as_one_text_has_the_words_of_the_whole)
{
    Arena *a = arena_new();
    Text text = { 0 };
    for (uint64_t seed = 0; text.len < 9 << 20; seed++) {
        Text part = { 0 };
        random_text(seed, 200, &part);
        for (size_t i = 0; i < part.len; i++) {
            if (part.ptr[i]) text_putc(&text, part.ptr[i]);
        }
        text_free(&part);
    }
    const char *path = path_join(a, test_folder(), "whole.txt");
    assert_no_error(file_write(path, text.ptr, text.len));
    TrainSettings s = settings(&path, 2);
    s.corpus.format = CORPUS_WHOLE;
    TrainSummary summary = { 0 };
    WordCounts blocks, whole = { 0 };
    assert_no_error(train_count(&trainer_bpe, &s, &blocks, &summary));
    assert_int_equal(summary.n_texts, 3);

    Buffer room = { 0 };
    uint32_t *end = NEW_N(a, uint32_t, SPLIT_ROOM);
    Str placed = pretokenizer_place(&(PreTokenizer){ 0 }, (Str){ text.ptr, text.len }, &room);
    for (uint32_t from = 0, len = (uint32_t)placed.len; from < len;) {
        int64_t n = split_gpt2(placed.ptr, len, from, from + 1, end);
        for (int64_t i = 0; i < n; from = end[i++])
            word_counts_add(&whole, placed.ptr + from, end[i] - from, 1);
    }
    assert_equal_counts(a, &blocks, &whole);
    word_counts_free(&blocks);
    word_counts_free(&whole);
    buffer_free(&room);
    text_free(&text);
    arena_free(a);
}

static Error *train_text(Arena *a, const char *name, const char *text, TrainSettings *s,
                         TrainSummary *summary)
{
    const char **path = NEW(a, const char *);
    *path = path_join(a, test_folder(), name);
    assert_no_error(file_write(*path, text, strlen(text)));
    s->corpus.path = path;
    return tokenizer_train(&trainer_bpe, s, path_join(a, test_folder(), "out.json"), summary);
}

static Error *remember(void *told, BadText b)
{
    text_printf(told, "%lld %.*s %lld: %s\n", (long long)(b.line.ptr - b.file.ptr), (int)b.line.len,
                b.line.ptr, (long long)b.column, error_text(b.reason));
    error_free(b.reason);
    return NULL;
}

TEST(bad_lines_are_named_or_left_out)
{
    static const char lines[] =
        "{\"text\": \"ab ab\"}\n{\"text\": 5}\n{\"no\": 1}\n{\"text\": \"ab\n{\"text\": \"ab ab\"}";
    Arena *a = arena_new();
    TrainSummary summary;
    TrainSettings s = settings(NULL, 1);
    assert_error_has(train_text(a, "x.jsonl", lines, &s, &summary),
                     "x.jsonl, byte 18: there is no text under \"text\" (found number)");
    Text told = { 0 };
    s.corpus.bad_text = remember;
    s.corpus.bad_text_arg = &told;
    assert_no_error(train_text(a, "x.jsonl", lines, &s, &summary));
    assert_int_equal(summary.n_skipped, 3);
    assert_int_equal(summary.n_texts, 2);
    assert_string_equal(told.ptr,
                        "18 {\"text\": 5} -1: there is no text under \"text\" (found number)\n"
                        "30 {\"no\": 1} -1: there is no text under \"text\" (found null)\n"
                        "40 {\"text\": \"ab 9: Unterminated string starting here\n");
    text_free(&told);
    s.corpus.bad_text = NULL;
    const char *out = path_join(a, test_folder(), "out.json");
    assert_int_equal(remove(out), 0);
    assert_error_has(train_text(a, "y.txt",
                                "good\nb\xFF"
                                "d\n",
                                &s, &summary),
                     "y.txt, byte 6: byte 0xFF is no UTF-8");
    assert_error_has(train_text(a, "z.txt", "", &s, &summary), "no text to learn from");
    assert_false(file_exists(out));
    arena_free(a);
}

TEST(settings_that_cannot_be_met_are_refused)
{
    Arena *a = arena_new();
    TrainSummary summary;
    TrainSettings s = settings(NULL, 1);
    s.vocab_size = 200;
    assert_error_has(train_text(a, "x.txt", "some text", &s, &summary), "less than the 258 ids");
    s.bpe.all_bytes = false;
    s.bpe.limit_alphabet = 3;
    s.bpe.min_frequency = 1;
    assert_no_error(train_text(a, "x.txt", "aaabbbccd", &s, &summary));
    assert_int_equal(summary.n_ids - summary.n_merges, 2 + 3);
    const char *const nothing[] = { "/nonexistent/file.txt" }, *const folder[] = { test_folder() };
    s.corpus.path = nothing;
    assert_error_has(tokenizer_train(&trainer_bpe, &s, "out.json", &summary),
                     "/nonexistent/file.txt");
    s.corpus.path = folder;
    assert_error_has(tokenizer_train(&trainer_bpe, &s, "out.json", &summary),
                     "no *.jsonl, *.jsonl.gz or *.jsonl.zst below");
    static const char *const empty[] = { "" };
    s.bpe.special_tokens = empty;
    s.bpe.n_special_tokens = 1;
    assert_error_has(tokenizer_train(&trainer_bpe, &s, "out.json", &summary), "empty");
    assert_false(file_exists("out.json"));
    arena_free(a);
}
