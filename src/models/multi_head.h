/* multi_head.h - the layers that the vision transformer and CoCa are made of. */
#ifndef MODELS_MULTI_HEAD_H
#define MODELS_MULTI_HEAD_H
#include "models/layers.h"
#include "ops/attention.h"

typedef struct MultiHead {
    int64_t n_head;
    bool bias, causal;
    double dropout; /* of probabilities and of the result */
    int64_t *salt;  /* of the next dropout */
} MultiHead;

/* Attention of x to itself, or to the rows of `context`; parameters <name>.{wq,wk,wv,c_proj}. */
Value *multi_head(Graph *g, const char *name, Value *x, Value *context, const MultiHead *m);
/* <name>.fc2(gelu(<name>.fc1 x)) with dropout after. */
Value *fc_mlp(Graph *g, const char *name, Value *x, int64_t hidden, bool bias, double dropout_p,
              int64_t *salt);
/* A token [1 1 width] that is learned, begun with N(0, std). */
Value *learned_token(Graph *g, const char *name, int64_t width, double std);
/* Layer norm with a weight. */
Norm layer_norm_of(int64_t width, double eps, bool bias);
/* What attention_config of the original says. */
typedef struct AttentionEngine {
    int attention_engine_type;
} AttentionEngine;
extern const Field attention_engine_fields[];
#endif
