/* bare_step.h - training steps of models made in C: no YAML, no data, no results. */
#ifndef BENCH_BARE_STEP_H
#define BENCH_BARE_STEP_H
#include "models/gpt2.h"
#include "models/layers.h"
#include "train/session.h"

NormChoice bench_rms(int64_t width);
NormChoice bench_layer_norm(int64_t width);
/* As GPT-2: absolute positions, GELU, a hidden layer four times as wide; no biases, no tied
 * weights. */
Gpt2Settings bench_gpt2(int64_t n_layer, int64_t n_head, int64_t width, int64_t vocabulary,
                        int64_t sequence, NormChoice norm);
/* As GPT-2's. With the embeddings that construction gives, N(0, 1), a tied head has logits as no
 * trained model has, for which the head must go over its sums again. */
extern const struct Initializer bench_small_weights;
/* The program of a step of AdamW, whose first moment has this dtype, with clipping over one
 * microbatch of the session's model, with parameters as its initializer says; ids are to be
 * written. */
Program *bench_training(Arena *a, Session *s, const Model *m, Dtype moment, int64_t batch,
                        int64_t sequence);
/* Forward, backward, reduction and update, waited for. */
void bench_step(Program *p, int64_t number);
/* The same as trainings give steps to a GPU: in one, and step `number` + 1 before `number` is
 * waited for. Without a device that looks at the step's numbers itself, as bench_step. Returns when
 * step `number` is done. */
void bench_step_ahead(Program *p, int64_t number);
#endif
