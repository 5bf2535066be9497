/* contract_epilogue.c - products of linear layers that end with a bias, gelu_tanh or its gradient.
 *
 * What follows the sum needs all of it, so its letter must be whole. No op here has a gradient: the
 * pass that makes them comes after autodiff. */
#include "ops/contract_epilogue.h"
#include "ops/contract.h"
#include "ops/gelu_tanh.h"

static Node *make(Graph *g, const OpDef *op, const char *dims, Value *a, Value *b, Value *third)
{
    return graph_add_dims(g, op, dims, NULL, NULL, 3, (Value *[]){ a, b, third });
}

Node *contract_bias(Graph *g, Value *x, Value *weight, Value *bias)
{
    return make(g, &op_contract_bias, "*k!,nk!,n->*n", x, weight, bias);
}

Node *contract_gelu(Graph *g, Value *x, Value *weight, Value *bias, bool keeps)
{
    const char *dims = keeps ? "*k!,nk!,n->*n,*n" : "*k!,nk!,n->*n";
    return make(g, &op_contract_gelu, dims, x, weight, bias);
}

Node *contract_gelu_grad(Graph *g, Value *dy, Value *weight, Value *x)
{
    return make(g, &op_contract_gelu_grad, "*n!,n!k,*k->*k", dy, weight, x);
}

Node *contract_add(Graph *g, Value *x, Value *weight, Value *bias, Value *other)
{
    if (!bias) return make(g, &op_contract_add, "*k!,nk!,*n->*n", x, weight, other);
    return graph_add_dims(g, &op_contract_add, "*k!,nk!,n,*n->*n", NULL, NULL, 4,
                          (Value *[]){ x, weight, bias, other });
}

Node *contract_grad_add(Graph *g, Value *dy, Value *weight, Value *other)
{
    return make(g, &op_contract_add, "*n!,n!k,*k->*k", dy, weight, other);
}

/* Result 0 gets the product, and with a bias that, too. */
static void multiply(const Launch *l, bool has_bias)
{
    const int64_t width = has_bias ? l->in[2].size[0] : 1;
    const double *bias = l->in[2].data;
    double *y = l->out[0].data;
    op_contract.reference(l);
    for (int64_t i = 0, n = tensor_count(&l->out[0]); has_bias && i < n; i++)
        y[i] += bias[i % width];
}

static int bias_reference(const Launch *l)
{
    multiply(l, true);
    return KERNEL_OK;
}

static int gelu_reference(const Launch *l)
{
    double *y = l->out[0].data, *kept = l->n_out > 1 ? l->out[1].data : NULL, slope;
    multiply(l, true);
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) {
        if (kept) kept[i] = y[i];
        y[i] = gelu_tanh_of(y[i], &slope);
    }
    return KERNEL_OK;
}

static int gelu_grad_reference(const Launch *l)
{
    const double *x = l->in[2].data;
    double *dx = l->out[0].data, slope;
    multiply(l, false);
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) {
        gelu_tanh_of(x[i], &slope);
        dx[i] *= slope;
    }
    return KERNEL_OK;
}

static int add_reference(const Launch *l)
{
    const double *other = l->in[l->n_in - 1].data;
    double *y = l->out[0].data;
    multiply(l, l->n_in == 4);
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) y[i] += other[i];
    return KERNEL_OK;
}

const OpDef op_contract_bias = {
    .name = "contract_bias",
    .doc = "a product, and a bias",
    .reference = bias_reference,
    .flags = OP_MATMUL,
};
const OpDef op_contract_gelu = {
    .name = "contract_gelu",
    .doc = "gelu_tanh of a product and a bias; where a gradient needs it, what that is given",
    .reference = gelu_reference,
    .flags = OP_MATMUL,
};
const OpDef op_contract_gelu_grad = {
    .name = "contract_gelu_grad",
    .doc = "a product, times the slope of gelu_tanh",
    .reference = gelu_grad_reference,
    .flags = OP_MATMUL,
};
const OpDef op_contract_add = {
    .name = "contract_add",
    .doc = "a product, perhaps a bias, and what is added to them",
    .reference = add_reference,
    .flags = OP_MATMUL,
};

const OpDef *const contract_epilogue_ops[] = { &op_contract_bias, &op_contract_gelu,
                                               &op_contract_gelu_grad, &op_contract_add, NULL };
