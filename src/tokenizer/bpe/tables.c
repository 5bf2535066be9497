/* tables.c - the tables that merging looks into. */
#include "base/utf8.h"
#include "tokenizer/bpe/bpe.h"
#include "tokenizer/text/byte_alphabet.h"
#include <string.h>

enum { FILTER_BITS = 20, CROSS_BITS = 20 };

static uint64_t pair_hash(uint64_t key)
{
    return key * 0x9E3779B97F4A7C15u;
}
static uint64_t pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 21 | right;
}
static bool bit(const uint64_t *bits, uint64_t i)
{
    return bits[i >> 6] >> (i & 63) & 1;
}
static void set_bit(uint64_t *bits, uint64_t i)
{
    bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

uint32_t bpe_rank(const Bpe *b, uint32_t left, uint32_t right)
{
    uint64_t key = pair_key(left, right), hash = pair_hash(key);
    if (!bit(b->filter, hash >> (64 - FILTER_BITS))) return NO_RANK;
    for (uint64_t at = hash >> 20 & b->pair_mask;; at = (at + 1) & b->pair_mask) {
        if (b->pair[at] >> 22 == key) return (uint32_t)(b->pair[at] & ((1 << 22) - 1));
        if (b->pair[at] == UINT64_MAX) return NO_RANK;
    }
}

void bpe_rank_ahead(const Bpe *b, uint32_t left, uint32_t right)
{
    uint64_t hash = pair_hash(pair_key(left, right));
    __builtin_prefetch(&b->filter[hash >> (64 - FILTER_BITS) >> 6]);
    __builtin_prefetch(&b->pair[hash >> 20 & b->pair_mask]);
}

/* A later merge of the same pair replaces the earlier one, as in the library. */
void bpe_add_pair(Bpe *b, uint32_t left, uint32_t right, int64_t rank)
{
    uint64_t key = pair_key(left, right), hash = pair_hash(key), at = hash >> 20 & b->pair_mask;
    set_bit(b->filter, hash >> (64 - FILTER_BITS));
    while (b->pair[at] != UINT64_MAX && b->pair[at] >> 22 != key) at = (at + 1) & b->pair_mask;
    b->pair[at] = key << 22 | (uint64_t)rank;
}

uint64_t bpe_cross_hash(const char *two_before)
{
    uint32_t four;
    memcpy(&four, two_before, 4);
    return (uint32_t)(four * 0x9E3779B1u) >> (32 - CROSS_BITS);
}

void bpe_tables_new(Bpe *b, Arena *a, int64_t n_pairs, int64_t n_ranks)
{
    b->n_merges = n_ranks;
    b->pair_mask = 15;
    while ((int64_t)b->pair_mask < 2 * n_pairs) b->pair_mask = b->pair_mask * 2 + 1;
    b->merged = NEW_N(a, uint32_t, n_ranks);
    b->pair = NEW_N(a, uint64_t, b->pair_mask + 1);
    memset(b->pair, 0xFF, (b->pair_mask + 1) * sizeof *b->pair);
    b->filter = NEW_N(a, uint64_t, (1 << FILTER_BITS) / 64);
    for (int64_t id = 0; id < b->vocab.n_ids; id++) {
        if (b->vocab.name[id].len > b->longest_name) b->longest_name = b->vocab.name[id].len;
    }
}

static void find_bytes(Bpe *b)
{
    b->covers_bytes = true;
    for (int byte = 0; byte < 256; byte++) {
        char name[4];
        int n = utf8_encode(byte_to_char((uint8_t)byte), name);
        b->byte_id[byte] = vocab_find(&b->vocab, (Str){ name, (size_t)n });
        if (b->byte_id[byte] == NO_TOKEN) b->covers_bytes = false;
    }
}

void bpe_bytes_new(Bpe *b, Arena *a)
{
    find_bytes(b);
    b->byte_pair = NEW_N(a, uint32_t, 1 << 16);
    memset(b->byte_pair, 0xFF, (1 << 16) * sizeof *b->byte_pair);
    b->cross_one = NEW_N(a, uint64_t, (1 << 16) / 64);
    b->cross_two = NEW_N(a, uint64_t, (1 << CROSS_BITS) / 64);
}

void bpe_add_byte_pair(Bpe *b, Str left, Str right, int64_t rank)
{
    if (!left.len || !right.len) return;
    uint64_t pair = (uint64_t)(uint8_t)left.ptr[left.len - 1] << 8 | (uint8_t)right.ptr[0];
    if (left.len == 1 && right.len == 1) b->byte_pair[pair] = (uint32_t)rank;
    if (left.len == 1 || right.len == 1) {
        set_bit(b->cross_one, pair);
    } else {
        char around[4] = { left.ptr[left.len - 2], left.ptr[left.len - 1], right.ptr[0],
                           right.ptr[1] };
        set_bit(b->cross_two, bpe_cross_hash(around));
    }
}
