/* tiny_training.h - a short training of the small GPT-2, on texts that can be foretold in two cases
 * out of three. */
#ifndef TESTS_TINY_TRAINING_H
#define TESTS_TINY_TRAINING_H
#include "passes/optimize.h"
#include "tiny_model.h"

enum { TINY_STEPS = 200 };

typedef struct TinyTraining {
    double loss[TINY_STEPS];
    double first, last; /* means over the first and the last quarter of the steps */
} TinyTraining;

/* What the run must have been built with. */
Optimize tiny_adam(Arena *a);
/* Of a run with a vocabulary of 16. */
void tiny_train(TinyRun *t, TinyTraining *out);
#endif
