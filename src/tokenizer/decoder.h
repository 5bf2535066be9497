/* decoder.h - the stage that turns tokens back into text. */
#ifndef TOKENIZER_DECODER_H
#define TOKENIZER_DECODER_H
#include "tokenizer/json_node.h"

typedef struct Decoder {
    /* Appends what a token contributes to a text, given its name. */
    void (*piece)(Str name, Text *out);
    const char *between; /* stands between two tokens */
    bool repairs;        /* the pieces together may be no UTF-8: U+FFFD per maximal subpart */
} Decoder;

/* Reads the `decoder` of a tokenizer.json; without one, names are joined by blanks. */
Error *decoder_load(JsonNode at, Decoder *out);
#endif
