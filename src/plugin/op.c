/* op.c - a plugin's op: its forward and backward functions as reference kernels of two ops. */
#include "ops/all_ops.h"
#include "plugin/parts.h"
#include <string.h>

ModalitiesTensor plugin_tensor(const Tensor *t)
{
    return (ModalitiesTensor){ .data = t->dtype == F64 ? t->data : NULL,
                               .ids = t->dtype == I32 ? t->data : NULL,
                               .n_dims = t->n_dims,
                               .size = t->size,
                               .count = tensor_count(t) };
}

static int forward(const Launch *l)
{
    const PluginOp *op = (const PluginOp *)((const char *)l->op - offsetof(PluginOp, forward));
    ModalitiesTensor in[MAX_OPERANDS], out = plugin_tensor(&l->out[0]);
    for (int k = 0; k < l->n_in; k++) in[k] = plugin_tensor(&l->in[k]);
    op->from->forward(plugin_settings(l->attrs), in, &out);
    return KERNEL_OK;
}

/* Its inputs are those of the op, then the gradient of the result; its results are the gradients
 * of the float inputs, in their order. */
static int backward(const Launch *l)
{
    const PluginOp *op = (const PluginOp *)((const char *)l->op - offsetof(PluginOp, backward));
    ModalitiesTensor in[MAX_OPERANDS], din[MAX_OPERANDS], dout;
    const int n = l->n_in - 1;
    for (int k = 0, made = 0; k < n; k++) {
        in[k] = plugin_tensor(&l->in[k]);
        din[k] = in[k].data ? plugin_tensor(&l->out[made++]) : (ModalitiesTensor){ 0 };
    }
    dout = plugin_tensor(&l->in[n]);
    op->from->backward(plugin_settings(l->attrs), in, &dout, din);
    return KERNEL_OK;
}

/* Gradients have the types of what they are gradients of. */
static void gradient_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0, made = 0; k < n->n_in - 1; k++)
        if (dtype_is_float(n->in[k]->dtype)) out[made++] = n->in[k]->dtype;
}

/* Appends operand `k` of the inputs of "*k,nk->*n", without its marks where it becomes a result. */
static void put_operand(Text *to, const char *dims, int k, bool is_result)
{
    for (; k > 0; dims++) k -= *dims == ',';
    for (; *dims && *dims != ',' && strncmp(dims, "->", 2) != 0; dims++)
        if (*dims != '!' || !is_result) text_putc(to, *dims);
}

/* "*k,nk->*n" gives "*k,nk,*n->*k,nk", without the gradients of integers. */
static const char *gradient_dims(Arena *a, const Node *n)
{
    const char *dims = n->dims->text, *arrow = strstr(dims, "->");
    Text t = { 0 };
    CHECK(arrow != NULL);
    text_printf(&t, "%.*s,%s->", (int)(arrow - dims), dims, arrow + 2);
    for (int k = 0, made = 0; k < n->n_in; k++) {
        if (!dtype_is_float(n->in[k]->dtype)) continue;
        if (made++) text_putc(&t, ',');
        put_operand(&t, dims, k, true);
    }
    const char *text = arena_string(a, t.ptr);
    text_free(&t);
    return text;
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    const PluginOp *op = (const PluginOp *)((const char *)n->op - offsetof(PluginOp, forward));
    Value *in[MAX_OPERANDS + 1];
    for (int k = 0; k < n->n_in; k++) in[k] = n->in[k];
    in[n->n_in] = dout[0];
    const Node *made = graph_add_dims(g, &op->backward, gradient_dims(g->arena, n), NULL, n->attrs,
                                      n->n_in + 1, in);
    for (int k = 0, i = 0; k < n->n_in; k++)
        if (dtype_is_float(n->in[k]->dtype)) din[k] = made->out[i++];
}

static Error *check(const ModalitiesOp *from)
{
    if (!from->name || !from->dims || !from->forward)
        return error_new("an op needs name, dims and forward");
    const char *arrow = strstr(from->dims, "->");
    int n_in = 1;
    for (const char *p = from->dims; arrow && p < arrow; p++) n_in += *p == ',';
    if (!arrow || arrow == from->dims || strchr(arrow, ','))
        return error_new("op %s: dims \"%s\"; allowed: operands, \"->\" and one result, as in "
                         "\"*k,nk->*n\"",
                         from->name, from->dims);
    if (n_in >= MAX_OPERANDS)
        return error_new("op %s has %d operands; allowed: up to %d", from->name, n_in,
                         MAX_OPERANDS - 1);
    return NULL;
}

Error *plugin_op_new(Arena *a, const ModalitiesOp *from, PluginOp **out)
{
    TRY(check(from));
    const Field *fields;
    TRY(error_wrap(plugin_fields(a, NULL, from->settings, from->settings_size, &fields), "op %s",
                   from->name));
    PluginOp *op = NEW(a, PluginOp);
    op->from = from;
    op->forward = (OpDef){ .name = from->name,
                           .doc = from->doc ? from->doc : "",
                           .dims = from->dims,
                           .attrs = fields,
                           .attrs_size = OWN_SETTINGS + from->settings_size,
                           .grad = from->backward ? grad : NULL,
                           .reference = forward };
    op->backward = op->forward;
    op->backward.name = arena_printf(a, "%s_grad", from->name);
    op->backward.dims = NULL;
    op->backward.dtypes = gradient_dtypes;
    op->backward.grad = NULL;
    op->backward.reference = backward;
    *out = op;
    return NULL;
}

const OpDef *plugin_op_find(const PluginOps *ops, const char *name)
{
    for (int64_t i = 0; i < ops->n; i++)
        if (!strcmp(ops->item[i]->forward.name, name)) return &ops->item[i]->forward;
    return op_find(name);
}
