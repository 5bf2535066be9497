/* reference.h - encoding done one stage after the other in the plainest way, without tables, masks
 * or memory of words, to compare the fast paths with. */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H
#include "tokenizer/sentencepiece/rules.h"
#include "tokenizer/tokenizer.h"

typedef struct Reference {
    void (*encode)(struct Reference *self, Str text, Ids *out);
} Reference;

/* A byte-level BPE in a tokenizer.json, whose words are the matches of a pattern: PCRE2 finds them,
 * and one pair of symbols after the other is merged. */
Reference *reference_byte_bpe(Arena *a, const char *tokenizer_json, const char *pattern);
/* WordPiece in a tokenizer.json: each piece is the longest name that fits. */
Reference *reference_word_piece(Arena *a, const char *tokenizer_json);
/* Any tokenizer by encode_offsets, which takes one stage of a pipeline after the other. */
Reference *reference_stages(Arena *a, const Tokenizer *t);
/* sp_normalize, one character after the other. */
void reference_normalize(const SpNormalizer *n, Str text, Text *out);
/* BPE or Unigram in a .model file without unused pieces, over whole texts. */
Reference *reference_sentencepiece(Arena *a, const char *model);
#endif
