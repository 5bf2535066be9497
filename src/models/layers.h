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
    bool from_one; /* the weight is stored as its distance to 1 */
} Norm;

typedef enum Activation {
    ACTIVATE_GELU,
    ACTIVATE_GELU_TANH,
    ACTIVATE_SILU,
    ACTIVATE_RELU,
    ACTIVATE_RELU_SQUARED,
    ACTIVATE_QUICK_GELU,     /* x sigmoid(1.702 x) (Hendrycks and Gimpel 2016) */
    ACTIVATE_XIELU,          /* of layers without a gate alone; with parameters act.alpha_{p,n} */
    ACTIVATE_CLAMPED_SWIGLU, /* of gated layers alone (ops/clamped_swiglu.h) */
    N_ACTIVATIONS
} Activation;
extern const char *const activation_choices[];

/* The parameter "<name>.<what>". */
Value *layer_param(Graph *g, const char *name, const char *what, int n_dims, const Dim *dims,
                   Role role, Init init);
/* How torch begins a linear layer: uniform within 1/sqrt(inputs). */
Init init_of_linear(int64_t inputs);
/* Rows that are looked up, begun with N(0, 1): parameter "<name>.weight" [rows width]. `axis` names
 * the dimension of the rows for splitting. */
Value *embedding_table(Graph *g, const char *name, int64_t rows, int64_t width, const char *axis,
                       Role role);

/* The dimension that a linear layer gives, and the names of that one and of its input's for
 * splitting: "heads", "ff", "vocab", "embed". */
typedef struct Linear {
    int64_t width;
    const char *axis, *in_axis;
    bool bias;
    Role role;
} Linear;

/* The weight "<name>.weight" [width inputs] of a linear layer, begun as torch does. */
Value *linear_weight(Graph *g, const char *name, int64_t inputs, const Linear *l);
/* y = x W^T (+ bias): the weight, and "<name>.bias" [width]. */
Value *linear(Graph *g, const char *name, Value *x, const Linear *l);
/* The parameters "<name>.weight" and "<name>.bias" of a norm, as it has them. */
typedef struct NormParams {
    Value *weight, *bias; /* NULL: none */
} NormParams;

/* Begun with 1 and 0 (from_one: 0 and 0). */
NormParams norm_params(Graph *g, const char *name, const Norm *settings);
/* x behind a norm with these parameters, or with its own. */
Value *norm_by(Graph *g, NormParams p, Value *x, const Norm *settings);
Value *norm(Graph *g, const char *name, Value *x, const Norm *settings);
/* Of all but XIELU, which has parameters, and CLAMPED_SWIGLU. */
Value *activate(Graph *g, Value *x, Activation activation);
/* activation(gate) * up; what CLAMPED_SWIGLU bounds them by is GATE_LIMIT. Of SILU alone: with a
 * bound above 0 `gate` counts as at most that, and `up` as within it. */
#define GATE_LIMIT 7.0
Value *gate(Graph *g, Value *gate, Value *up, Activation activation, double bound);
/* x times a number; x itself where it is 1. */
Value *multiplied(Graph *g, Value *x, double factor);
/* gate(factor w x, v x), with parameters W and V, each `hidden` wide. Of what the activation reads
 * the share `sparsity`, the smallest, counts as 0 (ops/gaussian_top_k.h); 0: all is read. `bound`
 * is that of gate. */
Value *gated_hidden(Graph *g, Value *x, Activation activation, int64_t hidden, bool bias,
                    double factor, double sparsity, double bound);
/* activation(c_fc x), likewise. */
Value *plain_hidden(Graph *g, Value *x, Activation activation, int64_t hidden, bool bias,
                    double sparsity);
/* The last product of a feed-forward layer, with parameter `name`. */
Value *mlp_out(Graph *g, const char *name, Value *hidden, int64_t width, bool bias);
/* W_2 times gated_hidden, and c_proj times plain_hidden, of all that there is: as wide as x. */
Value *gated_mlp(Graph *g, Value *x, Activation activation, int64_t hidden, bool bias,
                 double factor, double bound);
Value *plain_mlp(Graph *g, Value *x, Activation activation, int64_t hidden, bool bias);
/* The hidden width of SwiGLU: two thirds of `ffn_hidden`, rounded up to a multiple. */
int64_t swiglu_hidden(int64_t ffn_hidden, int64_t multiple_of);
/* Dropout that vanishes when p is 0. */
Value *maybe_dropout(Graph *g, Value *x, double p, int64_t salt);
#endif
