/* certain_parts.h - encodes text with SentencePiece's Unigram by parts that are remembered. */
#ifndef TOKENIZER_SENTENCEPIECE_CERTAIN_PARTS_H
#define TOKENIZER_SENTENCEPIECE_CERTAIN_PARTS_H
#include "tokenizer/sentencepiece/model.h"
#include "tokenizer/tokenizer.h"

typedef struct CertainParts CertainParts;

/* Its memory is bounded. Results never depend on what it remembers. */
CertainParts *certain_parts_new(Arena *a, const SpModel *m);
/* Appends the ids of a normalized text, after which JOINS_SLACK bytes must be readable. */
void certain_parts_encode(CertainParts *c, Str text, Ids *out);
#endif
