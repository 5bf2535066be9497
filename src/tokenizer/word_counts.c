/* word_counts.c - open addressing over one block of bytes. */
#include "tokenizer/word_counts.h"
#include "tokenizer/word_bytes.h"

enum { FIRST_SLOTS = 1 << 12, READABLE_BEHIND = 16 };

static WordCount *place(const WordCounts *w, const char *word, uint32_t len, uint32_t hash)
{
    for (int64_t at = hash & (w->n_slots - 1);; at = (at + 1) & (w->n_slots - 1)) {
        WordCount *c = &w->slot[at];
        if (!c->count) return c;
        if (c->hash == hash && c->len == len && !memcmp((char *)w->bytes.ptr + c->at, word, len))
            return c;
    }
}

static WordCount *free_place(const WordCounts *w, uint32_t hash)
{
    int64_t at = hash & (w->n_slots - 1);
    while (w->slot[at].count) at = (at + 1) & (w->n_slots - 1);
    return &w->slot[at];
}

/* The table and its memory; all slots are free. */
static void set_slots(WordCounts *w, int64_t n_slots)
{
    w->slot = buffer_grow(&w->slots, (size_t)n_slots * sizeof *w->slot);
    memset(w->slot, 0, (size_t)n_slots * sizeof *w->slot);
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

static void add(WordCounts *w, const char *word, uint32_t len, uint32_t hash, int64_t count)
{
    if (3 * (w->n + 1) > 2 * w->n_slots) grow(w);
    WordCount *c = place(w, word, len, hash);
    c->count += count;
    if (c->count > count) return;
    char *bytes = buffer_grow(&w->bytes, (size_t)w->n_bytes + len + READABLE_BEHIND);
    memcpy(bytes + w->n_bytes, word, len);
    *c = (WordCount){ .at = w->n_bytes, .count = count, .len = len, .hash = hash };
    w->n_bytes += len;
    w->n++;
}

void word_counts_add(WordCounts *w, const char *word, uint32_t len, int64_t count)
{
    add(w, word, len, (uint32_t)(word_hash(word, len) >> 32), count);
}

Str word_counts_text(const WordCounts *w, const WordCount *c)
{
    return (Str){ (const char *)w->bytes.ptr + c->at, c->len };
}

void word_counts_merge(WordCounts *w, const WordCounts *from)
{
    for (int64_t i = 0; i < from->n_slots; i++) {
        const WordCount *c = &from->slot[i];
        if (c->count) add(w, word_counts_text(from, c).ptr, c->len, c->hash, c->count);
    }
}

/* Rebuilt from what is left, so that the bytes of the others go, too. */
static void keep_above(WordCounts *w, int64_t count)
{
    WordCounts kept = { 0 };
    for (int64_t i = 0; i < w->n_slots; i++) {
        const WordCount *c = &w->slot[i];
        if (c->count > count) add(&kept, word_counts_text(w, c).ptr, c->len, c->hash, c->count);
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
