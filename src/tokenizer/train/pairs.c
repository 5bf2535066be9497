/* pairs.c - a hash table of pairs, and binary heaps. */
#include "tokenizer/train/pairs.h"
#include "base/error.h"
#include <string.h>

enum { FIRST_SLOTS = 1 << 12 };

static uint64_t hash(uint32_t left, uint32_t right)
{
    return ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u >> 20;
}

/* The slot of a pair, or the free one where it would go; a slot holds the index + 1. */
static uint32_t *slot_of(const PairTable *t, uint32_t left, uint32_t right)
{
    const Pair *pair = pair_table_all(t);
    uint32_t *slot = t->slots.ptr;
    for (uint64_t at = hash(left, right) & (uint64_t)(t->n_slots - 1);;
         at = (at + 1) & (uint64_t)(t->n_slots - 1)) {
        if (!slot[at]) return &slot[at];
        const Pair *p = &pair[slot[at] - 1];
        if (p->left == left && p->right == right) return &slot[at];
    }
}

static void grow(PairTable *t)
{
    t->n_slots = t->n_slots ? 2 * t->n_slots : FIRST_SLOTS;
    size_t bytes = (size_t)t->n_slots * sizeof(uint32_t);
    memset(buffer_grow(&t->slots, bytes), 0, bytes);
    for (int64_t i = 0; i < t->n; i++) {
        const Pair *p = &pair_table_all(t)[i];
        *slot_of(t, p->left, p->right) = (uint32_t)i + 1;
    }
}

uint32_t pair_table_add(PairTable *t, uint32_t left, uint32_t right)
{
    CHECK(t->n < UINT32_MAX);
    Pair *p = buffer_grow(&t->pairs, (size_t)(t->n + 1) * sizeof *p);
    p[t->n] = (Pair){ .left = left, .right = right };
    return (uint32_t)t->n++;
}

uint32_t pair_table_index(PairTable *t, uint32_t left, uint32_t right)
{
    if (2 * (t->n + 1) > t->n_slots) grow(t);
    uint32_t *slot = slot_of(t, left, right);
    if (!*slot) *slot = pair_table_add(t, left, right) + 1;
    return *slot - 1;
}

void pair_table_free(PairTable *t)
{
    buffer_free(&t->pairs);
    buffer_free(&t->slots);
    *t = (PairTable){ 0 };
}

static bool is_before(const PairEntry *a, const PairEntry *b)
{
    if (a->count != b->count) return a->count > b->count;
    if (a->left != b->left) return a->left < b->left;
    return a->right < b->right;
}

void pair_queue_start(PairQueue *q)
{
    *q = (PairQueue){ .level = PAIR_LEVELS - 1 };
}

static int level_of(int64_t count)
{
    return count < 2 ? 0 : 63 - __builtin_clzll((unsigned long long)count);
}

/* Puts `e` where nothing below comes before it, from place i of the heap on. */
static void sift_down(PairEntry *heap, int64_t n, int64_t i, PairEntry e)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &e)) break;
        heap[i] = heap[child];
    }
    heap[i] = e;
}

void pair_queue_push(PairQueue *q, PairEntry e)
{
    int level = level_of(e.count);
    bool waits = level < q->level;
    if (!waits) level = q->level;
    PairEntry *entry = buffer_grow(&q->entries[level], (size_t)(q->n[level] + 1) * sizeof *entry);
    int64_t i = q->n[level]++;
    for (; !waits && i && is_before(&e, &entry[(i - 1) / 2]); i = (i - 1) / 2)
        entry[i] = entry[(i - 1) / 2];
    entry[i] = e;
}

bool pair_queue_pop(PairQueue *q, PairEntry *out)
{
    while (!q->n[q->level] && q->level) {
        q->level--;
        PairEntry *entry = q->entries[q->level].ptr;
        int64_t n = q->n[q->level];
        for (int64_t i = n / 2; i-- > 0;) sift_down(entry, n, i, entry[i]);
    }
    int64_t n = q->n[q->level];
    if (!n) return false;
    PairEntry *heap = q->entries[q->level].ptr;
    *out = heap[0];
    q->n[q->level] = --n;
    sift_down(heap, n, 0, heap[n]);
    return true;
}

void pair_queue_free(PairQueue *q)
{
    for (int level = 0; level < PAIR_LEVELS; level++) buffer_free(&q->entries[level]);
    *q = (PairQueue){ 0 };
}
