/* model_load.h - the model of a tokenizer.json, by its kind. */
#ifndef TOKENIZER_HF_MODEL_LOAD_H
#define TOKENIZER_HF_MODEL_LOAD_H
#include "tokenizer/model/model.h"

/* Reads the `model` of a tokenizer.json. `byte_words`: words come as plain bytes that the
 * vocabulary spells in the byte alphabet (pre-tokenizer ByteLevel); else they come as the
 * vocabulary spells them. */
Error *model_load(JsonNode at, bool byte_words, Arena *a, WordModel **out);
#endif
