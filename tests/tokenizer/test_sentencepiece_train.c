/* test_sentencepiece_train.c - SentencePiece models that are trained here: against SentencePiece's
 * own vocabularies, against a naive learner, with threads and signals. */
#include "base/map.h"
#include "base/signal.h"
#include "base/utf8.h"
#include "test.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trained_sentencepiece.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

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
    TrainSettings s = trained_settings(path, 1000);
    s.sentencepiece.byte_fallback = true;
    return s;
}

TEST(sentencepiece_bpe_finds_the_librarys_pieces_and_scores)
{
    Arena *a = arena_new();
    const char *path;
    TrainSettings s = shakespeare(a, &path);
    SpPieces wanted = read_vocabulary(a, "sentencepiece_bpe_1000.vocab.tsv");
    SpFile f = trained_model(a, BPE, &s);
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
    trained_bytes(a, UNIGRAM, &s, &ours, &summary);
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
            int x = trained_chars(c->both), y = trained_chars(best->both);
            int order = x != y ? x - y : strcmp(c->both.ptr, best->both.ptr);
            if (order ? order > 0 : trained_chars(c->left) > trained_chars(best->left)) continue;
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
        const char *lines = trained_lines(a, seed, 12), *path = trained_text(a, lines);
        TrainSettings s = trained_settings(&path, 70);
        SpTrainSettings *sp = &s.sentencepiece;
        sp->normalization_rule_name = "identity";
        sp->remove_extra_whitespaces = false;
        sp->character_coverage = 1;
        sp->hard_vocab_limit = false;
        sp->split_by_unicode_script = seed & 1;
        sp->split_digits = seed & 2;
        sp->split_by_number = seed & 4;
        sp->max_sentencepiece_length = seed & 8 ? 3 : 16;
        SpFile f = trained_model(a, BPE, &s);
        int64_t n;
        NaiveWord *word = naive_words(a, lines, &n);
        Map *pieces = map_new(a);
        Str left, right;
        int64_t id = 3;
        for (; id < f.n && trained_chars(f.name[id]) > 1; id++) {
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
    const char *path = trained_text(a, trained_lines(a, 77, 6000)), *out;
    TrainSummary summary;
    for (int which = BPE; which <= UNIGRAM; which++) {
        for (int64_t some = 0; some < 2; some++) {
            TrainSettings s = trained_settings(&path, 300);
            s.sentencepiece.input_sentence_size = some ? 4000 : 0;
            s.sentencepiece.hard_vocab_limit = false;
            Str one = trained_bytes(a, which, &s, &out, &summary);
            s.n_threads = 3;
            Str three = trained_bytes(a, which, &s, &out, &summary);
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
    const char *path = trained_text(a, trained_lines(a, 3, 300)), *out;
    for (int which = BPE; which <= UNIGRAM; which++) {
        TrainSummary summary;
        TrainSettings s = trained_settings(&path, 400);
        s.sentencepiece.byte_fallback = true;
        s.sentencepiece.remove_extra_whitespaces = false;
        s.sentencepiece.hard_vocab_limit = false;
        trained_bytes(a, which, &s, &out, &summary);
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
    const char *path = trained_text(a, trained_lines(a, 3, 300));
    const char *out = path_join(a, test_folder(), "never.model");
    TrainSettings s = trained_settings(&path, 120);
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
