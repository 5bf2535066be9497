/* layers.c - norms, feed-forward layers, dropout. */
#include "models/layers.h"
#include "ops/contract.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/norm.h"

Value *norm(Graph *g, const char *name, Value *x, const Norm *s)
{
    Dim d = { .size = s->width, .axis = NULL };
    if (s->width != value_width(x))
        graph_fail(g, error_new("%s has width %lld, but its input %lld", graph_name(g, name),
                                (long long)s->width, (long long)value_width(x)));
    Value *weight =
        s->has_weight ? graph_param(g, arena_printf(g->arena, "%s.weight", name), 1, &d) : NULL;
    Value *bias =
        s->has_bias ? graph_param(g, arena_printf(g->arena, "%s.bias", name), 1, &d) : NULL;
    return s->type == NORM_LAYER ? layer_norm(g, x, weight, bias, s->eps)
                                 : rms_norm(g, x, weight, bias, s->eps);
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

Value *swiglu_mlp(Graph *g, Value *x, int64_t hidden, bool bias)
{
    int64_t width = value_width(x);
    Value *gate = linear(g, "W", x, hidden, "ff", "embed", bias);
    Value *up = linear(g, "V", x, hidden, "ff", "embed", bias);
    return linear(g, "W_2", swiglu(g, gate, up), width, "embed", "ff", bias);
}

Value *gelu_mlp(Graph *g, Value *x, int64_t hidden, bool bias, double dropout_p, int64_t salt)
{
    int64_t width = value_width(x);
    Value *h = gelu(g, linear(g, "c_fc", x, hidden, "ff", "embed", bias));
    return maybe_dropout(g, linear(g, "c_proj", h, width, "embed", "ff", bias), dropout_p, salt);
}
