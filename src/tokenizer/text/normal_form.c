/* normal_form.c - canonical and compatible decomposition, ordering of marks, and composition.
 *
 * Most characters are stable: the form leaves them, and nothing after them can reach over them.
 * Only stretches of others, each with the character before it, are taken apart. */
#include "tokenizer/text/normal_form.h"
#include "base/utf8.h"
#include "tokenizer/text/unicode.h"
#include <stdint.h>
#include <stdlib.h>

/* Syllables of Hangul are made by arithmetic (Unicode 3.12). */
enum {
    SYLLABLE = 0xAC00,
    LEADING = 0x1100,
    VOWEL = 0x1161,
    TRAILING = 0x11A7, /* one before the first */
    N_LEADING = 19,
    N_VOWELS = 21,
    N_TRAILING = 28,
    N_SYLLABLES = N_LEADING * N_VOWELS * N_TRAILING
};

/* Code points, each with its combining class in the upper half: class << 32 | code. */
typedef struct Codes {
    Buffer *room;
    uint64_t *item;
    size_t n;
    Buffer changes; /* of each, as in sources.h; when wanted */
    int32_t *change;
    bool notes_changes;
} Codes;

static void add_code(Codes *c, uint32_t code, bool is_first)
{
    c->item = buffer_grow(c->room, (c->n + 1) * sizeof *c->item);
    if (c->notes_changes) {
        c->change = buffer_grow(&c->changes, (c->n + 1) * sizeof *c->change);
        c->change[c->n] = !is_first;
    }
    c->item[c->n++] = (uint64_t)unicode_combining(code) << 32 | code;
}

static void decompose(Codes *codes, NormalForm form, uint32_t c)
{
    const uint32_t *result;
    bool compatible = form == FORM_NFKD || form == FORM_NFKC;
    if (c - SYLLABLE < N_SYLLABLES) {
        uint32_t i = c - SYLLABLE, trailing = i % N_TRAILING;
        add_code(codes, LEADING + i / (N_VOWELS * N_TRAILING), true);
        add_code(codes, VOWEL + i / N_TRAILING % N_VOWELS, false);
        if (trailing) add_code(codes, TRAILING + trailing, false);
        return;
    }
    int n = unicode_map(compatible ? &unicode_nfkd : &unicode_nfd, c, &result);
    if (n < 0) add_code(codes, c, true);
    for (int i = 0; i < n; i++) add_code(codes, result[i], i == 0);
}

static int by_class(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* Sorts each run of marks by class; equal classes keep their order. */
static void order(Codes *codes, Buffer *room)
{
    for (size_t i = 0; i < codes->n;) {
        size_t end = i;
        bool is_sorted = true;
        for (; end < codes->n && codes->item[end] >> 32; end++)
            is_sorted &= end == i || codes->item[end] >> 32 >= codes->item[end - 1] >> 32;
        if (!is_sorted) {
            size_t n = end - i;
            uint64_t *key = buffer_grow(room, n * (sizeof *key + 2 * sizeof(uint32_t)));
            uint32_t *code = (uint32_t *)(key + n);
            int32_t *change = (int32_t *)(code + n);
            for (size_t k = 0; k < n; k++) {
                key[k] = (codes->item[i + k] & ~(uint64_t)UINT32_MAX) | k;
                code[k] = (uint32_t)codes->item[i + k];
                if (codes->notes_changes) change[k] = codes->change[i + k];
            }
            qsort(key, n, sizeof *key, by_class);
            for (size_t k = 0; k < n; k++) {
                codes->item[i + k] = (key[k] & ~(uint64_t)UINT32_MAX) | code[(uint32_t)key[k]];
                if (codes->notes_changes) codes->change[i + k] = change[(uint32_t)key[k]];
            }
        }
        i = end + (end < codes->n);
    }
}

/* What two characters compose to, or 0. */
static uint32_t composed(uint32_t first, uint32_t second)
{
    if (first - LEADING < N_LEADING && second - VOWEL < N_VOWELS)
        return SYLLABLE + ((first - LEADING) * N_VOWELS + (second - VOWEL)) * N_TRAILING;
    if (first - SYLLABLE < N_SYLLABLES && (first - SYLLABLE) % N_TRAILING == 0 &&
        second - TRAILING - 1 < N_TRAILING - 1)
        return first + (second - TRAILING);
    int low = 0, high = unicode_n_pairs;
    uint64_t wanted = (uint64_t)first << 32 | second;
    while (low < high) {
        int mid = (low + high) / 2;
        uint64_t key = (uint64_t)unicode_pair[mid].first << 32 | unicode_pair[mid].second;
        if (key == wanted) return unicode_pair[mid].both;
        if (key < wanted)
            low = mid + 1;
        else
            high = mid;
    }
    return 0;
}

/* A mark composes with the starter before it unless one of the same or a higher class is between
 * them. */
static void compose(Codes *codes)
{
    size_t n = 0, starter = SIZE_MAX;
    uint64_t last_class = 0;
    for (size_t i = 0; i < codes->n; i++) {
        uint64_t item = codes->item[i], class = item >> 32;
        bool is_next = starter != SIZE_MAX && n == starter + 1;
        if (starter != SIZE_MAX && (is_next || last_class < class)) {
            uint32_t both = composed((uint32_t)codes->item[starter], (uint32_t)item);
            if (both) {
                codes->item[starter] = (codes->item[starter] & ~(uint64_t)UINT32_MAX) | both;
                if (codes->notes_changes) codes->change[starter] += codes->change[i] - 1;
                continue;
            }
        }
        if (!class) starter = n;
        last_class = class;
        if (codes->notes_changes) codes->change[n] = codes->change[i];
        codes->item[n++] = item;
    }
    codes->n = n;
}

/* The stretch is text[from, to). */
static void add_stretch(NormalForm form, Str all, size_t from, size_t to, Buffer *room,
                        Sources *sources, Text *out)
{
    Str text = { all.ptr + from, to - from };
    Buffer sorting = { 0 };
    Codes codes = { .room = room, .notes_changes = sources };
    int len;
    for (size_t at = 0; at < text.len; at += (size_t)len)
        decompose(&codes, form, utf8_decode(text.ptr + at, &len));
    order(&codes, &sorting);
    if (form == FORM_NFC || form == FORM_NFKC) compose(&codes);
    SourceChange *change = sources ? buffer_grow(&sorting, codes.n * sizeof *change) : NULL;
    for (size_t i = 0; i < codes.n; i++) {
        char bytes[4];
        int n = utf8_encode((uint32_t)codes.item[i], bytes);
        text_add(out, bytes, (size_t)n);
        if (sources) change[i] = (SourceChange){ n, codes.change[i] };
    }
    sources_change(sources, all, from, change, (int64_t)codes.n);
    buffer_free(&sorting);
    buffer_free(&codes.changes);
}

/* The next unstable character from `at` on, or the end; *before is where the one before starts. */
static size_t next_unstable(NormalForm form, Str text, size_t at, size_t *before)
{
    int len;
    for (*before = at; at < text.len; *before = at, at += (size_t)len) {
        len = 1;
        if ((signed char)text.ptr[at] >= 0) continue;
        if (unicode_unstable(utf8_decode(text.ptr + at, &len)) >> form & 1) return at;
    }
    return text.len;
}

static size_t next_stable(NormalForm form, Str text, size_t at)
{
    for (int len; at < text.len; at += (size_t)len) {
        if (!(unicode_unstable(utf8_decode(text.ptr + at, &len)) >> form & 1)) break;
    }
    return at;
}

bool normal_form_add(NormalForm form, Str text, Buffer *room, Sources *sources, Text *out)
{
    size_t before, done = 0, at = next_unstable(form, text, 0, &before);
    if (at == text.len) return false;
    while (at < text.len) {
        text_add(out, text.ptr + done, before - done);
        sources_copy(sources, (int64_t)done, before - done);
        done = next_stable(form, text, at);
        add_stretch(form, text, before, done, room, sources, out);
        at = next_unstable(form, text, done, &before);
    }
    text_add(out, text.ptr + done, text.len - done);
    sources_copy(sources, (int64_t)done, text.len - done);
    return true;
}
