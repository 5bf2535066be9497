/* forced_model.h - a model that continues every text by a fixed table, for tests of generation.
 *
 * Tokens are bytes, and one more that ends a text. The embedding of token i is the i-th unit
 * vector, the blocks add nothing to it, and the head maps it onto the token that follows i. */
#ifndef TESTS_FORCED_MODEL_H
#define TESTS_FORCED_MODEL_H
#include "test.h"

#define FORCED_END "<|end|>"

typedef struct ForcedModel {
    const char *config, *weights, *tokenizer; /* files */
} ForcedModel;

/* `pairs` says what follows what: "abbc" is a to b and b to c; '$' as a follower ends the text.
 * Everything else follows itself. `template` is the prompt_template; texts have up to 64 tokens.
 * All files lie in the test's folder. */
ForcedModel forced_model_write(Arena *a, const char *pairs, const char *template);
/* The same weights as a checkpoint of this program; returns its folder. */
const char *forced_model_checkpoint(Arena *a, const ForcedModel *m);
#endif
