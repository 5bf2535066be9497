/* texts.h - texts that grow side by side: each step reads one token of every text, so that the
 * weights are read once for all of them.
 *
 * A text's first tokens go through the generator alone, and its keys and values are copied to the
 * text's place; so each text gets the numbers that it would get alone (on a CPU to the bit),
 * whatever the others are, and may begin and end at any time. */
#ifndef TRAIN_TEXTS_H
#define TRAIN_TEXTS_H
#include "train/generate.h"

typedef struct Texts Texts;

/* How many of n texts have caches that fit into the memory which is free, at least one. `bytes` are
 * those of one text. */
int64_t texts_that_fit(Generator *g, int64_t n, double *bytes);
/* Places for n texts, at most MAX_TEXTS, of the generator's length; it may be used for nothing else
 * meanwhile. Free with texts_free, before the generator. */
Error *texts_new(Generator *g, int64_t n, Texts **out);
void texts_free(Texts *t);
int64_t texts_count(const Texts *t);
/* Tokens of a text so far; 0: its place is free. */
int64_t texts_position(const Texts *t, int64_t i);
/* Begins text i anew with these tokens. */
Error *texts_begin(Texts *t, int64_t i, const uint32_t *id, int64_t n);
/* Makes place i free. */
void texts_end(Texts *t, int64_t i);
/* Appends id[i] to each text i with grows[i]; the others stay as they are. */
Error *texts_grow(Texts *t, const uint32_t *id, const bool *grows);
/* The logits [1 1 v] of the token that follows text i. */
Tensor texts_logits(const Texts *t, int64_t i);
#endif
