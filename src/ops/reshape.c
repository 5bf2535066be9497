/* reshape.c - the same numbers under another shape: heads are split off and merged again.
 *
 * A rank's part stays contiguous because a composite dimension is split by its leading letter only.
 * So the result is a view: no kernel runs and no memory is taken. */
#include "ops/reshape.h"
#include <string.h>

static const OpDef op_reshape, op_detach;

Value *reshape(Graph *g, const char *dims, const char *sizes, Value *x)
{
    return graph_add_dims(g, &op_reshape, dims, sizes, NULL, 1, &x)->out[0];
}

Value *detached(Graph *g, Value *x)
{
    return graph_add(g, &op_detach, NULL, 1, &x)->out[0];
}

/* The dims read backward; all letters have got their sizes. */
static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const char *text = n->dims->text, *arrow = strstr(text, "->");
    const char *dims = arena_printf(g->arena, "%s->%.*s", arrow + 2, (int)(arrow - text), text);
    char *sizes = arena_string(g->arena, "");
    for (int s = 0; s < N_LETTERS; s++)
        if (n->slot_size[s])
            sizes =
                arena_printf(g->arena, "%s%c=%lld ", sizes, 'a' + s, (long long)n->slot_size[s]);
    din[0] = reshape(g, dims, sizes, dout[0]);
}

static void same_dtype(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
}

static const OpDef op_reshape = {
    .name = "reshape",
    .doc = "the same numbers under another shape",
    .dtypes = same_dtype,
    .grad = grad,
    .flags = OP_LINEAR | OP_VIEW,
};

static const OpDef op_detach = {
    .name = "detach",
    .doc = "the same numbers, from which no gradient flows back",
    .dims = "*->*",
    .dtypes = same_dtype,
    .flags = OP_LINEAR | OP_VIEW,
};

const OpDef *const reshape_ops[] = { &op_reshape, &op_detach, NULL };
