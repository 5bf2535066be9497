/* word_counts.c - open addressing over one block of bytes. */
#include "tokenizer/train/word_counts.h"
#include "tokenizer/cache/word_bytes.h"

enum { FIRST_SLOTS = 1 << 12, SHORT = 16, READABLE_BEHIND = 16 };

static bool is_same(const WordCounts *w, const WordCount *c, const WordCount *key, const char *word)
{
    if (c->len != key->len || c->hash != key->hash) return false;
    if (key->len <= SHORT) return c->half[0] == key->half[0] && c->half[1] == key->half[1];
    return !memcmp((char *)w->bytes.ptr + c->at, word, key->len);
}

static WordCount *place(const WordCounts *w, const WordCount *key, const char *word)
{
    for (int64_t at = key->hash & (w->n_slots - 1);; at = (at + 1) & (w->n_slots - 1)) {
        WordCount *c = &w->slot[at];
        if (!c->count || is_same(w, c, key, word)) return c;
    }
}

static WordCount *free_place(const WordCounts *w, uint32_t hash)
{
    int64_t at = hash & (w->n_slots - 1);
    while (w->slot[at].count) at = (at + 1) & (w->n_slots - 1);
    return &w->slot[at];
}

/* The table and its memory; all slots are free, and none lies in two lines of the cache. */
static void set_slots(WordCounts *w, int64_t n_slots)
{
    enum { LINE = 64 };
    size_t bytes = (size_t)n_slots * sizeof *w->slot;
    char *room = buffer_grow(&w->slots, bytes + LINE);
    w->slot = (WordCount *)(void *)(room + (LINE - (uintptr_t)room % LINE) % LINE);
    memset(w->slot, 0, bytes);
    w->n_slots = n_slots;
}

static void grow(WordCounts *w)
{
    WordCounts old = *w;
    w->slots = (Buffer){ 0 };
    set_slots(w, old.n_slots ? 2 * old.n_slots : FIRST_SLOTS);
    for (int64_t i = 0; i < old.n_slots; i++) {
        if (old.slot[i].count) *free_place(w, old.slot[i].hash) = old.slot[i];
    }
    buffer_free(&old.slots);
}

static void add(WordCounts *w, const WordCount *key, const char *word)
{
    if (3 * (w->n + 1) > 2 * w->n_slots) grow(w);
    WordCount *c = place(w, key, word);
    c->count += key->count;
    if (c->count > key->count) return;
    *c = *key;
    w->n++;
    if (key->len <= SHORT) return;
    char *bytes = buffer_grow(&w->bytes, (size_t)w->n_bytes + key->len + READABLE_BEHIND);
    memcpy(bytes + w->n_bytes, word, key->len);
    c->at = w->n_bytes;
    w->n_bytes += key->len;
}

static WordCount key_of(const char *word, uint32_t len, int64_t count)
{
    WordCount key = { .count = count, .len = len, .hash = (uint32_t)(word_hash(word, len) >> 32) };
    if (len <= SHORT) {
        key.half[0] = word_load(word) & word_low_mask[len];
        key.half[1] = word_load(word + 8) & word_high_mask[len];
    }
    return key;
}

void word_counts_add(WordCounts *w, const char *word, uint32_t len, int64_t count)
{
    WordCount key = key_of(word, len, count);
    add(w, &key, word);
}

void word_counts_add_all(WordCounts *w, const char *text, uint32_t from, const uint32_t *end,
                         int64_t n)
{
    enum { AHEAD = 16 };
    WordCount key[AHEAD];
    uint32_t start[AHEAD];
    for (int64_t i = 0; i < n + AHEAD; i++) {
        int64_t k = i % AHEAD;
        if (i >= AHEAD && i - AHEAD < n) add(w, &key[k], text + start[k]);
        if (i >= n) continue;
        start[k] = from;
        key[k] = key_of(text + from, end[i] - from, 1);
        if (w->n_slots) __builtin_prefetch(&w->slot[key[k].hash & (w->n_slots - 1)], 1);
        from = end[i];
    }
}

Str word_counts_text(const WordCounts *w, const WordCount *c)
{
    return (Str){ c->len <= SHORT ? (const char *)c->half : (const char *)w->bytes.ptr + c->at,
                  c->len };
}

void word_counts_merge(WordCounts *w, const WordCounts *from)
{
    for (int64_t i = 0; i < from->n_slots; i++) {
        const WordCount *c = &from->slot[i];
        if (c->count) add(w, c, word_counts_text(from, c).ptr);
    }
}

/* Rebuilt from what is left, so that the bytes of the others go, too. */
static void keep_above(WordCounts *w, int64_t count)
{
    WordCounts kept = { 0 };
    for (int64_t i = 0; i < w->n_slots; i++) {
        const WordCount *c = &w->slot[i];
        if (c->count > count) add(&kept, c, word_counts_text(w, c).ptr);
    }
    word_counts_free(w);
    *w = kept;
}

int64_t word_counts_drop_rare(WordCounts *w, int64_t most)
{
    int64_t dropped = 0;
    while (w->n > most) {
        /* The least count that is left: the next to go. */
        int64_t least = INT64_MAX;
        for (int64_t i = 0; i < w->n_slots; i++) {
            if (w->slot[i].count && w->slot[i].count < least) least = w->slot[i].count;
        }
        keep_above(w, least);
        dropped = least;
    }
    return dropped;
}

void word_counts_clear(WordCounts *w)
{
    if (w->n_slots) memset(w->slot, 0, (size_t)w->n_slots * sizeof *w->slot);
    w->n = w->n_bytes = 0;
}

void word_counts_free(WordCounts *w)
{
    buffer_free(&w->slots);
    buffer_free(&w->bytes);
    *w = (WordCounts){ 0 };
}
