/* moe_mixer.c - experts that a token chooses one after the other, each weighed against those that
 * were nearly chosen in its place (Liu et al. 2023, SparseMixer).
 *
 * A choice is the largest logit of those left. It counts by a softmax over the logits that are left
 * and near it: those whose distance, divided by the larger of it and their own size, is at most
 * twice `near`. The gradient is that of these weights; nothing is drawn. */
#include "ops/moe_mixer.h"
#include <math.h>
#include <string.h>

static const OpDef op_moe_mixer, op_moe_mixer_grad;

static const Field attrs[] = {
    FIELD_INT(MoeMixer, top_k, NULL, 0, 0, "experts per token"),
    FIELD_FLOAT(MoeMixer, near, NULL, 0, 0, "half of the distance up to which others count"),
    { 0 },
};

Value *moe_mixer(Graph *g, Value *logits, const MoeMixer *a, Value **expert)
{
    const char *k = arena_printf(g->arena, "k=%lld", (long long)a->top_k);
    Node *n = graph_add_dims(g, &op_moe_mixer, "*e!->*k!,*k!", k, a, 1, &logits);
    *expert = n->out[1];
    return n->out[0];
}

static void mixer_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->out[1], dout[0] };
    din[0] = graph_add(g, &op_moe_mixer_grad, n->attrs, 3, in)->out[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
    out[1] = I32;
}

static bool is_taken(const int32_t *expert, int64_t n_taken, int64_t i)
{
    for (int64_t j = 0; j < n_taken; j++)
        if (expert[j] == i) return true;
    return false;
}

/* The largest of those left, of equal ones the first. */
static int32_t largest(const double *x, int64_t e, const int32_t *expert, int64_t n_taken)
{
    int64_t best = -1;
    for (int64_t i = 0; i < e; i++)
        if (!is_taken(expert, n_taken, i) && (best < 0 || x[i] > x[best])) best = i;
    return (int32_t)best;
}

/* Probabilities of all as choice number j, 0 of those that do not count. */
static void probabilities(const MoeMixer *a, const double *x, int64_t e, const int32_t *expert,
                          int64_t j, double *p)
{
    const double top = x[expert[j]];
    double sum = 0;
    for (int64_t i = 0; i < e; i++) {
        const bool counts = !is_taken(expert, j, i) && mixer_counts(top, x[i], a->near);
        p[i] = counts ? exp(x[i] - top) : 0;
        sum += p[i];
    }
    for (int64_t i = 0; i < e; i++) p[i] /= sum;
}

static int mixer_reference(const Launch *l)
{
    const MoeMixer *a = l->attrs;
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data;
    double *weight = l->out[0].data;
    int32_t *expert = l->out[1].data;
    Arena *arena = arena_new();
    double *p = NEW_N(arena, double, e);
    for (int64_t i = 0; i < n; i++, x += e, weight += a->top_k, expert += a->top_k)
        for (int64_t j = 0; j < a->top_k; j++) {
            expert[j] = largest(x, e, expert, j);
            probabilities(a, x, e, expert, j, p);
            weight[j] = p[expert[j]];
        }
    arena_free(arena);
    return KERNEL_OK;
}

static int mixer_grad_reference(const Launch *l)
{
    const MoeMixer *a = l->attrs;
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data, *dweight = l->in[2].data;
    const int32_t *expert = l->in[1].data;
    double *dx = l->out[0].data;
    Arena *arena = arena_new();
    double *p = NEW_N(arena, double, e);
    memset(dx, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n; i++, x += e, dx += e, dweight += a->top_k, expert += a->top_k)
        for (int64_t j = 0; j < a->top_k; j++) {
            probabilities(a, x, e, expert, j, p);
            const double flow = dweight[j] * p[expert[j]];
            for (int64_t m = 0; m < e; m++) dx[m] += flow * ((m == expert[j]) - p[m]);
        }
    arena_free(arena);
    return KERNEL_OK;
}

static const OpDef op_moe_mixer = {
    .name = "moe_mixer",
    .doc = "experts chosen one after the other, and their weights among those near each",
    .attrs = attrs,
    .attrs_size = sizeof(MoeMixer),
    .dtypes = dtypes,
    .grad = mixer_grad,
    .reference = mixer_reference,
};
static const OpDef op_moe_mixer_grad = {
    .name = "moe_mixer_grad",
    .doc = "gradient of the logits from logits, experts and the gradient of the weights",
    .dims = "*e!,*k!,*k!->*e",
    .attrs = attrs,
    .attrs_size = sizeof(MoeMixer),
    .reference = mixer_grad_reference,
};

const OpDef *const moe_mixer_ops[] = { &op_moe_mixer, &op_moe_mixer_grad, NULL };
