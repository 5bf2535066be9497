/* scale_heads.c - heads, each times a number of its own. */
#include "ops/scale_heads.h"
#include <string.h>

static const OpDef op_scale_heads, op_scale_heads_grad;

Value *scale_heads(Graph *g, Value *x, Value *factor)
{
    return graph_add(g, &op_scale_heads, NULL, 2, (Value *[]){ x, factor })->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    const Node *made = graph_add(g, &op_scale_heads_grad, NULL, 3, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data, *factor = l->in[1].data;
    double *y = l->out[0].data;
    const int64_t heads = l->in[0].size[2], width = l->in[0].size[3];
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) y[i] = x[i] * factor[i / width % heads];
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const double *x = l->in[0].data, *factor = l->in[1].data, *dy = l->in[2].data;
    double *dx = l->out[0].data, *dfactor = l->out[1].data;
    const int64_t heads = l->in[0].size[2], width = l->in[0].size[3];
    memset(dfactor, 0, tensor_bytes(&l->out[1]));
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        const int64_t h = i / width % heads;
        dx[i] = dy[i] * factor[h];
        dfactor[h] += dy[i] * x[i];
    }
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = n->in[1]->dtype;
}

static const OpDef op_scale_heads = {
    .name = "scale_heads",
    .doc = "heads, each times a number of its own",
    .dims = "bshe,h->bshe",
    .grad = grad,
    .reference = reference,
};
static const OpDef op_scale_heads_grad = {
    .name = "scale_heads_grad",
    .doc = "gradients of the heads and of their numbers",
    .dims = "bshe,h,bshe->bshe,h",
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};

const OpDef *const scale_heads_ops[] = { &op_scale_heads, &op_scale_heads_grad, NULL };
