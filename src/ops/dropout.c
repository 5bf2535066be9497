/* dropout.c - zeroes elements at random and scales up the others (inverted dropout).
 *
 * The mask is never stored: it is a function of the seed, the step and the element's number, so the
 * gradient and a recomputation make the same one. */
#include "ops/dropout.h"
#include "ops/dropout_mask.h"

static const OpDef op_dropout;

static const Field attrs[] = {
    FIELD_FLOAT(Dropout, p, NULL, 0, 1, "share of the elements that become zero"),
    FIELD_INT(Dropout, salt, NULL, 0, 0, "tells this dropout apart from others"),
    { 0 },
};

Value *dropout(Graph *g, Value *x, double p, int64_t salt)
{
    return graph_add(g, &op_dropout, &(Dropout){ p, salt }, 1, &x)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_dropout, n->attrs, 1, dout)->out[0];
}

static int reference(const Launch *l)
{
    const Dropout *a = l->attrs;
    const Tensor *x = &l->in[0];
    double *y = l->out[0].data;
    uint64_t key = dropout_key(l->now, a->salt);
    int64_t whole = 1;
    for (int d = 0; d < x->n_dims; d++) whole *= global_size(x, d);
    const int64_t per_sample = x->n_dims ? whole / global_size(x, 0) : 1;
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        int64_t element = l->now->microbatch * whole + global_element(x, i);
        bool keep = dropout_keeps(key, dropout_number(l->now, element, per_sample), a->p);
        y[i] = keep ? ((const double *)x->data)[i] / (1 - a->p) : 0;
    }
    return KERNEL_OK;
}

static const OpDef op_dropout = {
    .name = "dropout",
    .doc = "zeroes a share of the elements at random and scales up the others",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Dropout),
    .grad = grad,
    .reference = reference,
    .flags = OP_RANDOM | OP_LINEAR,
};

const OpDef *const dropout_ops[] = { &op_dropout, NULL };
