/* trained_sentencepiece.c - SentencePiece models that tests train. */
#include "tokenizer/trained_sentencepiece.h"
#include "base/rng.h"
#include "test.h"
#include <string.h>

TrainSettings trained_settings(const char *const *path, int64_t vocab_size)
{
    return (TrainSettings){
        .corpus = { .path = path, .n_paths = 1, .key = "text" },
        .vocab_size = vocab_size,
        .n_threads = 1,
        .sentencepiece = sp_train_defaults(),
    };
}

const TrainerKind *trained_kind(int which)
{
    return which == BPE ? &trainer_sentencepiece_bpe : &trainer_sentencepiece_unigram;
}

const char *trained_text(Arena *a, const char *text)
{
    const char *path = path_join(a, test_folder(), "corpus.txt");
    assert_no_error(file_write(path, text, strlen(text)));
    return path;
}

Str trained_bytes(Arena *a, int which, const TrainSettings *s, const char **path,
                  TrainSummary *summary)
{
    Str bytes;
    *path = path_join(a, test_folder(), "trained.model");
    assert_no_error(tokenizer_train(trained_kind(which), s, *path, summary));
    assert_no_error(file_read(a, *path, &bytes));
    return bytes;
}

SpFile trained_model(Arena *a, int which, const TrainSettings *s)
{
    const char *path;
    TrainSummary summary;
    SpFile file;
    assert_no_error(sp_file_read(a, trained_bytes(a, which, s, &path, &summary), &file));
    assert_int_equal(file.n, summary.n_ids);
    return file;
}

SpFile trained_model_of(Arena *a, int which, const TrainSettings *s, const char *text)
{
    const char *path = trained_text(a, text);
    TrainSettings own = *s;
    own.corpus.path = &path;
    return trained_model(a, which, &own);
}

bool trained_has(const SpFile *f, const char *name)
{
    return vocab_find(&f->usable, str_of(name)) != NO_TOKEN ||
           vocab_find(&f->reserved, str_of(name)) != NO_TOKEN;
}

SpType trained_type(const SpFile *f, const char *name)
{
    uint32_t id = sp_file_id(f, str_of(name));
    assert_true(str_is(f->name[id], name));
    return (SpType)f->type[id];
}

const char *trained_lines(Arena *a, uint64_t seed, int n_lines)
{
    static const char *const letters[] = { "a",        "b",        "c",        "d",
                                           "e",        "aa",       "1",        ".",
                                           "\xD0\xB0", "\xD0\xB1", "\xCC\x81", "\xE4\xB8\x80" };
    Text t = { 0 };
    uint64_t key = rng_key(seed, RNG_SAMPLE, 0, 0), at = 0;
    for (int i = 0; i < n_lines; i++) {
        for (uint64_t words = 1 + rng_bits(key, at++) % 12; words; words--) {
            for (uint64_t n = 1 + rng_bits(key, at++) % 6; n; n--) {
                uint64_t bits = rng_bits(key, at++);
                text_puts(&t, letters[bits % 3 ? bits / 3 % 5 : bits / 3 % 12]);
            }
            text_puts(&t, rng_bits(key, at++) % 20 ? " " : "  ");
        }
        text_putc(&t, '\n');
    }
    const char *lines = arena_string(a, t.ptr);
    text_free(&t);
    return lines;
}

int trained_chars(Str s)
{
    int n = 0;
    for (size_t i = 0; i < s.len; i++) n += (s.ptr[i] & 0xC0) != 0x80;
    return n;
}
