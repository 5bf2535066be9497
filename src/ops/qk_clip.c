/* qk_clip.c - largest logits of a step, the factors that follow from them, weights by rows. */
#include "ops/qk_clip.h"

static const OpDef op_logit_factors, op_scale_param_rows;

static const Field clip_attrs[] = {
    FIELD_FLOAT(LogitClip, threshold, NULL, 0, 0, "the largest logit that changes nothing"),
    FIELD_FLOAT(LogitClip, exponent, NULL, 0, 1, "of threshold / logit"),
    FIELD_INT(LogitClip, groups, NULL, 1, 0, "heads of keys"),
    { 0 },
};

void keep_largest(Graph *g, Value *x, Value *kept)
{
    graph_add_into(g, &op_keep_largest, op_keep_largest.dims, NULL, NULL, 2, (Value *[]){ x, kept },
                   1, &kept);
}

Value *logit_factors(Graph *g, Value *logit, int64_t n, const LogitClip *c)
{
    return graph_add_dims(g, &op_logit_factors, "h!->n!",
                          arena_printf(g->arena, "n=%lld", (long long)n), c, 1, &logit)
        ->out[0];
}

void scale_param_rows(Graph *g, Value *param, Value *factor)
{
    graph_add_into(g, &op_scale_param_rows, param->n_dims == 1 ? "n,n->n" : "nk,n->nk", NULL, NULL,
                   2, (Value *[]){ param, factor }, 1, &param);
}

/* NaN is no number to clip by; the step that has it is not made. */
static int keep_reference(const Launch *l)
{
    const double *x = l->in[0].data, *kept = l->in[1].data;
    double *to = l->out[0].data;
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        to[i] = l->now->microbatch ? kept[i] : 0;
        if (x[i] > to[i]) to[i] = x[i];
    }
    return KERNEL_OK;
}

static int factors_reference(const Launch *l)
{
    const LogitClip *c = l->attrs;
    const double *logit = l->in[0].data;
    double *factor = l->out[0].data;
    const int64_t n_heads = l->in[0].size[0], n = l->out[0].size[0], repeat = n_heads / c->groups,
                  rows = n / c->groups;
    for (int64_t group = 0; group < c->groups; group++) {
        double most = 0;
        for (int64_t r = 0; r < repeat; r++) most = fmax(most, logit[group * repeat + r]);
        const double f = most > c->threshold ? pow(c->threshold / most, c->exponent) : 1;
        for (int64_t i = 0; i < rows; i++) factor[group * rows + i] = f;
    }
    return KERNEL_OK;
}

static int scale_reference(const Launch *l)
{
    const double *x = l->in[0].data, *factor = l->in[1].data;
    double *y = l->out[0].data;
    const int64_t n = l->in[1].size[0], width = n ? tensor_count(&l->in[0]) / n : 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < width; j++) y[i * width + j] = x[i * width + j] * factor[i];
    return KERNEL_OK;
}

const OpDef op_keep_largest = {
    .name = "keep_largest",
    .doc = "the largest logit of each head over the microbatches of a step",
    .dims = "h,h->h",
    .reference = keep_reference,
};
static const OpDef op_logit_factors = {
    .name = "logit_factors",
    .doc = "what rows of weights are multiplied by, so that logits stay below a threshold",
    .attrs = clip_attrs,
    .attrs_size = sizeof(LogitClip),
    .reference = factors_reference,
};
static const OpDef op_scale_param_rows = {
    .name = "scale_param_rows",
    .doc = "rows of a parameter, each times its factor",
    .reference = scale_reference,
};

const OpDef *const qk_clip_ops[] = { &op_keep_largest, &op_logit_factors, &op_scale_param_rows,
                                     NULL };
