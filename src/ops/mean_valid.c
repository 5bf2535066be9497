/* mean_valid.c - mean and sum of a loss over the tokens that count: those with a target.
 *
 * The mean over no token is NaN, which the guard of the update sees, but its gradient is zero. On a
 * rank with a part of the tokens the mean is that of its own tokens. */
#include "ops/all_ops.h"
#include "ops/ops.h"

Value *mean_valid(Graph *g, Value *token_loss, Value *targets)
{
    return graph_add(g, &op_mean_valid, NULL, 2, (Value *[]){ token_loss, targets })->out[0];
}

Value *sum_valid(Graph *g, Value *token_loss, Value *targets)
{
    return graph_add(g, &op_sum_valid, NULL, 2, (Value *[]){ token_loss, targets })->out[0];
}

static void mean_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_mean_valid_grad, NULL, 2, (Value *[]){ n->in[1], dout[0] })->out[0];
}

static void sum_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_sum_valid_grad, NULL, 2, (Value *[]){ n->in[1], dout[0] })->out[0];
}

static int64_t count_valid(const Tensor *targets)
{
    int64_t count = 0;
    for (int64_t i = 0, n = tensor_count(targets); i < n; i++)
        count += ((const int32_t *)targets->data)[i] != IGNORED;
    return count;
}

static double sum_of_valid(const Launch *l)
{
    const double *loss = l->in[0].data;
    const int32_t *target = l->in[1].data;
    double sum = 0;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++)
        if (target[i] != IGNORED) sum += loss[i];
    return sum;
}

static int mean_reference(const Launch *l)
{
    *(double *)l->out[0].data = sum_of_valid(l) / (double)count_valid(&l->in[1]);
    return KERNEL_OK;
}

static int sum_reference(const Launch *l)
{
    *(double *)l->out[0].data = sum_of_valid(l);
    return KERNEL_OK;
}

static int spread(const Launch *l, double each)
{
    const int32_t *target = l->in[0].data;
    double *dloss = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++)
        dloss[i] = target[i] == IGNORED ? 0 : each;
    return KERNEL_OK;
}

static int mean_grad_reference(const Launch *l)
{
    return spread(l, *(const double *)l->in[1].data / (double)count_valid(&l->in[0]));
}

static int sum_grad_reference(const Launch *l)
{
    return spread(l, *(const double *)l->in[1].data);
}

const OpDef op_mean_valid = {
    .name = "mean_valid",
    .doc = "mean over the tokens that have a target",
    .dims = "*,*->",
    .grad = mean_grad,
    .reference = mean_reference,
};
const OpDef op_mean_valid_grad = {
    .name = "mean_valid_grad",
    .doc = "an equal share for each token that has a target",
    .dims = "*,->*",
    .reference = mean_grad_reference,
};
const OpDef op_sum_valid = {
    .name = "sum_valid",
    .doc = "sum over the tokens that have a target",
    .dims = "*,*->",
    .grad = sum_grad,
    .reference = sum_reference,
};
const OpDef op_sum_valid_grad = {
    .name = "sum_valid_grad",
    .doc = "the gradient of the sum for each token that has a target",
    .dims = "*,->*",
    .reference = sum_grad_reference,
};
