/* test_fast_paths.c - the fast ways to ids (masks over blocks of bytes, words that are remembered,
 * texts cut where nothing joins) give what the plain way gives, on each instruction set.
 *
 * FUZZ_STRINGS=N compares N texts of each family instead of 20,000, FUZZ_FIRST=K from text K on.
 */
#include "base/cpu.h"
#include "tokenizer/fuzz_text.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include "tokenizer/pretokenize/cl100k.h"
#include "tokenizer/reference.h"
#include "tokenizer/sentencepiece/sentencepiece.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_STRINGS = 20000, BATCH = 100000, N_LONG = 2000 };

/* A batch of texts and their ids, one after the other. */
typedef struct Batch {
    uint64_t first;
    int64_t n;
    Text text;
    Ids ids;
    size_t *text_end;
    int64_t *ids_end;
} Batch;

/* Opens the tokenizer whose fast path is under test. */
typedef Tokenizer *OpenFast(Arena *a, const char *name);

static void fill(Batch *b, const FuzzSource *source, Reference *plain)
{
    Text text = { 0 };
    text_clear(&b->text);
    b->ids.n = 0;
    for (int64_t i = 0; i < b->n; i++) {
        fuzz_text(source, b->first + (uint64_t)i, &text);
        text_add(&b->text, text.ptr, text.len);
        plain->encode(plain, (Str){ text.ptr, text.len }, &b->ids);
        b->text_end[i] = b->text.len;
        b->ids_end[i] = b->ids.n;
    }
    text_free(&text);
}

static void fail_at(const Batch *b, int64_t i, Str text, const Ids *ids, const char *what)
{
    int64_t from = i ? b->ids_end[i - 1] : 0, n = b->ids_end[i] - from, k = 0;
    while (k < n && k < ids->n && ids->id[k] == b->ids.id[from + k]) k++;
    fail_msg("%s: text %llu, id %lld of %lld (plain: %lld): \"%.*s\"", what,
             (unsigned long long)(b->first + (uint64_t)i), (long long)k, (long long)ids->n,
             (long long)n, (int)text.len, text.ptr);
}

static void compare(const Batch *b, const Tokenizer *fast, const char *what)
{
    Encoder *e = fast->encoder_new(fast);
    Ids ids = { 0 };
    for (int64_t i = 0; i < b->n; i++) {
        size_t from = i ? b->text_end[i - 1] : 0;
        int64_t id_from = i ? b->ids_end[i - 1] : 0, n = b->ids_end[i] - id_from;
        /* A copy of its own, so that reading after it shows under a sanitizer. */
        Str text = { b->text.ptr + from, b->text_end[i] - from };
        char *copy = malloc(text.len);
        memcpy(copy, text.ptr, text.len);
        ids.n = 0;
        assert_no_error(fast->encode(e, (Str){ copy, text.len }, false, &ids));
        free(copy);
        if (ids.n != n || memcmp(ids.id, b->ids.id + id_from, (size_t)n * sizeof *ids.id))
            fail_at(b, i, text, &ids, what);
    }
    ids_free(&ids);
    fast->encoder_free(e);
}

/* In a process of its own, as a process has one instruction set. */
static bool agrees_on(CpuLevel level, const Batch *b, OpenFast *open, const char *name)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("MODALITIES_CPU", cpu_level_name(level), 1);
        Arena *a = arena_new();
        Tokenizer *fast = open(a, name);
        compare(b, fast, arena_printf(a, "%s on %s", name, cpu_level_name(level)));
        fast->close(fast);
        arena_free(a);
        fflush(NULL);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int64_t from_environment(const char *name, int64_t otherwise)
{
    const char *given = getenv(name);
    return given ? atoll(given) : otherwise;
}

static void compare_family(Arena *a, const char *name, OpenFast *open, Reference *plain)
{
    Tokenizer *t = open(a, name);
    FuzzSource source = fuzz_source(a, t);
    Batch b = { .text_end = NEW_N(a, size_t, BATCH), .ids_end = NEW_N(a, int64_t, BATCH) };
    int64_t first = from_environment("FUZZ_FIRST", 0);
    int64_t n = from_environment("FUZZ_STRINGS", 0);
    if (!n) n = test_share(N_STRINGS);
    for (int64_t done = 0; done < n; done += b.n) {
        b.first = (uint64_t)(first + done);
        b.n = n - done < BATCH ? n - done : BATCH;
        fill(&b, &source, plain);
        for (int level = CPU_SCALAR; level <= (int)cpu_level_available(); level++)
            assert_true(agrees_on((CpuLevel)level, &b, open, name));
        if (getenv("FUZZ_STRINGS")) test_note("%lld texts, no difference", (long long)(done + b.n));
    }
    text_free(&b.text);
    ids_free(&b.ids);
    t->close(t);
    arena_free(a);
}

static const char *file_of(Arena *a, const char *name)
{
    return hf_tokenizer_path(a, golden_tokenizer_path(a, name));
}

/* GPT-2's vocabulary with Qwen 2's words. */
static Tokenizer *open_qwen2(Arena *a, const char *name)
{
    HfTokenizer *t;
    assert_no_error(hf_tokenizer_read(file_of(a, name), &t));
    assert_no_error(split_qwen2_choose(&t->pretokenizer.split));
    assert_no_error(hf_tokenizer_finish(t));
    return &t->base;
}

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define OTHERS "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
static const char gpt2_words[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
static const char cl100k_words[] = CONTRACTIONS "\\p{N}{1,3}" OTHERS;
static const char qwen2_words[] = CONTRACTIONS "\\p{N}" OTHERS;

TEST(fast_and_plain_paths_agree_for_gpt2)
{
    Arena *a = arena_new();
    Reference *plain = reference_byte_bpe(a, file_of(a, "gpt2"), gpt2_words);
    compare_family(a, "gpt2", golden_tokenizer, plain);
}

TEST(fast_and_plain_paths_agree_for_cl100k)
{
    Arena *a = arena_new();
    Reference *plain = reference_byte_bpe(a, file_of(a, "dolma2"), cl100k_words);
    compare_family(a, "dolma2", golden_tokenizer, plain);
}

TEST(fast_and_plain_paths_agree_for_qwen2)
{
    Arena *a = arena_new();
    Reference *plain = reference_byte_bpe(a, file_of(a, "gpt2"), qwen2_words);
    compare_family(a, "gpt2", open_qwen2, plain);
}

TEST(fast_and_plain_paths_agree_for_word_piece)
{
    Arena *a = arena_new();
    Reference *plain = reference_word_piece(a, file_of(a, "bert_base_uncased"));
    compare_family(a, "bert_base_uncased", golden_tokenizer, plain);
}

TEST(fast_and_plain_paths_agree_for_unigram)
{
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, "t5_small");
    compare_family(a, "t5_small", golden_tokenizer, reference_stages(a, t));
    t->close(t);
}

static void compare_sentencepiece(const char *name)
{
    Arena *a = arena_new();
    Reference *plain = reference_sentencepiece(a, golden_tokenizer_path(a, name));
    compare_family(a, name, golden_tokenizer, plain);
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

TEST(fast_and_plain_paths_agree_for_sentencepiece_unigram_with_rules)
{
    compare_sentencepiece("sp/spm_test_unigram_1k");
}

/* Closes both tokenizers. */
static void compare_one(Tokenizer *fast, Tokenizer *plain, const Text *text)
{
    Ids ids[2] = { { 0 } };
    Tokenizer *both[] = { fast, plain };
    for (int i = 0; i < 2; i++) {
        Encoder *e = both[i]->encoder_new(both[i]);
        assert_no_error(both[i]->encode(e, (Str){ text->ptr, text->len }, false, &ids[i]));
        both[i]->encoder_free(e);
        both[i]->close(both[i]);
    }
    assert_int_equal(ids[0].n, ids[1].n);
    assert_memory_equal(ids[0].id, ids[1].id, (size_t)ids[0].n * sizeof *ids[0].id);
    for (int i = 0; i < 2; i++) ids_free(&ids[i]);
}

/* One text of many, whose sum of scores passes every limit. */
static void compare_long(Tokenizer *fast, Tokenizer *plain)
{
    Arena *a = arena_new();
    FuzzSource source = fuzz_source(a, fast);
    Text part = { 0 }, text = { 0 };
    for (uint64_t i = 0; i < N_LONG; i++) {
        fuzz_text(&source, i, &part);
        text_add(&text, part.ptr, part.len);
    }
    compare_one(fast, plain, &text);
    text_free(&part);
    text_free(&text);
    arena_free(a);
}

TEST(a_long_text_has_the_ids_of_one_computed_as_a_whole)
{
    static const char *const models[] = { "sp/mistral_v1", "sp/dclm_en_32k",
                                          "sp/modalities_unigram" };
    static const char *const others[] = { "gpt2", "dolma2", "bert_base_uncased", "t5_small" };
    Arena *a = arena_new();
    SpOptions options = { .plain = true };
    Tokenizer *plain;
    for (int i = 0; i < 3; i++) {
        assert_no_error(sentencepiece_open(golden_tokenizer_path(a, models[i]), &options, &plain));
        compare_long(golden_tokenizer(a, models[i]), plain);
    }
    for (int i = 0; i < 4; i++) {
        HfTokenizer *hf;
        assert_no_error(hf_tokenizer_read(file_of(a, others[i]), &hf));
        hf->without_cache = true;
        assert_no_error(hf_tokenizer_finish(hf));
        compare_long(golden_tokenizer(a, others[i]), &hf->base);
    }
    arena_free(a);
}

/* Runs have ways of equal scores, of which rounding decides: the same runs again and again, after
 * sums anywhere from 0 to where they start anew. The scores of " Vic", " Tage" and " Ri" end in
 * half a unit of some sums: then it counts whether these are even multiples. */
TEST(runs_have_the_ids_that_rounding_gives_them_at_their_places)
{
    enum { N_RUNS = 60000, MOST = 70 };
    static const char bytes[] = "  =-.", *const words[] = { "names", "Vic", "Tage", "Ri" };
    Arena *a = arena_new();
    SpOptions options = { .plain = true };
    Tokenizer *plain;
    assert_no_error(
        sentencepiece_open(golden_tokenizer_path(a, "sp/modalities_unigram"), &options, &plain));
    Text text = { 0 };
    uint64_t state = 1;
    for (int i = 0; i < N_RUNS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int len = (int)(state >> 33) % MOST * ((int)(state >> 40) % MOST) / MOST;
        for (int k = 0; k < len; k++) text_putc(&text, bytes[(state >> 50) % 5]);
        text_puts(&text, words[(state >> 60) % 4]);
    }
    compare_one(golden_tokenizer(a, "sp/modalities_unigram"), plain, &text);
    text_free(&text);
    arena_free(a);
}
