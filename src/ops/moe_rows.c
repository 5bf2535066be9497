/* moe_rows.c - sorts pairs of token and expert by expert, brings tokens into that order, and adds
 * what the experts gave back up. Every number of rows per expert is possible: the sum is known. */
#include "ops/moe_rows.h"
#include <string.h>

static const OpDef op_moe_limit, op_moe_rows, op_moe_gather, op_moe_scatter, op_moe_combine,
    op_moe_gather_weighted, op_moe_combine_grad_weight, op_moe_identity,
    op_moe_identity_grad_weight;

typedef struct Identity {
    int64_t first;
} Identity;

static const Field attrs[] = {
    FIELD_INT(MoeSorting, n_experts, NULL, 0, 0, "experts with rows"),
    FIELD_INT(MoeSorting, n_zero, NULL, 0, 0, "experts behind them that have none"),
    { 0 },
};

static const Field identity_attrs[] = {
    FIELD_INT(Identity, first, NULL, 0, 0, "the first expert that gives tokens back"),
    { 0 },
};

static const Field limit_attrs[] = {
    FIELD_INT(MoeLimit, n_experts, NULL, 0, 0, "experts with a capacity"),
    FIELD_INT(MoeLimit, n_zero, NULL, 0, 0, "experts behind them that take all"),
    FIELD_FLOAT(MoeLimit, capacity, NULL, 0, 0, "times its fair share that an expert takes"),
    FIELD_BOOL(MoeLimit, stops, NULL, "more than that is an error"),
    { 0 },
};

/* The name by which rules split rows. */
static Value *as_rows(Value *v)
{
    v->dim[0].axis = "rows";
    return v;
}

Value *moe_limit(Graph *g, Value *expert, const MoeLimit *limit, Value **dropped)
{
    Node *n = graph_add(g, &op_moe_limit, limit, 2, (Value *[]){ expert, expert });
    *dropped = n->out[1];
    return n->out[0];
}

MoeRows moe_rows(Graph *g, Value *expert, int64_t n_experts, int64_t n_zero)
{
    Node *n = graph_add(g, &op_moe_rows, &(MoeSorting){ n_experts, n_zero }, 1, &expert);
    return (MoeRows){ as_rows(n->out[0]), n->out[1], as_rows(n->out[2]) };
}

Value *moe_gather(Graph *g, Value *x, const MoeRows *rows)
{
    Value *in[] = { x, rows->pair, rows->row };
    return as_rows(graph_add(g, &op_moe_gather, NULL, 3, in)->out[0]);
}

Value *moe_gather_weighted(Graph *g, Value *x, Value *weight, const MoeRows *rows)
{
    Value *in[] = { x, weight, rows->row };
    return as_rows(graph_add(g, &op_moe_gather_weighted, NULL, 3, in)->out[0]);
}

Value *moe_combine(Graph *g, Value *y, Value *weight, const MoeRows *rows)
{
    return graph_add(g, &op_moe_combine, NULL, 3, (Value *[]){ y, weight, rows->row })->out[0];
}

Value *moe_identity(Graph *g, Value *x, Value *weight, Value *expert, int64_t first)
{
    Value *in[] = { x, weight, expert };
    return graph_add(g, &op_moe_identity, &(Identity){ first }, 3, in)->out[0];
}

static void gather_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_moe_scatter, NULL, 2, (Value *[]){ dout[0], n->in[2] })->out[0];
}

static void combine_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *to_rows[] = { dout[0], n->in[1], n->in[2] },
          *to_weight[] = { n->in[0], dout[0], n->in[2] };
    din[0] = as_rows(graph_add(g, &op_moe_gather_weighted, NULL, 3, to_rows)->out[0]);
    din[1] = graph_add(g, &op_moe_combine_grad_weight, NULL, 3, to_weight)->out[0];
}

/* The two ways between tokens and rows are each other's gradient. */
static void weighted_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *to_token[] = { dout[0], n->in[1], n->in[2] },
          *to_weight[] = { dout[0], n->in[0], n->in[2] };
    din[0] = graph_add(g, &op_moe_combine, NULL, 3, to_token)->out[0];
    din[1] = graph_add(g, &op_moe_combine_grad_weight, NULL, 3, to_weight)->out[0];
}

static void identity_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *to_token[] = { dout[0], n->in[1], n->in[2] },
          *to_weight[] = { n->in[0], dout[0], n->in[2] };
    din[0] = graph_add(g, &op_moe_identity, n->attrs, 3, to_token)->out[0];
    din[1] = graph_add(g, &op_moe_identity_grad_weight, n->attrs, 3, to_weight)->out[0];
}

static void limit_dtypes(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = I32;
    out[1] = F32;
}

static void all_integers(const Node *n, Dtype *out)
{
    for (int k = 0; k < n->n_out; k++) out[k] = I32;
}

static void sum_dtype(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

int64_t moe_room(int64_t n_pairs, int64_t n_experts, double capacity)
{
    if (capacity <= 0) return n_pairs;
    double room = ceil(capacity * (double)n_pairs / (double)n_experts);
    return room < (double)n_pairs ? (int64_t)room : n_pairs;
}

/* The first operand is the same as the second, but with the tokens of all ranks. */
static int limit_reference(const Launch *l)
{
    const MoeLimit *a = l->attrs;
    const Tensor *all = &l->in[0], *mine = &l->in[1];
    const int32_t *expert = all->data;
    const int64_t k = all->size[2], n_experts = a->n_experts + a->n_zero,
                  room = moe_room(tensor_count(all), n_experts, a->capacity);
    int status = KERNEL_OK;
    double n_dropped = 0;
    Arena *arena = arena_new();
    int64_t *taken = NEW_N(arena, int64_t, n_experts);
    int32_t *kept = NEW_N(arena, int32_t, tensor_count(all));
    for (int64_t i = 0; !status && i < tensor_count(all); i++) {
        if (expert[i] < 0 || expert[i] >= n_experts)
            status = KERNEL_BAD_INDEX;
        else
            kept[i] = expert[i] >= a->n_experts || taken[expert[i]]++ < room ? expert[i] : -1;
    }
    for (int64_t i = 0; !status && i < tensor_count(mine); i++) {
        int64_t s = global_index(mine, 1, i / k % mine->size[1]), b = i / k / mine->size[1];
        int32_t e = kept[(b * all->size[1] + s) * k + i % k];
        ((int32_t *)l->out[0].data)[i] = e;
        n_dropped += e < 0;
    }
    arena_free(arena);
    *(double *)l->out[1].data = n_dropped;
    return status || !a->stops || n_dropped == 0 ? status : KERNEL_OVERFLOW;
}

static int rows_reference(const Launch *l)
{
    const MoeSorting *a = l->attrs;
    const int64_t n_experts = a->n_experts;
    const int32_t *expert = l->in[0].data;
    const int64_t n = tensor_count(&l->in[0]);
    int32_t *pair = l->out[0].data, *row = l->out[1].data, *of = l->out[2].data;
    Arena *arena = arena_new();
    int32_t *next = NEW_N(arena, int32_t, n_experts + 1);
    int status = KERNEL_OK;
    for (int64_t i = 0; !status && i < n; i++) {
        pair[i] = of[i] = -1;
        if (expert[i] < -1 || expert[i] >= n_experts + a->n_zero)
            status = KERNEL_BAD_INDEX;
        else if (expert[i] < n_experts)
            next[expert[i] + 1]++;
    }
    next[0] = 0; /* dropped pairs have no row */
    for (int64_t e = 0; e < n_experts; e++) next[e + 1] += next[e];
    for (int64_t i = 0; !status && i < n; i++) {
        row[i] = expert[i] < 0 || expert[i] >= n_experts ? -1 : next[expert[i]]++;
        if (row[i] < 0) continue;
        pair[row[i]] = (int32_t)i;
        of[row[i]] = expert[i];
    }
    arena_free(arena);
    return status;
}

static int gather_reference(const Launch *l)
{
    const int64_t m = l->out[0].size[0], d = l->out[0].size[1], k = l->in[2].size[2];
    const double *x = l->in[0].data;
    const int32_t *pair = l->in[1].data;
    double *y = l->out[0].data;
    for (int64_t i = 0; i < m; i++, y += d)
        for (int64_t j = 0; j < d; j++) y[j] = pair[i] < 0 ? 0 : x[pair[i] / k * d + j];
    return KERNEL_OK;
}

static int scatter_reference(const Launch *l)
{
    const int64_t d = l->in[0].size[1], k = l->in[1].size[2], n = tensor_count(&l->in[1]) / k;
    const double *x = l->in[0].data;
    const int32_t *row = l->in[1].data;
    double *y = l->out[0].data;
    memset(y, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n; i++, y += d)
        for (int64_t c = 0; c < k; c++)
            for (int64_t j = 0; row[i * k + c] >= 0 && j < d; j++)
                y[j] += x[row[i * k + c] * d + j];
    return KERNEL_OK;
}

static int combine_reference(const Launch *l)
{
    const int64_t d = l->in[0].size[1], k = l->in[2].size[2], n = tensor_count(&l->in[2]) / k;
    const double *x = l->in[0].data, *weight = l->in[1].data;
    const int32_t *row = l->in[2].data;
    double *y = l->out[0].data;
    memset(y, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n; i++, y += d)
        for (int64_t c = i * k; c < (i + 1) * k; c++)
            for (int64_t j = 0; row[c] >= 0 && j < d; j++) y[j] += weight[c] * x[row[c] * d + j];
    return KERNEL_OK;
}

static int gather_weighted_reference(const Launch *l)
{
    const int64_t d = l->in[0].size[2], k = l->in[2].size[2], n = tensor_count(&l->in[2]) / k;
    const double *dy = l->in[0].data, *weight = l->in[1].data;
    const int32_t *row = l->in[2].data;
    double *dx = l->out[0].data;
    memset(dx, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n; i++, dy += d)
        for (int64_t c = i * k; c < (i + 1) * k; c++)
            for (int64_t j = 0; row[c] >= 0 && j < d; j++) dx[row[c] * d + j] = weight[c] * dy[j];
    return KERNEL_OK;
}

static int grad_weight_reference(const Launch *l)
{
    const int64_t d = l->in[0].size[1], k = l->in[2].size[2], n = tensor_count(&l->in[2]) / k;
    const double *x = l->in[0].data, *dy = l->in[1].data;
    const int32_t *row = l->in[2].data;
    double *dweight = l->out[0].data;
    for (int64_t i = 0; i < n; i++, dy += d)
        for (int64_t c = i * k; c < (i + 1) * k; c++) {
            dweight[c] = 0;
            for (int64_t j = 0; row[c] >= 0 && j < d; j++) dweight[c] += dy[j] * x[row[c] * d + j];
        }
    return KERNEL_OK;
}

static int identity_reference(const Launch *l)
{
    const int64_t first = ((const Identity *)l->attrs)->first, d = l->in[0].size[2],
                  k = l->in[2].size[2], n = tensor_count(&l->in[2]) / k;
    const double *x = l->in[0].data, *weight = l->in[1].data;
    const int32_t *expert = l->in[2].data;
    double *y = l->out[0].data;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t c = i * k; c < (i + 1) * k; c++)
            if (expert[c] >= first) sum += weight[c];
        for (int64_t j = i * d; j < (i + 1) * d; j++) y[j] = sum * x[j];
    }
    return KERNEL_OK;
}

static int identity_grad_weight_reference(const Launch *l)
{
    const int64_t first = ((const Identity *)l->attrs)->first, d = l->in[0].size[2],
                  k = l->in[2].size[2];
    const double *x = l->in[0].data, *dy = l->in[1].data;
    const int32_t *expert = l->in[2].data;
    double *dweight = l->out[0].data;
    for (int64_t c = 0; c < tensor_count(&l->in[2]); c++) {
        const int64_t token = c / k * d;
        dweight[c] = 0;
        for (int64_t j = token; expert[c] >= first && j < token + d; j++)
            dweight[c] += x[j] * dy[j];
    }
    return KERNEL_OK;
}

static const OpDef op_moe_limit = {
    .name = "moe_limit",
    .doc = "experts of this rank's tokens, without those beyond an expert's capacity; how many",
    .dims = "b!t!k!,bsk->bsk,",
    .attrs = limit_attrs,
    .attrs_size = sizeof(MoeLimit),
    .dtypes = limit_dtypes,
    .reference = limit_reference,
    .flags = OP_ROWS,
};
static const OpDef op_moe_rows = {
    .name = "moe_rows",
    .doc = "pairs of token and expert sorted by expert, and the other way round; their experts",
    .dims = "bsk->(sbk),bsk,(sbk)",
    .attrs = attrs,
    .attrs_size = sizeof(MoeSorting),
    .dtypes = all_integers,
    .reference = rows_reference,
    .flags = OP_ROWS,
};
static const OpDef op_moe_gather = {
    .name = "moe_gather",
    .doc = "the tokens of the pairs, in the order of the experts",
    .dims = "bsd,(sbk),bsk->(sbk)d",
    .grad = gather_grad,
    .reference = gather_reference,
    .flags = OP_ROWS,
};
static const OpDef op_moe_scatter = {
    .name = "moe_scatter",
    .doc = "adds the rows of each token up: gradient of moe_gather",
    .dims = "(sbk)d,bsk->bsd",
    .dtypes = sum_dtype,
    .reference = scatter_reference,
    .flags = OP_ROWS | OP_LINEAR,
};
static const OpDef op_moe_combine = {
    .name = "moe_combine",
    .doc = "adds the rows of each token up by their weights",
    .dims = "(sbk)d,bsk,bsk->bsd",
    .dtypes = sum_dtype,
    .grad = combine_grad,
    .reference = combine_reference,
    .flags = OP_ROWS | OP_LINEAR,
};
static const OpDef op_moe_gather_weighted = {
    .name = "moe_gather_weighted",
    .doc = "each token for its experts, times their weights; gradient of moe_combine's rows",
    .dims = "bsd,bsk,bsk->(sbk)d",
    .grad = weighted_grad,
    .reference = gather_weighted_reference,
    .flags = OP_ROWS,
};
static const OpDef op_moe_combine_grad_weight = {
    .name = "moe_combine_grad_weight",
    .doc = "gradient of the weights: products of a token's rows with what belongs to the token",
    .dims = "(sbk)d,bsd,bsk->bsk",
    .dtypes = sum_dtype,
    .reference = grad_weight_reference,
    .flags = OP_ROWS | OP_LINEAR,
};
static const OpDef op_moe_identity = {
    .name = "moe_identity",
    .doc = "each token times the weights of those of its experts that give it back as it is",
    .dims = "bsd,bsk!,bsk!->bsd",
    .attrs = identity_attrs,
    .attrs_size = sizeof(Identity),
    .dtypes = sum_dtype,
    .grad = identity_grad,
    .reference = identity_reference,
    .flags = OP_LINEAR,
};
static const OpDef op_moe_identity_grad_weight = {
    .name = "moe_identity_grad_weight",
    .doc = "gradient of these weights: products of a token with its gradient",
    .dims = "bsd,bsd,bsk!->bsk",
    .attrs = identity_attrs,
    .attrs_size = sizeof(Identity),
    .dtypes = sum_dtype,
    .reference = identity_grad_weight_reference,
    .flags = OP_LINEAR,
};

const OpDef *const moe_rows_ops[] = { &op_moe_limit,
                                      &op_moe_rows,
                                      &op_moe_gather,
                                      &op_moe_scatter,
                                      &op_moe_combine,
                                      &op_moe_gather_weighted,
                                      &op_moe_combine_grad_weight,
                                      &op_moe_identity,
                                      &op_moe_identity_grad_weight,
                                      NULL };
