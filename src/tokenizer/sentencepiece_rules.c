/* sentencepiece_rules.c - SentencePiece's normalizer. */
#include "tokenizer/sentencepiece_rules.h"
#include "base/utf8.h"
#include "tokenizer/blanks.h"
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
        n->plain[(uint8_t)f->name[i].ptr[0]] = false;
    }
    n->has_keep = n_keys > 0;
    n->keep = trie_new(a, key, id, n_keys);
    arena_free(scratch);
}

/* A symbol that starts with '<' or the like is usual: the range may lack one byte. */
static void find_range(SpNormalizer *n)
{
    int longest = 0;
    for (int hole = 0; hole < 0x80; hole++) {
        for (int first = 0, next; first < 0x80; first = next + 1) {
            for (next = first; next < 0x80 && (n->plain[next] || next == hole);) next++;
            if (next - first <= longest) continue;
            longest = next - first;
            n->first = (uint8_t)first;
            n->last = (uint8_t)(next - 1);
            n->hole = (uint8_t)hole;
        }
    }
}

SpNormalizer sp_normalizer_new(Arena *a, const SpFile *f, const SpRules *rules, bool symbols)
{
    SpNormalizer n = { .rules = *rules, .blank_behind = symbols && f->whitespace_as_suffix };
    for (int byte = 0; byte < 0x80; byte++) {
        n.plain[byte] = !rules->charsmap || charsmap_is_plain(rules->charsmap, (uint8_t)byte);
    }
    if (symbols) find_symbols(a, f, &n);
    if (rules->remove_extra_whitespaces) {
        n.keeps_single_blanks = n.plain[' '];
        n.plain[' '] = false;
    }
    find_range(&n);
    n.copies = !rules->charsmap && !n.has_keep && !rules->remove_extra_whitespaces;
    return n;
}

size_t sp_rewrite_start(const SpNormalizer *n, Str text, Str *out)
{
    uint32_t id;
    size_t len = n->has_keep ? trie_longest(&n->keep, text, &id) : 0;
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

/* The place of the first of 8 bytes that is out of the range; 8 when none is. */
static inline size_t first_outside(const SpNormalizer *n, const char *p)
{
    const uint64_t ones = UINT64_MAX / 255, top = ones << 7;
    uint64_t x, outside;
    memcpy(&x, p, sizeof x);
    uint64_t ascii = x & ~top;
    outside = x | (ascii + ones * (0x7Fu - n->last)) | ~((ascii | top) - ones * n->first);
    outside |= ~((ascii ^ ones * n->hole) + ones * 0x7F);
    outside &= top;
    return outside ? (size_t)__builtin_ctzll(outside) / 8 : 8;
}

/* Whether the blank at `i` stands alone, between bytes that are plain. */
static bool is_single_blank(const SpNormalizer *n, Str text, size_t i, bool after_blank)
{
    return n->keeps_single_blanks && text.ptr[i] == ' ' && (i || !after_blank) &&
           i + 1 < text.len && (uint8_t)text.ptr[i + 1] < 0x80 &&
           n->plain[(uint8_t)text.ptr[i + 1]];
}

/* Bytes that are copied one by one: up to the first that is not plain, or stands before a character
 * that is not ASCII, which could belong to a rule with it. */
static size_t plain_bytes(const SpNormalizer *n, Str text, bool after_blank)
{
    size_t i = 0;
    while (i < text.len) {
        size_t more = i + 8 <= text.len ? first_outside(n, text.ptr + i) : 0;
        i += more;
        if (more == 8) continue;
        if (i == text.len ||
            (!n->plain[(uint8_t)text.ptr[i]] && !is_single_blank(n, text, i, after_blank)))
            break;
        i++;
    }
    return i && i < text.len && (uint8_t)text.ptr[i] >= 0x80 ? i - 1 : i;
}

static Str without_first(Str s, size_t n)
{
    return (Str){ s.ptr + n, s.len - n };
}

static void rewrite_all(const SpNormalizer *n, Str text, Text *out)
{
    bool drop_blanks = n->rules.remove_extra_whitespaces, after_blank = drop_blanks;
    while (text.len) {
        size_t plain = plain_bytes(n, text, after_blank);
        if (plain) {
            text_add(out, text.ptr, plain);
            text = without_first(text, plain);
            after_blank = false; /* blanks that may be dropped are not plain */
            continue;
        }
        Str to;
        text = without_first(text, sp_rewrite_start(n, text, &to));
        while (after_blank && to.len && to.ptr[0] == ' ') to = without_first(to, 1);
        if (!to.len) continue;
        add_escaped(n, to, out);
        after_blank = drop_blanks && to.ptr[to.len - 1] == ' ';
    }
}

/* Removes blanks from the end; where they are not escaped, U+2581 is none. */
static void trim_end(Text *out, size_t from)
{
    while (out->len > from && out->ptr[out->len - 1] == ' ') out->len--;
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
