/* test_kernels.c - every tuned kernel against the reference of its op, on every case that it fits.
 *
 * A kernel gets the reference's inputs rounded to its own dtypes, scratch and results filled with
 * NaN, and guards behind them. One and three threads must give the same bits. Launch.add is tried
 * for each result alone and for all. Small cases run in halves, too, as ranks would hold them. */
#include "base/thread.h"
#include "op_cases.h"
#include "op_run.h"
#include "op_split.h"
#include "ops/all_ops.h"
#include "ops/kernels.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { GUARD = 64, MAX_OPERANDS = 16 };
static const char poison = (char)0xff, guard = 0x5a;

/* Error allowed, as a share of the element itself and of the largest of the result. */
typedef struct Tolerance {
    double of_element, of_largest;
} Tolerance;

static double rounding(Dtype t)
{
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

/* Memory with a guard behind it. */
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

static const char *run_kernel(Arena *a, const KernelDef *k, Launch *l, Pool *pool)
{
    size_t bytes = k->scratch ? k->scratch(l, pool_size(pool)) : 0;
    Stream stream = { .pool = pool };
    l->stream = &stream;
    l->scratch = guarded(a, bytes);
    int status = k->run(l);
    l->stream = NULL;
    if (status != KERNEL_OK) return arena_printf(a, "status %d", status);
    if (!is_intact(l->scratch, bytes)) return "writes behind its scratch";
    for (int i = 0; i < l->n_out; i++)
        if (!is_intact(l->out[i].data, tensor_bytes(&l->out[i]))) return "writes behind a result";
    return NULL;
}

static const char *compare(Arena *a, const Launch *l, const Tensor *expected)
{
    for (int k = 0; k < l->n_out; k++) {
        const Tensor *found = &l->out[k];
        double largest = 0;
        Tolerance allowed = tolerance(l, found);
        for (int64_t i = 0; i < tensor_count(found); i++)
            if (isfinite(op_get(&expected[k], i)))
                largest = fmax(largest, fabs(op_get(&expected[k], i)));
        for (int64_t i = 0; i < tensor_count(found); i++) {
            double x = op_get(found, i), e = op_get(&expected[k], i);
            if (x == e || (isnan(x) && isnan(e))) continue;
            if (!(fabs(x - e) <= allowed.of_element * fabs(e) + allowed.of_largest * largest))
                return arena_printf(a, "result %d[%d] is %.9g, the reference gives %.9g", k, (int)i,
                                    x, e);
        }
    }
    return NULL;
}

/* What the reference makes of the rounded inputs, in double precision. */
static Tensor *expected_of(Arena *a, const NodeRun *w, const Launch *l)
{
    Tensor *out = NEW_N(a, Tensor, l->n_out);
    for (int k = 0; k < l->n_out; k++) {
        out[k] = op_tensor(a, F64, l->out[k].n_dims, l->out[k].size);
        memcpy(out[k].part, l->out[k].part, sizeof out[k].part);
        if (launch_adds(l, k))
            dtype_convert(F64, out[k].data, l->out[k].dtype, l->out[k].data, tensor_count(&out[k]));
    }
    Launch reference = *l;
    reference.out = out;
    assert_int_equal(op_reference(a, w->node->op, reference), KERNEL_OK);
    return out;
}

static Pool *pools[2]; /* of one and three threads */

/* One launch with both pools; NULL when all is well. *n_served counts what the row accepts. */
static const char *check_launch(const KernelDef *k, const NodeRun *w, const Dtype *types,
                                unsigned add, Arena *a, int *n_served)
{
    Launch first = operands(a, w, types, add), second = operands(a, w, types, add);
    if (k->serves && !k->serves(&first)) return NULL;
    ++*n_served;
    Tensor *expected = expected_of(a, w, &first);
    const char *problem = run_kernel(a, k, &first, pools[0]);
    if (!problem) problem = run_kernel(a, k, &second, pools[1]);
    if (!problem) problem = compare(a, &first, expected);
    for (int i = 0; !problem && i < first.n_out; i++)
        if (memcmp(first.out[i].data, second.out[i].data, tensor_bytes(&first.out[i])))
            problem = "three threads give other bits than one";
    return problem;
}

static const char *check_node(const KernelDef *k, const NodeRun *w, Arena *a, int *n_served)
{
    static const unsigned narrow[] = { 0, ~0u, 0x55555555, 0xaaaaaaaa };
    Dtype types[MAX_OPERANDS];
    int n_out = w->node->n_out;
    if (w->node->n_in + n_out > MAX_OPERANDS) return NULL;
    for (int i = 0; i < 4; i++) {
        if (!op_row_types(k->types, w->node, narrow[i], types)) continue;
        bool adds = w->node->op->flags & OP_ADDS;
        for (int bit = -1; bit <= (adds ? n_out : -1); bit++) {
            unsigned add = bit < 0 ? 0 : bit < n_out ? 1u << bit : (1u << n_out) - 1;
            const char *problem = check_launch(k, w, types, add, a, n_served);
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
    bool is_key = slot == 't' - 'a' && !strncmp(n->op->name, "attention", 9);
    return is_key ? op_divides(n, slot, n_pieces) : op_can_split(n, slot, n_pieces);
}

static const char *check_halves(const KernelDef *k, const NodeRun *w, Arena *a)
{
    int n_served = 0;
    const char *problem = NULL;
    for (int slot = 0; slot < N_SLOTS && is_small(w); slot++)
        for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++)
            for (int r = 0; r < 2 && !problem; r++) {
                if (!may_split(w->node, slot, layout == ZIGZAG ? 4 : 2)) continue;
                NodeRun half = op_half(a, w, slot, r, (Layout)layout);
                problem = check_node(k, &half, a, &n_served);
                if (problem)
                    problem =
                        arena_printf(a, "%s (half %d of slot %d%s of \"%s\")", problem, r, slot,
                                     layout == ZIGZAG ? ", zig-zag" : "", w->node->dims->text);
            }
    return problem;
}

/* NULL, or what is wrong with the row; owned by the arena. */
static const char *check_row(const KernelDef *k, Arena *result)
{
    int n_served = 0;
    const char *problem = NULL;
    for (int c = 0; c < n_op_cases && !problem; c++) {
        Arena *a = arena_new();
        CaseGraph made = op_case_build(a, &op_cases[c], op_cases[c].n);
        bool occurs = false;
        for (int64_t i = 0; i < made.graph->n_nodes; i++)
            occurs |= !strcmp(made.graph->node[i]->op->name, k->op);
        OpRun *run = occurs ? op_run_new(a, made.graph, op_cases[c].position) : NULL;
        for (int64_t i = 0; occurs && !problem && i < made.graph->n_nodes; i++) {
            NodeRun w = op_run_node(run, a, i);
            if (strcmp(w.node->op->name, k->op)) continue;
            problem = check_node(k, &w, a, &n_served);
            if (!problem) problem = check_halves(k, &w, a);
        }
        if (problem)
            problem = arena_printf(result, "%s, \"%s\": %s", k->op, op_cases[c].name, problem);
        arena_free(a);
    }
    if (!problem && n_served == 0) problem = arena_printf(result, "%s: no case fits", k->op);
    return problem ? arena_printf(result, "%s [%s %s]", problem, k->types, cpu_level_name(k->level))
                   : NULL;
}

static const char *check_rows(const KernelDef *rows, Arena *result)
{
    const char *problem = NULL;
    pools[0] = pool_new(1);
    pools[1] = pool_new(3);
    for (const KernelDef *k = rows; k->op && !problem; k++)
        if (k->level <= cpu_level_available()) problem = check_row(k, result);
    pool_free(pools[0]);
    pool_free(pools[1]);
    return problem;
}

TEST(tuned_kernels_agree_with_their_references)
{
    Arena *a = arena_new();
    for (int t = 0; all_cpu_kernels[t]; t++) {
        const char *problem = check_rows(all_cpu_kernels[t], a);
        if (problem) fail_msg("%s", problem);
    }
    arena_free(a);
}

TEST(every_kernel_is_of_a_known_op)
{
    for (int t = 0; all_cpu_kernels[t]; t++)
        for (const KernelDef *k = all_cpu_kernels[t]; k->op; k++)
            if (!op_find(k->op)) fail_msg("a kernel is for %s, but there is no such op", k->op);
}

/* ---- kernels that are wrong in one way each, to see that the comparison finds it ---- */

static int add_f32(const Launch *l)
{
    float *z = l->out[0].data;
    for (int64_t i = 0; i < tensor_count(&l->out[0]); i++)
        z[i] = ((const float *)l->in[0].data)[i] + ((const float *)l->in[1].data)[i];
    return KERNEL_OK;
}

static int add_imprecise(const Launch *l)
{
    add_f32(l);
    ((float *)l->out[0].data)[3] *= 1.0001f;
    return KERNEL_OK;
}

static int add_not_all(const Launch *l)
{
    Launch less = *l;
    Tensor out = l->out[0];
    out.size[0]--;
    less.out = &out;
    return add_f32(&less);
}

static int add_too_many(const Launch *l)
{
    add_f32(l);
    ((float *)l->out[0].data)[tensor_count(&l->out[0])] = 0;
    return KERNEL_OK;
}

static int add_by_threads(const Launch *l)
{
    add_f32(l);
    ((float *)l->out[0].data)[0] *= 1 + 2e-7f * (float)pool_size(l->stream->pool);
    return KERNEL_OK;
}

static int sum_rows_without_adding(const Launch *l)
{
    float *sum = l->out[0].data;
    int64_t d = l->out[0].size[0];
    memset(sum, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++)
        sum[i % d] += ((const float *)l->in[0].data)[i];
    return KERNEL_OK;
}

/* Takes rows by the local index, as if the table were whole. */
static int embed_without_parts(const Launch *l)
{
    int64_t d = l->in[1].size[1];
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        int64_t row = ((const int32_t *)l->in[0].data)[i] % l->in[1].size[0];
        memcpy((float *)l->out[0].data + i * d, (const float *)l->in[1].data + row * d,
               sizeof(float) * (size_t)d);
    }
    return KERNEL_OK;
}

static bool never(const Launch *l)
{
    (void)l;
    return false;
}

static void assert_row_problem(KernelDef row, const char *expected)
{
    Arena *a = arena_new();
    row.device = "cpu";
    const char *problem = check_rows((const KernelDef[]){ row, { 0 } }, a);
    if (!expected)
        assert_null(problem);
    else
        assert_contains(problem ? problem : "nothing", expected);
    arena_free(a);
}

TEST(comparison_of_kernels_finds_what_is_wrong)
{
    const char *types = "f32 f32>f32";
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_f32 }, NULL);
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_imprecise },
                       "the reference gives");
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_not_all }, "nan");
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_too_many },
                       "writes behind a result");
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_by_threads },
                       "three threads");
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_f32, .serves = never },
                       "no case fits");
    assert_row_problem((KernelDef){ .op = "add", .types = "f32>f32", .run = add_f32 },
                       "no case fits");
    assert_row_problem(
        (KernelDef){ .op = "embed", .types = "i32 f32>f32", .run = embed_without_parts }, "half");
    assert_row_problem(
        (KernelDef){ .op = "add_bias_grad", .types = "f32>f32", .run = sum_rows_without_adding },
        "adding to results");
}
