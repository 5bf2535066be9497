/* kernel_check.c - compares a row of kernels with the reference of its op. */
#include "kernel_check.h"
#include "op_cases.h"
#include "op_split.h"
#include "ops/all_ops.h"
#include "tensor/halves.h"
#include "test.h"
#include <string.h>

enum { GUARD = 64, MAX_OPERANDS = 64 };
static const char poison = (char)0xff, guard = 0x5a;

/* Error allowed, as a share of the element itself and of the largest of the result. */
typedef struct Tolerance {
    double of_element, of_largest;
} Tolerance;

static double rounding(Dtype t)
{
    if (t == F8_E4M3 || t == F8_E5M2) return t == F8_E4M3 ? 0x1p-4 : 0x1p-3;
    return t == F64 ? 0x1p-52 : t == F32 ? 0x1p-23 : t == BF16 ? 0x1p-8 : 0x1p-10;
}

static Tolerance tolerance(const Launch *l, const Tensor *result)
{
    double worst = 0;
    for (int k = 0; k < l->n_in + l->n_out; k++) {
        const Tensor *t = k < l->n_in ? &l->in[k] : &l->out[k - l->n_in];
        if (dtype_is_float(t->dtype)) worst = fmax(worst, rounding(t->dtype));
    }
    bool is_small = worst >= 0x1p-10;
    return (Tolerance){ rounding(result->dtype), is_small ? 2 * worst : 64 * worst };
}

/* Memory with a guard after it. */
static void *guarded(Arena *a, size_t bytes)
{
    char *p = arena_alloc(a, bytes + GUARD);
    memset(p, poison, bytes);
    memset(p + bytes, guard, GUARD);
    return p;
}

static bool is_intact(const void *p, size_t bytes)
{
    for (int i = 0; i < GUARD; i++)
        if (((const char *)p)[bytes + (size_t)i] != guard) return false;
    return true;
}

/* Which input a result overwrites in place, or -1. */
static int shared_input(const Node *n, int k)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] == n->out[k]) return i;
    return -1;
}

/* Fresh operands for a kernel. Results that are added to start as small numbers. */
static Launch operands(Arena *a, const NodeRun *w, const Dtype *types, unsigned add)
{
    const Node *n = w->node;
    Tensor *in = NEW_N(a, Tensor, n->n_in), *out = NEW_N(a, Tensor, n->n_out);
    for (int k = 0; k < n->n_in; k++) {
        in[k] = op_tensor_as(a, types[k], &w->in[k]);
        void *data = guarded(a, tensor_bytes(&in[k]));
        in[k].data = memcpy(data, in[k].data, tensor_bytes(&in[k]));
    }
    for (int k = 0; k < n->n_out; k++) {
        int shared = shared_input(n, k);
        out[k] = shared >= 0 ? in[shared] : w->out[k];
        if (shared >= 0) continue;
        out[k].dtype = types[n->n_in + k];
        out[k].data = guarded(a, tensor_bytes(&out[k]));
        for (int64_t i = 0; add >> k & 1 && i < tensor_count(&out[k]); i++)
            dtype_set(out[k].dtype, out[k].data, i, (double)(i % 7) - 3);
    }
    Launch l = op_launch(n, in, out, &w->run->now);
    bool *adds = NEW_N(a, bool, n->n_out);
    for (int k = 0; k < n->n_out; k++) adds[k] = add >> k & 1;
    l.add = adds;
    return l;
}

/* A row that is being checked. */
typedef struct RowCheck {
    const KernelDef *row;
    const KernelRunner *how;
    Arena *arena;
} RowCheck;

static const char *run_guarded(const RowCheck *x, Launch *l, int way)
{
    size_t bytes = x->row->scratch ? x->row->scratch(l, x->how->threads(x->how, way)) : 0;
    l->scratch = guarded(x->arena, bytes);
    int status = x->how->run(x->how, x->row, l, way);
    if (status != KERNEL_OK) return arena_printf(x->arena, "status %d", status);
    if (!is_intact(l->scratch, bytes)) return "writes after its scratch";
    for (int i = 0; i < l->n_out; i++)
        if (!is_intact(l->out[i].data, tensor_bytes(&l->out[i]))) return "writes after a result";
    return NULL;
}

/* Element i of result k; of the low half of a parameter the whole number, since one that is rounded
 * otherwise may have another high half. */
static double number_of(const Launch *l, const Tensor *out, int k, int64_t i)
{
    if (l->out[k].dtype != I16) return op_get(&out[k], i);
    return float_of_halves(high_half_of((float)op_get(&out[0], i)), (int16_t)op_get(&out[k], i));
}

static const char *compare(Arena *a, const Launch *l, const Tensor *expected)
{
    for (int k = 0; k < l->n_out; k++) {
        const Tensor *found = &l->out[k];
        double largest = 0;
        Tolerance allowed = tolerance(l, found);
        if (found->dtype == I16) allowed = (Tolerance){ rounding(F32), 64 * rounding(F32) };
        for (int64_t i = 0; i < tensor_count(found); i++)
            if (isfinite(number_of(l, expected, k, i)))
                largest = fmax(largest, fabs(number_of(l, expected, k, i)));
        int64_t first = -1, n_wrong = 0;
        for (int64_t i = 0; i < tensor_count(found); i++) {
            double x = number_of(l, l->out, k, i), e = number_of(l, expected, k, i);
            if (x == e || (isnan(x) && isnan(e))) continue;
            if (fabs(x - e) <= allowed.of_element * fabs(e) + allowed.of_largest * largest)
                continue;
            if (n_wrong++ == 0) first = i;
        }
        if (n_wrong)
            return arena_printf(
                a, "result %d[%d] is %.9g, the reference gives %.9g; %d of %d are wrong", k,
                (int)first, number_of(l, l->out, k, first), number_of(l, expected, k, first),
                (int)n_wrong, (int)tensor_count(found));
    }
    return NULL;
}

/* What the reference makes of the rounded inputs, in double precision. */
static Tensor *expected_of(Arena *a, const NodeRun *w, const Launch *l)
{
    Tensor *out = NEW_N(a, Tensor, l->n_out);
    for (int k = 0; k < l->n_out; k++) {
        const Dtype t = dtype_is_float(l->out[k].dtype) ? F64 : I32;
        out[k] = op_tensor(a, t, l->out[k].n_dims, l->out[k].size);
        memcpy(out[k].part, l->out[k].part, sizeof out[k].part);
        if (launch_adds(l, k))
            dtype_convert(F64, out[k].data, l->out[k].dtype, l->out[k].data, tensor_count(&out[k]));
    }
    Launch reference = *l;
    reference.out = out;
    assert_int_equal(op_reference(a, w->node->op, reference), KERNEL_OK);
    return out;
}

/* One launch in all ways; NULL when all is well. *n_served counts what the row accepts. */
static const char *check_launch(const RowCheck *x, const NodeRun *w, const Dtype *types,
                                unsigned add, int *n_served)
{
    Arena *a = x->arena;
    Launch first = operands(a, w, types, add);
    first.stream = x->how->stream;
    if (x->row->serves && !x->row->serves(&first)) return NULL;
    ++*n_served;
    Tensor *expected = expected_of(a, w, &first);
    const char *problem = run_guarded(x, &first, 0);
    if (!problem) problem = compare(a, &first, expected);
    for (int way = 1; way < x->how->n_ways && !problem; way++) {
        Launch again = operands(a, w, types, add);
        again.stream = first.stream;
        problem = run_guarded(x, &again, way);
        for (int i = 0; !problem && i < first.n_out; i++)
            if (memcmp(first.out[i].data, again.out[i].data, tensor_bytes(&first.out[i])))
                problem = x->how->differ;
    }
    return problem;
}

static const char *check_node(const RowCheck *x, const NodeRun *w, int *n_served)
{
    const KernelDef *k = x->row;
    Arena *a = x->arena;
    static const unsigned narrow[] = { 0, ~0u, 0x55555555, 0xaaaaaaaa };
    Dtype types[MAX_OPERANDS];
    int n_out = w->node->n_out;
    if (w->node->n_in + n_out > MAX_OPERANDS) return NULL;
    for (int i = 0; i < 4; i++) {
        if (!op_row_types(k->types, w->node, narrow[i], types)) continue;
        bool adds = w->node->op->flags & OP_ADDS;
        for (int bit = -1; bit <= (adds ? n_out : -1); bit++) {
            unsigned add = bit < 0 ? 0 : bit < n_out ? 1u << bit : (1u << n_out) - 1;
            const char *problem = check_launch(x, w, types, add, n_served);
            if (problem) return arena_printf(a, "%s%s", problem, add ? " (adding to results)" : "");
        }
        if (!strstr(k->types, "any")) break;
    }
    return NULL;
}

static bool is_small(const NodeRun *w)
{
    int64_t n = 0;
    for (int k = 0; k < w->node->n_in; k++) n += tensor_count(&w->in[k]);
    return n < 2000;
}

/* Keys may be split, too, though the letter is marked as whole: a ring hands parts around. */
static bool may_split(const Node *n, int slot, int n_pieces)
{
    if (n->op->flags & OP_ROWS) return false; /* rows are told by numbers of their own part */
    bool is_key = slot == 't' - 'a' && !strncmp(n->op->name, "attention", 9);
    return is_key ? op_divides(n, slot, n_pieces) : op_can_split(n, slot, n_pieces);
}

static const char *check_halves(const RowCheck *x, const NodeRun *w)
{
    Arena *a = x->arena;
    int n_served = 0;
    const char *problem = NULL;
    for (int slot = 0; slot < N_SLOTS && is_small(w); slot++)
        for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++)
            for (int r = 0; r < 2 && !problem; r++) {
                if (!may_split(w->node, slot, layout == ZIGZAG ? 4 : 2)) continue;
                NodeRun half = op_half(a, w, slot, r, (Layout)layout);
                problem = check_node(x, &half, &n_served);
                if (problem)
                    problem =
                        arena_printf(a, "%s (half %d of slot %d%s of \"%s\")", problem, r, slot,
                                     layout == ZIGZAG ? ", zig-zag" : "", w->node->dims->text);
            }
    return problem;
}

/* The nodes of a case: texts are only continued, so they have no gradients. */
static int64_t n_checked(const OpCase *c, const CaseGraph *made)
{
    return c->texts ? made->n_forward : made->graph->n_nodes;
}

static OpRun *run_of(Arena *a, const OpCase *c, Graph *g)
{
    OpRun *run = op_run_new(a, g, c->position);
    run->now.n_texts = c->texts ? CASE_TEXTS : 0;
    for (int64_t b = 0; b < run->now.n_texts; b++) run->now.text_position[b] = c->texts[b];
    return run;
}

const char *kernel_check(const KernelDef *k, const KernelRunner *how, Arena *result)
{
    int n_served = 0;
    const char *problem = NULL;
    for (int c = 0; c < op_case_count() && !problem; c++) {
        Arena *a = arena_new();
        CaseGraph made = op_case_build(a, op_case_at(c), op_case_at(c)->n);
        const int64_t n_nodes = n_checked(op_case_at(c), &made);
        bool occurs = false;
        for (int64_t i = 0; i < n_nodes; i++)
            occurs |= !strcmp(made.graph->node[i]->op->name, k->op);
        OpRun *run = occurs ? run_of(a, op_case_at(c), made.graph) : NULL;
        for (int64_t i = 0; occurs && !problem && i < n_nodes; i++) {
            NodeRun w = op_run_node(run, a, i);
            if (strcmp(w.node->op->name, k->op)) continue;
            const RowCheck x = { k, how, a };
            problem = check_node(&x, &w, &n_served);
            if (!problem && !op_case_at(c)->texts) problem = check_halves(&x, &w);
        }
        if (problem)
            problem = arena_printf(result, "%s, \"%s\": %s", k->op, op_case_at(c)->name, problem);
        arena_free(a);
    }
    if (!problem && n_served == 0) problem = arena_printf(result, "%s: no case fits", k->op);
    return problem ? arena_printf(result, "%s [%s %s]", problem, k->types, kernel_name(k)) : NULL;
}

bool kernel_talks(const KernelDef *row)
{
    const OpDef *op = op_find(row->op);
    return !strncmp(row->op, "ring_", 5) || (op && op->flags & OP_COMM);
}
