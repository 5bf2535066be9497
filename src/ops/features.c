/* features.c - rows of features: cut out, widened by zeros, and with those that heads share in
 * front of each head's own. */
#include "ops/features.h"
#include <string.h>

static const OpDef op_slice_features, op_pad_features, op_join_features_grad;

static const Field attrs[] = {
    FIELD_INT(PlaceOfFeatures, from, NULL, 0, 0, "where the narrow rows lie in the wide ones"),
    { 0 },
};

static Value *moved(Graph *g, const OpDef *op, Value *x, int64_t from, int64_t n)
{
    const char *size = arena_printf(g->arena, "d=%lld", (long long)n);
    return graph_add_dims(g, op, "*n!->*d!", size, &(PlaceOfFeatures){ from }, 1, &x)->out[0];
}

Value *slice_features(Graph *g, Value *x, int64_t from, int64_t n)
{
    return moved(g, &op_slice_features, x, from, n);
}

Value *place_features(Graph *g, Value *x, int64_t from, int64_t d)
{
    return moved(g, &op_pad_features, x, from, d);
}

Value *pad_features(Graph *g, Value *x, int64_t d)
{
    return place_features(g, x, 0, d);
}

Value *join_features(Graph *g, Value *x, Value *front)
{
    const int64_t width = value_width(x) + value_width(front);
    const char *size = arena_printf(g->arena, "d=%lld", (long long)width);
    Value *in[] = { x, front };
    return graph_add_dims(g, &op_join_features, "*hcn!,*ocr!->*hcd!", size, NULL, 2, in)->out[0];
}

static int64_t place(const Node *n)
{
    return ((const PlaceOfFeatures *)n->attrs)->from;
}

static void slice_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = place_features(g, dout[0], place(n), value_width(n->in[0]));
}

static void pad_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = slice_features(g, dout[0], place(n), value_width(n->in[0]));
}

static void join_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const int64_t own = value_width(n->in[0]), shared = value_width(n->in[1]);
    const char *sizes = arena_printf(g->arena, "o=1 r=%lld", (long long)shared);
    Value *dy = dout[0];
    din[0] = slice_features(g, dy, shared, own);
    din[1] = graph_add_dims(g, &op_join_features_grad, "*hcd!->*ocr!", sizes, NULL, 1, &dy)->out[0];
}

/* ---- reference kernels ---- */

static int64_t width(const Tensor *t)
{
    return t->size[t->n_dims - 1];
}

static int64_t heads(const Tensor *t)
{
    return t->size[t->n_dims - 3];
}

static int64_t row_count(const Tensor *t)
{
    return tensor_count(t) / width(t);
}

static int slice_reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int64_t from = ((const PlaceOfFeatures *)l->attrs)->from;
    for (int64_t i = 0; i < row_count(y); i++)
        memcpy((double *)y->data + i * width(y), (const double *)x->data + i * width(x) + from,
               sizeof(double) * (size_t)width(y));
    return KERNEL_OK;
}

static int pad_reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *y = &l->out[0];
    const int64_t from = ((const PlaceOfFeatures *)l->attrs)->from;
    memset(y->data, 0, tensor_bytes(y));
    for (int64_t i = 0; i < row_count(y); i++)
        memcpy((double *)y->data + i * width(y) + from, (const double *)x->data + i * width(x),
               sizeof(double) * (size_t)width(x));
    return KERNEL_OK;
}

/* The row of what heads share that row i of heads begins with. */
static int64_t shared_row(const Tensor *t, int64_t i)
{
    const int64_t c = t->size[t->n_dims - 2];
    return i / (heads(t) * c) * c + i % c;
}

static int join_reference(const Launch *l)
{
    const Tensor *x = &l->in[0], *front = &l->in[1], *y = &l->out[0];
    const int64_t n = width(x), r = width(front);
    for (int64_t i = 0; i < row_count(y); i++) {
        double *to = (double *)y->data + i * (n + r);
        memcpy(to, (const double *)front->data + shared_row(y, i) * r, sizeof *to * (size_t)r);
        memcpy(to + r, (const double *)x->data + i * n, sizeof *to * (size_t)n);
    }
    return KERNEL_OK;
}

static int join_grad_reference(const Launch *l)
{
    const Tensor *dy = &l->in[0], *dfront = &l->out[0];
    const int64_t r = width(dfront);
    memset(dfront->data, 0, tensor_bytes(dfront));
    for (int64_t i = 0; i < row_count(dy); i++) {
        const double *from = (const double *)dy->data + i * width(dy);
        double *to = (double *)dfront->data + shared_row(dy, i) * r;
        for (int64_t j = 0; j < r; j++) to[j] += from[j];
    }
    return KERNEL_OK;
}

static const OpDef op_slice_features = {
    .name = "slice_features",
    .doc = "some features of each row",
    .attrs = attrs,
    .attrs_size = sizeof(PlaceOfFeatures),
    .grad = slice_grad,
    .reference = slice_reference,
    .flags = OP_LINEAR,
};
static const OpDef op_pad_features = {
    .name = "pad_features",
    .doc = "rows of features at their place among zeros",
    .attrs = attrs,
    .attrs_size = sizeof(PlaceOfFeatures),
    .grad = pad_grad,
    .reference = pad_reference,
    .flags = OP_LINEAR,
};
const OpDef op_join_features = {
    .name = "join_features",
    .doc = "features that heads share, in front of each head's own",
    .grad = join_grad,
    .reference = join_reference,
};
static const OpDef op_join_features_grad = {
    .name = "join_features_grad",
    .doc = "gradient of the features that heads share: the sum over them",
    .reference = join_grad_reference,
    .flags = OP_LINEAR,
};

const OpDef *const features_ops[] = { &op_slice_features, &op_pad_features, &op_join_features,
                                      &op_join_features_grad, NULL };
