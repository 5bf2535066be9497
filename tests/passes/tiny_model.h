/* tiny_model.h - a small GPT-2 for tests of passes and programs. */
#ifndef TESTS_TINY_MODEL_H
#define TESTS_TINY_MODEL_H
#include "exec/program.h"
#include "models/gpt2.h"

/* Swiglu, RoPE, grouped queries, rms_norm, no bias; or gelu, absolute positions, layer_norm, bias.
 */
Gpt2Settings tiny_settings(bool llama_like);
/* Another width than 16; without RoPE. */
void tiny_set_width(Gpt2Settings *s, int64_t width);

typedef struct TinyRun {
    Arena *arena;
    Device *device;
    ParamStore *store;
    Graph *graph;
    Program *program;
    RunTime now;
} TinyRun;

typedef struct TinyChoice {
    const Gpt2Settings *settings;
    const PassList *passes;
    bool reference_only, training;
    const Schedule *schedule; /* NULL: of one microbatch */
    void (*edit)(Graph *g);   /* after the passes; NULL: nothing */
    Device *device;           /* the run frees it; NULL: the CPU with two threads */
} TinyChoice;

/* Builds loss and gradients through the passes (autodiff is added), fills weights by seed 1 and
 * each microbatch by a fixed rule. */
TinyRun tiny_run_make(const TinyChoice *c);
TinyRun tiny_run_new(const Gpt2Settings *s, PassList *list, bool reference_only, bool training);
void tiny_run_free(TinyRun *t);
/* Writes a microbatch's ids and targets; with a schedule it must be done before its forward pass.
 */
void tiny_feed(TinyRun *t, int64_t microbatch);
/* Clears gradients, runs forward and backward, returns the loss. */
double tiny_step(TinyRun *t);
/* The largest difference of all gradients, relative to the largest gradient. */
double tiny_gradient_difference(const TinyRun *a, const TinyRun *b);
#endif
