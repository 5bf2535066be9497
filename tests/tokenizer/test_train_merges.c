/* test_train_merges.c - the merges of small random corpora, against a learner that looks at
 * everything at every step. */
#include "base/rng.h"
#include "test.h"
#include "tokenizer/train/bpe.h"
#include <string.h>

enum { MOST = 1024, MOST_WORDS = 40, LONGEST = 20 };

/* The rules of the library's trainer, with lists that are searched from end to end: tokens, words
 * as tokens, counts of pairs, and entries of a pair with its count and the words that gained it.
 * No pair's words are looked at but those of its entry, and an entry counts what it did when it was
 * made, until it is the best one. */
typedef struct NaivePair {
    int left, right;
    int64_t count;
} NaivePair;

typedef struct Entry {
    int pair; /* -1: taken */
    int64_t count;
    int word[MOST_WORDS], n_words;
} Entry;

typedef struct Naive {
    const TrainSettings *settings;
    Arena *arena;
    const char *token[MOST];
    int length[MOST]; /* in characters */
    int n_tokens;
    struct {
        int token[LONGEST], n;
        int64_t count;
    } word[MOST_WORDS];
    int n_words;
    NaivePair pair[MOST];
    int n_pairs;
    Entry entry[MOST];
    int n_entries, first_new; /* entries of the step under way */
    Text merges;
} Naive;

static int token(Naive *t, const char *name, int length)
{
    int i = 0;
    while (i < t->n_tokens && strcmp(t->token[i], name) != 0) i++;
    if (i == t->n_tokens) t->token[t->n_tokens++] = arena_string(t->arena, name);
    if (length) t->length[i] = length;
    assert_true(t->n_tokens < MOST);
    return i;
}

static int pair(Naive *t, int left, int right)
{
    int i = 0;
    while (i < t->n_pairs && (t->pair[i].left != left || t->pair[i].right != right)) i++;
    if (i == t->n_pairs) t->pair[t->n_pairs++] = (NaivePair){ left, right, 0 };
    assert_true(t->n_pairs < MOST);
    return i;
}

static void lose(Naive *t, int word, int left, int right)
{
    t->pair[pair(t, left, right)].count -= t->word[word].count;
}

static void gain(Naive *t, int word, int left, int right)
{
    int p = pair(t, left, right), i = t->first_new;
    t->pair[p].count += t->word[word].count;
    while (i < t->n_entries && t->entry[i].pair != p) i++;
    if (i == t->n_entries) t->entry[t->n_entries++] = (Entry){ .pair = p };
    assert_true(t->n_entries < MOST);
    Entry *e = &t->entry[i];
    if (!e->n_words || e->word[e->n_words - 1] != word) e->word[e->n_words++] = word;
}

/* Entries made in this step get their counts. */
static void end_step(Naive *t)
{
    for (; t->first_new < t->n_entries; t->first_new++) {
        Entry *e = &t->entry[t->first_new];
        e->count = t->pair[e->pair].count;
        if (e->count <= 0) e->pair = -1;
    }
}

static void merge_in(Naive *t, int w, int left, int right, int merged)
{
    int *s = t->word[w].token, *n = &t->word[w].n;
    int64_t limit = t->settings->bpe.max_token_length;
    for (int i = 0; i + 1 < *n; i++) {
        if (s[i] != left || s[i + 1] != right) continue;
        s[i] = merged;
        memmove(&s[i + 1], &s[i + 2], (size_t)(*n - i - 2) * sizeof *s);
        --*n;
        bool short_before = i && (!limit || t->length[s[i - 1]] + t->length[merged] < limit);
        bool short_behind =
            i + 1 < *n && (!limit || t->length[s[i + 1]] + t->length[merged] < limit);
        if (i) lose(t, w, s[i - 1], left);
        if (short_before) gain(t, w, s[i - 1], merged);
        if (i + 1 < *n) lose(t, w, right, s[i + 1]);
        if (short_behind) gain(t, w, merged, s[i + 1]);
    }
}

static bool is_better(const Naive *t, const Entry *a, const Entry *b)
{
    if (a->count != b->count) return a->count > b->count;
    const NaivePair *p = &t->pair[a->pair], *q = &t->pair[b->pair];
    return p->left != q->left ? p->left < q->left : p->right < q->right;
}

static Entry *best_entry(Naive *t)
{
    for (;;) {
        Entry *best = NULL;
        for (int i = 0; i < t->n_entries; i++) {
            Entry *e = &t->entry[i];
            if (e->pair >= 0 && (!best || is_better(t, e, best))) best = e;
        }
        if (!best || best->count == t->pair[best->pair].count) return best;
        best->count = t->pair[best->pair].count;
    }
}

static void learn(Naive *t)
{
    const BpeTrainSettings *s = &t->settings->bpe;
    size_t n_prefix = s->prefix ? strlen(s->prefix) : 0;
    while (t->n_tokens < t->settings->vocab_size) {
        Entry *e = best_entry(t);
        if (!e || e->count < 1 || e->count < s->min_frequency) return;
        NaivePair p = t->pair[e->pair];
        const char *left = t->token[p.left], *right = t->token[p.right];
        text_printf(&t->merges, "%s %s\n", left, right);
        if (n_prefix && str_starts(str_of(right), s->prefix)) right += n_prefix;
        int merged = token(t, arena_printf(t->arena, "%s%s", left, right),
                           t->length[p.left] + t->length[p.right]);
        Entry taken = *e;
        e->pair = -1;
        for (int i = 0; i < taken.n_words; i++) merge_in(t, taken.word[i], p.left, p.right, merged);
        end_step(t);
    }
}

/* ---- corpora ---- */

/* By code point; prefixes and suffixes have letters of the last one in them. */
static const char *const alphabets[][6] = { { "a", "b", NULL },
                                            { "a", "b", "c", "d", NULL },
                                            { "#", "/", "a", "é", "日", NULL } };
enum { HAS_PREFIX = 1, HAS_SUFFIX = 2, N_FORMS = 4 };

typedef struct Random {
    uint64_t key, i;
} Random;

static int draw(Random *r, int n)
{
    return (int)(rng_bits(r->key, r->i++) % (uint64_t)n);
}

static TrainSettings random_settings(Random *r)
{
    static const char *const special[] = { "ab", "a", "aa", "aab", "<unk>" };
    TrainSettings s = { .vocab_size = 24 + draw(r, 60) };
    s.bpe = (BpeTrainSettings){ .pre_tokenizer = TRAIN_WHITESPACE_SPLIT,
                                .min_frequency = draw(r, 4),
                                .special_tokens = special + draw(r, 4),
                                .n_special_tokens = 1 };
    if (!draw(r, 3)) s.bpe.max_token_length = 3 + draw(r, 4);
    if (!draw(r, 3)) s.bpe.prefix = draw(r, 2) ? "##" : "_";
    if (!draw(r, 3)) s.bpe.suffix = "</w>";
    return s;
}

/* Fills the words with indices of letters. */
static void random_words(Random *r, int n_letters, Naive *t)
{
    int longest = 1 + draw(r, LONGEST);
    t->n_words = 1 + draw(r, MOST_WORDS);
    for (int w = 0; w < t->n_words; w++) {
        t->word[w].count = 1 + draw(r, 3);
        t->word[w].n = 1 + draw(r, longest);
        for (int i = 0; i < t->word[w].n; i++) t->word[w].token[i] = draw(r, n_letters);
    }
}

static void count_words(const Naive *t, const char *const *alphabet, WordCounts *out)
{
    for (int w = 0; w < t->n_words; w++) {
        char text[LONGEST * 4 + 16] = { 0 };
        for (int i = 0; i < t->word[w].n; i++) strcat(text, alphabet[t->word[w].token[i]]);
        word_counts_add(out, text, (uint32_t)strlen(text), t->word[w].count);
    }
}

static int form_of(const Naive *t, int w, int i)
{
    const BpeTrainSettings *s = &t->settings->bpe;
    return (s->prefix && i ? HAS_PREFIX : 0) |
           (s->suffix && i == t->word[w].n - 1 ? HAS_SUFFIX : 0);
}

/* From letters to tokens, which get their ids: letters first, then their other forms. */
static void spell_words(Naive *t, const char *const *alphabet)
{
    const BpeTrainSettings *s = &t->settings->bpe;
    bool occurs[8][N_FORMS] = { 0 };
    int id[8][N_FORMS];
    for (int w = 0; w < t->n_words; w++) {
        for (int i = 0; i < t->word[w].n; i++)
            occurs[t->word[w].token[i]][0] = occurs[t->word[w].token[i]][form_of(t, w, i)] = true;
    }
    token(t, s->special_tokens[0], 1);
    for (int c = 0; alphabet[c]; c++) {
        if (occurs[c][0]) id[c][0] = token(t, alphabet[c], 1);
    }
    for (int c = 0; alphabet[c]; c++) {
        for (int form = 1; form < N_FORMS; form++) {
            if (!occurs[c][form]) continue;
            const char *name = arena_printf(t->arena, "%s%s%s", form & HAS_PREFIX ? s->prefix : "",
                                            alphabet[c], form & HAS_SUFFIX ? s->suffix : "");
            id[c][form] = token(t, name, 1);
        }
    }
    for (int w = 0; w < t->n_words; w++) {
        for (int i = 0; i < t->word[w].n; i++)
            t->word[w].token[i] = id[t->word[w].token[i]][form_of(t, w, i)];
    }
}

static void count_first_pairs(Naive *t)
{
    for (int w = 0; w < t->n_words; w++) {
        for (int i = 0; i + 1 < t->word[w].n; i++)
            gain(t, w, t->word[w].token[i], t->word[w].token[i + 1]);
    }
    end_step(t);
}

/* Returns the number of merges; *n_known those whose token was there before. */
static int64_t check_corpus(uint64_t seed, int64_t *n_known)
{
    Arena *a = arena_new();
    Random r = { rng_key(seed, RNG_SAMPLE, 0, 0), 0 };
    TrainSettings s = random_settings(&r);
    const char *const *alphabet = alphabets[draw(&r, 3)];
    int n_letters = 0;
    while (alphabet[n_letters]) n_letters++;
    Naive *t = NEW(a, Naive);
    t->settings = &s;
    t->arena = a;
    WordCounts counts = { 0 };
    random_words(&r, n_letters, t);
    count_words(t, alphabet, &counts);
    spell_words(t, alphabet);
    int n_first = t->n_tokens;
    count_first_pairs(t);
    learn(t);

    TrainedBpe b;
    TrainSummary summary = { 0 };
    Text merges = { 0 };
    assert_no_error(train_merges(a, &s, &counts, &b, &summary));
    for (int64_t i = 0; i < b.n_merges; i++) {
        text_printf(&merges, "%s %s\n", b.names.name[b.merge[i][0]].ptr,
                    b.names.name[b.merge[i][1]].ptr);
    }
    if (merges.len != t->merges.len || (merges.len && strcmp(merges.ptr, t->merges.ptr) != 0))
        fail_msg("seed %d:\n%s\nbut naively\n%s", (int)seed, merges.ptr, t->merges.ptr);
    assert_int_equal(b.names.n, t->n_tokens);
    for (int i = 0; i < t->n_tokens; i++) assert_string_equal(b.names.name[i].ptr, t->token[i]);
    *n_known += b.n_merges - (t->n_tokens - n_first);
    text_free(&merges);
    text_free(&t->merges);
    word_counts_free(&counts);
    int64_t n_merges = b.n_merges;
    arena_free(a);
    return n_merges;
}

TEST(merges_are_those_of_a_naive_learner)
{
    int64_t n_merges = 0, n_known = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) n_merges += check_corpus(seed, &n_known);
    assert_true(n_merges > 30000);
    assert_true(n_known > 300);
}
