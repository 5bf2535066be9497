/* vocab.h - names of tokens and their ids, both ways. */
#ifndef TOKENIZER_MODEL_VOCAB_H
#define TOKENIZER_MODEL_VOCAB_H
#include "tokenizer/format/json_node.h"

/* Ids are below this; it keeps a pair of ids and a rank in 64 bits. */
enum { MAX_TOKEN_ID = (1 << 21) - 2 };
#define NO_TOKEN UINT32_MAX

typedef struct Vocab {
    int64_t n;      /* tokens */
    int64_t n_ids;  /* one more than the largest id; there may be holes */
    Str *name;      /* by id; ptr NULL where there is no token */
    uint32_t *slot; /* hash table of ids */
    uint64_t mask;
} Vocab;

/* Reads {"name": id, ...}; the names are copied into the arena. Refuses an id given twice. */
Error *vocab_load(JsonNode at, Arena *a, Vocab *out);
/* Names by id, ptr NULL for none; of equal ones the last has the name. The names are not copied. */
void vocab_of_names(Arena *a, const Str *name, int64_t n, Vocab *out);
/* The ids of the names "<0x00>" to "<0xFF>", or NO_TOKEN; true when all 256 are there. */
bool vocab_find_bytes(const Vocab *v, uint32_t byte_id[256]);
/* NO_TOKEN when there is none. */
uint32_t vocab_find(const Vocab *v, Str name);
#endif
