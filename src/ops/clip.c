/* clip.c - max(-bound, min(bound, x)), as OLMo keeps queries, keys and values small. */
#include "ops/clip.h"

static const OpDef op_clip_grad;

static const Field attrs[] = {
    FIELD_FLOAT(Clip, bound, NULL, 0, INFINITY, "most that a result is away from 0",
                .flags = FIELD_OPEN_MIN),
    { 0 },
};

Value *clip(Graph *g, Value *x, double bound)
{
    return graph_add(g, &op_clip, &(Clip){ bound }, 1, &x)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { dout[0], n->in[0] };
    din[0] = graph_add(g, &op_clip_grad, n->attrs, 2, in)->out[0];
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data, most = ((const Clip *)l->attrs)->bound;
    double *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) /* NaN stays */
        y[i] = x[i] > most ? most : x[i] < -most ? -most : x[i];
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const double *dy = l->in[0].data, *x = l->in[1].data, most = ((const Clip *)l->attrs)->bound;
    double *dx = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++)
        dx[i] = x[i] <= most && x[i] >= -most ? dy[i] : 0;
    return KERNEL_OK;
}

const OpDef op_clip = {
    .name = "clip",
    .doc = "max(-bound, min(bound, x))",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Clip),
    .grad = grad,
    .reference = reference,
};
static const OpDef op_clip_grad = {
    .name = "clip_grad",
    .doc = "gradient of clip from its input: 0 where that is out of bounds",
    .dims = "*,*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Clip),
    .reference = grad_reference,
    .flags = OP_LINEAR, /* in the gradient, which is first: of parameters it may be a partial sum */
};

const OpDef *const clip_ops[] = { &op_clip, &op_clip_grad, NULL };
