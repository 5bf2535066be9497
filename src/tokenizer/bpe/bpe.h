/* bpe.h - byte pair encoding: the pair of lowest rank is merged, the leftmost first, until no pair
 * is in the list of merges (Sennrich et al. 2016; over bytes as in GPT-2). */
#ifndef TOKENIZER_BPE_BPE_H
#define TOKENIZER_BPE_BPE_H
#include "base/map.h"
#include "tokenizer/bpe/joins.h"
#include "tokenizer/model/model.h"

enum { MAX_MERGES = (1 << 22) - 2 };
#define NO_RANK UINT32_MAX

typedef struct Bpe {
    WordModel base;
    Vocab vocab;
    uint32_t byte_id[256]; /* the token of a byte, or NO_TOKEN */
    bool covers_bytes;     /* every byte has a token */
    bool has_unk;          /* else bytes and characters without a token are dropped */
    uint32_t unk_id;       /* stands for them; NO_TOKEN: they are an error */
    bool fuse_unk;         /* one unk for a run of them */
    bool ignore_merges;    /* a word that is a token is that token */
    size_t longest_name;   /* bytes of a token's name */

    /* Over characters: what stands before each but the first and after the last one, and the
     * tokens of the bytes of a character that has none itself. */
    Str prefix, suffix;
    bool byte_fallback;
    uint32_t fallback_id[256], ascii_id[128];
    JoinTable *joins; /* NULL: a text must not be cut */

    int64_t n_merges;
    uint32_t *merged; /* by rank: the id that a merge makes */
    uint32_t *order;  /* by rank: what decides which merge comes first; NULL: the rank itself */
    /* Pair of ids to rank: open addressing over a << 43 | b << 22 | rank, after a filter of single
     * bits, since most pairs that are looked up are no merge. */
    uint64_t *pair, pair_mask, *filter;
    uint32_t *byte_pair; /* 65,536 ranks by the two bytes; NO_RANK for none */
    /* Where a merge can join two places of a word, by the bytes around the place: one before and
     * after for merges with a one-byte side, two and two (hashed) for the others. */
    uint64_t *cross_one, *cross_two;
    /* With ignore_merges: the tokens that merging does not make of their bytes, by these, each as
     * its id + 1; and their lengths. NULL: there are none. */
    Map *whole;
    size_t shortest_whole, longest_whole;
    const struct BpeWalk *walk; /* walk.h; NULL: long words must be merged */
} Bpe;

Error *bpe_load(JsonNode at, bool byte_words, Arena *a, WordModel **out);

/* tables.c: tables for `n_pairs` pairs and merges of ranks below n_ranks; then the pairs. Of
 * equal pairs the later one counts. */
void bpe_tables_new(Bpe *b, Arena *a, int64_t n_pairs, int64_t n_ranks);
void bpe_add_pair(Bpe *b, uint32_t left, uint32_t right, int64_t rank);
/* The rank of merging (a, b), or NO_RANK. */
uint32_t bpe_rank(const Bpe *b, uint32_t left, uint32_t right);
/* Asks for the memory that bpe_rank will look at. */
void bpe_rank_ahead(const Bpe *b, uint32_t left, uint32_t right);
/* Finds the tokens of the single bytes, and makes the tables that speed merging bytes up; the pairs
 * are then added, each with the bytes of its two sides. */
void bpe_bytes_new(Bpe *b, Arena *a);
void bpe_add_byte_pair(Bpe *b, Str left, Str right, int64_t rank);

/* What decides which of two merges comes first. */
static inline uint32_t bpe_priority(const Bpe *b, uint32_t rank)
{
    return b->order && rank != NO_RANK ? b->order[rank] : rank;
}

/* merge.c: merges id[0..n) in place and returns how many are left. */
int64_t bpe_merge(const Bpe *b, Buffer *scratch, uint32_t *id, int64_t n);
/* The same, and tells the last merge; `last` stays as it is when there is none. */
typedef struct BpeMerge {
    uint32_t left, right, rank;
} BpeMerge;
int64_t bpe_merge_telling(const Bpe *b, Buffer *scratch, uint32_t *id, int64_t n, BpeMerge *last);
/* The same, and notes by id, as left << 32 | right, the two symbols that were last seen side by
 * side that would make it. */
int64_t bpe_merge_noting(const Bpe *b, Buffer *scratch, uint32_t *id, int64_t n, uint64_t *made_of);
/* The ids of a word that comes as bytes; and as characters (chars.c). */
int64_t bpe_word_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out);
int64_t bpe_char_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out);
/* The token of a character, or NO_TOKEN. */
static inline uint32_t bpe_char_id(const Bpe *b, uint32_t c, Str text)
{
    return c < 128 ? b->ascii_id[c] : vocab_find(&b->vocab, text);
}
uint32_t bpe_symbol_at(const void *bpe, Str text, size_t *len);
/* blanks_bpe.c: the same model for texts in which a blank stands for U+2581, with JOINS_SLACK
 * readable bytes after them; NULL when it must see the text as it is. `apart`: words start at a
 * blank. */
const WordModel *bpe_with_blanks(Arena *a, const WordModel *model, bool apart);
/* WordModel.spans, for both. */
void bpe_spans(const WordModel *self, Buffer *scratch, Str word, const uint32_t *id, int64_t n,
               Span *out);
/* WordModel.cut for words that come as bytes, and as characters. */
int64_t bpe_cut_bytes(const WordModel *self, const char *text, uint32_t len, uint32_t from,
                      uint32_t until, uint32_t *end);
int64_t bpe_cut(const WordModel *self, const char *text, uint32_t len, uint32_t from,
                uint32_t until, uint32_t *end);
/* Makes the walk of a model over bytes, and `whole`; bytes[id] is what a token stands for, len 0:
 * nothing. */
void bpe_prepare_byte_walk(Bpe *b, Arena *a, const Str *bytes, int64_t n);
/* The bit of cross_two for the two bytes before and after a place. */
uint64_t bpe_cross_hash(const char *two_before);
#endif
