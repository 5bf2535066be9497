/* fill.c - a constant tensor, and the scalar from which back-propagation starts. */
#include "ops/fill.h"

static const OpDef op_fill, op_loss_seed;

static const Field fill_attrs[] = {
    FIELD_FLOAT(Fill, value, NULL, 0, 0, "of every element"),
    FIELD_CHOICE(Fill, dtype, NULL, dtype_choices, "of the result"),
    { 0 },
};

typedef struct Seed {
    int dtype;
} Seed;

static const Field seed_attrs[] = {
    FIELD_CHOICE(Seed, dtype, NULL, dtype_choices, "of the result"),
    { 0 },
};

/* The shape is told by letters and sizes, "->ab" with "a=4 b=6", so that `like` is not an input. */
Value *fill(Graph *g, const Value *like, double value)
{
    char *dims = arena_string(g->arena, "->"), *sizes = arena_string(g->arena, "");
    for (int d = 0; d < like->n_dims; d++) {
        dims = arena_printf(g->arena, "%s%c", dims, 'a' + d);
        sizes = arena_printf(g->arena, "%s%c=%lld ", sizes, 'a' + d, (long long)like->dim[d].size);
    }
    Fill attrs = { .value = value, .dtype = (int)like->dtype };
    Value *v = graph_add_dims(g, &op_fill, dims, sizes, &attrs, 0, NULL)->out[0];
    for (int d = 0; d < v->n_dims; d++) v->dim[d].axis = like->dim[d].axis;
    return v;
}

Value *loss_seed(Graph *g, Dtype t)
{
    return graph_add(g, &op_loss_seed, &(Seed){ (int)t }, 0, NULL)->out[0];
}

static void fill_dtypes(const Node *n, Dtype *out)
{
    out[0] = (Dtype)((const Fill *)n->attrs)->dtype;
}

static void seed_dtypes(const Node *n, Dtype *out)
{
    out[0] = (Dtype)((const Seed *)n->attrs)->dtype;
}

static int fill_reference(const Launch *l)
{
    double *y = l->out[0].data, value = ((const Fill *)l->attrs)->value;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) y[i] = value;
    return KERNEL_OK;
}

static int seed_reference(const Launch *l)
{
    *(double *)l->out[0].data = l->now->loss_scale;
    return KERNEL_OK;
}

static const OpDef op_fill = {
    .name = "fill",
    .doc = "a constant",
    .attrs = fill_attrs,
    .attrs_size = sizeof(Fill),
    .dtypes = fill_dtypes,
    .reference = fill_reference,
};
static const OpDef op_loss_seed = {
    .name = "loss_seed",
    .doc = "the gradient of the loss: RunTime.loss_scale",
    .dims = "->",
    .attrs = seed_attrs,
    .attrs_size = sizeof(Seed),
    .dtypes = seed_dtypes,
    .reference = seed_reference,
};

const OpDef *const fill_ops[] = { &op_fill, &op_loss_seed, NULL };
