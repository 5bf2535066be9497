/* charsmap_rules.c - rules that normalize by replacing the longest match from left to right.
 *
 * NFKC as such rules: every character that NFKC changes, and every sequence of characters that
 * composes. For the latter, take each character's full decomposition that NFKC composes again, and
 * write each of its parts in all ways that decompose to that part. Sequences that shorter rules
 * already bring to the same end are left out. Marks that are out of order, and longer sequences
 * than a single character decomposes to, stay as they are: that is SentencePiece's NFKC. */
#include "tokenizer/normalize/charsmap_rules.h"
#include "base/map.h"
#include "base/utf8.h"
#include "tokenizer/normalize/charsmap_newer.h"
#include "tokenizer/text/normal_form.h"
#include "tokenizer/text/unicode.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_CODE = 0x10FFFF, MAX_CHARS = 18 }; /* U+FDFA decomposes to 18 characters */

const char *const charsmap_rule_names[] = { "identity", "nfkc",        "nmt_nfkc",
                                            "nfkc_cf",  "nmt_nfkc_cf", NULL };

typedef struct Rules {
    Arena *arena;
    Map *to; /* from the text to what it becomes: Str */
} Rules;

static bool is_character(uint32_t c)
{
    return !(c >= 0xD800 && c <= 0xDFFF) && !(c >= 0xFDD0 && c <= 0xFDEF) && (c & 0xFFFE) != 0xFFFE;
}

static Str spell(Arena *a, const uint32_t *code, int n)
{
    char *to = arena_alloc(a, (size_t)n * 4 + 1), *at = to;
    for (int i = 0; i < n; i++) at += utf8_encode(code[i], at);
    return (Str){ to, (size_t)(at - to) };
}

static Str *keep(Arena *a, Str s)
{
    Str *kept = NEW(a, Str);
    *kept = s;
    return kept;
}

static void set_rule(Rules *r, Str from, Str to)
{
    map_set(r->to, from, keep(r->arena, to));
}

static int characters(Str s)
{
    int n = 0;
    for (size_t i = 0; i < s.len; i++) n += (s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* The text in a normal form; belongs to the arena. */
static Str in_form(Arena *a, NormalForm form, Str text, Buffer *room)
{
    Text out = { 0 };
    Str result = text;
    if (normal_form_add(form, text, room, NULL, &out))
        result = (Str){ arena_string_n(a, out.len ? out.ptr : "", out.len), out.len };
    text_free(&out);
    return result;
}

/* Bytes of the first n characters, or of all. */
static size_t prefix_bytes(Str s, int n)
{
    size_t at = 0;
    for (; n && at < s.len; n--) at += utf8_char_bytes((uint8_t)s.ptr[at]);
    return at;
}

/* Whether rules of at most `longest` characters turn the text into this. */
static bool becomes(const Map *rules, Str text, int longest, Str wanted)
{
    size_t done = 0;
    while (text.len) {
        Str *to = NULL;
        Str key = { text.ptr, 0 };
        for (int n = longest; n && !to; n--) {
            key.len = prefix_bytes(text, n);
            to = map_get(rules, key);
        }
        Str piece = to ? *to : key; /* without a rule, a character stays */
        if (wanted.len - done < piece.len || memcmp(wanted.ptr + done, piece.ptr, piece.len))
            return false;
        done += piece.len;
        text = (Str){ text.ptr + key.len, text.len - key.len };
    }
    return done == wanted.len;
}

/* Characters and the single one that each decomposes to, sorted by the latter. */
typedef struct Origin {
    uint32_t decomposed, from;
} Origin;

static int by_decomposed(const void *x, const void *y)
{
    const Origin *a = x, *b = y;
    if (a->decomposed != b->decomposed) return a->decomposed < b->decomposed ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

typedef struct Expansion {
    Rules *rules;
    const Origin *origin;
    int64_t n_origins;
    uint32_t part[MAX_CHARS]; /* the decomposition */
    uint32_t spelled[MAX_CHARS];
    int n;
    Str *composed; /* what all these rules share */
} Expansion;

/* Sets rules for all ways to write the parts from `at` on. Those for fewer characters are there. */
static void expand(Expansion *e, int at)
{
    if (at == e->n) {
        char bytes[4 * MAX_CHARS];
        Str from = { bytes, 0 };
        for (int i = 0; i < e->n; i++)
            from.len += (size_t)utf8_encode(e->spelled[i], bytes + from.len);
        if (!becomes(e->rules->to, from, e->n - 1, *e->composed))
            map_set(e->rules->to, from, e->composed);
        return;
    }
    e->spelled[at] = e->part[at];
    expand(e, at + 1);
    Origin key = { e->part[at], 0 };
    int64_t low = 0, high = e->n_origins;
    while (low < high) {
        int64_t mid = (low + high) / 2;
        if (by_decomposed(&e->origin[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < e->n_origins && e->origin[low].decomposed == e->part[at]; low++) {
        e->spelled[at] = e->origin[low].from;
        expand(e, at + 1);
    }
}

/* Origins of rules being found. */
typedef struct Finding {
    Rules *rules;
    Origin *origin;
    int64_t n_origins, cap_origins;
    Map *parts; /* decompositions to more than one character, as keys */
    Buffer room;
} Finding;

static void add_origin(Finding *f, uint32_t decomposed, uint32_t from)
{
    f->origin =
        arena_grow(f->rules->arena, f->origin, f->n_origins, &f->cap_origins, sizeof *f->origin);
    f->origin[f->n_origins++] = (Origin){ decomposed, from };
}

static void expand_into(const Finding *f, Str parts, Str composed)
{
    Expansion e = { .rules = f->rules, .origin = f->origin, .n_origins = f->n_origins };
    e.composed = keep(f->rules->arena, composed);
    int len;
    for (size_t at = 0; at < parts.len && e.n < MAX_CHARS; at += (size_t)len)
        e.part[e.n++] = utf8_decode(parts.ptr + at, &len);
    expand(&e, 0);
}

/* Sequences of n characters that compose. */
static void add_compositions(Finding *f, int n)
{
    Arena *a = f->rules->arena;
    for (int64_t i = 0; i < f->parts->n; i++) {
        Str parts = f->parts->entry[i].key;
        if (characters(parts) != n) continue;
        Str composed = in_form(a, FORM_NFKC, parts, &f->room);
        if (!str_equal(composed, parts)) expand_into(f, parts, composed);
    }
    for (const NewerSequence *s = newer_composed; s->code; s++) {
        if (s->n == n) expand_into(f, spell(a, s->part, s->n), spell(a, &s->code, 1));
    }
}

/* What the tables of normal forms know. */
static void find_known(Finding *f)
{
    Arena *a = f->rules->arena;
    for (uint32_t c = 1; c <= MAX_CODE; c++) {
        if (!unicode_unstable(c) || !is_character(c)) continue;
        Str from = spell(a, &c, 1), to = in_form(a, FORM_NFKC, from, &f->room);
        if (!str_equal(from, to)) set_rule(f->rules, from, to);
        Str parts = in_form(a, FORM_NFKD, from, &f->room);
        if (characters(parts) > 1) {
            map_set(f->parts, parts, f);
        } else if (!str_equal(parts, from)) {
            int len;
            add_origin(f, utf8_decode(parts.ptr, &len), c);
        }
    }
}

static void find_newer(Finding *f)
{
    Arena *a = f->rules->arena;
    for (const NewerMapping *m = newer_mapping; m->n; m++) {
        for (uint32_t i = 0; i < m->n; i++) {
            uint32_t from = m->from + i, to = m->to + i;
            set_rule(f->rules, spell(a, &from, 1), spell(a, &to, 1));
            add_origin(f, to, from);
        }
    }
    for (const NewerSequence *s = newer_compatible; s->code; s++)
        set_rule(f->rules, spell(a, &s->code, 1), spell(a, s->part, s->n));
}

static void add_nfkc(Rules *r)
{
    Finding f = { .rules = r, .parts = map_new(r->arena) };
    find_known(&f);
    find_newer(&f);
    qsort(f.origin, (size_t)f.n_origins, sizeof *f.origin, by_decomposed);
    for (int n = 2; n <= MAX_CHARS; n++) add_compositions(&f, n);
    buffer_free(&f.room);
}

/* Blanks of all kinds become a blank, control characters nothing. */
static void add_nmt(Rules *r)
{
    static const uint32_t blank[] = { 0x9,    0xA,    0xC,    0xD,    0x61C,
                                      0x1680, 0x200B, 0x200C, 0x200E, 0x200F,
                                      0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD };
    for (size_t i = 0; i < sizeof blank / sizeof *blank; i++)
        set_rule(r, spell(r->arena, &blank[i], 1), str_of(" "));
    for (uint32_t c = 1; c < 0xA0; c++) {
        bool dropped = (c < 0x20 && c != 0x9 && c != 0xA && c != 0xC && c != 0xD) || c == 0x7F ||
                       c == 0x8F || c == 0x9F;
        if (dropped) set_rule(r, spell(r->arena, &c, 1), str_of(""));
    }
}

/* Simple case folding: as lower case, but where letters have no other lower case or a different
 * one (Unicode's CaseFolding.txt, C and S). */
static uint32_t folded(uint32_t c)
{
    static const uint32_t old_cyrillic[] = { 0x432, 0x434, 0x43E, 0x441, 0x442,
                                             0x442, 0x44A, 0x463, 0xA64B };
    if (c >= 0x13A0 && c <= 0x13F5) return c; /* Cherokee folds to upper case */
    if (c >= 0x13F8 && c <= 0x13FD) return c - 8;
    if (c >= 0xAB70 && c <= 0xABBF) return c - 0xAB70 + 0x13A0;
    if (c >= 0x1C80 && c <= 0x1C88) return old_cyrillic[c - 0x1C80];
    if (c == 0x345) return 0x3B9;
    if (c == 0x3C2) return 0x3C3;
    const uint32_t *lower;
    return unicode_map(&unicode_lowercase, c, &lower) == 1 ? *lower : c;
}

/* Results are folded, and so are characters without a rule. */
static void add_case_folding(Rules *r)
{
    int64_t n = r->to->n;
    for (int64_t i = 0; i < n; i++) {
        Str *to = r->to->entry[i].value;
        uint32_t code[MAX_CHARS];
        int n_codes = 0, len;
        bool changes = false; /* never again: results that rules share are met several times */
        for (size_t at = 0; at < to->len; at += (size_t)len) {
            uint32_t c = utf8_decode(to->ptr + at, &len);
            code[n_codes++] = folded(c);
            changes |= folded(c) != c;
        }
        if (changes) *to = spell(r->arena, code, n_codes);
    }
    for (uint32_t c = 1; c <= MAX_CODE; c++) {
        uint32_t to = is_character(c) ? folded(c) : c;
        Str from = to == c ? (Str){ NULL, 0 } : spell(r->arena, &c, 1);
        if (from.ptr && !map_has(r->to, from)) set_rule(r, from, spell(r->arena, &to, 1));
    }
}

/* The first bytes as a number, which decides most comparisons. */
typedef struct Sorted {
    uint64_t start;
    CharRule rule;
} Sorted;

static int by_text(const void *x, const void *y)
{
    const Sorted *p = x, *q = y;
    if (p->start != q->start) return p->start < q->start ? -1 : 1;
    Str a = p->rule.from, b = q->rule.from;
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* NMT leaves U+FF5E as it is. */
static void list_rules(const Rules *r, bool is_nmt, CharRules *out)
{
    Arena *work = arena_new();
    Sorted *sorted = NEW_N(work, Sorted, r->to->n);
    for (int64_t i = 0; i < r->to->n; i++) {
        CharRule rule = { r->to->entry[i].key, *(Str *)r->to->entry[i].value };
        if (is_nmt && str_is(rule.from, "\xEF\xBD\x9E")) continue;
        Sorted *s = &sorted[out->n++];
        s->rule = rule;
        for (size_t k = 0; k < 8; k++)
            s->start = s->start << 8 | (k < rule.from.len ? (uint8_t)rule.from.ptr[k] : 0);
    }
    qsort(sorted, (size_t)out->n, sizeof *sorted, by_text);
    out->item = NEW_N(r->arena, CharRule, out->n);
    for (int64_t i = 0; i < out->n; i++) out->item[i] = sorted[i].rule;
    arena_free(work);
}

Error *charsmap_rules(Arena *a, const char *name, CharRules *out)
{
    int k = 0;
    while (charsmap_rule_names[k] && strcmp(charsmap_rule_names[k], name) != 0) k++;
    if (!charsmap_rule_names[k]) {
        return error_new(
            "\"%s\" is no name of a normalization (identity, nfkc, nmt_nfkc, nfkc_cf or "
            "nmt_nfkc_cf)",
            name);
    }
    *out = (CharRules){ 0 };
    if (!k) return NULL;
    Rules r = { a, map_new(a) };
    add_nfkc(&r);
    bool is_nmt = str_starts(str_of(name), "nmt_");
    if (is_nmt) add_nmt(&r);
    if (strstr(name, "_cf")) add_case_folding(&r);
    list_rules(&r, is_nmt, out);
    return NULL;
}
