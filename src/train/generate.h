/* generate.h - runs a model over a text that grows: the keys and values of its tokens stay in a
 * cache.
 *
 * What is read at once goes through in chunks of falling powers of two, so that few programs serve
 * every length; the last token, like every later one, goes alone. */
#ifndef TRAIN_GENERATE_H
#define TRAIN_GENERATE_H
#include "train/session.h"

typedef struct Generator Generator;

/* A generator over the session's parameters (`model` is the session's) for texts of up to
 * `n_positions` tokens. One per session; freed before it. */
Error *generator_new(Session *s, const Model *model, int64_t n_positions, Generator **out);
void generator_free(Generator *g);
/* What it was made of, and the input that it writes. */
Session *generator_session(const Generator *g);
const ModelInput *generator_input(const Generator *g);
/* Forgets the text. */
void generator_restart(Generator *g);
/* Tokens of the text so far; how many it may have. */
int64_t generator_position(const Generator *g);
int64_t generator_limit(const Generator *g);
/* Appends n > 0 tokens to the text. An error if they do not fit or are outside of the vocabulary.
 */
Error *generator_read(Generator *g, const uint32_t *id, int64_t n);
/* Whether n tokens behind `position` others fit and are of the vocabulary. */
Error *generator_check(const Generator *g, int64_t position, const uint32_t *id, int64_t n);
/* The logits [1 1 v] of the token that follows what was read; valid until another program of the
 * session runs. */
const Tensor *generator_logits(const Generator *g);
#endif
