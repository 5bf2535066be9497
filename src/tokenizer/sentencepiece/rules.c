/* rules.c - SentencePiece's normalizer. */
#include "tokenizer/sentencepiece/rules.h"
#include "base/utf8.h"
#include "tokenizer/bpe/blanks.h"
#include <string.h>

#define BLANK "\xE2\x96\x81"

static void find_symbols(Arena *a, const SpFile *f, SpNormalizer *n)
{
    Arena *scratch = arena_new();
    Str *key = NEW_N(scratch, Str, f->n);
    uint32_t *id = NEW_N(scratch, uint32_t, f->n);
    int64_t n_keys = 0;
    for (int64_t i = 0; i < f->n; i++) {
        if (f->type[i] != SP_USER_DEFINED) continue;
        key[n_keys] = f->name[i];
        id[n_keys++] = (uint32_t)i;
        n->starts_symbol[(uint8_t)f->name[i].ptr[0]] = true;
    }
    n->keep = trie_new(a, key, id, n_keys);
    arena_free(scratch);
}

/* What an ASCII byte becomes before another one and at the end. */
static uint8_t rewritten(const Charsmap *c, uint8_t byte)
{
    const char text[] = { (char)byte };
    Str to = { text, 1 };
    if (!c) return byte;
    charsmap_longest(c, to, &to);
    return to.len == 1 && charsmap_is_alone(c, byte) ? (uint8_t)to.ptr[0] : CLOSER_LOOK;
}

static bool follows_ascii(const Charsmap *c, uint8_t byte)
{
    for (int first = 1; first < 0x80; first++)
        if (c && charsmap_has_pair(c, (uint8_t)first, byte)) return true;
    return false;
}

SpNormalizer sp_normalizer_new(Arena *a, const SpFile *f, const SpRules *rules, bool symbols)
{
    SpNormalizer n = { .rules = *rules, .blank_behind = symbols && f->whitespace_as_suffix };
    if (symbols) find_symbols(a, f, &n);
    for (int byte = 0; byte < 0x80; byte++)
        n.ascii.to[byte] =
            n.starts_symbol[byte] ? CLOSER_LOOK : rewritten(rules->charsmap, (uint8_t)byte);
    for (int byte = 0x80; byte < 0x100; byte++)
        n.joins[byte] = follows_ascii(rules->charsmap, (uint8_t)byte);
    n.ascii.one_blank = rules->remove_extra_whitespaces;
    ascii_rewrite_complete(&n.ascii, cpu_level_in_use());
    n.copies = !rules->charsmap && !n.keep.longest && !rules->remove_extra_whitespaces;
    return n;
}

size_t sp_rewrite_start(const SpNormalizer *n, Str text, Str *out)
{
    uint32_t id;
    size_t len = n->starts_symbol[(uint8_t)text.ptr[0]] ? trie_longest(&n->keep, text, &id) : 0;
    if (!len && n->rules.charsmap) {
        len = charsmap_longest(n->rules.charsmap, text, out);
        if (len) return len;
    }
    if (!len) len = utf8_char_bytes((uint8_t)text.ptr[0]);
    *out = (Str){ text.ptr, len };
    return len;
}

/* Appends text in which U+2581 becomes a blank, if blanks are escaped. */
static void add_escaped(const SpNormalizer *n, Str s, Text *out)
{
    if (n->rules.escape_whitespaces)
        blanks_add(s, out);
    else
        text_add(out, s.ptr, s.len);
}

static Str without_first(Str s, size_t n)
{
    return (Str){ s.ptr + n, s.len - n };
}

/* A text under way. */
typedef struct Rewriting {
    const SpNormalizer *n;
    Str rest;
    bool after_blank; /* blanks are dropped */
    Text *out;
    char *to; /* after the result, with room for the rest and some slack */
} Rewriting;

static void make_room(Rewriting *r)
{
    r->to = text_reserve(r->out, r->rest.len + ASCII_REWRITE_SLACK);
}

/* Makes what was written content. */
static void settle(const Rewriting *r)
{
    text_extend(r->out, (size_t)(r->to - r->out->ptr) - r->out->len);
}

static void set_after_blank(Rewriting *r, char last)
{
    r->after_blank = r->n->rules.remove_extra_whitespaces && last == ' ';
}

/* Up to the first byte that needs a closer look, or belongs to a rule with what follows. */
static void rewrite_ascii(Rewriting *r)
{
    const SpNormalizer *n = r->n;
    size_t done = ascii_rewrite(&n->ascii, r->rest, r->after_blank, r->to);
    if (done && done < r->rest.len && n->joins[(uint8_t)r->rest.ptr[done]]) done--;
    if (!done) return;
    r->rest = without_first(r->rest, done);
    r->to += done;
    set_after_blank(r, r->to[-1]);
}

static void rewrite_character(Rewriting *r)
{
    enum { FEW = 3 }; /* one U+2581, or none */
    Str to;
    size_t taken = sp_rewrite_start(r->n, r->rest, &to);
    r->rest = without_first(r->rest, taken);
    while (r->after_blank && to.len && to.ptr[0] == ' ') to = without_first(to, 1);
    if (!to.len) return;
    set_after_blank(r, to.ptr[to.len - 1]);
    if (to.len > FEW || to.len > taken) {
        settle(r);
        add_escaped(r->n, to, r->out);
        make_room(r);
    } else if (r->n->rules.escape_whitespaces && to.len == FEW && !memcmp(to.ptr, BLANK, FEW)) {
        *r->to++ = ' ';
    } else {
        for (size_t i = 0; i < to.len; i++) *r->to++ = to.ptr[i];
    }
}

static void rewrite_all(const SpNormalizer *n, Str text, Text *out)
{
    Rewriting r = { n, text, n->rules.remove_extra_whitespaces, out, NULL };
    make_room(&r);
    while (r.rest.len) {
        if ((uint8_t)r.rest.ptr[0] < 0x80) rewrite_ascii(&r);
        if (r.rest.len) rewrite_character(&r);
    }
    settle(&r);
}

/* Removes blanks from the end; where they are not escaped, U+2581 is none. */
static void trim_end(Text *out, size_t from)
{
    while (out->len > from && out->ptr[out->len - 1] == ' ') out->len--;
    text_extend(out, 0);
}

void sp_normalize(const SpNormalizer *n, Str text, Text *out)
{
    if (!text.len) return;
    bool dummy = n->rules.add_dummy_prefix;
    size_t from = out->len;
    if (n->rules.remove_extra_whitespaces) { /* only blanks: nothing, not even the dummy */
        for (Str to; text.len;) {
            size_t len = sp_rewrite_start(n, text, &to);
            if (!str_is(to, " ")) break;
            text = without_first(text, len);
        }
        if (!text.len) return;
    }
    if (dummy && !n->blank_behind) text_putc(out, ' ');
    if (n->copies)
        add_escaped(n, text, out);
    else
        rewrite_all(n, text, out);
    if (n->rules.remove_extra_whitespaces) trim_end(out, from);
    if (dummy && n->blank_behind) text_putc(out, ' ');
}

Str sp_matching_name(Arena *a, const SpFile *f, Str name)
{
    return f->rules.escape_whitespaces ? blanks_in_name(a, name) : name;
}

void sp_add_spelled(const SpFile *f, Str normalized, Text *out)
{
    for (size_t i = 0; i < normalized.len; i++) {
        if (f->rules.escape_whitespaces && normalized.ptr[i] == ' ')
            text_puts(out, BLANK);
        else
            text_putc(out, normalized.ptr[i]);
    }
}
