/* layers.h - the pieces that transformer models are made of, with the parameter names of the
 * original. */
#ifndef MODELS_LAYERS_H
#define MODELS_LAYERS_H
#include "graph/graph.h"

typedef enum NormType { NORM_RMS, NORM_LAYER, NORM_PYTORCH_RMS } NormType;

typedef struct Norm {
    NormType type;
    int64_t width;
    double eps;
    bool has_weight, has_bias;
} Norm;

/* "<name>.weight" and "<name>.bias" as the norm has them. */
Value *norm(Graph *g, const char *name, Value *x, const Norm *settings);
/* w2(silu(w x) * (v x)) with parameters W, V, W_2; `hidden` is the width between. */
Value *swiglu_mlp(Graph *g, Value *x, int64_t hidden, bool bias);
/* c_proj(gelu(c_fc x)) with dropout behind. */
Value *gelu_mlp(Graph *g, Value *x, int64_t hidden, bool bias, double dropout_p, int64_t salt);
/* The hidden width of SwiGLU: two thirds of `ffn_hidden`, rounded up to a multiple. */
int64_t swiglu_hidden(int64_t ffn_hidden, int64_t multiple_of);
/* Dropout that vanishes when p is 0. */
Value *maybe_dropout(Graph *g, Value *x, double p, int64_t salt);
#endif
