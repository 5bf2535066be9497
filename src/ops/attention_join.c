/* attention_join.c - attention to keys of two kinds by one softmax.
 *
 * With the logarithms of the sums of a row, the result is that of either kind by its share of both
 * sums. The gradient of attention depends on its result and on the logarithm alone: from those of
 * all keys it makes the gradient of its own keys, so that this op passes on the gradient of its
 * result as it is, to both (attention.c). */
#include "ops/attention_join.h"
#include "ops/attention.h"
#include "ops/attention_sink.h"
#include "ops/selected_attention.h"

static const OpDef op_attention_join;

static bool is_attention(const Value *o)
{
    return o->from && (o->from->op == &op_attention || o->from->op == &op_selected_attention);
}

Value *attention_join(Graph *g, Value *x, Value *y)
{
    CHECK(is_attention(x) && is_attention(y));
    Value *in[] = { x, x->from->out[1], y, y->from->out[1] };
    return graph_add(g, &op_attention_join, NULL, 4, in)->out[0];
}

const Node *attention_whole(const Graph *g, const Node *attention)
{
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        const bool joins = n->op == &op_attention_join &&
                           (n->in[0] == attention->out[0] || n->in[2] == attention->out[0]);
        if (joins) return attention_whole(g, n);
    }
    const Node *sink = attention_sink_of(g, attention);
    return sink ? sink : attention;
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    (void)g, (void)n;
    CHECK(dout[1] == NULL);
    din[0] = din[2] = dout[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = n->in[1]->dtype;
}

static int reference(const Launch *l)
{
    const int64_t d = l->in[0].size[4];
    const double *x = l->in[0].data, *of_x = l->in[1].data, *y = l->in[2].data,
                 *of_y = l->in[3].data;
    double *o = l->out[0].data, *lse = l->out[1].data;
    for (int64_t row = 0; row < tensor_count(&l->in[1]); row++) {
        const double top = fmax(of_x[row], of_y[row]);
        const bool any = top > -INFINITY;
        lse[row] = any ? top + log(exp(of_x[row] - top) + exp(of_y[row] - top)) : top;
        const double a = any ? exp(of_x[row] - lse[row]) : 0,
                     b = any ? exp(of_y[row] - lse[row]) : 0;
        for (int64_t i = row * d; i < (row + 1) * d; i++) o[i] = a * x[i] + b * y[i];
    }
    return KERNEL_OK;
}

static const OpDef op_attention_join = {
    .name = "attention_join",
    .doc = "attention to two kinds of keys by one softmax; also the log-sum-exp of each row",
    .dims = "bsgrd!,bsgr,bsgrd!,bsgr->bsgrd,bsgr",
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
};

const OpDef *const attention_join_ops[] = { &op_attention_join, NULL };
