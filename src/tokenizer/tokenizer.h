/* tokenizer.h - what the data path, generation and the commands see of any tokenizer. */
#ifndef TOKENIZER_TOKENIZER_H
#define TOKENIZER_TOKENIZER_H
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

/* An error when a text is too long or no UTF-8. */
Error *tokenizer_check_text(Str text);

/* A growing list of token ids; zero-initialise, free with ids_free. */
typedef struct Ids {
    uint32_t *id;
    int64_t n, cap;
} Ids;

void ids_add(Ids *ids, uint32_t id);
/* Makes room for `more` further ids and returns the place of the first; the caller then raises n.
 */
uint32_t *ids_reserve(Ids *ids, int64_t more);
void ids_free(Ids *ids);

/* One thread's encoder: word cache and scratch memory. Each tokenizer's own encoder starts with it.
 */
typedef struct Encoder {
    const struct Tokenizer *tokenizer;
} Encoder;

/* Text of ids that come one by one: what is appended by `add` (settled text) and at last by
 * `finish` is what decoding all ids at once gives. Each tokenizer's own stream starts with it. */
typedef struct TokenStream {
    Error *(*add)(struct TokenStream *self, uint32_t id, Text *out);
    Error *(*finish)(struct TokenStream *self, Text *out); /* it is then as new */
} TokenStream;

/* A stretch of text between two stages, or the name of a token. */
typedef struct TraceItem {
    Str text;
    bool is_token;
} TraceItem;
/* Told what a stage made of a text. */
typedef void TraceShow(void *arg, const char *stage, const TraceItem *item, int64_t n);

/* A loaded tokenizer is read-only and shared by threads; each thread has its own Encoder. */
typedef struct Tokenizer {
    const char *kind;   /* "bpe", ... */
    const char *folder; /* with tokenizer_config.json and a chat template; NULL: none */
    int64_t
        vocab_size; /* base vocabulary, without added tokens: decides the token size of a .pbin */
    int64_t n_ids;  /* one more than the largest id, added tokens included */
    int64_t unk_id; /* what the original gives for an unknown token's name, or -1 */
    Encoder *(*encoder_new)(const struct Tokenizer *self);
    /* Appends the ids of `text` (UTF-8; invalid bytes are an error that names the offset). */
    Error *(*encode)(Encoder *encoder, Str text, bool add_special_tokens, Ids *out);
    void (*encoder_free)(Encoder *encoder);
    /* The ids, and for each where in the text it comes from: `offsets` gets two numbers, the first
     * character and the one after the last; both 0 for ids that the text does not have. Slower
     * than `encode`. NULL: this kind cannot say. */
    Error *(*encode_offsets)(const struct Tokenizer *self, Str text, bool add_special_tokens,
                             Ids *out, Ids *offsets);
    /* Appends the text of the ids; ids outside the vocabulary are skipped. */
    Error *(*decode)(const struct Tokenizer *self, const uint32_t *id, int64_t n,
                     bool skip_special_tokens, Text *out);
    /* Decoding id by id; the arena owns it. */
    TokenStream *(*stream_new)(const struct Tokenizer *self, bool skip_special_tokens, Arena *a);
    /* The id of a token by its exact name (added tokens included), or -1. */
    int64_t (*token_id)(const struct Tokenizer *self, Str token);
    /* The name of an id as the file spells it; false when there is none. Valid until close. */
    bool (*token_name)(const struct Tokenizer *self, uint32_t id, Str *out);
    bool (*is_special)(const struct Tokenizer *self, uint32_t id);
    /* Shows every stage of encoding a text. */
    Error *(*trace)(const struct Tokenizer *self, Str text, TraceShow *show, void *arg);
    void (*close)(struct Tokenizer *self);
} Tokenizer;

/* Opens a tokenizer.json, a SentencePiece .model, a .tiktoken file, or a folder that holds a
 * tokenizer.json or a tokenizer.model; the content decides. Errors name file, what was found and
 * what is supported. The caller closes it. */
Error *tokenizer_open(const char *path, Tokenizer **out);
/* The same; the pattern (or NULL) cuts text into words for a .tiktoken file, which has none. */
Error *tokenizer_open_with_pattern(const char *path, const char *tiktoken_pattern, Tokenizer **out);
#endif
