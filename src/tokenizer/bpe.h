/* bpe.h - byte pair encoding over bytes: the pair of lowest rank is merged, the leftmost first,
 * until no pair is in the list of merges (Sennrich et al. 2016; over bytes as in GPT-2). */
#ifndef TOKENIZER_BPE_H
#define TOKENIZER_BPE_H
#include "tokenizer/model.h"

enum { MAX_MERGES = (1 << 22) - 2 };
#define NO_RANK UINT32_MAX

typedef struct Bpe {
    Model base;
    Vocab vocab;
    uint32_t byte_id[256]; /* the token of a byte, or NO_TOKEN */
    bool covers_bytes;     /* every byte has a token */
    uint32_t unk_id;       /* stands for a byte without token; NO_TOKEN: such bytes are dropped */
    bool fuse_unk;         /* one unk for a run of them */
    bool ignore_merges;    /* a word that is a token is that token */

    int64_t n_merges;
    uint32_t *merged; /* by rank: the id that a merge makes */
    /* Pair of ids to rank: open addressing over a << 43 | b << 22 | rank, behind a filter of single
     * bits, since most pairs that are looked up are no merge. */
    uint64_t *pair, pair_mask, *filter;
    uint32_t *byte_pair; /* 65,536 ranks by the two bytes; NO_RANK for none */
    /* Where a merge can join two places of a word, by the bytes around the place: one before and
     * behind for merges with a one-byte side, two and two (hashed) for the others. */
    uint64_t *cross_one, *cross_two;
} Bpe;

Error *bpe_load(JsonNode at, bool byte_words, Arena *a, Model **out);
/* The rank of merging (a, b), or NO_RANK. */
uint32_t bpe_rank(const Bpe *b, uint32_t left, uint32_t right);
/* bpe_merge.c: the ids of a word. */
int64_t bpe_word_ids(const Model *self, Buffer *scratch, Str word, uint32_t *out);
/* The bit of cross_two for the two bytes before and behind a place. */
uint64_t bpe_cross_hash(const char *two_before);
#endif
