/* tokenizer.h - what the data path, generation and the commands see of any tokenizer. */
#ifndef TOKENIZER_TOKENIZER_H
#define TOKENIZER_TOKENIZER_H
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

/* A growing list of token ids; zero-initialise, free with ids_free. */
typedef struct Ids {
    uint32_t *id;
    int64_t n, cap;
} Ids;

void ids_add(Ids *ids, uint32_t id);
void ids_free(Ids *ids);

/* One thread's encoder: word cache and scratch memory. */
typedef struct Encoder Encoder;

/* A loaded tokenizer is read-only and shared by threads; each thread has its own Encoder. */
typedef struct Tokenizer {
    const char *kind;   /* "bpe", ... */
    int64_t vocab_size; /* base vocabulary, without added tokens: decides the token size of a .pbin */
    int64_t n_ids;      /* one more than the largest id, added tokens included */
    Encoder *(*encoder_new)(const struct Tokenizer *self);
    /* Appends the ids of `text` (UTF-8; invalid bytes are an error that names the offset). */
    Error *(*encode)(Encoder *encoder, Str text, bool add_special_tokens, Ids *out);
    void (*encoder_free)(Encoder *encoder);
    /* Appends the text of the ids. */
    Error *(*decode)(const struct Tokenizer *self, const uint32_t *id, int64_t n,
                     bool skip_special_tokens, Text *out);
    /* The id of a token by its exact name (added tokens included), or -1. */
    int64_t (*token_id)(const struct Tokenizer *self, Str token);
    void (*close)(struct Tokenizer *self);
} Tokenizer;

/* Opens a tokenizer.json or the folder that holds one. Errors name file, what was found and what is
 * supported. The caller closes it. */
Error *tokenizer_open(const char *path, Tokenizer **out);
#endif
