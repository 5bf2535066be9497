/* attention_sink.c - a learned logit in the softmax of attention that has no value (OpenAI 2025,
 * gpt-oss).
 *
 * With the logarithm of the sum of a row, lse, and the sink's logit s, every probability of the row
 * shrinks by 1 / (1 + exp(s - lse)), and lse becomes log(exp(lse) + exp(s)). The gradient of
 * attention depends on its result and on lse alone: from those with the sink it makes the gradient
 * with the sink, so that this op passes on the gradient of its result as it is (attention.c). */
#include "ops/attention_sink.h"

static const OpDef op_attention_sink, op_attention_sink_grad;

Value *attention_sink(Graph *g, Value *o, Value *sink)
{
    CHECK(o->from && o->from->n_out == 2); /* with the log-sum-exp */
    Value *in[] = { o, o->from->out[1], sink };
    return graph_add(g, &op_attention_sink, NULL, 3, in)->out[0];
}

const Node *attention_sink_of(const Graph *g, const Node *attention)
{
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (g->node[i]->op == &op_attention_sink && g->node[i]->in[0] == attention->out[0])
            return g->node[i];
    return NULL;
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    CHECK(dout[1] == NULL);
    Value *in[] = { n->out[0], n->out[1], n->in[2], dout[0] };
    din[0] = dout[0];
    din[2] = graph_add(g, &op_attention_sink_grad, NULL, 4, in)->out[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = n->in[1]->dtype;
}

static void grad_dtype(const Node *n, Dtype *out)
{
    out[0] = n->in[2]->dtype;
}

static int reference(const Launch *l)
{
    const Tensor *o = &l->in[0];
    const int64_t d = o->size[4], n_heads = tensor_count(&l->in[2]), rows = tensor_count(&l->in[1]);
    const double *lse = l->in[1].data, *sink = l->in[2].data;
    for (int64_t row = 0; row < rows; row++) {
        const double s = sink[row % n_heads], larger = fmax(s, lse[row]),
                     sum = larger + log1p(exp(-fabs(s - lse[row])));
        const double factor = exp(lse[row] - sum);
        ((double *)l->out[1].data)[row] = sum;
        for (int64_t i = row * d; i < (row + 1) * d; i++)
            ((double *)l->out[0].data)[i] = factor * ((const double *)o->data)[i];
    }
    return KERNEL_OK;
}

/* A row gives each element as much less as the sink takes of it: -exp(s - lse) sum(do o). */
static int grad_reference(const Launch *l)
{
    const Tensor *o = &l->in[0];
    const int64_t d = o->size[4], n_heads = tensor_count(&l->in[2]), rows = tensor_count(&l->in[1]);
    const double *lse = l->in[1].data, *sink = l->in[2].data, *dy = l->in[3].data;
    double *dsink = l->out[0].data;
    for (int64_t h = 0; h < n_heads; h++) dsink[h] = 0;
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = row * d; i < (row + 1) * d; i++)
            sum += dy[i] * ((const double *)o->data)[i];
        dsink[row % n_heads] -= exp(sink[row % n_heads] - lse[row]) * sum;
    }
    return KERNEL_OK;
}

static const OpDef op_attention_sink = {
    .name = "attention_sink",
    .doc = "attention with a logit in the softmax that has no value; also the log-sum-exp with it",
    .dims = "bsgrd!,bsgr,(gr)->bsgrd,bsgr",
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
};
static const OpDef op_attention_sink_grad = {
    .name = "attention_sink_grad",
    .doc = "gradient of the logit",
    .dims = "bsgrd!,bsgr,(gr),bsgrd->(gr)",
    .dtypes = grad_dtype,
    .reference = grad_reference,
};

const OpDef *const attention_sink_ops[] = { &op_attention_sink, &op_attention_sink_grad, NULL };
