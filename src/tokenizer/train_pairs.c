/* train_pairs.c - a hash table of pairs, and a binary heap. */
#include "tokenizer/train_pairs.h"
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

void pair_queue_push(PairQueue *q, PairEntry e)
{
    PairEntry *heap = buffer_grow(&q->heap, (size_t)(q->n + 1) * sizeof *heap);
    int64_t i = q->n++;
    for (; i && is_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = e;
}

bool pair_queue_pop(PairQueue *q, PairEntry *out)
{
    if (!q->n) return false;
    PairEntry *heap = q->heap.ptr, last = heap[--q->n];
    *out = heap[0];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < q->n; i = child) {
        if (child + 1 < q->n && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &last)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return true;
}

void pair_queue_free(PairQueue *q)
{
    buffer_free(&q->heap);
    *q = (PairQueue){ 0 };
}
