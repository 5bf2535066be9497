/* normalizer.h - the stage that rewrites text before it is cut into words. */
#ifndef TOKENIZER_NORMALIZER_H
#define TOKENIZER_NORMALIZER_H
#include "tokenizer/json_node.h"

/* Reads the `normalizer` of a tokenizer.json. Byte-level tokenizers have none, and so far only that
 * is accepted: text is left as it is. */
Error *normalizer_load(JsonNode at);
#endif
