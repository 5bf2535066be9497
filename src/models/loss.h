/* loss.h - loss components: which input and output they compare, and how the mean is taken. */
#ifndef MODELS_LOSS_H
#define MODELS_LOSS_H
#include <stdbool.h>

typedef struct Loss {
    const char *target_key, *prediction_key;
    bool global_tokens; /* mean over all valid tokens of a step, else per microbatch and then over
                           these */
    const char *tag;    /* its name in results */
} Loss;
#endif
