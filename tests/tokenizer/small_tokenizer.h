/* small_tokenizer.h - tokenizers written by a test. */
#ifndef TESTS_SMALL_TOKENIZER_H
#define TESTS_SMALL_TOKENIZER_H
#include "test.h"
#include "tokenizer/format/json_node.h"
#include "tokenizer/tokenizer.h"

/* Writes a byte-level tokenizer.json into the test's folder and returns its path: 256 bytes, then
 * these merges ("a b", NULL at the end), then the added tokens, a JSON list as text. */
const char *small_tokenizer(Arena *a, const char *const *merges, const char *added_tokens);
/* Opens that. */
Tokenizer *small_tokenizer_open(Arena *a, const char *const *merges, const char *added_tokens);
/* JSON in a text, as the loaders of stages take it. */
JsonNode json_node_of(Arena *a, const char *json);
#endif
