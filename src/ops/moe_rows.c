/* moe_rows.c - sorts pairs of token and expert by expert, brings tokens into that order, and adds
 * what the experts gave back up. Every number of rows per expert is possible: the sum is known. */
#include "ops/moe_rows.h"
#include <string.h>

static const OpDef op_moe_rows, op_moe_gather, op_moe_scatter, op_moe_combine, op_moe_combine_grad;

typedef struct Sorting {
    int64_t n_experts;
    double capacity;
} Sorting;

static const Field attrs[] = {
    FIELD_INT(Sorting, n_experts, NULL, 0, 0, "number of experts"),
    FIELD_FLOAT(Sorting, capacity, NULL, 0, 0, "times its fair share that an expert takes; 0: all"),
    { 0 },
};

MoeRows moe_rows(Graph *g, Value *expert, int64_t n_experts, double capacity)
{
    const Sorting s = { n_experts, capacity };
    const char *sizes = arena_printf(g->arena, "m=%lld z=%lld", (long long)value_count(expert),
                                     (long long)n_experts + 1);
    Node *n = graph_add_dims(g, &op_moe_rows, "b!s!k!->m!,bsk,z!,", sizes, &s, 1, &expert);
    return (MoeRows){ n->out[0], n->out[1], n->out[2], n->out[3] };
}

Value *moe_gather(Graph *g, Value *x, const MoeRows *rows)
{
    return graph_add(g, &op_moe_gather, NULL, 3, (Value *[]){ x, rows->pair, rows->row })->out[0];
}

Value *moe_combine(Graph *g, Value *y, Value *weight, const MoeRows *rows)
{
    return graph_add(g, &op_moe_combine, NULL, 3, (Value *[]){ y, weight, rows->row })->out[0];
}

static void gather_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_moe_scatter, NULL, 2, (Value *[]){ dout[0], n->in[2] })->out[0];
}

static void combine_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], n->in[2], dout[0] };
    Node *made = graph_add(g, &op_moe_combine_grad, NULL, 4, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static void rows_dtypes(const Node *n, Dtype *out)
{
    out[0] = out[1] = out[2] = I32;
    out[n->n_out - 1] = F32;
}

static void combine_grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = dtype_for_sums(n->in[0]->dtype);
}

static void sum_dtype(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

/* Pairs that one expert takes. */
static int64_t room_of(const Sorting *s, int64_t n_pairs)
{
    if (s->capacity <= 0) return n_pairs;
    double room = ceil(s->capacity * (double)n_pairs / (double)s->n_experts);
    return room < (double)n_pairs ? (int64_t)room : n_pairs;
}

static int rows_reference(const Launch *l)
{
    const Sorting *s = l->attrs;
    const int32_t *expert = l->in[0].data;
    const int64_t n = tensor_count(&l->in[0]), room = room_of(s, n);
    int32_t *pair = l->out[0].data, *row = l->out[1].data, *start = l->out[2].data;
    memset(start, 0, sizeof *start * (size_t)(s->n_experts + 1));
    for (int64_t i = 0; i < n; i++) {
        if (expert[i] < 0 || expert[i] >= s->n_experts) return KERNEL_BAD_INDEX;
        if (start[expert[i] + 1] < room) start[expert[i] + 1]++;
        pair[i] = -1;
    }
    for (int64_t e = 0; e < s->n_experts; e++) start[e + 1] += start[e];
    Arena *arena = arena_new();
    int32_t *next = NEW_N(arena, int32_t, s->n_experts);
    memcpy(next, start, sizeof *next * (size_t)s->n_experts);
    for (int64_t i = 0; i < n; i++) {
        int32_t e = expert[i];
        row[i] = next[e] < start[e + 1] ? next[e]++ : -1;
        if (row[i] >= 0) pair[row[i]] = (int32_t)i;
    }
    *(double *)l->out[3].data = (double)(n - start[s->n_experts]);
    arena_free(arena);
    return KERNEL_OK;
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

static int combine_grad_reference(const Launch *l)
{
    const int64_t d = l->in[0].size[1], k = l->in[2].size[2], n = tensor_count(&l->in[2]) / k;
    const double *x = l->in[0].data, *weight = l->in[1].data, *dy = l->in[3].data;
    const int32_t *row = l->in[2].data;
    double *dx = l->out[0].data, *dweight = l->out[1].data;
    memset(dx, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < n; i++, dy += d)
        for (int64_t c = i * k; c < (i + 1) * k; c++) {
            dweight[c] = 0;
            for (int64_t j = 0; row[c] >= 0 && j < d; j++) {
                dx[row[c] * d + j] = weight[c] * dy[j];
                dweight[c] += dy[j] * x[row[c] * d + j];
            }
        }
    return KERNEL_OK;
}

static const OpDef op_moe_rows = {
    .name = "moe_rows",
    .doc = "pairs of token and expert sorted by expert, and the other way round; first rows; how "
           "many were dropped",
    .attrs = attrs,
    .attrs_size = sizeof(Sorting),
    .dtypes = rows_dtypes,
    .reference = rows_reference,
};
static const OpDef op_moe_gather = {
    .name = "moe_gather",
    .doc = "the tokens of the pairs, in the order of the experts",
    .dims = "b!s!d,m!,bsk!->md",
    .grad = gather_grad,
    .reference = gather_reference,
};
static const OpDef op_moe_scatter = {
    .name = "moe_scatter",
    .doc = "adds the rows of each token up: gradient of moe_gather",
    .dims = "m!d,b!s!k!->bsd",
    .dtypes = sum_dtype,
    .reference = scatter_reference,
};
static const OpDef op_moe_combine = {
    .name = "moe_combine",
    .doc = "adds the rows of each token up by their weights",
    .dims = "m!d,b!s!k!,bsk->bsd",
    .dtypes = sum_dtype,
    .grad = combine_grad,
    .reference = combine_reference,
};
static const OpDef op_moe_combine_grad = {
    .name = "moe_combine_grad",
    .doc = "gradients of the rows and of the weights",
    .dims = "m!d,b!s!k!,bsk,bsd->md,bsk",
    .dtypes = combine_grad_dtypes,
    .reference = combine_grad_reference,
};

const OpDef *const moe_rows_ops[] = { &op_moe_rows,    &op_moe_gather,       &op_moe_scatter,
                                      &op_moe_combine, &op_moe_combine_grad, NULL };
