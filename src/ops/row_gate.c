/* row_gate.c - rows times the sigmoids of their gates, or times softplus of them. */
#include "ops/row_gate.h"

static const OpDef op_row_gate, op_row_gate_grad;

static const Field attrs[] = {
    FIELD_BOOL(RowGate, softplus, "false", "of gates; else sigmoids"),
    { 0 },
};

static Value *gated(Graph *g, Value *x, Value *gate, bool softplus)
{
    const RowGate by = { softplus };
    return graph_add(g, &op_row_gate, &by, 2, (Value *[]){ x, gate })->out[0];
}

Value *sigmoid_gate(Graph *g, Value *x, Value *gate)
{
    return gated(g, x, gate, false);
}

Value *softplus_gate(Graph *g, Value *x, Value *gate)
{
    return gated(g, x, gate, true);
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    const Node *made = graph_add(g, &op_row_gate_grad, n->attrs, 3, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

/* What a gate multiplies by, and its slope there. */
static double factor(const Launch *l, double gate, double *slope)
{
    const double s = 1 / (1 + exp(-gate));
    const bool softplus = ((const RowGate *)l->attrs)->softplus;
    *slope = softplus ? s : s * (1 - s);
    return !softplus ? s : gate > 30 ? gate : log1p(exp(gate));
}

static int reference(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const double *in = x->data, *gate = l->in[1].data;
    double *y = l->out[0].data;
    const int64_t d = x->size[x->n_dims - 1];
    double slope;
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        y[i] = in[i] * factor(l, gate[i / d], &slope);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const double *in = x->data, *gate = l->in[1].data, *dy = l->in[2].data;
    double *dx = l->out[0].data, *dgate = l->out[1].data;
    const int64_t d = x->size[x->n_dims - 1], rows = tensor_count(&l->in[1]);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0, slope;
        const double s = factor(l, gate[r], &slope);
        for (int64_t i = r * d; i < (r + 1) * d; i++) {
            dx[i] = dy[i] * s;
            sum += dy[i] * in[i];
        }
        dgate[r] = sum * slope;
    }
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = n->in[1]->dtype;
}

static const OpDef op_row_gate = {
    .name = "row_gate",
    .doc = "rows times the sigmoids of their gates, or times softplus of them",
    .dims = "*d!,*->*d",
    .attrs = attrs,
    .attrs_size = sizeof(RowGate),
    .grad = grad,
    .reference = reference,
};
static const OpDef op_row_gate_grad = {
    .name = "row_gate_grad",
    .doc = "gradients of the rows and of the gates",
    .dims = "*d!,*,*d->*d,*",
    .attrs = attrs,
    .attrs_size = sizeof(RowGate),
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};

const OpDef *const row_gate_ops[] = { &op_row_gate, &op_row_gate_grad, NULL };
