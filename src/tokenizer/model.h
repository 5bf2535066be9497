/* model.h - the stage that turns one word into ids; each kind of model starts with a Model. */
#ifndef TOKENIZER_MODEL_H
#define TOKENIZER_MODEL_H
#include "base/buffer.h"
#include "tokenizer/vocab.h"

typedef struct Model {
    const char *kind;
    const Vocab *vocab;
    /* Writes the ids of a word (its bytes, at least one) and returns their number, at most
     * word.len. The same word always has the same ids, so that they may be cached. */
    int64_t (*word_ids)(const struct Model *self, Buffer *scratch, Str word, uint32_t *out);
} Model;

/* Reads the `model` of a tokenizer.json. */
Error *model_load(JsonNode at, Arena *a, Model **out);
#endif
