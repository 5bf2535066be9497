/* added_tokens.h - tokens that are found in the text before anything else, like "<|endoftext|>". */
#ifndef TOKENIZER_HF_ADDED_TOKENS_H
#define TOKENIZER_HF_ADDED_TOKENS_H
#include "base/buffer.h"
#include "tokenizer/model/vocab.h"
#include "tokenizer/normalize/normalizer.h"

typedef struct AddedToken {
    Str content;
    bool single_word;    /* no word character may stand beside it */
    bool lstrip, rstrip; /* takes the white space before, after it */
    bool normalized;     /* looked for in the normalized text, after the others */
    bool special;        /* left out by decoding with skip_special_tokens */
} AddedToken;

typedef struct AddedTokens AddedTokens;

/* A token that is in the vocabulary keeps its id there; others get the next ids. */
AddedTokens *added_tokens_new(Arena *a, const Vocab *vocab);
/* Reads the list `added_tokens`; the ids in it are not used, as in the library. */
Error *added_tokens_load(JsonNode at, AddedTokens *to);
/* Adds tokens, or changes the flags of those that are there. Empty ones are ignored. */
void added_tokens_add(AddedTokens *t, const AddedToken *token, int64_t n);
/* Sorts the patterns, those of tokens with `normalized` rewritten by the normalizer; nothing may be
 * added afterwards. `split_special`: special tokens are not looked for in texts. */
Error *added_tokens_finish(AddedTokens *t, bool split_special, const Normalizer *normalizer);

/* The tokens added so far, with their latest flags; the array belongs to the arena, the texts to
 * `t`. */
int64_t added_tokens_list(const AddedTokens *t, Arena *a, AddedToken **out);
bool added_tokens_has(const AddedTokens *t, Str content);
/* How many tokens there are, those of the vocabulary included. */
int64_t added_tokens_count(const AddedTokens *t);
/* One more than the largest id. */
int64_t added_tokens_n_ids(const AddedTokens *t);
/* The id of an added token, else of a token of the vocabulary, else NO_TOKEN. */
uint32_t added_tokens_id(const AddedTokens *t, Str content);
/* The name of an id, added tokens first; ptr NULL for none. */
Str added_tokens_name(const AddedTokens *t, uint32_t id);
bool added_tokens_is_special(const AddedTokens *t, Str content);

/* A stretch of text: an added token's id, or NO_TOKEN for the text in between. */
typedef struct Piece {
    Str text;
    uint32_t id;
} Piece;

/* Cuts a text at the tokens whose `normalized` is this. Stretches without text are left out. The
 * array is in `room`; returns the number of pieces. */
int64_t added_tokens_split(const AddedTokens *t, bool normalized, Str text, Buffer *room,
                           Piece **out);
#endif
