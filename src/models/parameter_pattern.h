/* parameter_pattern.h - which parameters a setting means: by patterns of their names ("*.mlp.*",
 * with * ? and [abc]), or by what they are for ("@matrices").
 *
 *   @matrices    weights of the layers in blocks
 *   @embeddings  rows per token or position
 *   @head        from hidden states to logits
 *   @norms       weights and biases of norms
 *   @biases      what linear layers add */
#ifndef MODELS_PARAMETER_PATTERN_H
#define MODELS_PARAMETER_PATTERN_H
#include "config/field.h"
#include "graph/graph.h"

/* Whether one of the patterns (the last is NULL) means the parameter. */
bool parameter_matches(const char *const *patterns, const Value *param);
/* The list for parameter_matches, of the arena; a word with @ that is not known is an error that
 * names `key`. */
Error *parameter_patterns(Arena *a, const char *key, const StringList *list,
                          const char *const **out);
/* An error that names a pattern which means none of these parameters; and of those of a graph. */
Error *parameter_patterns_match(const char *const *patterns, const Value *const *param, int64_t n);
Error *parameter_patterns_check(const char *const *patterns, const Graph *g);
#endif
