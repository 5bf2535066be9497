/* test_train.c - training gives the same whatever the threads and blocks, and names what is wrong.
 */
#include "base/json.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/signal.h"
#include "compressed.h"
#include "test.h"
#include "tokenizer/model/vocab.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/random_text.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/train/bpe.h"
#include <signal.h>
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

/* Words of up to 40 bytes: those of 16 and fewer lie in their slots. */
TEST(words_are_counted_whatever_their_length)
{
    enum { N = 20000, SLACK = 16 };
    Arena *a = arena_new();
    uint64_t key = rng_key(1, RNG_SAMPLE, 0, 0);
    char *text = arena_alloc(a, N * 40 + SLACK);
    uint32_t *end = NEW_N(a, uint32_t, N), len = 0;
    Map *expected = map_new(a);
    WordCounts once = { 0 }, all = { 0 }, sum = { 0 };
    for (int64_t i = 0; i < N; i++) {
        uint64_t bits = rng_bits(key, (uint64_t)i);
        uint32_t from = len, n = 1 + (uint32_t)(bits % 40);
        for (uint32_t k = 0; k < n; k++)
            text[len++] = k + 3 < n ? 'a' : "ab"[bits >> (20 + k % 3) & 1];
        end[i] = len;
        Str word = { text + from, n };
        map_set(expected, word, (char *)map_get(expected, word) + 1);
    }
    for (int64_t i = 0; i < N; i++) {
        uint32_t from = i ? end[i - 1] : 0;
        word_counts_add(&once, text + from, end[i] - from, 1);
    }
    word_counts_add_all(&all, text, 0, end, 7);
    word_counts_add_all(&all, text, end[6], end + 7, N - 7);
    assert_equal_counts(a, &once, &all);
    assert_int_equal(once.n, expected->n);
    for (int64_t i = 0; i < once.n_slots; i++) {
        if (!once.slot[i].count) continue;
        Str word = word_counts_text(&once, &once.slot[i]);
        assert_int_equal(once.slot[i].count, (intptr_t)map_get(expected, word));
    }
    word_counts_merge(&sum, &once);
    assert_equal_counts(a, &sum, &all);
    word_counts_free(&once);
    word_counts_free(&all);
    word_counts_free(&sum);
    arena_free(a);
}

/* Small files are copied, larger ones mapped, compressed ones kept beside the output. */
TEST(many_files_are_read_as_one)
{
    Arena *a = arena_new();
    const char *big = write_corpus(a, "big.jsonl", 9 << 20),
               *one = path_join(a, test_folder(), "one");
    Str json;
    assert_no_error(file_read(a, big, &json));
    PathList parts = { 0 };
    const char *folder = path_join(a, test_folder(), "parts");
    assert_no_error(make_directories(folder));
    for (size_t from = 0, i = 0; from < json.len; i++) {
        size_t most = i == 2 ? 5 << 20 : 200000 + 50000 * i;
        const char *cut =
            from + most < json.len ? strchr(json.ptr + from + most, '\n') + 1 : json.ptr + json.len;
        const char *name = arena_printf(a, "%02d.jsonl%s", (int)i, i % 3 == 1 ? ".gz" : "");
        Str part = { json.ptr + from, (size_t)(cut - json.ptr) - from };
        if (i % 3 == 1) part = compressed(a, COMPRESSED_GZIP, part);
        assert_no_error(file_write(path_join(a, folder, name), part.ptr, part.len));
        from = (size_t)(cut - json.ptr);
        parts.n++;
    }
    assert_true(parts.n > 8);
    TrainSummary summary, other;
    TrainSettings s = settings(&big, 1);
    Str whole = trained(a, &s, &summary);
    s.corpus.path = &folder;
    s.corpus.beside = one;
    for (s.n_threads = 1; s.n_threads <= 3; s.n_threads += 2) {
        assert_true(str_equal(whole, trained(a, &s, &other)));
        assert_int_equal(other.n_texts, summary.n_texts);
        assert_int_equal(other.n_bytes, summary.n_bytes);
    }
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

TEST(a_line_above_max_line_bytes_is_bad)
{
    static const char lines[] =
        "{\"text\": \"ab ab\"}\n{\"text\": \"ab ab \"}\n"; /* 17, 18 bytes */
    Arena *a = arena_new();
    TrainSummary summary;
    TrainSettings s = settings(NULL, 1);
    s.corpus.max_line_bytes = 17;
    const char *says = "x.jsonl, byte 18: a line of more than 17 bytes (max_line_bytes)";
    assert_error_has(train_text(a, "x.jsonl", lines, &s, &summary), says);
    assert_error_has(
        train_text(a, "x.txt", "ab ab ab ab ab ab\n123456789 12345678\n", &s, &summary),
        "x.txt, byte 18: a line of more than 17 bytes");
    s.corpus.format = CORPUS_WHOLE; /* the file is the text, its lines may have any length */
    assert_no_error(train_text(a, "x.txt", lines, &s, &summary));
    s.corpus.format = CORPUS_AUTO;
    s.corpus.max_line_bytes = 18;
    assert_no_error(train_text(a, "x.jsonl", lines, &s, &summary));
    assert_int_equal(summary.n_texts, 2);
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

/* Ctrl-C when this begins. */
static void interrupt(void *when, const char *what, int64_t done, int64_t total)
{
    assert_in_range(done, 0, total);
    if (!strcmp(what, when)) raise(SIGINT);
}

static void check_interrupted(const char *when)
{
    Arena *a = arena_new();
    const char *path = write_corpus(a, "corpus.jsonl", 1 << 16);
    const char *out = path_join(a, test_folder(), "tokenizer.json");
    TrainSummary summary;
    TrainSettings s = settings(&path, 2);
    s.vocab_size = 600;
    s.progress = (TrainProgress){ interrupt, (void *)when };
    signal_catch();
    assert_error_has(tokenizer_train(&trainer_bpe, &s, out, &summary),
                     "stopped by a signal; nothing was written");
    assert_false(file_exists(out));
    arena_free(a);
}

TEST(a_signal_stops_the_counting)
{
    check_interrupted("counting words");
}

TEST(a_signal_stops_the_merging)
{
    check_interrupted("merging pairs");
}
