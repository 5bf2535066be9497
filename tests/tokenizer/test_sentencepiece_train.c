/* test_sentencepiece_train.c - SentencePiece models that are trained here: against SentencePiece's
 * own vocabularies, against a naive learner, and what each option does. */
#include "base/map.h"
#include "base/rng.h"
#include "base/signal.h"
#include "base/utf8.h"
#include "test.h"
#include "tokenizer/sentencepiece_train.h"
#include "tokenizer/tokenizer.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANK "\xE2\x96\x81"
enum { BPE, UNIGRAM };

static TrainSettings settings(const char *const *path, int64_t vocab_size)
{
    return (TrainSettings){
        .corpus = { .path = path, .n_paths = 1, .key = "text" },
        .vocab_size = vocab_size,
        .n_threads = 1,
        .sentencepiece = sp_train_defaults(),
    };
}

static const TrainerKind *kind(int which)
{
    return which == BPE ? &trainer_sentencepiece_bpe : &trainer_sentencepiece_unigram;
}

static const char *write_text(Arena *a, const char *text)
{
    const char *path = path_join(a, test_folder(), "corpus.txt");
    assert_no_error(file_write(path, text, strlen(text)));
    return path;
}

/* The trained file's bytes; it is left at *path. */
static Str trained(Arena *a, int which, const TrainSettings *s, const char **path,
                   TrainSummary *summary)
{
    Str bytes;
    *path = path_join(a, test_folder(), "trained.model");
    assert_no_error(tokenizer_train(kind(which), s, *path, summary));
    assert_no_error(file_read(a, *path, &bytes));
    return bytes;
}

static SpFile model(Arena *a, int which, const TrainSettings *s)
{
    const char *path;
    TrainSummary summary;
    SpFile file;
    assert_no_error(sp_file_read(a, trained(a, which, s, &path, &summary), &file));
    assert_int_equal(file.n, summary.n_ids);
    return file;
}

static SpFile model_of(Arena *a, int which, const TrainSettings *s, const char *text)
{
    const char *path = write_text(a, text);
    TrainSettings own = *s;
    own.corpus.path = &path;
    return model(a, which, &own);
}

static bool has(const SpFile *f, const char *name)
{
    return vocab_find(&f->usable, str_of(name)) != NO_TOKEN ||
           vocab_find(&f->reserved, str_of(name)) != NO_TOKEN;
}

static SpType type_of(const SpFile *f, const char *name)
{
    uint32_t id = sp_file_id(f, str_of(name));
    assert_true(str_is(f->name[id], name));
    return (SpType)f->type[id];
}

/* Words of few letters, in lines; some digits, blanks, marks, and other scripts. */
static const char *random_lines(Arena *a, uint64_t seed, int n_lines)
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

/* ---- against the library's vocabularies ---- */

/* The columns of a vocabulary file: names and scores in the order of ids. */
static SpPieces read_vocabulary(Arena *a, const char *name)
{
    Str text;
    assert_no_error(file_read(
        a, path_join(a, shared_path(a, "data/goldens/tokenizers/training/info"), name), &text));
    SpPieces all = { 0 };
    for (char *line = (char *)text.ptr, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        char *tab = memchr(line, '\t', (size_t)(end - line));
        sp_pieces_add(a, &all, (Str){ line, (size_t)(tab - line) }, strtod(tab + 1, NULL));
    }
    return all;
}

static TrainSettings shakespeare(Arena *a, const char **path)
{
    *path = shared_path(a, "data/text/tinyshakespeare.txt");
    TrainSettings s = settings(path, 1000);
    s.sentencepiece.byte_fallback = true;
    return s;
}

TEST(sentencepiece_bpe_finds_the_librarys_pieces_and_scores)
{
    Arena *a = arena_new();
    const char *path;
    TrainSettings s = shakespeare(a, &path);
    SpPieces wanted = read_vocabulary(a, "sentencepiece_bpe_1000.vocab.tsv");
    SpFile f = model(a, BPE, &s);
    assert_int_equal(f.n, wanted.n);
    for (int64_t i = 0; i < f.n; i++) {
        assert_true(str_equal(f.name[i], wanted.item[i].name));
        assert_true(f.score[i] == (float)wanted.item[i].score);
    }
    arena_free(a);
}

static int64_t count_tokens(const char *model_path, Str text)
{
    Tokenizer *t;
    Ids ids = { 0 };
    int64_t n = 0;
    assert_no_error(tokenizer_open(model_path, &t));
    Encoder *e = t->encoder_new(t);
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = (end ? (size_t)(end - text.ptr) : text.len) - at;
        ids.n = 0;
        assert_no_error(t->encode(e, (Str){ text.ptr + at, len }, false, &ids));
        n += ids.n;
        at += len + 1;
    }
    ids_free(&ids);
    t->encoder_free(e);
    t->close(t);
    return n;
}

/* A model with the pieces of the library's vocabulary, which has the same specials and bytes. */
static const char *library_model(Arena *a, const TrainSettings *s, const SpPieces *all)
{
    TrainSettings own = *s;
    SpPieces learnt = { 0 };
    Text file = { 0 };
    int64_t n_ids;
    assert_no_error(trainer_sentencepiece_unigram.prepare(a, s, &own.prepared));
    for (int64_t i = 259; i < all->n; i++)
        sp_pieces_add(a, &learnt, all->item[i].name, all->item[i].score);
    assert_no_error(sp_write_model(&own, &learnt, &file, &n_ids));
    const char *path = path_join(a, test_folder(), "library.model");
    assert_no_error(file_write(path, file.ptr, file.len));
    text_free(&file);
    assert_int_equal(n_ids, all->n);
    return path;
}

TEST(sentencepiece_unigram_needs_no_more_tokens_than_the_librarys)
{
    Arena *a = arena_new();
    const char *path, *ours;
    TrainSummary summary;
    Str text;
    TrainSettings s = shakespeare(a, &path);
    SpPieces wanted = read_vocabulary(a, "sentencepiece_unigram_1000.vocab.tsv");
    assert_no_error(file_read(a, path, &text));
    trained(a, UNIGRAM, &s, &ours, &summary);
    assert_int_equal(summary.n_ids, 1000);
    int64_t own = count_tokens(ours, text),
            theirs = count_tokens(library_model(a, &s, &wanted), text);
    assert_true(theirs > 300000);
    assert_true(own <= theirs); /* 424,564 and 441,835 */
    arena_free(a);
}

/* ---- against a naive learner ---- */

/* A unit of text as symbols, each a Str. */
typedef struct NaiveWord {
    Str symbol[128];
    int n;
} NaiveWord;

static bool is_valid(const TrainSettings *s, Str text)
{
    uint32_t code[256];
    int64_t n = 0;
    int len;
    for (size_t at = 0; at < text.len; at += (size_t)len)
        code[n++] = utf8_decode(text.ptr + at, &len);
    return sp_piece_is_valid(&s->sentencepiece, code, n);
}

static Str join(Arena *a, Str x, Str y)
{
    char *to = arena_alloc(a, x.len + y.len + 1);
    memcpy(to, x.ptr, x.len);
    memcpy(to + x.len, y.ptr, y.len);
    return (Str){ to, x.len + y.len };
}

static int n_chars(Str s)
{
    int n = 0;
    for (size_t i = 0; i < s.len; i++) n += (s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* Lines without a normalizer, each blank written as U+2581 and one put in front. */
static NaiveWord *naive_words(Arena *a, const char *lines, int64_t *n)
{
    int64_t cap = 0;
    NaiveWord *word = NULL;
    *n = 0;
    for (const char *at = lines; *at;) {
        const char *end = strchr(at, '\n');
        for (bool starts = true; at < end || starts; starts = false) {
            word = arena_grow(a, word, *n, &cap, sizeof *word);
            NaiveWord *w = &word[(*n)++];
            *w = (NaiveWord){ .symbol = { str_of(BLANK) }, .n = 1 };
            if (!starts) at++;
            for (int len; at < end && *at != ' '; at += len) {
                utf8_decode(at, &len);
                w->symbol[w->n++] = (Str){ at, (size_t)len };
            }
        }
        at = end + 1;
    }
    return word;
}

/* The most frequent pair, counted from scratch; of equal ones the shorter, then the lesser. */
static bool naive_best(Arena *a, const TrainSettings *s, const NaiveWord *word, int64_t n,
                       const Map *dead, Str *left, Str *right)
{
    typedef struct Count {
        Str left, right, both;
        int64_t n;
    } Count;
    Map *counts = map_new(a);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 1; k < word[i].n; k++) {
            Str both = join(a, word[i].symbol[k - 1], word[i].symbol[k]);
            Str key = join(a, join(a, word[i].symbol[k - 1], str_of("|")), word[i].symbol[k]);
            if (map_has(dead, both) || !is_valid(s, both)) continue;
            Count *c = map_get(counts, key);
            if (!c) {
                c = NEW(a, Count);
                *c = (Count){ word[i].symbol[k - 1], word[i].symbol[k], both, 0 };
                map_set(counts, key, c);
            }
            c->n++;
        }
    }
    const Count *best = NULL;
    for (int64_t i = 0; i < counts->n; i++) {
        const Count *c = counts->entry[i].value;
        if (best && c->n == best->n) {
            int x = n_chars(c->both), y = n_chars(best->both);
            int order = x != y ? x - y : strcmp(c->both.ptr, best->both.ptr);
            if (order ? order > 0 : n_chars(c->left) > n_chars(best->left)) continue;
        } else if (best && c->n < best->n) {
            continue;
        }
        best = c;
    }
    if (!best) return false;
    *left = best->left;
    *right = best->right;
    return true;
}

static void naive_merge(Arena *a, NaiveWord *word, int64_t n, Str left, Str right)
{
    for (int64_t i = 0; i < n; i++) {
        int kept = 0;
        for (int k = 0; k < word[i].n; k++, kept++) {
            bool found = k + 1 < word[i].n && str_equal(word[i].symbol[k], left) &&
                         str_equal(word[i].symbol[k + 1], right);
            word[i].symbol[kept] = found ? join(a, left, right) : word[i].symbol[k];
            k += found;
        }
        word[i].n = kept;
    }
}

TEST(sentencepiece_bpe_equals_a_naive_learner)
{
    for (uint64_t seed = 0; seed < 24; seed++) {
        Arena *a = arena_new();
        const char *lines = random_lines(a, seed, 12), *path = write_text(a, lines);
        TrainSettings s = settings(&path, 70);
        SpTrainSettings *sp = &s.sentencepiece;
        sp->normalization_rule_name = "identity";
        sp->remove_extra_whitespaces = false;
        sp->character_coverage = 1;
        sp->hard_vocab_limit = false;
        sp->split_by_unicode_script = seed & 1;
        sp->split_digits = seed & 2;
        sp->split_by_number = seed & 4;
        sp->max_sentencepiece_length = seed & 8 ? 3 : 16;
        SpFile f = model(a, BPE, &s);
        int64_t n;
        NaiveWord *word = naive_words(a, lines, &n);
        Map *pieces = map_new(a);
        Str left, right;
        int64_t id = 3;
        for (; id < f.n && n_chars(f.name[id]) > 1; id++) {
            assert_true(naive_best(a, &s, word, n, pieces, &left, &right));
            Str both = join(a, left, right);
            assert_true(str_equal(both, f.name[id]));
            map_set(pieces, both, pieces);
            naive_merge(a, word, n, left, right);
        }
        assert_true(id > 20);
        if (f.n < 70) assert_false(naive_best(a, &s, word, n, pieces, &left, &right));
        arena_free(a);
    }
}

/* ---- threads, files, signals ---- */

TEST(sentencepiece_models_do_not_depend_on_the_number_of_threads)
{
    Arena *a = arena_new();
    const char *path = write_text(a, random_lines(a, 77, 6000)), *out;
    TrainSummary summary;
    for (int which = BPE; which <= UNIGRAM; which++) {
        for (int64_t some = 0; some < 2; some++) {
            TrainSettings s = settings(&path, 300);
            s.sentencepiece.input_sentence_size = some ? 4000 : 0;
            s.sentencepiece.hard_vocab_limit = false;
            Str one = trained(a, which, &s, &out, &summary);
            s.n_threads = 3;
            Str three = trained(a, which, &s, &out, &summary);
            assert_true(str_equal(one, three));
        }
    }
    arena_free(a);
}

TEST(a_trained_sentencepiece_model_is_opened_and_gives_texts_back)
{
    static const char *const texts[] = { "abba cd  ea.", "1a \xD0\xB0\xD0\xB1", "",
                                         "zebra \xF0\x9F\x98\x80" };
    Arena *a = arena_new();
    const char *path = write_text(a, random_lines(a, 3, 300)), *out;
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSummary summary;
        TrainSettings s = settings(&path, 400);
        s.sentencepiece.byte_fallback = true;
        s.sentencepiece.remove_extra_whitespaces = false;
        s.sentencepiece.hard_vocab_limit = false;
        trained(a, which, &s, &out, &summary);
        Tokenizer *t;
        assert_no_error(tokenizer_open(out, &t));
        Encoder *e = t->encoder_new(t);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            Ids ids = { 0 };
            Text back = { 0 };
            assert_no_error(t->encode(e, str_of(texts[i]), false, &ids));
            assert_no_error(t->decode(t, ids.id, ids.n, false, &back));
            assert_string_equal(back.ptr ? back.ptr : "", texts[i]);
            ids_free(&ids);
            text_free(&back);
        }
        t->encoder_free(e);
        t->close(t);
    }
    arena_free(a);
}

/* Asks for a stop when it is told of the first thing after counting. */
static void stop_while_learning(void *arg, const char *what, int64_t done, int64_t total)
{
    (void)arg, (void)done, (void)total;
    if (!strstr(what, "count") && !signal_stop_requested()) raise(SIGINT);
}

TEST(a_stopped_sentencepiece_training_leaves_no_file)
{
    Arena *a = arena_new();
    const char *path = write_text(a, random_lines(a, 3, 300));
    const char *out = path_join(a, test_folder(), "never.model");
    TrainSettings s = settings(&path, 120);
    s.progress = (struct TrainProgress){ stop_while_learning, NULL };
    TrainSummary summary;
    signal_catch();
    assert_error_has(tokenizer_train(&trainer_sentencepiece_unigram, &s, out, &summary),
                     "stopped by a signal");
    PathList left = { 0 };
    assert_no_error(files_below(a, test_folder(), "", &left));
    assert_int_equal(left.n, 1); /* the corpus */
    arena_free(a);
}

/* ---- options ---- */

static TrainSettings plain(int64_t vocab_size)
{
    TrainSettings s = settings(NULL, vocab_size);
    s.sentencepiece.normalization_rule_name = "identity";
    s.sentencepiece.hard_vocab_limit = false;
    s.sentencepiece.character_coverage = 1;
    return s;
}

TEST(options_of_sentencepiece_decide_what_may_be_a_piece)
{
    Arena *a = arena_new();
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSettings s = plain(60);
        SpTrainSettings *o = &s.sentencepiece;
        const char *numbers = "x 12 12 12 a1 a1 a1 z\n",
                   *scripts = "a\xD0\xB1 a\xD0\xB1 a\xD0\xB1\n";
        SpFile f = model_of(a, which, &s, numbers);
        assert_true(has(&f, BLANK "12") && !has(&f, BLANK "a1"));
        o->split_digits = true;
        f = model_of(a, which, &s, numbers);
        assert_true(!has(&f, BLANK "12") && !has(&f, "12") && has(&f, "1"));
        o->split_digits = o->split_by_number = false;
        f = model_of(a, which, &s, numbers);
        assert_true(has(&f, BLANK "12") && has(&f, BLANK "a1"));
        o->split_by_number = true;
        f = model_of(a, which, &s, scripts);
        assert_false(has(&f, BLANK "a\xD0\xB1"));
        o->split_by_unicode_script = false;
        f = model_of(a, which, &s, scripts);
        assert_true(has(&f, BLANK "a\xD0\xB1"));
        o->max_sentencepiece_length = 2;
        f = model_of(a, which, &s, scripts);
        assert_false(has(&f, BLANK "a\xD0\xB1"));
        for (int64_t i = 3; i < f.n; i++) assert_true(n_chars(f.name[i]) <= 2);
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
        SpFile f = model_of(a, which, &s, text);
        assert_true(has(&f, BLANK "ab") && !has(&f, "ab" BLANK) && !has(&f, BLANK "cd" BLANK "ab"));
        o->split_by_whitespace = false;
        f = model_of(a, which, &s, text);
        assert_true(has(&f, BLANK "cd" BLANK "ab"));
        o->split_by_whitespace = true;
        o->treat_whitespace_as_suffix = true;
        f = model_of(a, which, &s, text);
        assert_true(f.whitespace_as_suffix && has(&f, "ab" BLANK) && !has(&f, BLANK "ab"));
        o->treat_whitespace_as_suffix = false;
        o->add_dummy_prefix = false;
        f = model_of(a, which, &s, "ab\nab\nabc\n");
        assert_true(!f.rules.add_dummy_prefix && has(&f, "ab") && !has(&f, BLANK));
        o->add_dummy_prefix = true;
        o->remove_extra_whitespaces = false;
        f = model_of(a, which, &s, runs);
        assert_true(!f.rules.remove_extra_whitespaces && !has(&f, BLANK BLANK));
        o->allow_whitespace_only_pieces = true;
        f = model_of(a, which, &s, runs);
        assert_true(has(&f, BLANK BLANK) || has(&f, BLANK BLANK BLANK BLANK));
        o->remove_extra_whitespaces = true;
        f = model_of(a, which, &s, runs);
        assert_true(f.rules.remove_extra_whitespaces && !has(&f, BLANK BLANK));
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
        SpFile f = model_of(a, which, &s, text.ptr);
        assert_true(has(&f, "q") && has(&f, "\xEF\xBD\x82") && !has(&f, "\xC3\xA9"));
        o->character_coverage = 0.99;
        o->required_chars = "\xC3\xA9";
        f = model_of(a, which, &s, text.ptr);
        assert_true(!has(&f, "q") && has(&f, "\xC3\xA9"));
        o->character_coverage = 1;
        o->normalization_rule_name = "nfkc";
        f = model_of(a, which, &s, text.ptr);
        assert_true(f.rules.charsmap && has(&f, "q") && !has(&f, "\xEF\xBD\x82"));
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
        SpFile f = model_of(a, which, &s, "xabby xabby xabby <sep>a <sep>a\n");
        assert_true(f.unk_id == 3 && str_is(f.name[3], "<what>") && str_is(f.unk_surface, "?!"));
        assert_true(sp_file_id(&f, str_of("<s>")) == 0 && type_of(&f, "<s>") == SP_USER_DEFINED);
        assert_true(sp_file_id(&f, str_of("<fill>")) == 5 && type_of(&f, "<fill>") == SP_CONTROL);
        assert_true(sp_file_id(&f, str_of("<sep>")) == 1 && type_of(&f, "</s>") == SP_CONTROL);
        assert_true(sp_file_id(&f, str_of("abb")) == 4 && type_of(&f, "abb") == SP_USER_DEFINED);
        assert_true(type_of(&f, "<0x00>") == SP_BYTE && f.byte_id[255] == 261);
        assert_true(has(&f, BLANK "x") && !has(&f, "xa") && !has(&f, "sep") && !has(&f, "<s"));
    }
    arena_free(a);
}

TEST(options_of_sentencepiece_decide_which_lines_are_learnt_from)
{
    Arena *a = arena_new();
    Text text = { 0 };
    for (int i = 0; i < 300; i++) text_puts(&text, i < 110 ? "ab ab\n" : "cd cd\n");
    text_puts(&text, "ef ef ef ef ef ef ef ef\ngh \xE2\x96\x85\n\n");
    const char *path = write_text(a, text.ptr), *out;
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSettings s = plain(60);
        TrainSummary summary;
        SpFile f;
        s.corpus.path = &path;
        s.sentencepiece.max_sentence_length = 20;
        assert_no_error(sp_file_read(a, trained(a, which, &s, &out, &summary), &f));
        assert_true(has(&f, "a") && has(&f, "c") && !has(&f, "e") && !has(&f, "g"));
        assert_int_equal(summary.n_too_long, 1);
        assert_int_equal(summary.n_reserved, 1);
        s.sentencepiece.input_sentence_size = 110;
        s.sentencepiece.shuffle_input_sentence = false;
        f = model(a, which, &s);
        assert_true(has(&f, "a") && !has(&f, "c"));
        s.sentencepiece.input_sentence_size = 111;
        f = model(a, which, &s);
        assert_true(has(&f, "a") && has(&f, "c"));
        s.sentencepiece.input_sentence_size = 101;
        s.sentencepiece.shuffle_input_sentence = true;
        f = model(a, which, &s);
        assert_true(has(&f, "a") && has(&f, "c"));
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
    const char *path = write_text(a, text.ptr);
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
    const char *path = write_text(a, random_lines(a, 5, 500)), *out;
    TrainSummary summary;
    TrainSettings s = plain(60);
    s.corpus.path = &path;
    Str usual = trained(a, UNIGRAM, &s, &out, &summary);
    s.sentencepiece.num_sub_iterations = 5;
    assert_false(str_equal(usual, trained(a, UNIGRAM, &s, &out, &summary)));
    s = plain(60);
    s.corpus.path = &path;
    s.sentencepiece.shrinking_factor = 0.5;
    SpFile half, more;
    assert_no_error(sp_file_read(a, trained(a, UNIGRAM, &s, &out, &summary), &half));
    assert_no_error(sp_file_read(a, usual, &more));
    bool same = true;
    for (int64_t i = 3; i < 60; i++) same &= half.score[i] == more.score[i];
    assert_false(same);
    s.sentencepiece.seed_sentencepiece_size = 10;
    trained(a, UNIGRAM, &s, &out, &summary);
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
    SpFile f = model_of(a, UNIGRAM, &s, text.ptr);
    double all = 0;
    for (int64_t i = 3; i < f.n; i++) {
        assert_true(f.score[i] > -30 && f.score[i] < 0);
        all += exp(f.score[i]);
    }
    assert_true(all > 0.8 && all < 1.01); /* what is left belongs to pieces that were dropped */
    text_free(&text);
    arena_free(a);
}

static void assert_refused(const TrainSettings *s, const char *part)
{
    TrainSummary summary;
    char path[4200];
    snprintf(path, sizeof path, "%s/refused.model", test_folder());
    for (int which = BPE; which <= UNIGRAM; which++) {
        assert_error_has(tokenizer_train(kind(which), s, path, &summary), part);
        assert_false(file_exists(path));
    }
}

TEST(settings_of_sentencepiece_that_cannot_be_are_refused_by_name)
{
    static const char *const twice[] = { "x1", "x1" }, *const unknown[] = { "<unk>" };
    Arena *a = arena_new();
    const char *path = write_text(a, "ab ab ab\nabc abd\n"), *input = "-";
    TrainSettings good = plain(60), s;
    good.corpus.path = &path;
    s = good, s.sentencepiece.character_coverage = 0.5;
    assert_refused(&s, "character_coverage 0.5 is not from 0.98 to 1");
    s = good, s.sentencepiece.max_sentencepiece_length = 513;
    assert_refused(&s, "max_sentencepiece_length 513");
    s = good, s.sentencepiece.max_sentence_length = 9;
    assert_refused(&s, "max_sentence_length 9");
    s = good, s.sentencepiece.num_sub_iterations = 0;
    assert_refused(&s, "num_sub_iterations 0");
    s = good, s.sentencepiece.shrinking_factor = 1;
    assert_refused(&s, "shrinking_factor 1");
    s = good, s.sentencepiece.seed_sentencepiece_size = 0;
    assert_refused(&s, "seed_sentencepiece_size 0");
    s = good, s.sentencepiece.input_sentence_size = 100;
    assert_refused(&s, "input_sentence_size 100");
    s = good, s.sentencepiece.unk_id = -1;
    assert_refused(&s, "unk_id -1");
    s = good, s.sentencepiece.unk_id = 1;
    assert_refused(&s, "\"<unk>\" and \"<s>\" have the same id 1");
    s = good, s.sentencepiece.pad_id = 60;
    assert_refused(&s, "the id 60 of \"<pad>\" is not below vocab_size 60");
    s = good, s.sentencepiece.unk_piece = "";
    assert_refused(&s, "unk_piece is empty");
    s = good, s.sentencepiece.bos_piece = "<unk>";
    assert_refused(&s, "\"<unk>\" is two pieces at once");
    s = good, s.sentencepiece.required_chars = "a b";
    assert_refused(&s, "required_chars has a blank");
    s = good, s.sentencepiece.required_chars = "\xFF";
    assert_refused(&s, "required_chars is no UTF-8");
    s = good, s.sentencepiece.normalization_rule_name = "nfd";
    assert_refused(&s, "\"nfd\" is no name of a normalization");
    s = good, s.sentencepiece.hard_vocab_limit = true;
    assert_refused(&s, "vocab_size 60 is too high: the texts give");
    s = good, s.vocab_size = 6;
    assert_refused(&s, "vocab_size 6 is less than the");
    s = good, s.corpus.format = CORPUS_WHOLE;
    assert_refused(&s, "format file");
    s = good, s.sentencepiece.pad_id = 50;
    assert_refused(&s, "leaves ids below that of \"<pad>\" (50) without one");
    s = good, s.sentencepiece.n_user_defined_symbols = 2;
    s.sentencepiece.user_defined_symbols = twice;
    assert_refused(&s, "\"x1\" is two pieces at once");
    s = good, s.sentencepiece.n_control_symbols = 1;
    s.sentencepiece.control_symbols = unknown;
    assert_refused(&s, "\"<unk>\" is two pieces at once");
    s = good, s.corpus.path = &input, s.sentencepiece.input_sentence_size = 200;
    assert_refused(&s, "standard input");
    arena_free(a);
}
