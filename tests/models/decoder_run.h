/* decoder_run.h - small decoders that run: what a block reads and has, and texts that are
 * continued.
 */
#ifndef TESTS_DECODER_RUN_H
#define TESTS_DECODER_RUN_H
#include "ops/op_run.h"
#include "train/session.h"

/* The forward pass of model.decoder's settings over one text of so many tokens. */
OpRun *decoder_run(Arena *a, const char *settings, int64_t n_tokens);
/* Element i of a parameter of the first block. */
double decoder_param(const OpRun *run, const char *name, int64_t i);
/* Feature i of what a linear layer of the first block, which has a bias, gives of x at token t. */
double decoder_product(const OpRun *run, const char *layer, const Value *x, int64_t t, int64_t i);
/* What a product with a weight of the first block reads. */
const Value *decoder_read_by(const OpRun *run, const char *weight);

/* Logits of the last of at most 9 tokens are the same, read with all others and one after what was
 * kept of those, which are read `part` at a time; so are those of a second text. *next: the program
 * of one token. The session is the caller's. */
Session *decoder_continues(const Model *m, int64_t n_tokens, int64_t part, Program **next);
#endif
