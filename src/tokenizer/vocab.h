/* vocab.h - names of tokens and their ids, both ways. */
#ifndef TOKENIZER_VOCAB_H
#define TOKENIZER_VOCAB_H
#include "tokenizer/json_node.h"

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
/* NO_TOKEN when there is none. */
uint32_t vocab_find(const Vocab *v, Str name);
#endif
