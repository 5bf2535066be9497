/* sigmoid_gate.c - rows times the sigmoids of their gates. */
#include "ops/sigmoid_gate.h"

static const OpDef op_sigmoid_gate, op_sigmoid_gate_grad;

Value *sigmoid_gate(Graph *g, Value *x, Value *gate)
{
    return graph_add(g, &op_sigmoid_gate, NULL, 2, (Value *[]){ x, gate })->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    const Node *made = graph_add(g, &op_sigmoid_gate_grad, NULL, 3, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static int reference(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const double *in = x->data, *gate = l->in[1].data;
    double *y = l->out[0].data;
    const int64_t d = x->size[x->n_dims - 1];
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) y[i] = in[i] * sigmoid(gate[i / d]);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const double *in = x->data, *gate = l->in[1].data, *dy = l->in[2].data;
    double *dx = l->out[0].data, *dgate = l->out[1].data;
    const int64_t d = x->size[x->n_dims - 1], rows = tensor_count(&l->in[1]);
    for (int64_t r = 0; r < rows; r++) {
        const double s = sigmoid(gate[r]);
        double sum = 0;
        for (int64_t i = r * d; i < (r + 1) * d; i++) {
            dx[i] = dy[i] * s;
            sum += dy[i] * in[i];
        }
        dgate[r] = sum * s * (1 - s);
    }
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = n->in[1]->dtype;
}

static const OpDef op_sigmoid_gate = {
    .name = "sigmoid_gate",
    .doc = "rows times the sigmoids of their gates",
    .dims = "*d!,*->*d",
    .grad = grad,
    .reference = reference,
};
static const OpDef op_sigmoid_gate_grad = {
    .name = "sigmoid_gate_grad",
    .doc = "gradients of the rows and of the gates",
    .dims = "*d!,*,*d->*d,*",
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};

const OpDef *const sigmoid_gate_ops[] = { &op_sigmoid_gate, &op_sigmoid_gate_grad, NULL };
