/* multi_head.c - attention with a projection for each of queries, keys and values, and a plain
 * feed-forward layer, named as in the original's vision and CoCa models. */
#include "models/multi_head.h"
#include "ops/elementwise.h"
#include "ops/reshape.h"

Value *multi_head(Graph *g, const char *name, Value *x, Value *context, const MultiHead *m)
{
    const int64_t width = value_width(x);
    const Linear in = { width, "heads", "embed", m->bias, ROLE_LINEAR },
                 out = { width, "embed", "heads", m->bias, ROLE_RESIDUAL };
    const char *sizes = arena_printf(g->arena, "g=%lld r=1", (long long)m->n_head),
               *groups = arena_printf(g->arena, "g=%lld", (long long)m->n_head);
    const Attention attrs = { .causal = m->causal, .dropout = m->dropout, .salt = ++*m->salt };
    if (!context) context = x;
    graph_enter(g, name, -1);
    Value *q = reshape(g, "bs(grd)->bsgrd", sizes, linear(g, "wq", x, &in));
    Value *k = reshape(g, "bs(gd)->bsgd", groups, linear(g, "wk", context, &in));
    Value *v = reshape(g, "bs(gd)->bsgd", groups, linear(g, "wv", context, &in));
    Value *o = reshape(g, "bsgrd->bs(grd)", NULL, attention(g, q, k, v, NULL, &attrs));
    Value *y = maybe_dropout(g, linear(g, "c_proj", o, &out), m->dropout, ++*m->salt);
    graph_leave(g);
    return y;
}

Value *fc_mlp(Graph *g, const char *name, Value *x, int64_t hidden, bool bias, double dropout_p,
              int64_t *salt)
{
    const Linear in = { hidden, "ff", "embed", bias, ROLE_LINEAR },
                 out = { value_width(x), "embed", "ff", bias, ROLE_RESIDUAL };
    graph_enter(g, name, -1);
    Value *y = linear(g, "fc2", gelu(g, linear(g, "fc1", x, &in)), &out);
    graph_leave(g);
    return maybe_dropout(g, y, dropout_p, ++*salt);
}

Value *learned_token(Graph *g, const char *name, int64_t width, double std)
{
    const Dim d[] = { { .size = 1 }, { .size = 1 }, { .size = width, .axis = "embed" } };
    Value *v = graph_param(g, name, 3, d);
    v->role = ROLE_TOKEN;
    v->init = (Init){ .kind = std > 0 ? INIT_NORMAL : INIT_ZEROS, .std = std };
    return v;
}

Norm layer_norm_of(int64_t width, double eps, bool bias)
{
    return (Norm){
        .type = NORM_LAYER, .width = width, .eps = eps, .has_weight = true, .has_bias = bias
    };
}

static const char *const engines[] = { "default_attention", "pytorch_flash_attention", NULL };
const Field attention_engine_fields[] = {
    FIELD_CHOICE(AttentionEngine, attention_engine_type, NULL, engines, "who computes attention",
                 .no_effect = "both are one exact attention"),
    { 0 },
};
