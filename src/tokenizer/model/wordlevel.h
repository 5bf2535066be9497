/* wordlevel.h - the model WordLevel: a word is a token, or unknown. */
#ifndef TOKENIZER_MODEL_WORDLEVEL_H
#define TOKENIZER_MODEL_WORDLEVEL_H
#include "tokenizer/model/model.h"

/* Reads the model of a tokenizer.json. */
Error *wordlevel_load(JsonNode at, Arena *a, WordModel **out);
#endif
