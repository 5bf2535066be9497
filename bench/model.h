/* model.h - models that are measured, and a program of training steps for each. */
#ifndef BENCH_MODEL_H
#define BENCH_MODEL_H
#include "models/gpt2.h"
#include "train/session.h"

/* A model with a batch, in one precision. */
typedef struct BenchCase {
    const char *name;
    const Gpt2Settings *settings;
    Dtype precision;
    int64_t batch, sequence;
    int n_steps;
    bool is_tight; /* blocks are computed again, and first moments are bf16 */
} BenchCase;

/* "tutorial", "gpt2", "llama-1b", "llama-8b"; false for others. */
bool bench_model(const char *name, Gpt2Settings *out);
/* FLOPs of matrix products per token of a step: forward and backward, with the causal half of
 * attention. */
double bench_flops_per_token(const BenchCase *c);
/* A training program with its inputs written, on `device` (NULL: as SessionSettings says). The
 * caller frees the session. */
Program *bench_program(const BenchCase *c, const char *device, Arena *a, Session **session);
#endif
