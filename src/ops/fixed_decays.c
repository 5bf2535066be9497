/* fixed_decays.c - decays of linear attention that are fixed for each head. */
#include "ops/fixed_decays.h"

static const OpDef op_fixed_decays;

static const Field fixed_decays_fields[] = {
    FIELD_FLOAT(FixedDecays, factor, NULL, 0, INFINITY, "of the decays of all heads"),
    { 0 },
};

DeltaGates fixed_decays(Graph *g, Value *x, double factor)
{
    const FixedDecays attrs = { factor };
    const Node *n = graph_add(g, &op_fixed_decays, &attrs, 1, &x);
    return (DeltaGates){ n->out[0], n->out[1] };
}

double fixed_decay_of(const Launch *l, int64_t i)
{
    const Tensor *y = &l->out[0];
    const int64_t g = global_index(y, 2, i / y->size[3]), r = global_index(y, 3, i % y->size[3]),
                  n_repeat = global_size(y, 3);
    return fixed_decay(l->attrs, g * n_repeat + r, global_size(y, 2) * n_repeat);
}

static int reference(const Launch *l)
{
    double *decay = l->out[0].data, *rate = l->out[1].data;
    const int64_t n = tensor_count(&l->out[0]), heads = l->out[0].size[2] * l->out[0].size[3];
    for (int64_t i = 0; i < n; i++) {
        decay[i] = -fixed_decay_of(l, i % heads);
        rate[i] = 1;
    }
    return KERNEL_OK;
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = out[1] = dtype_for_sums(n->in[0]->dtype);
}

static const OpDef op_fixed_decays = {
    .name = "fixed_decays",
    .doc = "how fast states of linear attention fade where that is fixed for each head",
    .dims = "bsgre!->bsgr,bsgr",
    .attrs = fixed_decays_fields,
    .attrs_size = sizeof(FixedDecays),
    .dtypes = dtypes,
    .reference = reference,
};

const OpDef *const fixed_decays_ops[] = { &op_fixed_decays, NULL };
