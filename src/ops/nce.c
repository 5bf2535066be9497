/* nce.c - contrastive loss over a batch (van den Oord et al. 2018). Its gradient with respect to
 * the similarities is softmax over a row, less 1 at the own one, over the number of rows. */
#include "ops/nce.h"
#include "base/arena.h"
#include "ops/softmax.h"
#include <string.h>

static const OpDef op_nce, op_nce_grad;

static const Field attrs[] = {
    FIELD_FLOAT(Nce, temperature, NULL, 0, 0, "divides the similarities"),
    FIELD_BOOL(Nce, symmetric, NULL, "both ways, added up"),
    { 0 },
};

Value *nce(Graph *g, Value *x, Value *y, const Nce *a)
{
    return graph_add(g, &op_nce, a, 2, (Value *[]){ x, y })->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    Node *made = graph_add(g, &op_nce_grad, n->attrs, 3, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

/* [n][n]; `turned`: its transpose. */
static double *similarities(const Launch *l, Arena *arena, bool turned)
{
    const int64_t n = l->in[0].size[0], d = l->in[0].size[1];
    const double *x = l->in[turned].data, *y = l->in[!turned].data;
    double *s = NEW_N(arena, double, n *n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < d; k++)
                s[i * n + j] += x[i * d + k] * y[j * d + k] / ((const Nce *)l->attrs)->temperature;
    return s;
}

static int reference(const Launch *l)
{
    Arena *arena = arena_new();
    const int64_t n = l->in[0].size[0];
    const int n_ways = ((const Nce *)l->attrs)->symmetric ? 2 : 1;
    double loss = 0;
    for (int way = 0; way < n_ways; way++) {
        const double *s = similarities(l, arena, way == 1);
        for (int64_t i = 0; i < n; i++)
            loss += (log_sum_exp(s + i * n, n) - s[i * n + i]) / (double)n;
    }
    *(double *)l->out[0].data = loss;
    arena_free(arena);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    Arena *arena = arena_new();
    const Nce *a = l->attrs;
    const int64_t n = l->in[0].size[0], d = l->in[0].size[1];
    const double each = *(const double *)l->in[2].data / (double)n / a->temperature;
    for (int k = 0; k < 2; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int way = 0; way < (a->symmetric ? 2 : 1); way++) {
        const double *s = similarities(l, arena, way == 1);
        const double *x = l->in[way].data, *y = l->in[!way].data;
        double *dx = l->out[way].data, *dy = l->out[!way].data;
        for (int64_t i = 0; i < n * n; i++) {
            const int64_t row = i / n, column = i % n;
            const double lse = log_sum_exp(s + row * n, n);
            const double ds = each * (exp(s[i] - lse) - (row == column));
            for (int64_t k = 0; k < d; k++) {
                dx[row * d + k] += ds * y[column * d + k];
                dy[column * d + k] += ds * x[row * d + k];
            }
        }
    }
    arena_free(arena);
    return KERNEL_OK;
}

static const OpDef op_nce = {
    .name = "nce",
    .doc = "mean over the rows of x of -log softmax(x y^T / temperature) at the own row of y",
    .dims = "b!d!,b!d!->",
    .attrs = attrs,
    .attrs_size = sizeof(Nce),
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
};
static const OpDef op_nce_grad = {
    .name = "nce_grad",
    .doc = "gradients of x and y",
    .dims = "b!d!,b!d!,->bd,bd",
    .attrs = attrs,
    .attrs_size = sizeof(Nce),
    .reference = grad_reference,
};

const OpDef *const nce_ops[] = { &op_nce, &op_nce_grad, NULL };
