/* panels.c - weights in panels, and products with them. */
#include "ops/panels.h"
#include "tensor/halves.h"

static const Field attrs[] = {
    FIELD_BOOL(Panels, pairs, "false", "bf16, two neighbours along k together; else f32"),
    { 0 },
};

Value *panels(Graph *g, Value *weight, bool pairs)
{
    CHECK(!pairs || weight->dim[1].size % 2 == 0);
    return graph_add(g, &op_panels, &(Panels){ pairs }, 1, &weight)->out[0];
}

Value *contract_panels(Graph *g, Value *x, Value *weight, bool pairs)
{
    return graph_add(g, &op_contract_panels, &(Panels){ pairs }, 2, (Value *[]){ x, weight })
        ->out[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = ((const Panels *)n->attrs)->pairs ? BF16 : F32;
}

/* Where element (row, step) of a matrix with n rows lies. */
static int64_t place(const Panels *p, int64_t n, int64_t k, int64_t row, int64_t step)
{
    const int64_t first = row / PANEL_ROWS * PANEL_ROWS,
                  rows = n - first < PANEL_ROWS ? n - first : PANEL_ROWS, column = row - first;
    const int64_t start = first * k;
    return p->pairs ? start + (step / 2 * rows + column) * 2 + step % 2
                    : start + step * rows + column;
}

static int reference_panels(const Launch *l)
{
    const Panels *p = l->attrs;
    const double *from = l->in[0].data;
    double *to = l->out[0].data;
    const int64_t n = l->in[0].size[0], k = l->in[0].size[1];
    for (int64_t i = 0; i < n; i++)
        for (int64_t s = 0; s < k; s++) {
            const double x = from[i * k + s];
            to[place(p, n, k, i, s)] = p->pairs ? bf16_to_float(high_half_of((float)x)) : x;
        }
    return KERNEL_OK;
}

static int reference_contract(const Launch *l)
{
    const Panels *p = l->attrs;
    const double *x = l->in[0].data, *w = l->in[1].data;
    double *y = l->out[0].data;
    const int64_t n = l->in[1].size[0], k = l->in[1].size[1];
    const int64_t rows = tensor_count(&l->in[0]) / k;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double total = 0;
            for (int64_t s = 0; s < k; s++) total += x[i * k + s] * w[place(p, n, k, j, s)];
            y[i * n + j] = total;
        }
    return KERNEL_OK;
}

const OpDef op_panels = {
    .name = "panels",
    .doc = "a weight in the order in which contract_panels reads it",
    .dims = "n!k!->nk",
    .attrs = attrs,
    .attrs_size = sizeof(Panels),
    .dtypes = dtypes,
    .reference = reference_panels,
};

const OpDef op_contract_panels = {
    .name = "contract_panels",
    .doc = "a linear layer whose weight lies in panels",
    .dims = "*k!,n!k->*n",
    .attrs = attrs,
    .attrs_size = sizeof(Panels),
    .reference = reference_contract,
    .flags = OP_MATMUL,
};

const OpDef *const panels_ops[] = { &op_panels, &op_contract_panels, NULL };
