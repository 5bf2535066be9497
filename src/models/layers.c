/* layers.c - tables, linear layers, norms, feed-forward layers, dropout: what has parameters says
 * their role, and how they begin. */
#include "models/layers.h"
#include "ops/clamped_swiglu.h"
#include "ops/contract.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/gaussian_top_k.h"
#include "ops/gelu_tanh.h"
#include "ops/norm.h"
#include "ops/offset.h"
#include "ops/relu.h"
#include "ops/xielu.h"
#include <math.h>

Value *layer_param(Graph *g, const char *name, const char *what, int n_dims, const Dim *dims,
                   Role role, Init init)
{
    Value *v = graph_param(g, arena_printf(g->arena, "%s.%s", name, what), n_dims, dims);
    v->role = role;
    v->init = init;
    return v;
}

Value *embedding_table(Graph *g, const char *name, int64_t rows, int64_t width, const char *axis,
                       Role role)
{
    const Dim d[] = { { .size = rows, .axis = axis }, { .size = width, .axis = "embed" } };
    return layer_param(g, name, "weight", 2, d, role, (Init){ .kind = INIT_NORMAL, .std = 1 });
}

Init init_of_linear(int64_t inputs)
{
    double bound = 1 / sqrt((double)inputs);
    return (Init){ .kind = INIT_UNIFORM, .low = -bound, .high = bound };
}

Value *linear_weight(Graph *g, const char *name, int64_t inputs, const Linear *l)
{
    const Dim d[] = { { .size = l->width, .axis = l->axis },
                      { .size = inputs, .axis = l->in_axis } };
    return layer_param(g, name, "weight", 2, d, l->role, init_of_linear(inputs));
}

Value *linear(Graph *g, const char *name, Value *x, const Linear *l)
{
    const int64_t inputs = value_width(x);
    Value *y = contract(g, "*k,nk->*n", x, linear_weight(g, name, inputs, l));
    if (!l->bias) return y;
    const Dim d = { .size = l->width, .axis = l->axis };
    Value *bias = layer_param(g, name, "bias", 1, &d, l->role, init_of_linear(inputs));
    bias->is_bias = true;
    return add_bias(g, y, bias);
}

NormParams norm_params(Graph *g, const char *name, const Norm *s)
{
    const Dim d = { .size = s->width };
    const Init ones = { .kind = INIT_ONES }, zeros = { .kind = INIT_ZEROS };
    const Init first = s->from_one ? zeros : ones;
    NormParams p = { 0 };
    if (s->has_weight) p.weight = layer_param(g, name, "weight", 1, &d, ROLE_NORM, first);
    if (s->has_bias) p.bias = layer_param(g, name, "bias", 1, &d, ROLE_NORM, zeros);
    if (p.bias) p.bias->is_bias = true;
    return p;
}

Value *norm_by(Graph *g, NormParams p, Value *x, const Norm *s)
{
    if (p.weight && s->from_one) p.weight = offset(g, p.weight, 1);
    return s->type == NORM_LAYER ? layer_norm(g, x, p.weight, p.bias, s->eps)
                                 : rms_norm(g, x, p.weight, p.bias, s->eps);
}

Value *norm(Graph *g, const char *name, Value *x, const Norm *s)
{
    if (s->width != value_width(x))
        graph_fail(g, error_new("%s has width %lld, but its input %lld", graph_name(g, name),
                                (long long)s->width, (long long)value_width(x)));
    return norm_by(g, norm_params(g, name, s), x, s);
}

Value *maybe_dropout(Graph *g, Value *x, double p, int64_t salt)
{
    return p > 0 ? dropout(g, x, p, salt) : x;
}

int64_t swiglu_hidden(int64_t ffn_hidden, int64_t multiple_of)
{
    int64_t two_thirds = 2 * ffn_hidden / 3;
    return (two_thirds + multiple_of - 1) / multiple_of * multiple_of;
}

static Linear into_hidden(int64_t hidden, bool bias, Role role)
{
    return (
        Linear){ .width = hidden, .axis = "ff", .in_axis = "embed", .bias = bias, .role = role };
}

const char *const activation_choices[] = { "gelu",  "gelu_tanh",      "silu",
                                           "relu",  "relu_squared",   "quick_gelu",
                                           "xielu", "clamped_swiglu", NULL };

static Value *quick_gelu(Graph *g, Value *x)
{
    const double slope = 1.702;
    return scale(g, silu(g, scale(g, x, slope)), 1 / slope);
}

Value *activate(Graph *g, Value *x, Activation activation)
{
    switch (activation) {
    case ACTIVATE_GELU_TANH:
        return gelu_tanh(g, x);
    case ACTIVATE_SILU:
        return silu(g, x);
    case ACTIVATE_RELU:
        return relu(g, x);
    case ACTIVATE_RELU_SQUARED:
        return relu_squared(g, x);
    case ACTIVATE_QUICK_GELU:
        return quick_gelu(g, x);
    default:
        return gelu(g, x);
    }
}

Value *gate(Graph *g, Value *gate, Value *up, Activation activation, double bound)
{
    if (activation == ACTIVATE_SILU && bound > 0) return bounded_swiglu(g, gate, up, bound);
    if (activation == ACTIVATE_SILU) return swiglu(g, gate, up);
    if (activation == ACTIVATE_CLAMPED_SWIGLU) return clamped_swiglu(g, gate, up, GATE_LIMIT);
    return mul(g, activate(g, gate, activation), up);
}

Value *multiplied(Graph *g, Value *x, double factor)
{
    return factor != 1 ? scale(g, x, factor) : x;
}

static Value *largest(Graph *g, Value *x, double sparsity)
{
    return sparsity > 0 ? gaussian_top_k(g, x, sparsity) : x;
}

Value *gated_hidden(Graph *g, Value *x, Activation activation, int64_t hidden, bool bias,
                    double factor, double sparsity, double bound)
{
    const Linear into = into_hidden(hidden, bias, ROLE_LINEAR),
                 up = into_hidden(hidden, bias, ROLE_UP);
    Value *a = multiplied(g, linear(g, "W", x, &into), factor), *b = linear(g, "V", x, &up);
    return gate(g, largest(g, a, sparsity), b, activation, bound);
}

Value *mlp_out(Graph *g, const char *name, Value *hidden, int64_t width, bool bias)
{
    const Linear down = {
        .width = width, .axis = "embed", .in_axis = "ff", .bias = bias, .role = ROLE_RESIDUAL
    };
    return linear(g, name, hidden, &down);
}

Value *gated_mlp(Graph *g, Value *x, Activation activation, int64_t hidden, bool bias,
                 double factor, double bound)
{
    return mlp_out(g, "W_2", gated_hidden(g, x, activation, hidden, bias, factor, 0, bound),
                   value_width(x), bias);
}

/* softplus of it is `value`. */
static Value *learned_factor(Graph *g, const char *what, double value)
{
    const Dim one = { .size = 1 };
    const double x = log(expm1(value));
    return layer_param(g, "act", what, 1, &one, ROLE_TOKEN,
                       (Init){ .kind = INIT_UNIFORM, .low = x, .high = x });
}

static Value *activate_xielu(Graph *g, Value *x)
{
    return xielu(g, x, learned_factor(g, "alpha_p", 0.8),
                 learned_factor(g, "alpha_n", 0.8 - XIELU_BETA));
}

Value *plain_hidden(Graph *g, Value *x, Activation activation, int64_t hidden, bool bias,
                    double sparsity)
{
    const Linear in = into_hidden(hidden, bias, ROLE_LINEAR);
    Value *y = largest(g, linear(g, "c_fc", x, &in), sparsity);
    return activation == ACTIVATE_XIELU ? activate_xielu(g, y) : activate(g, y, activation);
}

Value *plain_mlp(Graph *g, Value *x, Activation activation, int64_t hidden, bool bias)
{
    return mlp_out(g, "c_proj", plain_hidden(g, x, activation, hidden, bias, 0), value_width(x),
                   bias);
}
