/* wordpiece.h - the model WordPiece: the longest token at the start of a word, then the longest
 * that continues it, and so on (Schuster and Nakajima 2012, as in BERT). */
#ifndef TOKENIZER_MODEL_WORDPIECE_H
#define TOKENIZER_MODEL_WORDPIECE_H
#include "tokenizer/model/model.h"

/* Reads the model of a tokenizer.json. */
Error *wordpiece_load(JsonNode at, Arena *a, WordModel **out);
#endif
