/* match_size.c - y = x t / s over rows, with t the root mean square of another row, and s that of
 * x.
 *
 * With e = sum(dy x) / d the gradients are dx = dy t / s - x e t / s^3, without the second term
 * where the bound stands for the mean square, and dlike = like e / (t s), which is 0 for a row of
 * zeros. */
#include "ops/match_size.h"

static const OpDef op_match_size, op_match_size_grad;

static const Field attrs[] = {
    FIELD_FLOAT(MatchSize, least, NULL, 0, INFINITY, "least mean square of x that counts",
                .flags = FIELD_OPEN_MIN),
    { 0 },
};

Value *match_size(Graph *g, Value *x, Value *like, double least)
{
    Value *in[] = { x, like };
    return graph_add(g, &op_match_size, &(MatchSize){ least }, 2, in)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    const Node *made = graph_add(g, &op_match_size_grad, n->attrs, 3, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static double mean_product(const double *x, const double *y, int64_t d)
{
    double sum = 0;
    for (int64_t j = 0; j < d; j++) sum += x[j] * y[j];
    return sum / (double)d;
}

static int reference(const Launch *l)
{
    const Tensor *in = &l->in[0];
    const double *x = in->data, *like = l->in[1].data, least = ((const MatchSize *)l->attrs)->least;
    double *y = l->out[0].data;
    const int64_t d = in->size[in->n_dims - 1], n = tensor_count(in);
    for (int64_t at = 0; at < n; at += d) {
        const double square = mean_product(x + at, x + at, d),
                     wanted = mean_product(like + at, like + at, d),
                     factor = sqrt(wanted) / sqrt(square < least ? least : square);
        for (int64_t j = at; j < at + d; j++) y[j] = x[j] * factor;
    }
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const Tensor *in = &l->in[0];
    const double *x = in->data, *like = l->in[1].data, *dy = l->in[2].data,
                 least = ((const MatchSize *)l->attrs)->least;
    double *dx = l->out[0].data, *dlike = l->out[1].data;
    const int64_t d = in->size[in->n_dims - 1], n = tensor_count(in);
    for (int64_t at = 0; at < n; at += d) {
        const double square = mean_product(x + at, x + at, d),
                     wanted = sqrt(mean_product(like + at, like + at, d)),
                     size = sqrt(square < least ? least : square),
                     both = mean_product(dy + at, x + at, d),
                     own = square < least ? 0 : both * wanted / (size * size * size),
                     other = wanted > 0 ? both / (wanted * size) : 0;
        for (int64_t j = at; j < at + d; j++) {
            dx[j] = dy[j] * wanted / size - x[j] * own;
            dlike[j] = like[j] * other;
        }
    }
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = n->in[1]->dtype;
}

static const OpDef op_match_size = {
    .name = "match_size",
    .doc = "rows times the root mean square of other rows over their own",
    .dims = "*d!,*d!->*d",
    .attrs = attrs,
    .attrs_size = sizeof(MatchSize),
    .grad = grad,
    .reference = reference,
};
static const OpDef op_match_size_grad = {
    .name = "match_size_grad",
    .doc = "gradients of the rows and of those they are made as large as",
    .dims = "*d!,*d!,*d->*d,*d",
    .attrs = attrs,
    .attrs_size = sizeof(MatchSize),
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};

const OpDef *const match_size_ops[] = { &op_match_size, &op_match_size_grad, NULL };
