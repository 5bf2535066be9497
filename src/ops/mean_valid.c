/* mean_valid.c - mean and sum of a loss over the tokens that count: those with a target.
 *
 * The mean is a node for the number of tokens and one that divides by it. So, when tokens are
 * split, both give partial sums, and whoever splits decides over which ranks tokens are counted.
 * The mean over no token is 0 and its gradient zero: such a batch adds nothing to a step. */
#include "ops/mean_valid.h"
#include "tensor/target.h"

static const OpDef op_count_valid, op_mean_valid, op_mean_valid_grad, op_sum_valid,
    op_sum_valid_grad;

Value *count_valid(Graph *g, Value *targets)
{
    return graph_add(g, &op_count_valid, NULL, 1, &targets)->out[0];
}

Value *mean_valid(Graph *g, Value *token_loss, Value *targets)
{
    Value *in[] = { token_loss, targets, count_valid(g, targets) };
    return graph_add(g, &op_mean_valid, NULL, 3, in)->out[0];
}

Value *sum_valid(Graph *g, Value *token_loss, Value *targets)
{
    return graph_add(g, &op_sum_valid, NULL, 2, (Value *[]){ token_loss, targets })->out[0];
}

static void mean_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[1], n->in[2], dout[0] };
    din[0] = graph_add(g, &op_mean_valid_grad, NULL, 3, in)->out[0];
}

static void sum_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_sum_valid_grad, NULL, 2, (Value *[]){ n->in[1], dout[0] })->out[0];
}

static void count_dtype(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = F64;
}

/* By the gradient of the loss: the count is in double precision. */
static void mean_grad_dtype(const Node *n, Dtype *out)
{
    out[0] = n->in[2]->dtype;
}

static double scalar(const Tensor *t)
{
    return *(const double *)t->data;
}

static int count_reference(const Launch *l)
{
    const int32_t *target = l->in[0].data;
    double count = 0;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++)
        count += target[i] != IGNORED_TARGET;
    *(double *)l->out[0].data = count;
    return KERNEL_OK;
}

static double sum_of_valid(const Launch *l)
{
    const double *loss = l->in[0].data;
    const int32_t *target = l->in[1].data;
    double sum = 0;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++)
        if (target[i] != IGNORED_TARGET) sum += loss[i];
    return sum;
}

static int mean_reference(const Launch *l)
{
    double count = scalar(&l->in[2]);
    *(double *)l->out[0].data = count ? sum_of_valid(l) / count : 0;
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
        dloss[i] = target[i] == IGNORED_TARGET ? 0 : each;
    return KERNEL_OK;
}

static int mean_grad_reference(const Launch *l)
{
    return spread(l, scalar(&l->in[2]) / scalar(&l->in[1]));
}

static int sum_grad_reference(const Launch *l)
{
    return spread(l, scalar(&l->in[1]));
}

static const OpDef op_count_valid = {
    .name = "count_valid",
    .doc = "the number of tokens that have a target",
    .dims = "*->",
    .dtypes = count_dtype,
    .reference = count_reference,
};
static const OpDef op_mean_valid = {
    .name = "mean_valid",
    .doc = "sum over the tokens that have a target, over their number; 0 without any",
    .dims = "*,*,->",
    .grad = mean_grad,
    .reference = mean_reference,
};
static const OpDef op_mean_valid_grad = {
    .name = "mean_valid_grad",
    .doc = "an equal share for each token that has a target",
    .dims = "*,,->*",
    .dtypes = mean_grad_dtype,
    .reference = mean_grad_reference,
};
static const OpDef op_sum_valid = {
    .name = "sum_valid",
    .doc = "sum over the tokens that have a target",
    .dims = "*,*->",
    .grad = sum_grad,
    .reference = sum_reference,
};
static const OpDef op_sum_valid_grad = {
    .name = "sum_valid_grad",
    .doc = "the gradient of the sum for each token that has a target",
    .dims = "*,->*",
    .reference = sum_grad_reference,
};

const OpDef *const mean_valid_ops[] = { &op_count_valid, &op_mean_valid,     &op_mean_valid_grad,
                                        &op_sum_valid,   &op_sum_valid_grad, NULL };
