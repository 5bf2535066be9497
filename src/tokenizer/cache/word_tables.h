/* word_tables.h - the tables of a word cache: keys, entries, and the ids of a word packed in 64
 * bits. */
#ifndef TOKENIZER_CACHE_WORD_TABLES_H
#define TOKENIZER_CACHE_WORD_TABLES_H
#include "base/buffer.h"
#include "tokenizer/cache/word_bytes.h"
#include <stdbool.h>

/* Up to three ids below 2^20 lie inside, or up to four below 2^15: number << 60 | ... | second <<
 * id_bits | first. Otherwise the top four bits are 0 and the ids lie elsewhere: n << 32 | index in
 * `more`, or PASSING | index in the list of words that are not remembered, or LEFT: the model
 * leaves the word to the caller. */
typedef uint64_t PackedIds;
#define PASSING ((uint64_t)1 << 59)
#define LEFT (PASSING | PASSING >> 1)
enum { MORE_ROOM = 8, WIDE_IDS = 20, NARROW_IDS = 15 };

/* A word of up to 16 bytes, padded with zeros. */
typedef struct WordKey {
    uint64_t low, high;
} WordKey;

typedef struct SmallEntry {
    uint64_t key;
    PackedIds ids;
} SmallEntry;

typedef struct MiddleEntry {
    WordKey key;
    PackedIds ids;
    uint32_t uses, unused;
} MiddleEntry;

typedef struct LargeEntry {
    WordKey key;
    PackedIds ids;
    uint32_t len, uses; /* len 0: free; uses: 1, 2 for "again", or more where they are counted */
} LargeEntry;

typedef struct LongEntry {
    uint64_t hash;
    PackedIds ids;
    uint32_t at, len, uses, unused; /* the word is long_text[at, at + len); len 0: free */
} LongEntry;

enum {
    SMALL_BITS = 15,  /* 512 KiB: words of up to 8 bytes, one place each */
    MIDDLE_BITS = 13, /* 256 KiB: up to 16 bytes, one place each */
    /* Linear probing; the tables begin small and grow, up to a limit that follows from the memory
     * of the machine. */
    LARGE_BITS = 16,      /* 2 MiB: up to 16 bytes */
    MOST_LARGE_BITS = 22, /* 128 MiB */
    FEWER_LONG_BITS = 1,  /* than there may be for the large table: 17 to 64 bytes */
    LONG_BITS = 14,
    LONGEST_WORD = 64 /* longer words are not remembered */
};

typedef struct WordTables {
    SmallEntry *small;
    uint32_t *small_uses;
    MiddleEntry *middle;
    LargeEntry *large;
    LongEntry *longs;
    int large_bits, long_bits, most_large_bits;
    int id_bits; /* WIDE_IDS or NARROW_IDS */
    int64_t n_large, n_longs;
    Buffer more; /* uint32_t: ids of words with many, and MORE_ROOM to read after them */
    Buffer long_text;
    int64_t n_more, n_long_text;
} WordTables;

/* Empty tables, their memory touched, for ids that are nearly all below n_ids. They grow to 352
 * MiB, or half as much, or a quarter, and so on, until the tables of one thread per core fit an
 * eighth of the memory that is available. */
WordTables *word_tables_new(int64_t n_ids);
/* The limit of the large table's size that follows. */
int word_tables_most_bits(void);
void word_tables_free(WordTables *t);
/* Makes room for another `n` words: lets tables grow, or, when one is as large as it may get, keeps
 * only the words that were used most. Returns the tables to use from now on. */
WordTables *word_tables_make_room(WordTables *t, int64_t n);
/* Whether the large table may take words beyond those. */
bool word_tables_has_room(const WordTables *t);
/* Packs ids for keeping; n -1: LEFT. */
PackedIds word_tables_pack(WordTables *t, const uint32_t *id, int64_t n);
/* The entry of a word, or the free one where it would go. */
LongEntry *word_tables_long(const WordTables *t, uint64_t hash, const char *word, uint32_t len);
/* Fills a free entry. */
void word_tables_add_large(WordTables *t, LargeEntry *free, WordKey key, uint32_t len,
                           PackedIds ids);
void word_tables_add_long(WordTables *t, LongEntry *free, uint64_t hash, const char *word,
                          uint32_t len, PackedIds ids);

/* The i-th of the ids that lie inside. */
static inline uint32_t packed_id(PackedIds ids, int id_bits, int i)
{
    return (uint32_t)(ids >> id_bits * i) & ((1u << id_bits) - 1);
}

/* Ids that lie outside. */
static inline const uint32_t *word_tables_more(const WordTables *t)
{
    return t->more.ptr;
}

/* The key of a word; 16 bytes must be readable. */
static inline WordKey word_key(const char *p, uint32_t len)
{
    return (WordKey){ word_load(p) & word_low_mask[len], word_load(p + 8) & word_high_mask[len] };
}

static inline uint64_t word_hash8(uint64_t key)
{
    return key * 0x9E3779B97F4A7C15u;
}

static inline uint64_t word_hash16(WordKey k)
{
    return k.low * 0x9E3779B97F4A7C15u + (k.high ^ k.low >> 32) * 0xD6E8FEB86659FD93u;
}

static inline SmallEntry *word_small(const WordTables *t, uint64_t key)
{
    return &t->small[word_hash8(key) >> (64 - SMALL_BITS)];
}

static inline MiddleEntry *word_middle(const WordTables *t, uint64_t hash16)
{
    return &t->middle[hash16 >> (64 - MIDDLE_BITS)];
}

static inline uint64_t word_large_place(const WordTables *t, uint64_t hash16)
{
    return hash16 >> (64 - t->large_bits);
}

static inline uint64_t word_long_place(const WordTables *t, uint64_t hash)
{
    return hash >> (64 - t->long_bits);
}

/* The entry of a word, or the free one where it would go. */
static inline LargeEntry *word_tables_large(const WordTables *t, WordKey key, uint64_t hash16,
                                            uint32_t len)
{
    for (uint64_t at = word_large_place(t, hash16);; at = (at + 1) & ((1u << t->large_bits) - 1)) {
        LargeEntry *e = &t->large[at];
        if ((e->key.low == key.low && e->key.high == key.high && e->len == len) || !e->len)
            return e;
    }
}

/* Ids that lie outside will be written soon. */
static inline void word_tables_prefetch(const WordTables *t, PackedIds ids)
{
    const uint32_t *more = word_tables_more(t);
    if (more) __builtin_prefetch(more + (ids >= PASSING ? 0 : (uint32_t)ids));
}

/* Gives a word the place in front that is its own if it is needed more often than the owner. */
void word_tables_promote(WordTables *t, const LargeEntry *e, uint64_t hash16);
#endif
