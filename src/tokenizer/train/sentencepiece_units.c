/* sentencepiece_units.c - the characters that become pieces, which of their sequences may, and the
 * units of words that no piece can reach over. */
#include "base/utf8.h"
#include "tokenizer/text/unicode.h"
#include "tokenizer/train/sentencepiece.h"
#include <stdlib.h>
#include <string.h>

enum { N_CODES = 0x110000, ANY_SCRIPT = -1, INHERITED = -2 };

/* ---- valid pieces ---- */

static bool is_digit(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 0xFF10 && c <= 0xFF19);
}

/* Unlisted characters count as common. */
static int script_of(const SpTrainSettings *s, uint32_t c)
{
    if (!s->split_by_number && is_digit(c)) return ANY_SCRIPT;
    unsigned script = unicode_script(c);
    if (script == unicode_script(0x300)) return INHERITED;
    return (int)(script ? script : unicode_script('!'));
}

/* Whether blanks stand where they may. */
static bool blanks_are_valid(const SpTrainSettings *s, const uint32_t *code, int64_t n)
{
    int64_t n_blanks = 0;
    for (int64_t i = 0; i < n; i++) n_blanks += code[i] == SP_BLANK;
    if (!n_blanks || (s->allow_whitespace_only_pieces && n_blanks == n)) return true;
    bool suffix = s->treat_whitespace_as_suffix;
    int64_t last = n - 1;
    if (s->split_by_whitespace) return n_blanks == 1 && code[suffix ? last : 0] == SP_BLANK;
    return n == 1 || code[suffix ? 0 : last] != SP_BLANK;
}

bool sp_piece_is_valid(const SpTrainSettings *s, const uint32_t *code, int64_t n)
{
    if (n < 1 || n > s->max_sentencepiece_length || !blanks_are_valid(s, code, n)) return false;
    int before = ANY_SCRIPT;
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = code[i];
        if (c == SP_UNKNOWN_CHAR || c == 0 || c == '\t') return false;
        if (c == SP_BLANK) continue;
        if (s->split_digits && is_digit(c) && n > 1) return false;
        if (!s->split_by_unicode_script) continue;
        int script = script_of(s, c);
        if (script == INHERITED) script = before;
        if (script != ANY_SCRIPT && before != ANY_SCRIPT && script != before) return false;
        before = script;
    }
    return true;
}

/* Whether no piece at all may have these two beside each other. */
static bool always_parted(const SpTrainSettings *s, uint32_t x, uint32_t y)
{
    if (x == SP_BLANK || y == SP_BLANK) return false;
    if (s->split_digits && (is_digit(x) || is_digit(y))) return true;
    if (!s->split_by_unicode_script) return false;
    int a = script_of(s, x), b = script_of(s, y);
    return a >= 0 && b >= 0 && a != b;
}

/* ---- characters ---- */

static int by_count(const void *x, const void *y)
{
    const SpChar *a = x, *b = y;
    if (a->is_required != b->is_required) return a->is_required ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return (a->code > b->code) - (a->code < b->code);
}

static uint32_t read_char(const char *p, int *len)
{
    uint32_t c = utf8_decode(p, len);
    return c == ' ' ? SP_BLANK : c;
}

static int64_t count_chars(const WordCounts *words, int64_t *count)
{
    int64_t all = 0;
    for (int64_t i = 0; i < words->n_slots; i++) {
        const WordCount *w = &words->slot[i];
        if (!w->count) continue;
        Str text = word_counts_text(words, w);
        int len;
        for (size_t at = 0; at < text.len; at += (size_t)len) {
            uint32_t c = read_char(text.ptr + at, &len);
            if (!c) continue;
            count[c] += w->count;
            all += w->count;
        }
    }
    return all;
}

/* The required ones, then the most frequent until their share is reached; a tab is none. Shares are
 * rounded as SentencePiece rounds them, but 1 means all. */
static void choose_chars(Arena *a, const SpTrainSettings *s, const WordCounts *words, SpUnits *u)
{
    Arena *work = arena_new();
    int64_t *count = NEW_N(work, int64_t, N_CODES), n = 0, cap = 0, covered = 0;
    bool *required = NEW_N(work, bool, N_CODES);
    int64_t all = count_chars(words, count);
    Str chars = str_of(s->required_chars);
    int len;
    for (size_t at = 0; at < chars.len; at += (size_t)len)
        required[utf8_decode(chars.ptr + at, &len)] = true;
    SpChar *item = NULL;
    for (uint32_t c = 1; c < N_CODES; c++) {
        if (!count[c] && !required[c]) continue;
        item = arena_grow(a, item, n, &cap, sizeof *item);
        item[n++] = (SpChar){ .code = c, .count = count[c], .is_required = required[c] };
    }
    if (n) qsort(item, (size_t)n, sizeof *item, by_count);
    u->ch = item;
    for (int64_t i = 0; i < n; i++) {
        float share = (float)((double)covered / (double)all);
        if (s->character_coverage < 1 && share >= (float)s->character_coverage) break;
        covered += item[i].count;
        if (item[i].code != '\t') u->ch[u->n_chars++] = item[i];
    }
    for (int64_t i = 0; i < u->n_chars; i++) u->ch[i].is_required = false;
    if (u->n_chars) qsort(u->ch, (size_t)u->n_chars, sizeof *u->ch, by_count);
    arena_free(work);
}

static int by_value(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* Numbers rise with the code points; number[] is 0 for the others. */
static void number_chars(Arena *a, SpUnits *u, uint32_t *number)
{
    u->code = NEW_N(a, uint32_t, u->n_chars + 1);
    for (int64_t i = 0; i < u->n_chars; i++) u->code[i + 1] = u->ch[i].code;
    if (u->n_chars) qsort(u->code + 1, (size_t)u->n_chars, sizeof *u->code, by_value);
    for (int64_t i = 1; i <= u->n_chars; i++) number[u->code[i]] = (uint32_t)i;
    for (int64_t i = 0; i < u->n_chars; i++) u->ch[i].number = number[u->ch[i].code];
}

/* ---- units ---- */

static void add_unit(WordCounts *to, const char *from, const char *end, int64_t n_chars,
                     int64_t count, bool single)
{
    if (n_chars > 1 || (single && n_chars))
        word_counts_add(to, from, (uint32_t)(end - from), count);
}

static void cut_word(const SpTrainSettings *s, const uint32_t *number, Str word, int64_t count,
                     bool single, WordCounts *to)
{
    const char *start = word.ptr, *end = word.ptr + word.len;
    int64_t n = 0;
    uint32_t before = 0;
    int len;
    for (const char *at = word.ptr; at < end; at += len) {
        uint32_t c = read_char(at, &len);
        if (!number[c] || (n && always_parted(s, before, c))) {
            add_unit(to, start, at, n, count, single);
            n = 0;
        }
        if (!n) start = number[c] ? at : at + len;
        n += number[c] != 0;
        before = c;
    }
    add_unit(to, start, end, n, count, single);
}

static Error *store_units(Arena *a, const WordCounts *units, const uint32_t *number, SpUnits *u)
{
    int64_t n_bytes = 0;
    for (int64_t i = 0; i < units->n_slots; i++)
        n_bytes += units->slot[i].count ? units->slot[i].len : 0;
    if (n_bytes + units->n >= UINT32_MAX) {
        return error_new(
            "%lld bytes of different words are too many to learn from (at most 4 GiB): "
            "set a lower max_words, or input_sentence_size",
            (long long)n_bytes);
    }
    u->unit = NEW_N(a, SpUnit, units->n + 1);
    u->text = NEW_N(a, uint32_t, n_bytes + units->n + 1);
    for (int64_t i = 0; i < units->n_slots; i++) {
        const WordCount *w = &units->slot[i];
        if (!w->count) continue;
        Str text = word_counts_text(units, w);
        SpUnit *unit = &u->unit[u->n_units++];
        *unit = (SpUnit){ .at = (uint32_t)u->n_text, .count = w->count };
        int len;
        for (size_t at = 0; at < text.len; at += (size_t)len)
            u->text[u->n_text++] = number[read_char(text.ptr + at, &len)];
        unit->len = (uint32_t)u->n_text - unit->at;
        u->text[u->n_text++] = 0;
    }
    return NULL;
}

Error *sp_units_make(Arena *a, const TrainSettings *s, const WordCounts *words, bool single,
                     SpUnits *out)
{
    const SpTrainSettings *sp = &s->sentencepiece;
    *out = (SpUnits){ 0 };
    choose_chars(a, sp, words, out);
    Arena *work = arena_new();
    uint32_t *number = NEW_N(work, uint32_t, N_CODES);
    number_chars(a, out, number);
    WordCounts units = { 0 };
    for (int64_t i = 0; i < words->n_slots; i++) {
        const WordCount *w = &words->slot[i];
        if (w->count) cut_word(sp, number, word_counts_text(words, w), w->count, single, &units);
    }
    Error *e = store_units(a, &units, number, out);
    word_counts_free(&units);
    arena_free(work);
    return e;
}

/* ---- names ---- */

void sp_pieces_add(Arena *a, SpPieces *to, Str name, double score)
{
    to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
    to->item[to->n++] = (SpPiece){ name, score };
}

Str sp_spell(Arena *a, const SpUnits *u, const uint32_t *number, int64_t n)
{
    char *to = arena_alloc(a, 4 * (size_t)n + 1), *at = to;
    for (int64_t i = 0; i < n; i++) at += utf8_encode(u->code[number[i]], at);
    return (Str){ to, (size_t)(at - to) };
}
