/* cross_entropy.c - minus the logarithm of the probability that softmax(logits) gives the target.
 *
 * loss = lse - logit[target] with lse = log(sum(exp(logit))), so the gradient of a logit is
 * exp(logit - lse), less 1 at the target. Tokens with target IGNORED_TARGET have loss and gradient
 * 0.
 *
 * lse is always kept in double: in float its rounding error grows with the logits, and the exponent
 * would turn it into the relative error of every probability (1e-3 for logits around 10000). */
#include "ops/cross_entropy.h"
#include "ops/token_loss.h"
#include "tensor/target.h"
#include <math.h>
#include <string.h>

static const OpDef op_cross_entropy, op_cross_entropy_grad;

Value *cross_entropy(Graph *g, Value *logits, Value *targets)
{
    return graph_add(graph_from(g, HERE), &op_cross_entropy, NULL, 2,
                     (Value *[]){ logits, targets })
        ->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    CHECK(dout[1] == NULL);
    Value *in[] = { n->in[0], n->in[1], n->out[1], dout[0] };
    din[0] = graph_add(graph_from(g, HERE), &op_cross_entropy_grad, NULL, 4, in)->out[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
    out[1] = F64;
}

static void logits_of(const Launch *l, int64_t token, const Vocabulary *v, double *logit)
{
    const double *x = l->in[0].data;
    memcpy(logit, x + token * l->in[0].size[l->in[0].n_dims - 1], sizeof *x * (size_t)v->n);
}

static int reference(const Launch *l)
{
    const Vocabulary v = vocabulary_of(&l->in[0], l->in[0].n_dims - 1);
    return token_loss(l, &v, &l->in[1], logits_of, l->out[0].data, l->out[1].data);
}

static int grad_reference(const Launch *l)
{
    const Vocabulary v = vocabulary_of(&l->in[0], l->in[0].n_dims - 1);
    const double *x = l->in[0].data, *lse = l->in[2].data, *dloss = l->in[3].data;
    const int32_t *target = l->in[1].data;
    double *dx = l->out[0].data;
    const int64_t n = tensor_count(&l->in[1]), width = l->in[0].size[l->in[0].n_dims - 1];
    memset(dx, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n; i++, x += width, dx += width) {
        const int64_t row = vocabulary_row(&v, target[i]);
        for (int64_t j = 0; target[i] != IGNORED_TARGET && j < v.n; j++)
            dx[j] = dloss[i] * (exp(x[j] - lse[i]) - (j == row));
    }
    return KERNEL_OK;
}

static double sent(const Launch *l)
{
    return vocabulary_sent(l, tensor_count(&l->in[1]));
}

static const OpDef op_cross_entropy = {
    .name = "cross_entropy",
    .doc = "loss per token from logits, and the log-sum-exp of the logits",
    .dims = "*v,*->*,*",
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
    .sent = sent,
    .completes = 1 << 0 | 1 << 1,
};
static const OpDef op_cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .doc = "gradient of the logits from logits, targets, lse and the gradient of the loss",
    .dims = "*v,*,*,*->*v",
    .reference = grad_reference,
};

const OpDef *const cross_entropy_ops[] = { &op_cross_entropy, &op_cross_entropy_grad, NULL };
