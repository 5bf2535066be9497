/* optim.h - an optimizer appends update nodes; its states are values like parameters. */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H
#include "base/str.h"
#include "graph/graph.h"

typedef struct Optimizer {
    /* Appends nodes (phase UPDATE) that update `param` in place from `grad` times `factor` (scalar)
     * and clear `grad`. The rate is RunTime.lr. */
    void (*update)(const struct Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   double weight_decay);
    double lr, weight_decay;
    const char *const
        *excluded;             /* names of weight decay groups that get no decay; ends with NULL */
    const struct Model *model; /* whose groups these are */
    const char *state_path;    /* the checkpoint its states come from; NULL: it begins anew */
    /* For checkpoints that torch reads: the settings of a parameter with this rate, decay of the
     * first moment (NAN: its own) and weight decay, as members of a JSON object. */
    void (*torch_group)(const struct Optimizer *self, double lr, double beta1, double weight_decay,
                        Text *out);
} Optimizer;
#endif
