/* merge.c - the merges of one word.
 *
 * Short words: an array of ranks, searched for the least one after each merge. Long words are first
 * cut where no merge can join the two sides: what lies left and right of such a place cannot
 * influence each other, so the parts may be merged one by one. What is still long is walked through
 * (walk.h); where that is not possible, it goes through a heap of candidate merges, O(n log n)
 * whatever the word. */
#include "tokenizer/bpe/walk.h"
#include "tokenizer/text/byte_alphabet.h"
#include <string.h>

enum { SHORT = 32 };

/* Merges id[0..n) in place; rank[i] is that of the pair (i, i + 1). */
static int64_t merge_short(const Bpe *b, uint32_t *id, uint32_t *rank, int64_t n, BpeMerge *last)
{
    for (;;) {
        uint32_t least = NO_RANK;
        int64_t at = 0;
        for (int64_t i = 0; i + 1 < n; i++) {
            uint32_t p = bpe_priority(b, rank[i]);
            if (p < least) {
                least = p;
                at = i;
            }
        }
        if (least == NO_RANK) return n;
        if (last) *last = (BpeMerge){ id[at], id[at + 1], rank[at] };
        n--;
        id[at] = b->merged[rank[at]];
        if (at + 1 < n) bpe_rank_ahead(b, id[at], id[at + 2]);
        if (at) bpe_rank_ahead(b, id[at - 1], id[at]);
        for (int64_t i = at + 1; i < n; i++) id[i] = id[i + 1];
        for (int64_t i = at + 1; i + 1 < n; i++) rank[i] = rank[i + 1];
        if (at + 1 < n) rank[at] = bpe_rank(b, id[at], id[at + 1]);
        if (at) rank[at - 1] = bpe_rank(b, id[at - 1], id[at]);
    }
}

/* A word as a linked list of symbols, and a heap of `rank << 32 | position of the left symbol`. An
 * entry is stale when its pair has changed since. */
typedef struct Chain {
    uint32_t *id, *next, *before;
    uint64_t *heap;
    int64_t n, n_heap;
    uint64_t *made_of; /* see bpe_merge_noting; NULL: nothing is noted */
} Chain;

static void push(Chain *c, uint32_t rank, uint32_t at)
{
    uint64_t x = (uint64_t)rank << 32 | at;
    int64_t i = c->n_heap++;
    for (; i && c->heap[(i - 1) / 2] > x; i = (i - 1) / 2) c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = x;
}

static uint64_t pop(Chain *c)
{
    uint64_t top = c->heap[0], x = c->heap[--c->n_heap];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < c->n_heap; i = child) {
        if (child + 1 < c->n_heap && c->heap[child + 1] < c->heap[child]) child++;
        if (c->heap[child] >= x) break;
        c->heap[i] = c->heap[child];
    }
    c->heap[i] = x;
    return top;
}

static void consider(const Bpe *b, Chain *c, uint32_t left)
{
    uint32_t l = c->id[left], r = c->id[c->next[left]], rank = bpe_rank(b, l, r);
    if (rank == NO_RANK) return;
    push(c, bpe_priority(b, rank), left);
    if (c->made_of) c->made_of[b->merged[rank]] = (uint64_t)l << 32 | r;
}

static int64_t merge_long(const Bpe *b, Buffer *scratch, uint32_t *id, int64_t n, uint64_t *made_of,
                          BpeMerge *last)
{
    /* Each merge takes one entry out and puts at most two in: never more than 2 n. */
    char *memory = buffer_grow(scratch, (size_t)n * (2 * sizeof(uint64_t) + 2 * sizeof(uint32_t)));
    Chain c = { .id = id, .heap = (uint64_t *)memory, .n = n, .made_of = made_of };
    c.next = (uint32_t *)(c.heap + 2 * n);
    c.before = c.next + n;
    for (int64_t i = 0; i < n; i++) {
        c.next[i] = (uint32_t)(i + 1);
        c.before[i] = (uint32_t)(i - 1);
    }
    for (int64_t i = 0; i + 1 < n; i++) consider(b, &c, (uint32_t)i);
    while (c.n_heap) {
        uint64_t top = pop(&c);
        uint32_t left = (uint32_t)top;
        if (id[left] == NO_TOKEN || c.next[left] >= n) continue;
        uint32_t right = c.next[left], rank = bpe_rank(b, id[left], id[right]);
        if (rank == NO_RANK || bpe_priority(b, rank) != top >> 32) continue;
        if (last) *last = (BpeMerge){ id[left], id[right], rank };
        id[left] = b->merged[rank];
        id[right] = NO_TOKEN; /* gone */
        c.next[left] = c.next[right];
        if (c.next[left] < n) c.before[c.next[left]] = left;
        if (left) consider(b, &c, c.before[left]);
        if (c.next[left] < n) consider(b, &c, left);
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i = c.next[i]) id[kept++] = id[i];
    return kept;
}

int64_t bpe_merge_telling(const Bpe *b, Buffer *scratch, uint32_t *id, int64_t n, BpeMerge *last)
{
    if (n < 2) return n;
    if (n > SHORT) return merge_long(b, scratch, id, n, NULL, last);
    uint32_t rank[SHORT];
    rank[0] = NO_RANK;
    for (int64_t i = 0; i + 1 < n; i++) rank[i] = bpe_rank(b, id[i], id[i + 1]);
    return merge_short(b, id, rank, n, last);
}

int64_t bpe_merge(const Bpe *b, Buffer *scratch, uint32_t *id, int64_t n)
{
    return bpe_merge_telling(b, scratch, id, n, NULL);
}

int64_t bpe_merge_noting(const Bpe *b, Buffer *scratch, uint32_t *id, int64_t n, uint64_t *made_of)
{
    return n < 2 ? n : merge_long(b, scratch, id, n, made_of, NULL);
}

/* A part whose bytes all have tokens. */
static int64_t merge_bytes(const Bpe *b, Buffer *scratch, Str part, uint32_t *id)
{
    const uint8_t *byte = (const uint8_t *)part.ptr;
    int64_t n = (int64_t)part.len;
    if (n > SHORT && b->walk) {
        int64_t n_ids = 0;
        bpe_walk(b->walk, scratch, part, id, &n_ids);
        return n_ids;
    }
    for (int64_t i = 0; i < n; i++) id[i] = b->byte_id[byte[i]];
    if (n > SHORT) return merge_long(b, scratch, id, n, NULL, NULL);
    uint32_t rank[SHORT];
    rank[0] = NO_RANK;
    for (int64_t i = 0; i + 1 < n; i++) rank[i] = b->byte_pair[byte[i] << 8 | byte[i + 1]];
    return merge_short(b, id, rank, n, NULL);
}

static bool can_cross(const Bpe *b, Str word, size_t i)
{
    uint64_t pair = (uint64_t)(uint8_t)word.ptr[i - 1] << 8 | (uint8_t)word.ptr[i];
    if (b->cross_one[pair >> 6] >> (pair & 63) & 1) return true;
    if (i < 2 || i + 2 > word.len) return false;
    uint64_t four = bpe_cross_hash(word.ptr + i - 2);
    return b->cross_two[four >> 6] >> (four & 63) & 1;
}

int64_t bpe_cut_bytes(const WordModel *self, const char *text, uint32_t len, uint32_t from,
                      uint32_t until, uint32_t *end)
{
    int64_t n = 0;
    for (uint32_t i = from + 1; i < len; i++) {
        if (can_cross((const Bpe *)self, (Str){ text, len }, i)) continue;
        end[n++] = i;
        if (i >= until) return n;
    }
    end[n++] = len;
    return n;
}

static int64_t merge_parts(const Bpe *b, Buffer *scratch, Str word, uint32_t *out)
{
    if (b->walk && word.len > LONGEST_MERGED) return merge_bytes(b, scratch, word, out);
    int64_t n = 0;
    size_t from = 0;
    for (size_t i = 1; i <= word.len; i++) {
        if (i < word.len && can_cross(b, word, i)) continue;
        n += merge_bytes(b, scratch, (Str){ word.ptr + from, i - from }, out + n);
        from = i;
    }
    return n;
}

static bool covers(const Bpe *b, Str word)
{
    bool all = true;
    for (size_t i = 0; i < word.len && !b->covers_bytes; i++)
        all &= b->byte_id[(uint8_t)word.ptr[i]] != NO_TOKEN;
    return all;
}

/* The symbols of a word when some bytes have no token: unk, fused or not, or nothing. */
static int64_t symbols_with_unk(const Bpe *b, Str word, uint32_t *out)
{
    int64_t n = 0;
    bool after_unk = false;
    for (size_t i = 0; i < word.len; i++) {
        uint32_t id = b->byte_id[(uint8_t)word.ptr[i]];
        bool is_unk = id == NO_TOKEN;
        if (!is_unk)
            out[n++] = id;
        else if (b->has_unk && !(after_unk && b->fuse_unk))
            out[n++] = b->unk_id;
        after_unk = is_unk;
    }
    return n;
}

int64_t bpe_word_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    const Bpe *b = (const Bpe *)self;
    if (b->whole && word.len >= b->shortest_whole && word.len <= b->longest_whole) {
        uintptr_t whole = (uintptr_t)map_get(b->whole, word);
        if (whole) return out[0] = (uint32_t)(whole - 1), 1;
    }
    if (!covers(b, word)) return bpe_merge(b, scratch, out, symbols_with_unk(b, word, out));
    return word.len > SHORT / 2 ? merge_parts(b, scratch, word, out)
                                : merge_bytes(b, scratch, word, out);
}
