/* test_split.c - an op run on two halves gives what it gives on the whole.
 *
 * For every node of every case and every letter that its dims allow to be split, contiguous and
 * zig-zag: results with the letter are the halves, results without it are partial sums (maxima). */
#include "op_cases.h"
#include "op_run.h"
#include "ops/all_ops.h"
#include "test.h"
#include <string.h>

/* The dimension that `slot` leads, or -1. */
static int dim_of(const Operand *o, int slot)
{
    for (int d = 0; d < o->n_dims; d++)
        if (o->dim[d].slot[0] == slot) return d;
    return -1;
}

/* False when the letter must be whole, does not divide, or is an inner factor of a composite. */
static bool can_split(const Node *n, int slot, int n_pieces)
{
    const DimSpec *spec = n->dims;
    bool used = false;
    if (spec->whole[slot] || n->slot_size[slot] % n_pieces || !n->slot_size[slot]) return false;
    for (int k = 0; k < spec->n_in + spec->n_out; k++) {
        const Operand *o = k < spec->n_in ? &spec->in[k] : &spec->out[k - spec->n_in];
        if (dims_uses(o, slot) && dim_of(o, slot) < 0) return false;
        used |= dims_uses(o, slot);
    }
    return used;
}

/* The part of `whole` (content included) that a rank holds; the tensor itself without the slot. */
static Tensor part_of(Arena *a, const Tensor *whole, const Operand *o, int slot, const Part *like)
{
    int d = dim_of(o, slot);
    if (d < 0) return *whole;
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

static bool same(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b))) return true;
    return fabs(a - b) <= 1e-12 * (1 + fabs(a));
}

static void check_result(const char *name, const NodeRun *w, int k, int slot, const Tensor *parts)
{
    const Node *n = w->node;
    bool is_max = n->out[k]->reduce == REDUCE_MAX, has_slot = dim_of(&n->dims->out[k], slot) >= 0;
    for (int64_t i = 0; i < tensor_count(&parts[0]); i++)
        for (int r = 0; r < 2; r++) {
            double x = op_get(&parts[0], i), y = op_get(&parts[1], i);
            double found = has_slot ? r ? y : x : is_max ? fmax(x, y) : x + y;
            int64_t at = has_slot ? global_element(&parts[r], i) : i;
            if (!same(op_get(&w->out[k], at), found))
                fail_msg("%s: %s split over slot %d of \"%s\": result %d[%d] is %.15g, not %.15g",
                         name, n->op->name, slot, n->dims->text, k, (int)at, found,
                         op_get(&w->out[k], at));
        }
}

static void check_split(const char *name, const NodeRun *w, int slot, Layout layout)
{
    Arena *a = arena_new();
    const Node *n = w->node;
    Tensor *in = NEW_N(a, Tensor, n->n_in), *out[2], *result = NEW_N(a, Tensor, 2);
    for (int r = 0; r < 2; r++) {
        Part like = { .n_parts = 2, .index = r, .layout = layout };
        out[r] = NEW_N(a, Tensor, n->n_out);
        for (int k = 0; k < n->n_in; k++)
            in[k] = part_of(a, &w->in[k], &n->dims->in[k], slot, &like);
        for (int k = 0; k < n->n_out; k++) {
            Tensor whole = op_tensor(a, w->out[k].dtype, w->out[k].n_dims, w->out[k].size);
            out[r][k] = part_of(a, &whole, &n->dims->out[k], slot, &like);
            if (out[r][k].data == whole.data) out[r][k] = op_tensor_as(a, whole.dtype, &whole);
        }
        Launch l = op_launch(n, in, out[r], &w->run->now);
        assert_int_equal(op_reference(a, n->op, l), KERNEL_OK);
    }
    for (int k = 0; k < n->n_out; k++) {
        for (int r = 0; r < 2; r++) result[r] = out[r][k];
        check_result(name, w, k, slot, result);
    }
    arena_free(a);
}

/* Counts the splits that were checked, by place in all_ops. */
static void check_case(const OpCase *c, int *n_splits)
{
    Arena *a = arena_new();
    CaseGraph made = op_case_build(a, c, c->n);
    OpRun *run = op_run_new(a, made.graph, c->position);
    for (int64_t i = 0; i < made.graph->n_nodes; i++) {
        NodeRun w = op_run_node(run, a, i);
        int op = 0;
        while (all_ops[op] != w.node->op) op++;
        for (int slot = 0; slot < N_SLOTS; slot++) {
            if (!can_split(w.node, slot, 2)) continue;
            check_split(c->name, &w, slot, CONTIGUOUS);
            if (can_split(w.node, slot, 4)) check_split(c->name, &w, slot, ZIGZAG);
            n_splits[op]++;
        }
    }
    arena_free(a);
}

/* Scalars, and tables that every rank makes whole. */
static bool is_never_split(const OpDef *op)
{
    return op == &op_loss_seed || op == &op_rope_table || op == &op_norm_total ||
           op == &op_clip_factor;
}

TEST(two_halves_equal_the_whole)
{
    int n_splits[256] = { 0 };
    for (int k = 0; k < n_op_cases; k++) check_case(&op_cases[k], n_splits);
    for (int i = 0; all_ops[i]; i++)
        if ((n_splits[i] == 0) != is_never_split(all_ops[i]))
            fail_msg("%s: %d splits were checked", all_ops[i]->name, n_splits[i]);
}
