/* golden_tokenizers.h - reading the goldens of tokenizers. */
#ifndef TESTS_GOLDEN_TOKENIZERS_H
#define TESTS_GOLDEN_TOKENIZERS_H
#include "golden.h"
#include "tokenizer/tokenizer.h"
#include <jansson.h>

/* The lines of a JSON lines file below ../shared/data/goldens/tokenizers; the trees live as long as
 * the arena. */
typedef struct GoldenRows {
    json_t **row;
    int64_t n;
} GoldenRows;

GoldenRows golden_rows(Arena *a, const char *file);
/* The texts of nasty.jsonl by id. */
json_t *golden_texts(Arena *a);
/* Member `key` as text; ptr NULL when missing or null. */
Str golden_text(const json_t *row, const char *key);
/* Fails with `what` unless the ids are those of the list. */
void assert_ids(const char *what, const Ids *ids, const json_t *expected, size_t from, size_t to);
/* The file or folder of a tokenizer as the goldens name it: "gpt2", "sp/mistral_v1",
 * "tiktoken_cl100k". */
const char *golden_tokenizer_path(Arena *a, const char *name);
/* Opens it. */
Tokenizer *golden_tokenizer(Arena *a, const char *name);
/* Opens the tokenizer in this folder of the shared ones. */
Tokenizer *golden_tokenizer_in(Arena *a, const char *folder);
#endif
