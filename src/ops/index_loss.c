/* index_loss.c - the Kullback-Leibler divergence of an indexer's scores from shares of attention.
 *
 * Letters are those of select_keys.c. With a softmax s of the scores I over a list, and its target
 * p, the loss of a query is sum(p (log p - I)) + log(sum(exp I)), and dI = s - p. */
#include "ops/index_loss.h"
#include "base/arena.h"
#include "ops/softmax.h"
#include <string.h>

static const OpDef op_index_loss, op_index_loss_grad;

static const Field attrs[] = {
    FIELD_FLOAT(IndexLoss, scale, NULL, 0, 0, "of the scores"),
    { 0 },
};

Value *index_loss(Graph *g, Value *q, Value *k, Value *w, Value *selected, Value *share,
                  double scale)
{
    Value *in[] = { q, k, w, selected, share };
    return graph_add(g, &op_index_loss, &(IndexLoss){ scale }, 5, in)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], n->in[2], n->in[3], n->in[4], dout[0] };
    Node *made = graph_add(g, &op_index_loss_grad, n->attrs, 6, in);
    for (int k = 0; k < 3; k++) din[k] = made->out[k];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

/* Of as many keys as a query's list can have. */
static int64_t products(const Node *n, int64_t n_products)
{
    const Value *q = n->in[0];
    const int64_t s = q->dim[1].size, t = n->in[1]->dim[1].size, most = n->in[3]->dim[2].size;
    int64_t pairs = 0;
    for (int64_t i = t - s + 1; i <= t; i++) pairs += i < 0 ? 0 : i < most ? i : most;
    return 2 * n_products * pairs * q->dim[0].size * q->dim[2].size * q->dim[3].size;
}

static int64_t forward_flops(const Node *n)
{
    return products(n, 1);
}

static int64_t backward_flops(const Node *n)
{
    return products(n, 3);
}

/* One launch, and the query at hand. */
typedef struct Lists {
    const Tensor *q, *k;
    const double *query, *keys, *weights, *shares;
    const int32_t *selected;
    int64_t n_query, n_key, n_heads, d, n;
    double scale;
    int64_t count;     /* of its keys */
    double *score, *p; /* by key of its list; p is the target */
    double all;        /* log-sum-exp of the scores */
} Lists;

static Lists lists_of(const Launch *l, Arena *arena)
{
    const Tensor *q = &l->in[0], *k = &l->in[1];
    const int64_t n = l->in[3].size[2];
    return (Lists){ .q = q,
                    .k = k,
                    .query = q->data,
                    .keys = k->data,
                    .weights = l->in[2].data,
                    .selected = l->in[3].data,
                    .shares = l->in[4].data,
                    .n_query = q->size[1],
                    .n_key = k->size[1],
                    .n_heads = q->size[2],
                    .d = q->size[3],
                    .n = n,
                    .scale = ((const IndexLoss *)l->attrs)->scale,
                    .score = NEW_N(arena, double, n),
                    .p = NEW_N(arena, double, n) };
}

/* Where key i of a row's list lies in k. */
static int64_t key_at(const Lists *w, int64_t row, int64_t i)
{
    return (row / w->n_query * w->n_key + w->selected[row * w->n + i]) * w->d;
}

/* Of head h of a row and the key that lies there. */
static double product(const Lists *w, int64_t row, int64_t h, int64_t key)
{
    const double *q = w->query + (row * w->n_heads + h) * w->d;
    double dot = 0;
    for (int64_t e = 0; e < w->d; e++) dot += q[e] * w->keys[key + e];
    return dot > 0 ? dot : 0;
}

/* Scores and target of a row; its list counts as empty where there is no target. False: it has a
 * key that is not there. */
static bool take_row(Lists *w, int64_t row)
{
    const double *share = w->shares + row * w->n;
    double sum = 0;
    for (w->count = 0; w->count < w->n; w->count++) {
        const int32_t j = w->selected[row * w->n + w->count];
        if (j < 0) break;
        if (j >= w->n_key) return false;
        double score = 0;
        for (int64_t h = 0; h < w->n_heads; h++)
            score +=
                w->weights[row * w->n_heads + h] * product(w, row, h, key_at(w, row, w->count));
        w->score[w->count] = w->scale * score;
        sum += share[w->count];
    }
    if (!(sum > 0)) w->count = 0;
    for (int64_t i = 0; i < w->count; i++) w->p[i] = share[i] / sum;
    w->all = w->count ? log_sum_exp(w->score, w->count) : 0;
    return true;
}

/* Of all ranks: the mean is over them. */
static double all_rows(const Tensor *q)
{
    return (double)global_size(q, 0) * (double)global_size(q, 1);
}

static int reference(const Launch *l)
{
    Arena *arena = arena_new();
    Lists w = lists_of(l, arena);
    double sum = 0;
    int status = KERNEL_OK;
    for (int64_t row = 0; row < w.q->size[0] * w.n_query && !status; row++) {
        if (!take_row(&w, row)) status = KERNEL_BAD_INDEX;
        for (int64_t i = 0; i < w.count && !status; i++)
            if (w.p[i] > 0) sum += w.p[i] * (log(w.p[i]) - w.score[i] + w.all);
    }
    *(double *)l->out[0].data = sum / all_rows(w.q);
    arena_free(arena);
    return status;
}

static int grad_reference(const Launch *l)
{
    Arena *arena = arena_new();
    Lists w = lists_of(l, arena);
    const double slope = *(const double *)l->in[5].data / all_rows(w.q) * w.scale;
    double *dq = l->out[0].data, *dk = l->out[1].data, *dw = l->out[2].data;
    int status = KERNEL_OK;
    for (int k = 0; k < 3; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t row = 0; row < w.q->size[0] * w.n_query && !status; row++) {
        if (!take_row(&w, row)) status = KERNEL_BAD_INDEX;
        for (int64_t i = 0; i < w.count && !status; i++) {
            const double dscore = slope * (exp(w.score[i] - w.all) - w.p[i]);
            const int64_t key = key_at(&w, row, i);
            for (int64_t h = 0; h < w.n_heads; h++) {
                const int64_t head = row * w.n_heads + h;
                const double x = product(&w, row, h, key),
                             along = x > 0 ? dscore * w.weights[head] : 0;
                dw[head] += dscore * x;
                for (int64_t e = 0; e < w.d; e++) {
                    dq[head * w.d + e] += along * w.keys[key + e];
                    dk[key + e] += along * w.query[head * w.d + e];
                }
            }
        }
    }
    arena_free(arena);
    return status;
}

static const OpDef op_index_loss = {
    .name = "index_loss",
    .doc = "mean over queries of the divergence of an indexer's scores from shares of attention, "
           "over the keys of each query's list",
    .dims = "bsh!d!,bt!d!,bsh!,bsn!,bsn!->",
    .attrs = attrs,
    .attrs_size = sizeof(IndexLoss),
    .dtypes = dtypes,
    .grad = grad,
    .flops = forward_flops,
    .reference = reference,
};

static const OpDef op_index_loss_grad = {
    .name = "index_loss_grad",
    .doc = "gradients of the indexer's queries, keys and weights",
    .dims = "bsh!d!,bt!d!,bsh!,bsn!,bsn!,->bshd,btd,bsh",
    .attrs = attrs,
    .attrs_size = sizeof(IndexLoss),
    .flops = backward_flops,
    .reference = grad_reference,
};

const OpDef *const index_loss_ops[] = { &op_index_loss, &op_index_loss_grad, NULL };
