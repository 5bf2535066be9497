/* rope.c - rotary position embedding: pairs of features turn by an angle that grows with the
 * position (Su et al. 2021), in the half layout: feature j is paired with j + d/2. */
#include "ops/rope.h"

static const OpDef op_rope_table, op_rope_windows;

static const Field table_attrs[] = {
    FIELD_FLOAT(RopeTable, base, NULL, 0, 0, "frequency j is base^(-2j/d)"),
    FIELD_BOOL(RopeTable, rounded, NULL, "frequencies are rounded to bf16"),
    FIELD_CHOICE(RopeTable, dtype, NULL, dtype_choices, "of the result"),
    { 0 },
};

static const Field rope_attrs[] = {
    FIELD_BOOL(Rope, inverse, NULL, "turns back: the gradient"),
    { 0 },
};

static const Field windows_attrs[] = {
    FIELD_BOOL(RopeWindows, inverse, NULL, "turns back: the gradient"),
    FIELD_INT(RopeWindows, rate, NULL, 0, 0, "tokens of a window"),
    { 0 },
};

Value *rope_table(Graph *g, Dtype t, int64_t n_positions, int64_t d, double base, bool rounded)
{
    RopeTable attrs = { .base = base, .rounded = rounded, .dtype = (int)t };
    const char *sizes =
        arena_printf(g->arena, "t=%lld d=%lld", (long long)n_positions, (long long)d);
    if (d % 2) graph_fail(g, error_new("rope: the head size %lld is not even", (long long)d));
    Phase phase = g->phase;
    int block = g->block;
    g->phase = PREPARE;
    g->block = -1;
    Node *n = graph_add_dims(g, &op_rope_table, op_rope_table.dims, sizes, &attrs, 0, NULL);
    g->phase = phase;
    g->block = block;
    return n->out[0];
}

static Value *rotate(Graph *g, Value *x, Value *table, bool inverse)
{
    return graph_add(g, &op_rope, &(Rope){ inverse }, 2, (Value *[]){ x, table })->out[0];
}

Value *rope(Graph *g, Value *x, Value *table)
{
    return rotate(g, x, table, false);
}

Value *rope_back(Graph *g, Value *x, Value *table)
{
    return rotate(g, x, table, true);
}

static Value *rotate_windows(Graph *g, Value *x, Value *table, bool inverse, int64_t rate)
{
    const RopeWindows a = { inverse, rate };
    return graph_add(g, &op_rope_windows, &a, 2, (Value *[]){ x, table })->out[0];
}

Value *rope_windows(Graph *g, Value *x, Value *table, int64_t rate)
{
    return rotate_windows(g, x, table, false, rate);
}

static void windows_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const RopeWindows *a = n->attrs;
    din[0] = rotate_windows(g, dout[0], n->in[1], !a->inverse, a->rate);
}

/* The gradient of a rotation is the rotation back. */
static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = rotate(g, dout[0], n->in[1], !((const Rope *)n->attrs)->inverse);
}

static void table_dtypes(const Node *n, Dtype *out)
{
    out[0] = (Dtype)((const RopeTable *)n->attrs)->dtype;
}

static int table_reference(const Launch *l)
{
    const RopeTable *a = l->attrs;
    int64_t d = l->out[0].size[1], half = d / 2;
    double *y = l->out[0].data;
    for (int64_t p = 0; p < l->out[0].size[0]; p++, y += d)
        for (int64_t j = 0; j < half; j++) {
            float f = rope_frequency(a->base, j, d);
            if (a->rounded) f = bf16_to_float(bf16_of_float(f));
            y[j] = cos((double)p * f);
            y[j + half] = sin((double)p * f);
        }
    return KERNEL_OK;
}

/* rate 0: rows are tokens, else windows of so many. */
static int turned(const Launch *l, double sign, int64_t rate)
{
    const Tensor *in = &l->in[0], *table = &l->in[1];
    int64_t d = table->size[1], half = d / 2, inner = tensor_volume(in, 2, in->n_dims - 1);
    int64_t n_rows = tensor_count(in) / d;
    for (int64_t i = 0; i < n_rows; i++) {
        const double *x = (const double *)in->data + i * d;
        double *y = (double *)l->out[0].data + i * d;
        int64_t token = i / inner, length = in->size[1];
        int64_t p = global_index(in, 1, token % length),
                begin = row_position(l->now, token / length);
        p = rate ? rope_window_position(p, begin, rate, table->size[0]) : p + begin;
        if (p < 0 || p >= table->size[0]) return KERNEL_BAD_INDEX;
        const double *cosine = (const double *)table->data + p * d, *sine = cosine + half;
        for (int64_t j = 0; j < half; j++) {
            double a = x[j], b = x[j + half];
            y[j] = a * cosine[j] - sign * b * sine[j];
            y[j + half] = b * cosine[j] + sign * a * sine[j];
        }
    }
    return KERNEL_OK;
}

static int reference(const Launch *l)
{
    return turned(l, ((const Rope *)l->attrs)->inverse ? -1 : 1, 0);
}

static int windows_reference(const Launch *l)
{
    const RopeWindows *a = l->attrs;
    return turned(l, a->inverse ? -1 : 1, a->rate);
}

static const OpDef op_rope_windows = {
    .name = "rope_windows",
    .doc = "turns pairs of features of windows by the angles of their first positions",
    .dims = "bs*d!,t!d->bs*d",
    .attrs = windows_attrs,
    .attrs_size = sizeof(RopeWindows),
    .grad = windows_grad,
    .reference = windows_reference,
    .flags = OP_LINEAR,
};
static const OpDef op_rope_table = {
    .name = "rope_table",
    .doc = "cosines (first half of a row) and sines of position times frequency",
    .dims = "->t!d!",
    .attrs = table_attrs,
    .attrs_size = sizeof(RopeTable),
    .dtypes = table_dtypes,
    .reference = table_reference,
};
const OpDef op_rope = {
    .name = "rope",
    .doc = "turns pairs of features by the angles of their position",
    .dims = "bs*d!,t!d->bs*d",
    .attrs = rope_attrs,
    .attrs_size = sizeof(Rope),
    .grad = grad,
    .reference = reference,
    .flags = OP_LINEAR,
};

const OpDef *const rope_ops[] = { &op_rope_table, &op_rope, &op_rope_windows, NULL };
