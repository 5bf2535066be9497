/* loss.h - loss components: which input and output they compare, and how the mean is taken. */
#ifndef MODELS_LOSS_H
#define MODELS_LOSS_H
#include "models/model.h"

typedef struct Loss {
    /* Adds its targets, and from what the model gives the outputs "loss", "loss_mean" and
     * "loss_sum" (see model_loss). */
    Error *(*apply)(const struct Loss *self, Graph *g, const ModelOutput *out,
                    const ForwardSettings *f);
    /* A scalar without targets, to be added to another loss; NULL: it cannot be. */
    Error *(*term)(const struct Loss *self, Graph *g, const ModelOutput *out, Value **value);
    const char *target_key, *prediction_key;
    bool global_tokens; /* mean over all valid tokens of a step, else per microbatch and then over
                           these */
    const char *tag;    /* its name in results */
} Loss;

/* The cross entropy of the next token, which the batch's item `target_key` holds. */
Loss loss_of_tokens(const char *target_key);
#endif
