/* head_loss.c - the head's linear layer and the cross entropy in one, without storing logits.
 *
 * The logits of a large vocabulary are the largest tensor of a model by far and are needed for the
 * loss only. Here they live for one token (in a tuned kernel: one tile) at a time. head_loss_grad
 * computes them again; head_step, which the fuse pass puts in the place of both, gives loss and
 * gradients from one computation. */
#include "ops/head_loss.h"
#include "base/arena.h"
#include "ops/token_loss.h"
#include "tensor/target.h"
#include <math.h>
#include <string.h>

static const OpDef op_head_step;

Value *head_loss(Graph *g, Value *x, Value *weight, Value *targets)
{
    return graph_add(graph_from(g, HERE), &op_head_loss, NULL, 3, (Value *[]){ x, weight, targets })
        ->out[0];
}

Node *head_step(Graph *g, Value *x, Value *weight, Value *targets, Value *loss_grad)
{
    return graph_add(graph_from(g, HERE), &op_head_step, NULL, 4,
                     (Value *[]){ x, weight, targets, loss_grad });
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    CHECK(dout[1] == NULL);
    Value *in[] = { n->in[0], n->in[1], n->in[2], n->out[1], dout[0] };
    Node *made = graph_add(graph_from(g, HERE), &op_head_loss_grad, NULL, 5, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
    out[1] = F64; /* as in cross_entropy.c */
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = dtype_for_sums(n->in[0]->dtype);
}

static void step_dtypes(const Node *n, Dtype *out)
{
    out[0] = out[2] = dtype_for_sums(n->in[0]->dtype);
    out[1] = n->in[0]->dtype;
}

/* Logits, then the products for x and for the weight. */
static int64_t grad_flops(const Node *n)
{
    return 6 * dims_volume(n->dims, n->slot_size);
}

static void logits_of(const Launch *l, int64_t token, const Vocabulary *v, double *logit)
{
    const double *weight = l->in[1].data;
    const int64_t d = l->in[1].size[1];
    const double *x = (const double *)l->in[0].data + token * d;
    for (int64_t j = 0; j < v->n; j++) {
        logit[j] = 0;
        for (int64_t i = 0; i < d; i++) logit[j] += x[i] * weight[j * d + i];
    }
}

static int reference(const Launch *l)
{
    const Vocabulary v = vocabulary_of(&l->in[1], 0);
    return token_loss(l, &v, &l->in[2], logits_of, l->out[0].data, l->out[1].data);
}

/* What one token adds to the gradients. */
static void add_gradients(const double *x, const Tensor *weight, const double *logit, double lse,
                          int32_t target, double dloss, double *dx, double *dweight)
{
    const Vocabulary v = vocabulary_of(weight, 0);
    const int64_t d = weight->size[1], row_of_target = vocabulary_row(&v, target);
    for (int64_t j = 0; j < v.n; j++) {
        double dlogit = dloss * (exp(logit[j] - lse) - (j == row_of_target));
        const double *row = (const double *)weight->data + j * d;
        for (int64_t i = 0; i < d; i++) {
            dx[i] += dlogit * row[i];
            dweight[j * d + i] += dlogit * x[i];
        }
    }
}

static int grad_reference(const Launch *l)
{
    const Tensor *weight = &l->in[1];
    const double *x = l->in[0].data, *lse = l->in[3].data, *dloss = l->in[4].data;
    const int32_t *target = l->in[2].data;
    double *dx = l->out[0].data, *dweight = l->out[1].data;
    int64_t d = weight->size[1], n = tensor_count(&l->in[2]);
    memset(dx, 0, tensor_bytes(&l->out[0]));
    memset(dweight, 0, tensor_bytes(&l->out[1]));
    Arena *arena = arena_new();
    const Vocabulary v = vocabulary_of(weight, 0);
    double *logit = NEW_N(arena, double, v.n);
    for (int64_t t = 0; t < n; t++) {
        if (target[t] == IGNORED_TARGET) continue;
        logits_of(l, t, &v, logit);
        add_gradients(x + t * d, weight, logit, lse[t], target[t], dloss[t], dx + t * d, dweight);
    }
    arena_free(arena);
    return KERNEL_OK;
}

static double sent(const Launch *l)
{
    return vocabulary_sent(l, tensor_count(&l->in[2]));
}

static int step_reference(const Launch *l)
{
    Arena *arena = arena_new();
    Tensor lse = l->in[2];
    lse.dtype = F64;
    lse.data = NEW_N(arena, double, tensor_count(&lse));
    Tensor loss_out[] = { l->out[0], lse };
    Tensor grad_in[] = { l->in[0], l->in[1], l->in[2], lse, l->in[3] };
    Launch loss = *l, grad = *l;
    loss.n_in = 3, loss.out = loss_out, loss.n_out = 2;
    grad.in = grad_in, grad.n_in = 5, grad.out = l->out + 1, grad.n_out = 2;
    int status = reference(&loss);
    if (status == KERNEL_OK) status = grad_reference(&grad);
    arena_free(arena);
    return status;
}

const OpDef op_head_loss = {
    .name = "head_loss",
    .doc = "loss per token from x and the head's weight, and the log-sum-exp of the logits",
    .dims = "*d!,vd,*->*,*",
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
    .sent = sent,
    .completes = 1 << 0 | 1 << 1,
    .flags = OP_MATMUL,
};
const OpDef op_head_loss_grad = {
    .name = "head_loss_grad",
    .doc = "gradients of x and the weight from lse and the gradient of the loss",
    .dims = "*d!,vd,*,*,*->*d,vd",
    .dtypes = grad_dtypes,
    .flops = grad_flops,
    .reference = grad_reference,
    .flags = OP_MATMUL | OP_ADDS,
};
static const OpDef op_head_step = {
    .name = "head_step",
    .doc = "loss per token, and gradients of x and the weight from the gradient of the loss",
    .dims = "*d!,vd,*,*->*,*d,vd",
    .dtypes = step_dtypes,
    .flops = grad_flops,
    .reference = step_reference,
    .sent = sent,
    .completes = 1 << 0,
    .flags = OP_MATMUL | OP_ADDS,
};

const OpDef *const head_loss_ops[] = { &op_head_loss, &op_head_loss_grad, &op_head_step, NULL };
