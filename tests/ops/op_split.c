/* op_split.c - halves of tensors, contiguous and zig-zag. */
#include "op_split.h"
#include <string.h>

int op_dim_of(const Operand *o, int slot)
{
    for (int d = 0; d < o->n_dims; d++)
        if (o->dim[d].slot[0] == slot) return d;
    return -1;
}

bool op_divides(const Node *n, int slot, int n_pieces)
{
    const DimSpec *spec = n->dims;
    bool used = false;
    if (n->slot_size[slot] % n_pieces || !n->slot_size[slot]) return false;
    for (int k = 0; k < spec->n_in + spec->n_out; k++) {
        const Operand *o = k < spec->n_in ? &spec->in[k] : &spec->out[k - spec->n_in];
        if (dims_uses(o, slot) && op_dim_of(o, slot) < 0) return false;
        used |= dims_uses(o, slot);
    }
    return used;
}

bool op_can_split(const Node *n, int slot, int n_pieces)
{
    return !n->dims->whole[slot] && op_divides(n, slot, n_pieces);
}

/* A copy of the part that a rank holds; of the whole tensor if it lacks the slot. */
static Tensor part_of(Arena *a, const Tensor *whole, const Operand *o, int slot, const Part *like)
{
    int d = op_dim_of(o, slot);
    if (d < 0) return op_tensor_as(a, whole->dtype, whole);
    int64_t size[MAX_DIMS];
    memcpy(size, whole->size, sizeof size);
    size[d] /= like->n_parts;
    Tensor t = op_tensor(a, whole->dtype, whole->n_dims, size);
    Part *part = NEW(a, Part);
    *part = *like;
    part->whole = whole->size[d];
    t.part[d] = part;
    for (int64_t i = 0; i < tensor_count(&t); i++)
        dtype_set(t.dtype, t.data, i, op_get(whole, global_element(&t, i)));
    return t;
}

NodeRun op_half(Arena *a, const NodeRun *whole, int slot, int index, Layout layout)
{
    const Node *n = whole->node;
    Part like = { .n_parts = 2, .index = index, .layout = layout };
    NodeRun half = { .run = whole->run, .node = n };
    half.in = NEW_N(a, Tensor, n->n_in);
    half.out = NEW_N(a, Tensor, n->n_out);
    for (int k = 0; k < n->n_in; k++)
        half.in[k] = part_of(a, &whole->in[k], &n->dims->in[k], slot, &like);
    for (int k = 0; k < n->n_out; k++) {
        half.out[k] = part_of(a, &whole->out[k], &n->dims->out[k], slot, &like);
        memset(half.out[k].data, 0, tensor_bytes(&half.out[k]));
    }
    return half;
}
