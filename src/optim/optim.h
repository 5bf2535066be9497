/* optim.h - an optimizer appends update nodes; its states are values like parameters. */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H
#include "base/str.h"
#include "graph/graph.h"

/* Parameters of one optimizer that are updated alike (param_groups.h). */
typedef struct ParamGroup {
    const struct Optimizer *optimizer; /* never a combined one */
    const char *name;                  /* the optimizer's, for results */
    int number;                        /* of all groups of a run: RunTime.rate[number] is theirs */
    int own_number;                    /* of their optimizer's */
    double weight_decay;
} ParamGroup;

/* One of several optimizers, and what it takes of the parameters (parameter_pattern.h). */
typedef struct OptimizerPart {
    const char *name;
    struct Optimizer *optimizer;
    const char *const *parameters; /* patterns; ends with NULL */
} OptimizerPart;

typedef struct Optimizer {
    /* Appends nodes (phase UPDATE) that update `param` in place from `grad` times `factor` (scalar)
     * and clear `grad`. The rate is RunTime.rate[group->number].lr. NULL: a combined one. */
    void (*update)(const struct Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group);
    /* The same for all n parameters of the optimizer at once, in the place of `update`; NULL: one
     * by one. group[k] is that of param[k], whose gradient is param[k]->grad. */
    void (*update_all)(const struct Optimizer *self, Graph *g, int64_t n, Value *const *param,
                       Value *factor, const ParamGroup *group);
    const char *name; /* its variant, "adam_w" */
    double lr, weight_decay;
    const char *const
        *excluded;             /* names of weight decay groups that get no decay; ends with NULL */
    const OptimizerPart *part; /* of a combined one: each parameter belongs to the first that takes
                                  it */
    int n_parts;               /* 0: it updates all parameters itself */
    bool keeps_whole;          /* no parameter is kept in two halves (passes/halves.h) */
    const struct Model *model; /* whose groups these are */
    const char *state_path;    /* the checkpoint its states come from; NULL: it begins anew */
    /* An error where it cannot update a parameter; NULL: it can update all. */
    Error *(*accepts)(const struct Optimizer *self, const Value *param);
    /* For checkpoints that torch reads: the settings of a parameter with this rate, decay of the
     * first moment (NAN: its own) and weight decay, as members of a JSON object. */
    void (*torch_group)(const struct Optimizer *self, double lr, double beta1, double weight_decay,
                        Text *out);
} Optimizer;
#endif
