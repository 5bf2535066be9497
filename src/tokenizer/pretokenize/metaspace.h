/* metaspace.h - the settings of Metaspace, which is a pre-tokenizer and a decoder. */
#ifndef TOKENIZER_PRETOKENIZE_METASPACE_H
#define TOKENIZER_PRETOKENIZE_METASPACE_H
#include "tokenizer/format/json_node.h"

typedef enum PrependScheme { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER } PrependScheme;

typedef struct Metaspace {
    uint32_t replacement; /* stands for a blank */
    PrependScheme scheme; /* which texts get one in front */
    bool split;           /* words start at it */
} Metaspace;

/* Reads an object of type Metaspace; old files say add_prefix_space and str_rep. */
Error *metaspace_load(JsonNode at, Metaspace *out);
#endif
