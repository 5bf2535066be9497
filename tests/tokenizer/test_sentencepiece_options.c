/* test_sentencepiece_options.c - what each option of the trainers of SentencePiece models does. */
#include "base/rng.h"
#include "test.h"
#include "tokenizer/trained_sentencepiece.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static TrainSettings plain(int64_t vocab_size)
{
    TrainSettings s = trained_settings(NULL, vocab_size);
    s.sentencepiece.normalization_rule_name = "identity";
    s.sentencepiece.hard_vocab_limit = false;
    s.sentencepiece.character_coverage = 1;
    return s;
}

/* Each of the pieces, which have blanks between them, is there or is not. */
static void assert_each(const SpFile *f, const char *pieces, bool is_there)
{
    char piece[64];
    for (int n; *pieces; pieces += n + (pieces[n] == ' ')) {
        n = (int)strcspn(pieces, " ");
        snprintf(piece, sizeof piece, "%.*s", n, pieces);
        if (trained_has(f, piece) != is_there)
            fail_msg("%s is%s there", piece, is_there ? " not" : "");
    }
}

static void assert_pieces(const SpFile *f, const char *has, const char *lacks)
{
    assert_each(f, has, true);
    assert_each(f, lacks, false);
}

static SpFile assert_learns(Arena *a, int which, const TrainSettings *s, const char *text,
                            const char *has, const char *lacks)
{
    SpFile f = trained_model_of(a, which, s, text);
    assert_pieces(&f, has, lacks);
    return f;
}

TEST(options_of_sentencepiece_decide_what_may_be_a_piece)
{
    Arena *a = arena_new();
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSettings s = plain(60);
        SpTrainSettings *o = &s.sentencepiece;
        const char *numbers = "x 12 12 12 a1 a1 a1 z\n",
                   *scripts = "a\xD0\xB1 a\xD0\xB1 a\xD0\xB1\n";
        assert_learns(a, which, &s, numbers, BLANK "12", BLANK "a1");
        o->split_digits = true;
        assert_learns(a, which, &s, numbers, "1", BLANK "12 12");
        o->split_digits = o->split_by_number = false;
        assert_learns(a, which, &s, numbers, BLANK "12 " BLANK "a1", "");
        o->split_by_number = true;
        assert_learns(a, which, &s, scripts, "", BLANK "a\xD0\xB1");
        o->split_by_unicode_script = false;
        assert_learns(a, which, &s, scripts, BLANK "a\xD0\xB1", "");
        o->max_sentencepiece_length = 2;
        SpFile f = assert_learns(a, which, &s, scripts, "", BLANK "a\xD0\xB1");
        for (int64_t i = 3; i < f.n; i++) assert_true(trained_chars(f.name[i]) <= 2);
    }
    arena_free(a);
}

TEST(options_of_sentencepiece_decide_where_blanks_are)
{
    Arena *a = arena_new();
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSettings s = plain(60);
        SpTrainSettings *o = &s.sentencepiece;
        const char *text = "cd ab cd ab cd ab\nab cd ab\n", *runs = "a    b    a\nab    a\n";
        assert_learns(a, which, &s, text, BLANK "ab", "ab" BLANK " " BLANK "cd" BLANK "ab");
        o->split_by_whitespace = false;
        assert_learns(a, which, &s, text, BLANK "cd" BLANK "ab", "");
        o->split_by_whitespace = true;
        o->treat_whitespace_as_suffix = true;
        SpFile f = assert_learns(a, which, &s, text, "ab" BLANK, BLANK "ab");
        assert_true(f.whitespace_as_suffix);
        o->treat_whitespace_as_suffix = false;
        o->add_dummy_prefix = false;
        f = assert_learns(a, which, &s, "ab\nab\nabc\n", "ab", BLANK);
        assert_false(f.rules.add_dummy_prefix);
        o->add_dummy_prefix = true;
        o->remove_extra_whitespaces = false;
        f = assert_learns(a, which, &s, runs, "", BLANK BLANK);
        assert_false(f.rules.remove_extra_whitespaces);
        o->allow_whitespace_only_pieces = true;
        f = trained_model_of(a, which, &s, runs);
        assert_true(trained_has(&f, BLANK BLANK) || trained_has(&f, BLANK BLANK BLANK BLANK));
        o->remove_extra_whitespaces = true;
        f = assert_learns(a, which, &s, runs, "", BLANK BLANK);
        assert_true(f.rules.remove_extra_whitespaces);
    }
    arena_free(a);
}

TEST(options_of_sentencepiece_decide_which_characters_are_pieces)
{
    Arena *a = arena_new();
    Text text = { 0 };
    for (int i = 0; i < 200; i++) text_puts(&text, "ab ab\n");
    text_puts(&text, "q\xEF\xBD\x82\n"); /* a fullwidth b */
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSettings s = plain(60);
        SpTrainSettings *o = &s.sentencepiece;
        assert_learns(a, which, &s, text.ptr, "q \xEF\xBD\x82", "\xC3\xA9");
        o->character_coverage = 0.99;
        o->required_chars = "\xC3\xA9";
        assert_learns(a, which, &s, text.ptr, "\xC3\xA9", "q");
        o->character_coverage = 1;
        o->normalization_rule_name = "nfkc";
        SpFile f = assert_learns(a, which, &s, text.ptr, "q", "\xEF\xBD\x82");
        assert_non_null(f.rules.charsmap);
    }
    text_free(&text);
    arena_free(a);
}

TEST(symbols_and_special_pieces_of_sentencepiece_get_their_ids_and_types)
{
    static const char *const control[] = { "<sep>", "</s>" }, *const user[] = { "abb", "<s>" };
    Arena *a = arena_new();
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSettings s = plain(400);
        SpTrainSettings *o = &s.sentencepiece;
        o->unk_id = 3, o->bos_id = 0, o->eos_id = -1, o->pad_id = 5;
        o->bos_piece = "<s>", o->unk_piece = "<what>", o->pad_piece = "<fill>";
        o->unk_surface = "?!";
        o->control_symbols = control, o->n_control_symbols = 2;
        o->user_defined_symbols = user, o->n_user_defined_symbols = 2;
        o->byte_fallback = true;
        SpFile f = assert_learns(a, which, &s, "xabby xabby xabby <sep>a <sep>a\n", BLANK "x",
                                 "xa sep <s");
        assert_true(f.unk_id == 3 && str_is(f.name[3], "<what>") && str_is(f.unk_surface, "?!"));
        assert_true(sp_file_id(&f, str_of("<s>")) == 0 &&
                    trained_type(&f, "<s>") == SP_USER_DEFINED);
        assert_true(sp_file_id(&f, str_of("<fill>")) == 5 &&
                    trained_type(&f, "<fill>") == SP_CONTROL);
        assert_true(sp_file_id(&f, str_of("<sep>")) == 1 && trained_type(&f, "</s>") == SP_CONTROL);
        assert_true(sp_file_id(&f, str_of("abb")) == 4 &&
                    trained_type(&f, "abb") == SP_USER_DEFINED);
        assert_true(trained_type(&f, "<0x00>") == SP_BYTE && f.byte_id[255] == 261);
    }
    arena_free(a);
}

TEST(options_of_sentencepiece_decide_which_lines_are_learnt_from)
{
    Arena *a = arena_new();
    Text text = { 0 };
    for (int i = 0; i < 300; i++) text_puts(&text, i < 110 ? "ab ab\n" : "cd cd\n");
    text_puts(&text, "ef ef ef ef ef ef ef ef\ngh \xE2\x96\x85\n\n");
    const char *path = trained_text(a, text.ptr), *out;
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSettings s = plain(60);
        TrainSummary summary;
        SpFile f;
        s.corpus.path = &path;
        s.sentencepiece.max_sentence_length = 20;
        assert_no_error(sp_file_read(a, trained_bytes(a, which, &s, &out, &summary), &f));
        assert_pieces(&f, "a c", "e g");
        assert_int_equal(summary.n_too_long, 1);
        assert_int_equal(summary.n_reserved, 1);
        s.sentencepiece.input_sentence_size = 110;
        s.sentencepiece.shuffle_input_sentence = false;
        f = trained_model(a, which, &s);
        assert_pieces(&f, "a", "c");
        s.sentencepiece.input_sentence_size = 111;
        f = trained_model(a, which, &s);
        assert_pieces(&f, "a c", "");
        s.sentencepiece.input_sentence_size = 101;
        s.sentencepiece.shuffle_input_sentence = true;
        f = trained_model(a, which, &s);
        assert_pieces(&f, "a c", "");
    }
    text_free(&text);
    arena_free(a);
}

/* Lines of `a` and of others: how many of the drawn ones are the former follows from the counts. */
TEST(lines_are_drawn_by_chance_exactly_as_many_as_are_asked_for)
{
    Arena *a = arena_new();
    Text text = { 0 };
    for (int i = 0; i < 1000; i++) text_puts(&text, "a\n");
    const char *path = trained_text(a, text.ptr);
    TrainSettings s = plain(60);
    s.corpus.path = &path;
    s.sentencepiece.input_sentence_size = 400;
    TrainSummary summary = { 0 };
    WordCounts words;
    assert_no_error(trainer_sentencepiece_bpe.prepare(a, &s, &s.prepared));
    assert_no_error(train_count(&trainer_sentencepiece_bpe, &s, &words, &summary));
    assert_int_equal(words.n, 1);
    for (int64_t i = 0; i < words.n_slots; i++) assert_true(words.slot[i].count % 400 == 0);
    word_counts_free(&words);
    text_free(&text);
    arena_free(a);
}

TEST(options_of_unigram_change_what_is_learnt)
{
    Arena *a = arena_new();
    const char *path = trained_text(a, trained_lines(a, 5, 500)), *out;
    TrainSummary summary;
    TrainSettings s = plain(60);
    s.corpus.path = &path;
    Str usual = trained_bytes(a, UNIGRAM, &s, &out, &summary);
    s.sentencepiece.num_sub_iterations = 5;
    assert_false(str_equal(usual, trained_bytes(a, UNIGRAM, &s, &out, &summary)));
    s = plain(60);
    s.corpus.path = &path;
    s.sentencepiece.shrinking_factor = 0.5;
    SpFile half, more;
    assert_no_error(sp_file_read(a, trained_bytes(a, UNIGRAM, &s, &out, &summary), &half));
    assert_no_error(sp_file_read(a, usual, &more));
    bool same = true;
    for (int64_t i = 3; i < 60; i++) same &= half.score[i] == more.score[i];
    assert_false(same);
    s.sentencepiece.seed_sentencepiece_size = 10;
    trained_bytes(a, UNIGRAM, &s, &out, &summary);
    assert_true(summary.n_ids < 40); /* specials, characters, at most ten more */
    arena_free(a);
}

/* The probability of 4,000 characters is far below what a double holds. */
TEST(unigram_learns_from_lines_that_are_one_long_unit)
{
    Arena *a = arena_new();
    Text text = { 0 };
    for (int line = 0; line < 20; line++) {
        uint64_t key = rng_key(9, RNG_SAMPLE, (uint64_t)line, 0);
        for (uint64_t i = 0; i < 4000; i++) text_putc(&text, "abcdefgh"[rng_bits(key, i) & 7]);
        text_puts(&text, line % 4 ? "\n" : "qq\n");
    }
    TrainSettings s = plain(200);
    s.sentencepiece.hard_vocab_limit = true;
    SpFile f = trained_model_of(a, UNIGRAM, &s, text.ptr);
    double all = 0;
    for (int64_t i = 3; i < f.n; i++) {
        assert_true(f.score[i] > -30 && f.score[i] < 0);
        all += exp(f.score[i]);
    }
    assert_true(all > 0.8 && all < 1.01); /* what is left belongs to pieces that were dropped */
    text_free(&text);
    arena_free(a);
}

/* Neither kind of model can be trained with *s, which becomes *good again. */
static void assert_refused(TrainSettings *s, const TrainSettings *good, const char *part)
{
    TrainSummary summary;
    char path[4200];
    snprintf(path, sizeof path, "%s/refused.model", test_folder());
    for (int which = BPE; which <= UNIGRAM; which++) {
        assert_error_has(tokenizer_train(trained_kind(which), s, path, &summary), part);
        assert_false(file_exists(path));
    }
    *s = *good;
}

#define SETTING(name) offsetof(SpTrainSettings, name)

TEST(settings_of_sentencepiece_that_cannot_be_are_refused_by_name)
{
    static const struct {
        size_t at;
        int64_t value;
        const char *part;
    } number[] = {
        { SETTING(max_sentencepiece_length), 513, "max_sentencepiece_length 513" },
        { SETTING(max_sentence_length), 9, "max_sentence_length 9" },
        { SETTING(num_sub_iterations), 0, "num_sub_iterations 0" },
        { SETTING(seed_sentencepiece_size), 0, "seed_sentencepiece_size 0" },
        { SETTING(input_sentence_size), 100, "input_sentence_size 100" },
        { SETTING(unk_id), -1, "unk_id -1" },
        { SETTING(unk_id), 1, "\"<unk>\" and \"<s>\" have the same id 1" },
        { SETTING(pad_id), 60, "the id 60 of \"<pad>\" is not below vocab_size 60" },
        { SETTING(pad_id), 50, "leaves ids below that of \"<pad>\" (50) without one" },
    };
    static const struct {
        size_t at;
        const char *value, *part;
    } text[] = {
        { SETTING(unk_piece), "", "unk_piece is empty" },
        { SETTING(bos_piece), "<unk>", "\"<unk>\" is two pieces at once" },
        { SETTING(required_chars), "a b", "required_chars has a blank" },
        { SETTING(required_chars), "\xFF", "required_chars is no UTF-8" },
        { SETTING(normalization_rule_name), "nfd", "\"nfd\" is no name of a normalization" },
    };
    static const char *const twice[] = { "x1", "x1" }, *const unknown[] = { "<unk>" };
    Arena *a = arena_new();
    const char *path = trained_text(a, "ab ab ab\nabc abd\n"), *input = "-";
    TrainSettings good = plain(60);
    good.corpus.path = &path;
    TrainSettings s = good;
    SpTrainSettings *o = &s.sentencepiece;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        *(int64_t *)((char *)o + number[i].at) = number[i].value;
        assert_refused(&s, &good, number[i].part);
    }
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        *(const char **)((char *)o + text[i].at) = text[i].value;
        assert_refused(&s, &good, text[i].part);
    }
    o->character_coverage = 0.5;
    assert_refused(&s, &good, "character_coverage 0.5 is not from 0.98 to 1");
    o->shrinking_factor = 1;
    assert_refused(&s, &good, "shrinking_factor 1");
    o->hard_vocab_limit = true;
    assert_refused(&s, &good, "vocab_size 60 is too high: the texts give");
    o->n_user_defined_symbols = 2, o->user_defined_symbols = twice;
    assert_refused(&s, &good, "\"x1\" is two pieces at once");
    o->n_control_symbols = 1, o->control_symbols = unknown;
    assert_refused(&s, &good, "\"<unk>\" is two pieces at once");
    s.vocab_size = 6;
    assert_refused(&s, &good, "vocab_size 6 is less than the");
    s.corpus.format = CORPUS_WHOLE;
    assert_refused(&s, &good, "format file");
    s.corpus.path = &input, o->input_sentence_size = 200;
    assert_refused(&s, &good, "standard input");
    arena_free(a);
}
