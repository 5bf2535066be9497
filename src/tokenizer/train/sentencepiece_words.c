/* sentencepiece_words.c - lines of texts, normalized and cut at blanks, as SentencePiece's trainer
 * reads them.
 *
 * A blank is the single byte here, as in sentencepiece/rules.h. The names of meta pieces are taken
 * out: a tab stands for each, over which no piece reaches. */
#include "base/rng.h"
#include "base/utf8.h"
#include "tokenizer/sentencepiece/rules.h"
#include "tokenizer/train/sentencepiece.h"
#include <string.h>

enum { READABLE_BEHIND = 16, WORDS_AT_ONCE = 512 };

typedef struct SpCutter {
    WordCutter base;
    const SpTrainSettings *settings;
    const SpPrepared *prepared;
    SpNormalizer normalizer;
    Text normalized, cut; /* cut: with tabs */
    WordCounts *to;
} SpCutter;

uint64_t sp_sentence_order(const SpTrainSettings *s, int64_t place)
{
    if (!s->shuffle_input_sentence) return (uint64_t)place;
    return rng_bits(rng_key(0, RNG_SAMPLE, 0, 0), (uint64_t)place);
}

bool sp_sentence_is_good(const SpTrainSettings *s, const SpPrepared *p, Str line)
{
    if (line.len > (size_t)s->max_sentence_length) {
        atomic_fetch_add_explicit(p->n_too_long, 1, memory_order_relaxed);
        return false;
    }
    if (memmem(line.ptr, line.len, "\xE2\x96\x85", 3)) {
        atomic_fetch_add_explicit(p->n_reserved, 1, memory_order_relaxed);
        return false;
    }
    return true;
}

void sp_sentences(Str text, int64_t place, void (*take)(void *arg, Str line, int64_t place),
                  void *arg)
{
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = (end ? (size_t)(end - text.ptr) : text.len) - at;
        if (len) take(arg, (Str){ text.ptr + at, len }, place + (int64_t)at);
        at += len + 1;
    }
}

/* Copies the normalized text with a tab for each name of a meta piece. */
static void take_out_meta(SpCutter *c)
{
    const SpPrepared *p = c->prepared;
    Str text = { c->normalized.ptr, c->normalized.len };
    text_clear(&c->cut);
    while (text.len) {
        uint32_t id;
        size_t plain = 0, found = 0;
        for (; plain < text.len; plain++) {
            if (!p->starts[(uint8_t)text.ptr[plain]]) continue;
            found = trie_longest(&p->found, (Str){ text.ptr + plain, text.len - plain }, &id);
            if (found) break;
        }
        text_add(&c->cut, text.ptr, plain);
        if (found) text_putc(&c->cut, '\t');
        text = (Str){ text.ptr + plain + found, text.len - plain - found };
    }
}

/* The end of the word that starts at `at`: before the next blank, or after it. In runs of blanks
 * each is a word's, or the run is, where pieces may consist of blanks alone. */
static size_t word_end(const SpTrainSettings *s, Str text, size_t at)
{
    if (!s->split_by_whitespace) return text.len;
    bool runs = s->allow_whitespace_only_pieces;
    if (s->treat_whitespace_as_suffix) {
        while (at < text.len && text.ptr[at] != ' ') at++;
        if (at < text.len) at++;
        while (runs && at < text.len && text.ptr[at] == ' ') at++;
        return at;
    }
    bool in_run = text.ptr[at++] == ' ';
    for (; at < text.len; at++) {
        bool is_blank = text.ptr[at] == ' ';
        if (is_blank && !(runs && in_run)) break;
        in_run &= is_blank;
    }
    return at;
}

static void count_line(void *arg, Str line, int64_t place)
{
    SpCutter *c = arg;
    const SpTrainSettings *s = c->settings;
    if (!sp_sentence_is_good(s, c->prepared, line)) return;
    if (sp_sentence_order(s, place) > c->prepared->sentence_key) return;
    text_clear(&c->normalized);
    sp_normalize(&c->normalizer, line, &c->normalized);
    if (!c->normalized.len) return;
    if (c->normalized.len >= UINT32_MAX) { /* places in a line are numbers of 32 bits */
        atomic_fetch_add_explicit(c->prepared->n_too_long, 1, memory_order_relaxed);
        return;
    }
    take_out_meta(c);
    char slack[READABLE_BEHIND] = { 0 };
    Str text = { NULL, c->cut.len };
    text_add(&c->cut, slack, sizeof slack);
    text.ptr = c->cut.ptr;
    for (size_t at = 0; at < text.len;) {
        uint32_t from = (uint32_t)at, end[WORDS_AT_ONCE];
        int64_t n = 0;
        for (; at < text.len && n < WORDS_AT_ONCE; n++)
            end[n] = (uint32_t)(at = word_end(s, text, at));
        word_counts_add_all(c->to, text.ptr, from, end, n);
    }
}

static Error *cut(WordCutter *self, Str text, bool is_start, WordCounts *to)
{
    (void)is_start;
    SpCutter *c = (SpCutter *)self;
    c->to = to;
    sp_sentences(text, self->place, count_line, c);
    return NULL;
}

static void cutter_free(WordCutter *self)
{
    SpCutter *c = (SpCutter *)self;
    text_free(&c->normalized);
    text_free(&c->cut);
}

Error *sp_cutter_new(Arena *a, const TrainSettings *s, WordCutter **out)
{
    const SpPrepared *p = s->prepared;
    SpCutter *c = NEW(a, SpCutter);
    c->base = (WordCutter){ .cut = cut, .free = cutter_free };
    c->settings = &s->sentencepiece;
    c->prepared = p;
    c->normalizer = sp_normalizer_new(a, &p->file, &p->file.rules, false);
    c->normalizer.blank_behind = c->settings->treat_whitespace_as_suffix;
    *out = &c->base;
    return NULL;
}
