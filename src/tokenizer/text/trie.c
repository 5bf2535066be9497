/* trie.c - lays out a trie: the sorted keys are cut into ranges that share a prefix, and each range
 * looks for a place where all its next bytes are free. */
#include "tokenizer/text/trie.h"
#include "base/buffer.h"
#include <stdlib.h>
#include <string.h>

typedef struct Key {
    Str text;
    uint32_t value, order;
} Key;

/* The keys [from, to) share their first `depth` bytes, which lead to `node`. */
typedef struct Range {
    uint32_t node;
    int64_t from, to;
    size_t depth;
} Range;

typedef struct TrieLayout {
    Key *key;
    Buffer units, ranges, free;
    Buffer is_base;   /* by place: bool */
    uint32_t n_units; /* usable places; 256 more lie after them */
    uint32_t start;   /* before it few places are free: only single children look there */
    int64_t n_ranges;
} TrieLayout;

static int by_text(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    size_t n = x->text.len < y->text.len ? x->text.len : y->text.len;
    int c = memcmp(x->text.ptr, y->text.ptr, n);
    if (c) return c;
    if (x->text.len != y->text.len) return x->text.len < y->text.len ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static TrieUnit *units(const TrieLayout *l)
{
    return l->units.ptr;
}

static void make_room(TrieLayout *l, uint32_t n)
{
    if (n <= l->n_units) return;
    n += n / 2;
    TrieUnit *unit = buffer_grow(&l->units, (n + 256) * sizeof *unit);
    uint32_t *next = buffer_grow(&l->free, (n + 256) * sizeof *next);
    bool *is_base = buffer_grow(&l->is_base, (n + 256) * sizeof *is_base);
    uint32_t from = l->n_units ? l->n_units + 256 : 0;
    for (uint32_t i = from; i < n + 256; i++) {
        unit[i] = (TrieUnit){ 1, NO_NODE, NO_VALUE, 0 };
        next[i] = i;
        is_base[i] = false;
    }
    l->n_units = n;
}

/* The first free place from `at` on. A place that is taken points ahead, and the way there is
 * shortened each time it is gone. */
static uint32_t free_place(TrieLayout *l, uint32_t at)
{
    uint32_t *next = l->free.ptr, found = at;
    while (next[found] != found) found = next[found];
    while (next[at] != at) {
        uint32_t step = next[at];
        next[at] = found;
        at = step;
    }
    return found;
}

static void take(TrieLayout *l, uint32_t at, uint32_t parent)
{
    units(l)[at].parent = parent;
    make_room(l, at + 2);
    ((uint32_t *)l->free.ptr)[at] = at + 1;
}

static bool fits(const TrieLayout *l, uint32_t base, const uint8_t *byte, int n)
{
    for (int i = 1; i < n; i++) {
        if (units(l)[base + byte[i]].parent != NO_NODE) return false;
    }
    return true;
}

/* A base that no other node has, at which the places of all these bytes, in ascending order, are
 * free. */
static uint32_t find_base(TrieLayout *l, const uint8_t *byte, int n)
{
    uint32_t at = n > 1 && l->start > byte[0] ? l->start : byte[0] + 1u;
    for (int tries = 0;; at++, tries++) {
        make_room(l, at + 2);
        at = free_place(l, at);
        make_room(l, at + 257);
        if (tries == 64) l->start = at;
        bool *is_base = (bool *)l->is_base.ptr + (at - byte[0]);
        if (*is_base || !fits(l, at - byte[0], byte, n)) continue;
        *is_base = true;
        return at - byte[0];
    }
}

static void add_range(TrieLayout *l, Range r)
{
    Range *list = buffer_grow(&l->ranges, (size_t)(l->n_ranges + 1) * sizeof r);
    list[l->n_ranges++] = r;
}

static uint8_t next_byte(const TrieLayout *l, int64_t i, size_t depth)
{
    return (uint8_t)l->key[i].text.ptr[depth];
}

/* Gives the node its children and lists their ranges. */
static void place_children(TrieLayout *l, Range r)
{
    while (r.from < r.to && l->key[r.from].text.len == r.depth) {
        units(l)[r.node].value = l->key[r.from++].value;
    }
    if (r.from == r.to) return;
    uint8_t byte[256] = { 0 };
    int n = 0;
    for (int64_t i = r.from; i < r.to; i++) {
        if (!n || byte[n - 1] != next_byte(l, i, r.depth)) byte[n++] = next_byte(l, i, r.depth);
    }
    uint32_t base = find_base(l, byte, n);
    units(l)[r.node].base = base;
    int64_t from = r.from;
    for (int i = 0; i < n; i++) {
        uint32_t child = base + byte[i];
        take(l, child, r.node);
        units(l)[r.node].children |= 1u << byte[i] % 32;
        int64_t to = from;
        while (to < r.to && next_byte(l, to, r.depth) == byte[i]) to++;
        add_range(l, (Range){ child, from, to, r.depth + 1 });
        from = to;
    }
}

Trie trie_new(Arena *a, const Str *key, const uint32_t *value, int64_t n)
{
    TrieLayout l = { .start = 1 };
    Buffer keys = { 0 };
    l.key = buffer_grow(&keys, (size_t)(n + 1) * sizeof *l.key);
    for (int64_t i = 0; i < n; i++) l.key[i] = (Key){ key[i], value[i], (uint32_t)i };
    qsort(l.key, (size_t)n, sizeof *l.key, by_text);
    make_room(&l, 256);
    take(&l, 0, NO_NODE - 1); /* no child of anything */
    add_range(&l, (Range){ 0, 0, n, 0 });
    while (l.n_ranges) place_children(&l, ((Range *)l.ranges.ptr)[--l.n_ranges]);
    Trie t = { .n_units = l.n_units };
    t.unit = arena_copy(a, l.units.ptr, (l.n_units + 256) * sizeof(TrieUnit));
    for (int64_t i = 0; i < n; i++) t.longest = key[i].len > t.longest ? key[i].len : t.longest;
    buffer_free(&keys);
    buffer_free(&l.units);
    buffer_free(&l.ranges);
    buffer_free(&l.free);
    buffer_free(&l.is_base);
    return t;
}

size_t trie_longest(const Trie *t, Str text, uint32_t *value)
{
    size_t longest = 0;
    uint32_t node = 0;
    for (size_t i = 0; i < text.len; i++) {
        node = trie_step(t, node, (uint8_t)text.ptr[i]);
        if (node == NO_NODE) break;
        if (trie_value(t, node) == NO_VALUE) continue;
        longest = i + 1;
        *value = trie_value(t, node);
    }
    return longest;
}
