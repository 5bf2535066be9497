/* moe_route.c - the router of a mixture of experts, and the penalties that keep its load even and
 * its logits small. */
#include "ops/moe_route.h"
#include "ops/softmax.h"
#include <string.h>

static const OpDef op_moe_route_grad, op_moe_share, op_moe_share_grad, op_moe_balance,
    op_moe_balance_grad, op_mean_square_lse, op_mean_square_lse_grad, op_moe_element, op_moe_hash,
    op_moe_weigh;

static const Field route_attrs[] = {
    FIELD_INT(MoeRoute, top_k, NULL, 0, 0, "experts per token"),
    FIELD_BOOL(MoeRoute, sigmoid, NULL, "scores are sigmoids, not a softmax"),
    FIELD_BOOL(MoeRoute, sqrt_softplus, NULL, "scores are roots of softplus, log(1 + e^x)"),
    FIELD_BOOL(MoeRoute, by_logits, NULL, "biases are added to logits, not to scores"),
    FIELD_BOOL(MoeRoute, normalize, NULL, "the weights of a token add up to 1"),
    FIELD_FLOAT(MoeRoute, sum_eps, NULL, 0, 0, "added to the sum that they are divided by then"),
    FIELD_FLOAT(MoeRoute, factor, NULL, 0, 0, "multiplies the weights"),
    FIELD_INT(MoeRoute, n_groups, NULL, 0, 0, "groups of experts; 0: none"),
    FIELD_INT(MoeRoute, top_groups, NULL, 0, 0, "groups that a token's experts are chosen from"),
    { 0 },
};

typedef struct Balance {
    int64_t n_layers;
} Balance;

static const Field balance_attrs[] = {
    FIELD_INT(Balance, n_layers, NULL, 0, 0, "layers that were added up"),
    { 0 },
};

typedef struct Element {
    int64_t index;
} Element;

static const Field element_attrs[] = {
    FIELD_INT(Element, index, NULL, 0, 0, "which element"),
    { 0 },
};

static const Field hash_attrs[] = {
    FIELD_INT(MoeHash, n_experts, NULL, 0, 0, "experts that there are"),
    { 0 },
};

Value *moe_hash(Graph *g, Value *ids, Value *table, int64_t n_experts)
{
    Value *in[] = { ids, table };
    return graph_add(g, &op_moe_hash, &(MoeHash){ n_experts }, 2, in)->out[0];
}

Value *moe_weigh(Graph *g, Value *logits, Value *expert, const MoeRoute *attrs)
{
    return graph_add(g, &op_moe_weigh, attrs, 2, (Value *[]){ logits, expert })->out[0];
}

Value *moe_element(Graph *g, Value *x, int64_t index)
{
    return graph_add(g, &op_moe_element, &(Element){ index }, 1, &x)->out[0];
}

Value *moe_route(Graph *g, Value *logits, Value *bias, const MoeRoute *attrs, Value **expert)
{
    const char *k = arena_printf(g->arena, "k=%lld", (long long)attrs->top_k);
    const char *dims = bias ? "*e!,e!->*k!,*k!" : "*e!->*k!,*k!";
    Value *in[] = { logits, bias };
    Node *n = graph_add_dims(g, &op_moe_route, dims, k, attrs, bias ? 2 : 1, in);
    *expert = n->out[1];
    return n->out[0];
}

void moe_share(Graph *g, Value *logits, Value *expert, Value **share, Value **probability)
{
    Node *n = graph_add(g, &op_moe_share, NULL, 2, (Value *[]){ logits, expert });
    *share = n->out[0];
    *probability = n->out[1];
}

Value *moe_balance(Graph *g, Value *share, Value *probability, int64_t n_layers)
{
    Value *in[] = { share, probability };
    return graph_add(g, &op_moe_balance, &(Balance){ n_layers }, 2, in)->out[0];
}

Value *mean_square_lse(Graph *g, Value *logits)
{
    return graph_add(g, &op_mean_square_lse, NULL, 1, &logits)->out[0];
}

static void route_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->out[1], dout[0] };
    din[0] = graph_add(g, &op_moe_route_grad, n->attrs, 3, in)->out[0];
}

static void weigh_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    din[0] = graph_add(g, &op_moe_route_grad, n->attrs, 3, in)->out[0];
}

static void share_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    if (!dout[1]) return;
    din[0] = graph_add(g, &op_moe_share_grad, NULL, 2, (Value *[]){ n->in[0], dout[1] })->out[0];
}

static void balance_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], dout[0] };
    din[1] = graph_add(g, &op_moe_balance_grad, n->attrs, 2, in)->out[0];
}

static void square_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], dout[0] };
    din[0] = graph_add(g, &op_mean_square_lse_grad, NULL, 2, in)->out[0];
}

static void route_dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
    out[1] = I32;
}

static void hash_dtypes(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = I32;
}

static void sum_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < n->n_out; k++) out[k] = dtype_for_sums(n->in[0]->dtype);
}

/* ---- reference kernels ---- */

static void softmax_of(const double *x, int64_t n, double *p)
{
    const double lse = log_sum_exp(x, n);
    for (int64_t i = 0; i < n; i++) p[i] = exp(x[i] - lse);
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* Each score depends on its own logit alone. */
static bool of_single_logits(const MoeRoute *a)
{
    return a->sigmoid || a->sqrt_softplus;
}

static void scores_of(const MoeRoute *a, const double *x, int64_t n, double *score)
{
    if (!of_single_logits(a)) softmax_of(x, n, score);
    for (int64_t i = 0; a->sigmoid && i < n; i++) score[i] = 1 / (1 + exp(-x[i]));
    for (int64_t i = 0; a->sqrt_softplus && i < n; i++) score[i] = sqrt(softplus(x[i]));
}

/* Of the score of a single logit x. */
static double slope_of(const MoeRoute *a, double x, double score)
{
    if (a->sigmoid) return score * (1 - score);
    return score > 0 ? 1 / (1 + exp(-x)) / (2 * score) : 0;
}

/* The largest of n numbers, of equal ones the first. */
static void choose(const double *x, int64_t n, int64_t k, int32_t *chosen)
{
    for (int64_t j = 0; j < k; j++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++) {
            bool taken = false;
            for (int64_t m = 0; m < j; m++) taken |= chosen[m] == i;
            if (!taken && (best < 0 || x[i] > x[best])) best = i;
        }
        chosen[j] = (int32_t)best;
    }
}

/* How good a group of n experts is. */
static double group_rank(const double *x, int64_t n, bool of_two)
{
    int32_t best[2];
    choose(x, n, of_two ? 2 : 1, best);
    return of_two ? x[best[0]] + x[best[1]] : x[best[0]];
}

/* Leaves the ranks of the best groups, and minus infinity in the others. */
static void keep_groups(const MoeRoute *a, double *rank, int64_t n)
{
    const int64_t size = n / a->n_groups;
    double of_group[MOST_EXPERT_GROUPS];
    int32_t best[MOST_EXPERT_GROUPS];
    bool is_kept[MOST_EXPERT_GROUPS] = { false };
    for (int64_t g = 0; g < a->n_groups; g++)
        of_group[g] = group_rank(rank + g * size, size, of_single_logits(a));
    choose(of_group, a->n_groups, a->top_groups, best);
    for (int64_t j = 0; j < a->top_groups; j++) is_kept[best[j]] = true;
    for (int64_t g = 0; g < a->n_groups; g++)
        for (int64_t i = g * size; !is_kept[g] && i < (g + 1) * size; i++) rank[i] = -INFINITY;
}

static int route_reference(const Launch *l)
{
    const MoeRoute *a = l->attrs;
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], k = a->top_k;
    const int64_t n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data, *bias = l->n_in > 1 ? l->in[1].data : NULL;
    double *weight = l->out[0].data;
    int32_t *expert = l->out[1].data;
    Arena *arena = arena_new();
    double *score = NEW_N(arena, double, e), *rank = NEW_N(arena, double, e);
    for (int64_t i = 0; i < n; i++, x += e, weight += k, expert += k) {
        double sum = a->sum_eps;
        scores_of(a, x, e, score);
        /* scores rise with logits, which tell more of them apart, but sums of two do not */
        const double *by = !a->by_logits && (bias || a->n_groups) ? score : x;
        for (int64_t j = 0; j < e; j++) rank[j] = by[j] + (bias ? bias[j] : 0);
        if (a->n_groups) keep_groups(a, rank, e);
        choose(rank, e, k, expert);
        for (int64_t j = 0; j < k; j++) sum += score[expert[j]];
        for (int64_t j = 0; j < k; j++)
            weight[j] = a->factor * score[expert[j]] / (a->normalize ? sum : 1);
    }
    arena_free(arena);
    return KERNEL_OK;
}

static int hash_reference(const Launch *l)
{
    const Tensor *table = &l->in[1];
    const int32_t *id = l->in[0].data;
    const double *experts = table->data;
    const int64_t k = table->size[1], n_experts = ((const MoeHash *)l->attrs)->n_experts;
    int32_t *to = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++)
        for (int64_t j = 0; j < k; j++) {
            if (id[i] < 0 || id[i] >= table->size[0]) return KERNEL_BAD_INDEX;
            const double expert = experts[id[i] * k + j];
            if (!(expert >= 0 && expert < (double)n_experts)) return KERNEL_BAD_INDEX;
            to[i * k + j] = (int32_t)expert;
        }
    return KERNEL_OK;
}

static int weigh_reference(const Launch *l)
{
    const MoeRoute *a = l->attrs;
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], k = l->in[1].size[l->in[1].n_dims - 1];
    const int64_t n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data;
    const int32_t *expert = l->in[1].data;
    double *weight = l->out[0].data;
    Arena *arena = arena_new();
    double *score = NEW_N(arena, double, e);
    for (int64_t i = 0; i < n; i++, x += e, weight += k, expert += k) {
        double sum = a->sum_eps;
        scores_of(a, x, e, score);
        for (int64_t j = 0; j < k; j++) sum += score[expert[j]];
        for (int64_t j = 0; j < k; j++)
            weight[j] = a->factor * score[expert[j]] / (a->normalize ? sum : 1);
    }
    arena_free(arena);
    return KERNEL_OK;
}

/* w = f s / S with S the sum of the chosen scores and sum_eps (or 1): ds = f (dw - [S] sum(dw s) /
 * S) / S. */
static int route_grad_reference(const Launch *l)
{
    const MoeRoute *a = l->attrs;
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], k = l->in[1].size[l->in[1].n_dims - 1];
    const int64_t n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data, *dweight = l->in[2].data;
    const int32_t *expert = l->in[1].data;
    double *dx = l->out[0].data;
    Arena *arena = arena_new();
    double *score = NEW_N(arena, double, e), *dscore = NEW_N(arena, double, e);
    for (int64_t i = 0; i < n; i++, x += e, dx += e, dweight += k, expert += k) {
        double sum = a->sum_eps, along = 0, flow = 0;
        scores_of(a, x, e, score);
        memset(dscore, 0, sizeof *dscore * (size_t)e);
        for (int64_t j = 0; j < k; j++) sum += score[expert[j]];
        for (int64_t j = 0; j < k; j++) along += dweight[j] * score[expert[j]] / sum;
        for (int64_t j = 0; j < k; j++)
            dscore[expert[j]] +=
                a->factor * (a->normalize ? (dweight[j] - along) / sum : dweight[j]);
        for (int64_t j = 0; j < e; j++) flow += score[j] * dscore[j];
        for (int64_t j = 0; j < e; j++)
            dx[j] = of_single_logits(a) ? dscore[j] * slope_of(a, x[j], score[j])
                                        : score[j] * (dscore[j] - flow);
    }
    arena_free(arena);
    return KERNEL_OK;
}

/* Rows of the whole job: means are over all of them, and partial where rows are split. */
static double all_rows(const Tensor *t)
{
    double n = 1;
    for (int d = 0; d + 1 < t->n_dims; d++) n *= (double)global_size(t, d);
    return n;
}

static int share_reference(const Launch *l)
{
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data, each = 1 / all_rows(&l->in[0]);
    const int32_t *expert = l->in[1].data;
    double *share = l->out[0].data, *probability = l->out[1].data;
    Arena *arena = arena_new();
    double *p = NEW_N(arena, double, e);
    for (int k = 0; k < 2; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t i = 0; i < tensor_count(&l->in[1]); i++) share[expert[i]] += each;
    for (int64_t i = 0; i < n; i++) {
        softmax_of(x + i * e, e, p);
        for (int64_t j = 0; j < e; j++) probability[j] += each * p[j];
    }
    arena_free(arena);
    return KERNEL_OK;
}

static int share_grad_reference(const Launch *l)
{
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data, *dp = l->in[1].data, each = 1 / all_rows(&l->in[0]);
    double *dx = l->out[0].data;
    for (int64_t i = 0; i < n; i++, x += e, dx += e) {
        double flow = 0;
        softmax_of(x, e, dx);
        for (int64_t j = 0; j < e; j++) flow += dx[j] * dp[j];
        for (int64_t j = 0; j < e; j++) dx[j] *= each * (dp[j] - flow);
    }
    return KERNEL_OK;
}

static double balance_factor(const Launch *l)
{
    const double n = (double)((const Balance *)l->attrs)->n_layers;
    return (double)l->in[0].size[0] / (n * n);
}

static int balance_reference(const Launch *l)
{
    const double *share = l->in[0].data, *probability = l->in[1].data;
    double sum = 0;
    for (int64_t j = 0; j < l->in[0].size[0]; j++) sum += share[j] * probability[j];
    *(double *)l->out[0].data = balance_factor(l) * sum;
    return KERNEL_OK;
}

static int balance_grad_reference(const Launch *l)
{
    const double *share = l->in[0].data, dy = *(const double *)l->in[1].data;
    double *dp = l->out[0].data;
    for (int64_t j = 0; j < l->in[0].size[0]; j++) dp[j] = balance_factor(l) * share[j] * dy;
    return KERNEL_OK;
}

static int square_reference(const Launch *l)
{
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double lse = log_sum_exp(x + i * e, e);
        sum += lse * lse;
    }
    *(double *)l->out[0].data = sum / all_rows(&l->in[0]);
    return KERNEL_OK;
}

static int square_grad_reference(const Launch *l)
{
    const int64_t e = l->in[0].size[l->in[0].n_dims - 1], n = tensor_count(&l->in[0]) / e;
    const double *x = l->in[0].data, dy = *(const double *)l->in[1].data / all_rows(&l->in[0]);
    double *dx = l->out[0].data;
    for (int64_t i = 0; i < n; i++, x += e, dx += e) {
        const double lse = log_sum_exp(x, e);
        for (int64_t j = 0; j < e; j++) dx[j] = 2 * lse * exp(x[j] - lse) * dy;
    }
    return KERNEL_OK;
}

static int element_reference(const Launch *l)
{
    const double *x = l->in[0].data;
    *(double *)l->out[0].data = x[((const Element *)l->attrs)->index];
    return KERNEL_OK;
}

static const OpDef op_moe_element = {
    .name = "moe_element",
    .doc = "one element of a vector",
    .dims = "e!->",
    .attrs = element_attrs,
    .attrs_size = sizeof(Element),
    .reference = element_reference,
};
const OpDef op_moe_route = {
    .name = "moe_route",
    .doc = "weights and numbers of the experts with the largest scores",
    .attrs = route_attrs,
    .attrs_size = sizeof(MoeRoute),
    .dtypes = route_dtypes,
    .grad = route_grad,
    .reference = route_reference,
};
static const OpDef op_moe_route_grad = {
    .name = "moe_route_grad",
    .doc = "gradient of the logits from logits, experts and the gradient of the weights",
    .dims = "*e!,*k!,*k!->*e",
    .attrs = route_attrs,
    .attrs_size = sizeof(MoeRoute),
    .reference = route_grad_reference,
};
static const OpDef op_moe_hash = {
    .name = "moe_hash",
    .doc = "experts of tokens by a table of their ids",
    .dims = "bs,v!k!->bsk",
    .attrs = hash_attrs,
    .attrs_size = sizeof(MoeHash),
    .dtypes = hash_dtypes,
    .reference = hash_reference,
};
static const OpDef op_moe_weigh = {
    .name = "moe_weigh",
    .doc = "weights of experts that something else has chosen",
    .dims = "*e!,*k!->*k",
    .attrs = route_attrs,
    .attrs_size = sizeof(MoeRoute),
    .dtypes = sum_dtypes,
    .grad = weigh_grad,
    .reference = weigh_reference,
};
static const OpDef op_moe_share = {
    .name = "moe_share",
    .doc = "means over all tokens: how often an expert is chosen, and its probability",
    .dims = "*e!,*k!->e,e",
    .dtypes = sum_dtypes,
    .grad = share_grad,
    .reference = share_reference,
};
static const OpDef op_moe_share_grad = {
    .name = "moe_share_grad",
    .doc = "gradient of the logits from that of the mean probabilities",
    .dims = "*e!,e->*e",
    .reference = share_grad_reference,
};
static const OpDef op_moe_balance = {
    .name = "moe_balance",
    .doc = "experts times sum(share probability), of the means over layers",
    .dims = "e!,e!->",
    .attrs = balance_attrs,
    .attrs_size = sizeof(Balance),
    .dtypes = sum_dtypes,
    .grad = balance_grad,
    .reference = balance_reference,
};
static const OpDef op_moe_balance_grad = {
    .name = "moe_balance_grad",
    .doc = "gradient of the probabilities",
    .dims = "e!,->e",
    .attrs = balance_attrs,
    .attrs_size = sizeof(Balance),
    .dtypes = sum_dtypes,
    .reference = balance_grad_reference,
};
static const OpDef op_mean_square_lse = {
    .name = "mean_square_lse",
    .doc = "mean over the rows of the square of log(sum(exp(x)))",
    .dims = "*e!->",
    .dtypes = sum_dtypes,
    .grad = square_grad,
    .reference = square_reference,
};
static const OpDef op_mean_square_lse_grad = {
    .name = "mean_square_lse_grad",
    .doc = "gradient of the logits",
    .dims = "*e!,->*e",
    .reference = square_grad_reference,
};

const OpDef *const moe_route_ops[] = {
    &op_moe_route,   &op_moe_route_grad,   &op_moe_share,       &op_moe_share_grad,
    &op_moe_balance, &op_moe_balance_grad, &op_mean_square_lse, &op_mean_square_lse_grad,
    &op_moe_element, &op_moe_hash,         &op_moe_weigh,       NULL
};
