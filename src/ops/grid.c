/* grid.c - numbers rounded to a few steps on each side of 0. */
#include "ops/grid.h"

static const OpDef op_grid_size;

static const Field size_attrs[] = {
    FIELD_INT(GridSize, count, NULL, 0, INFINITY, "what the sum is divided by; 0: the largest"),
    { 0 },
};

static const Field round_attrs[] = {
    FIELD_INT(GridRound, steps, NULL, 1, 127, "on each side of 0"),
    { 0 },
};

Value *grid_size(Graph *g, const char *dims, Value *x, int64_t count)
{
    Value *v = graph_add_dims(g, &op_grid_size, dims, NULL, &(GridSize){ count }, 1, &x)->out[0];
    v->reduce = count ? REDUCE_SUM : REDUCE_MAX;
    return v;
}

Value *grid_round(Graph *g, const char *dims, Value *x, Value *size, int64_t steps)
{
    Value *in[] = { x, size };
    return graph_add_dims(g, &op_grid_round, dims, NULL, &(GridRound){ steps }, 2, in)->out[0];
}

static void size_dtype(const Node *n, Dtype *out)
{
    out[0] = ((const GridSize *)n->attrs)->count ? F64 : F32;
}

static int size_reference(const Launch *l)
{
    const int64_t count = ((const GridSize *)l->attrs)->count, n = tensor_count(&l->out[0]),
                  width = n ? tensor_count(&l->in[0]) / n : 0;
    const double *x = l->in[0].data;
    double *size = l->out[0].data;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0, most = 0;
        for (int64_t j = 0; j < width; j++) {
            const double v = fabs(x[i * width + j]);
            sum += v;
            if (v > most || isnan(v)) most = v;
        }
        size[i] = count ? sum / (double)count : most;
    }
    return KERNEL_OK;
}

static int round_reference(const Launch *l)
{
    const int64_t steps = ((const GridRound *)l->attrs)->steps, n = tensor_count(&l->in[1]),
                  width = n ? tensor_count(&l->in[0]) / n : 0;
    const double *x = l->in[0].data, *size = l->in[1].data;
    const float most = (float)steps;
    double *y = l->out[0].data;
    for (int64_t i = 0; i < n; i++) {
        const float scale = grid_scale((float)size[i], steps);
        for (int64_t j = i * width; j < (i + 1) * width; j++) {
            const float at = rintf((float)x[j] * scale);
            y[j] = (at > most ? most : at < -most ? -most : at) / scale;
        }
    }
    return KERNEL_OK;
}

static const OpDef op_grid_size = {
    .name = "grid_size",
    .doc = "the largest |x| of rows, or the mean of all",
    .attrs = size_attrs,
    .attrs_size = sizeof(GridSize),
    .dtypes = size_dtype,
    .reference = size_reference,
};
const OpDef op_grid_round = {
    .name = "grid_round",
    .doc = "the nearest multiple of size / steps, at most steps of them",
    .attrs = round_attrs,
    .attrs_size = sizeof(GridRound),
    .reference = round_reference,
};

const OpDef *const grid_ops[] = { &op_grid_size, &op_grid_round, NULL };
