/* average.c - exponential moving averages, as torch's AveragedModel keeps them. */
#include "ops/average.h"

static const OpDef op_average;

static const Field attrs[] = {
    FIELD_FLOAT(AverageDecay, decay, NULL, 0, 1, "share of the average that stays"),
    { 0 },
};

void average(Graph *g, Value *x, Value *average, double decay)
{
    graph_add_into(g, &op_average, op_average.dims, NULL, &(AverageDecay){ decay }, 2,
                   (Value *[]){ x, average }, 1, &average);
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data, *old = l->in[1].data;
    const double decay = l->now->updates ? ((const AverageDecay *)l->attrs)->decay : 0;
    double *new = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++)
        new[i] = decay *old[i] + (1 - decay) * x[i];
    return KERNEL_OK;
}

static const OpDef op_average = {
    .name = "average",
    .doc = "an exponential moving average, one step further",
    .dims = "*,*->*",
    .attrs = attrs,
    .attrs_size = sizeof(AverageDecay),
    .reference = reference,
};

const OpDef *const average_ops[] = { &op_average, NULL };
