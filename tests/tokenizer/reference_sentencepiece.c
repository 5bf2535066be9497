/* reference_sentencepiece.c - BPE and Unigram of a .model file, the plain way. */
#include "base/map.h"
#include "base/utf8.h"
#include "test.h"
#include "tokenizer/reference.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* A piece of the text under way; `both` is the piece that it makes with its right neighbour. */
typedef struct Symbol {
    Str text;
    bool is_whole; /* user-defined: it takes no part in merges */
    uint32_t both;
} Symbol;

/* The best way to a place, and its last step. */
typedef struct Place {
    float sum;
    size_t from;
    uint32_t id;
    bool is_reached;
} Place;

typedef struct SpReference {
    Reference base;
    SpFile file;
    SpNormalizer normalizer;
    Map *piece, *start;      /* of id + 1; of anything: what a piece starts with */
    int64_t *whole, n_whole; /* the user-defined ones */
    float unk_score, max_score;
    Text normalized, spelled;
    Buffer room;
} SpReference;

enum { NONE = UINT32_MAX };

static uint32_t find(const SpReference *r, Str name)
{
    return (uint32_t)(uintptr_t)map_get(r->piece, name) - 1;
}

/* Takes a character of the text, or more of it, and gives what that becomes. */
static Str take(const SpNormalizer *n, Str *text)
{
    Str to;
    size_t len = sp_rewrite_start(n, *text, &to);
    *text = (Str){ text->ptr + len, text->len - len };
    return to;
}

static void add_byte(const SpNormalizer *n, char byte, Text *out)
{
    text_putc(out, byte);
    if (!n->rules.escape_whitespaces || out->len < 3) return;
    if (memcmp(out->ptr + out->len - 3, "\xE2\x96\x81", 3)) return;
    out->len -= 3;
    text_putc(out, ' ');
}

void reference_normalize(const SpNormalizer *n, Str text, Text *out)
{
    bool drops = n->rules.remove_extra_whitespaces, after_blank = drops;
    size_t from = out->len;
    for (Str rest = text; drops && text.len && str_is(take(n, &rest), " ");) text = rest;
    if (!text.len) return;
    if (n->rules.add_dummy_prefix && !n->blank_behind) text_putc(out, ' ');
    while (text.len) {
        Str to = take(n, &text);
        size_t first = 0;
        while (after_blank && first < to.len && to.ptr[first] == ' ') first++;
        for (size_t i = first; i < to.len; i++) add_byte(n, to.ptr[i], out);
        if (first < to.len) after_blank = drops && to.ptr[to.len - 1] == ' ';
    }
    while (drops && out->len > from && out->ptr[out->len - 1] == ' ') out->len--;
    if (n->rules.add_dummy_prefix && n->blank_behind) text_putc(out, ' ');
}

static Str spell(SpReference *r, Str text)
{
    text_clear(&r->normalized);
    text_clear(&r->spelled);
    reference_normalize(&r->normalizer, text, &r->normalized);
    sp_add_spelled(&r->file, (Str){ r->normalized.ptr, r->normalized.len }, &r->spelled);
    return (Str){ r->spelled.ptr, r->spelled.len };
}

/* Bytes of what is no piece, or one unknown piece for a run of it. */
static void add_piece(const SpReference *r, Str text, uint32_t id, Ids *out, bool *after_unknown)
{
    const SpFile *f = &r->file;
    bool unknown = id == NONE;
    if (!unknown)
        ids_add(out, id);
    else if (f->byte_fallback)
        for (size_t i = 0; i < text.len; i++) ids_add(out, f->byte_id[(uint8_t)text.ptr[i]]);
    else if (!*after_unknown)
        ids_add(out, f->unk_id);
    *after_unknown = unknown;
}

static size_t character(Str rest)
{
    size_t len = utf8_char_bytes((uint8_t)rest.ptr[0]);
    return len < rest.len ? len : rest.len;
}

/* The longest user-defined piece at the start, else a character. */
static Symbol first_symbol(const SpReference *r, Str rest)
{
    size_t len = 0;
    for (int64_t i = 0; i < r->n_whole; i++) {
        Str name = r->file.name[r->whole[i]];
        if (name.len > len && name.len <= rest.len && !memcmp(name.ptr, rest.ptr, name.len))
            len = name.len;
    }
    return (Symbol){ { rest.ptr, len ? len : character(rest) }, len > 0, NONE };
}

static void find_both(const SpReference *r, Symbol *s, int64_t i, int64_t n)
{
    if (i < 0 || i >= n) return;
    bool can = i + 1 < n && !s[i].is_whole && !s[i + 1].is_whole;
    s[i].both = can ? find(r, (Str){ s[i].text.ptr, s[i].text.len + s[i + 1].text.len }) : NONE;
}

/* Merges the leftmost pair of the highest score, until there is none. */
static void encode_bpe(Reference *self, Str text, Ids *out)
{
    SpReference *r = (SpReference *)self;
    Str rest = spell(r, text);
    Symbol *s = buffer_grow(&r->room, (rest.len + 1) * sizeof *s);
    int64_t n = 0;
    while (rest.len) {
        s[n] = first_symbol(r, rest);
        rest.ptr += s[n].text.len;
        rest.len -= s[n++].text.len;
    }
    for (int64_t i = 0; i < n; i++) find_both(r, s, i, n);
    for (;;) {
        int64_t best = -1;
        for (int64_t i = 0; i + 1 < n; i++) {
            if (s[i].both == NONE) continue;
            if (best < 0 || r->file.score[s[i].both] > r->file.score[s[best].both]) best = i;
        }
        if (best < 0) break;
        s[best].text.len += s[best + 1].text.len;
        memmove(s + best + 1, s + best + 2, (size_t)(n - best - 2) * sizeof *s);
        n--;
        find_both(r, s, best - 1, n);
        find_both(r, s, best, n);
    }
    bool after_unknown = false;
    for (int64_t i = 0; i < n; i++)
        add_piece(r, s[i].text, find(r, s[i].text), out, &after_unknown);
}

static void step(Place *place, size_t from, size_t to, double score, uint32_t id)
{
    float sum = (float)(score + (double)place[from].sum);
    if (!place[to].is_reached || sum > place[to].sum) place[to] = (Place){ sum, from, id, true };
}

/* The best way through the text: the sums are single, as the library has them. */
static void encode_unigram(Reference *self, Str text, Ids *out)
{
    SpReference *r = (SpReference *)self;
    const SpFile *f = &r->file;
    Str s = spell(r, text);
    Place *place = buffer_grow(&r->room, (s.len + 1) * (sizeof *place + sizeof(size_t)));
    memset(place, 0, (s.len + 1) * sizeof *place);
    for (size_t at = 0, len; at < s.len; at += len) {
        Str rest = { s.ptr + at, s.len - at };
        bool has_character = false;
        len = character(rest);
        for (size_t n = 1; n <= rest.len && map_has(r->start, (Str){ rest.ptr, n }); n++) {
            uint32_t id = find(r, (Str){ rest.ptr, n });
            if (id == NONE) continue;
            bool wins = f->type[id] == SP_USER_DEFINED;
            double score = wins ? n * fmax(r->max_score, 0.1) - 0.1 : f->score[id];
            step(place, at, at + n, score, id);
            has_character |= n == len;
        }
        if (!has_character) step(place, at, at + len, r->unk_score, NONE);
    }
    size_t *end = (size_t *)(place + s.len + 1), n = 0;
    for (size_t at = s.len; at; at = place[at].from) end[n++] = at;
    bool after_unknown = false;
    while (n--) {
        const Place *p = &place[end[n]];
        add_piece(r, (Str){ s.ptr + p->from, end[n] - p->from }, p->id, out, &after_unknown);
    }
}

static void forget(void *reference)
{
    SpReference *r = reference;
    text_free(&r->normalized);
    text_free(&r->spelled);
    buffer_free(&r->room);
}

Reference *reference_sentencepiece(Arena *a, const char *model)
{
    SpReference *r = NEW(a, SpReference);
    Str bytes;
    assert_no_error(file_read(a, model, &bytes));
    assert_no_error(sp_file_read(a, bytes, &r->file));
    SpFile *f = &r->file;
    assert_true(f->kind == SP_BPE || f->kind == SP_UNIGRAM);
    r->normalizer = sp_normalizer_new(a, f, &f->rules, true);
    r->piece = map_new(a);
    r->start = map_new(a);
    r->whole = NEW_N(a, int64_t, f->n);
    float least = FLT_MAX, most = FLT_MIN;
    for (int64_t i = 0; i < f->n; i++) {
        assert_true(f->type[i] != SP_UNUSED);
        if (f->type[i] != SP_NORMAL && f->type[i] != SP_USER_DEFINED) continue;
        map_set(r->piece, f->name[i], (void *)(uintptr_t)(i + 1));
        for (size_t n = 1; n <= f->name[i].len; n++)
            map_set(r->start, (Str){ f->name[i].ptr, n }, r);
        if (f->type[i] == SP_USER_DEFINED) r->whole[r->n_whole++] = i;
        if (f->type[i] != SP_NORMAL) continue;
        least = fminf(least, f->score[i]);
        most = fmaxf(most, f->score[i]);
    }
    r->unk_score = least - 10.0f;
    r->max_score = most;
    r->base.encode = f->kind == SP_BPE ? encode_bpe : encode_unigram;
    arena_on_free(a, forget, r);
    return &r->base;
}
