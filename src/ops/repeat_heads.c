/* repeat_heads.c - heads several times over, and the sums of their gradients. */
#include "ops/repeat_heads.h"
#include <string.h>

static const OpDef op_repeat_heads, op_repeat_heads_grad;

Value *repeat_heads(Graph *g, Value *x, int64_t n)
{
    const char *h = arena_printf(g->arena, "h=%lld", (long long)n);
    Value *y = graph_add_dims(g, &op_repeat_heads, "bsg!d->bshd", h, NULL, 1, &x)->out[0];
    y->dim[2].axis = "heads";
    return y;
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const char *sizes = arena_printf(g->arena, "g=%lld", (long long)n->in[0]->dim[2].size);
    din[0] = graph_add_dims(g, &op_repeat_heads_grad, "bshd->bsg!d", sizes, NULL, 1, dout)->out[0];
}

int64_t repeated_head(const Tensor *few, const Tensor *many, int64_t j)
{
    return global_index(many, 2, j) * few->size[2] / global_size(many, 2);
}

static int reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int64_t d = x->size[3], g = x->size[2], h = y->size[2], rows = x->size[0] * x->size[1];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < h; j++)
            memcpy((double *)y->data + (i * h + j) * d,
                   (const double *)x->data + (i * g + repeated_head(x, y, j)) * d,
                   sizeof(double) * (size_t)d);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const Tensor *dy = &l->in[0], *dx = &l->out[0];
    const int64_t d = dx->size[3], g = dx->size[2], h = dy->size[2],
                  rows = dx->size[0] * dx->size[1];
    memset(dx->data, 0, tensor_bytes(dx));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < h; j++) {
            double *to = (double *)dx->data + (i * g + repeated_head(dx, dy, j)) * d;
            const double *from = (const double *)dy->data + (i * h + j) * d;
            for (int64_t k = 0; k < d; k++) to[k] += from[k];
        }
    return KERNEL_OK;
}

static const OpDef op_repeat_heads = {
    .name = "repeat_heads",
    .doc = "each head several times",
    .grad = grad,
    .reference = reference,
    .flags = OP_LINEAR,
};
static const OpDef op_repeat_heads_grad = {
    .name = "repeat_heads_grad",
    .doc = "the sum over the repetitions of each head",
    .reference = grad_reference,
    .flags = OP_LINEAR,
};

const OpDef *const repeat_heads_ops[] = { &op_repeat_heads, &op_repeat_heads_grad, NULL };
