/* test_float8.c - eight bits: rounding to the bit, scales, and how far products are off. */
#include "base/thread.h"
#include "op_run.h"
#include "ops/contract.h"
#include "ops/float8.h"
#include "ops/kernels.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { ALL = 65536 };

static void quantize_by(const KernelDef *row, const Tensor *x, float scale, Dtype format,
                        uint8_t *out)
{
    const Shape shapes[] = { { 1, { ALL } }, { 0 } };
    const Float8Format f = { (int)format, false };
    Arena *a = arena_new();
    Pool *pool = pool_new(1);
    Stream stream = { .pool = pool };
    const DimSpec *dims;
    Tensor in[] = { *x, { .dtype = F32, .data = &scale } }, to = *x;
    assert_no_error(dims_parse(a, "k,->k", 2, shapes, &dims));
    to.dtype = format;
    to.data = out;
    const Launch l = {
        .attrs = &f, .dims = dims, .in = in, .out = &to, .n_in = 2, .n_out = 1, .stream = &stream
    };
    assert_int_equal(row->run(&l), KERNEL_OK);
    pool_free(pool);
    arena_free(a);
}

/* Every number of bf16, and in f32 what lies a little above and below it: near ties, too. */
static void check_rounding(CpuLevel level, Dtype t, Dtype format, int32_t beside, float scale)
{
    static uint16_t narrow[ALL];
    static float wide[ALL];
    static uint8_t found[ALL];
    const float most = float8_most(format);
    Tensor x = {
        .dtype = t, .n_dims = 1, .size = { ALL }, .data = t == BF16 ? (void *)narrow : wide
    };
    Tensor out = { .dtype = format }, one = { .dtype = F32 };
    const Launch l = { .in = (Tensor[]){ x, one }, .out = &out, .n_in = 2, .n_out = 1 };
    for (uint32_t i = 0; i < ALL; i++) {
        const uint32_t bits = (i << 16) + (uint32_t)beside;
        narrow[i] = (uint16_t)i;
        memcpy(&wide[i], &bits, sizeof bits);
    }
    const KernelDef *row = kernel_find("float8_quantize", "cpu", level, &l);
    assert_non_null(row);
    quantize_by(row, &x, scale, format, found);
    for (int i = 0; i < ALL; i++) {
        const float v = t == BF16 ? bf16_to_float(narrow[i]) : wide[i];
        const float within = float8_within(v, 1 / scale, most);
        uint8_t expected;
        dtype_set(format, &expected, 0, within);
        if (isnan(v) ? !isnan(dtype_get(format, &found[i], 0)) : found[i] != expected)
            fail_msg("%s of %.9g / %g: %d, not %d", dtype_name(format), v, scale, found[i],
                     expected);
    }
}

TEST(every_number_is_rounded_to_the_nearest_of_eight_bits)
{
    for (CpuLevel level = CPU_SCALAR; level <= cpu_level_available(); level++)
        for (Dtype format = F8_E4M3; format <= F8_E5M2; format++) {
            check_rounding(level, BF16, format, 0, 1);
            check_rounding(level, BF16, format, 0, 0.37F);
            for (int32_t beside = -1; beside <= 1; beside++)
                check_rounding(level, F32, format, beside, 1);
            check_rounding(level, F32, format, 0x8000, 3e-4F);
        }
}

TEST(scales_bring_the_largest_number_to_the_end_of_the_format)
{
    const Float8Format e4m3 = { F8_E4M3, false }, e5m2 = { F8_E5M2, false },
                       two = { F8_E4M3, true };
    assert_true(float8_scale_for(448, &e4m3) == 1);
    assert_true(float8_scale_for(57344, &e5m2) == 1);
    assert_true(float8_scale_for(3, &e4m3) == 3.0F / 448);
    assert_true(float8_scale_for(0, &e4m3) == 1e-12F / 448);
    assert_true(float8_scale_for(448, &two) == 1);
    assert_true(float8_scale_for(449, &two) == 2);
    assert_true(float8_scale_for(3, &two) == 0x1p-7F);
    assert_true(isnan(float8_scale_for(NAN, &e4m3)) && isnan(float8_scale_for(NAN, &two)));
    assert_true(isinf(float8_scale_for(INFINITY, &two)));
}

/* ---- products ---- */

/* A product with one scale for a factor, or one for each row that is summed over. */
typedef struct Exactness {
    const char *dims, *a, *b, *c; /* of the product, and its operands */
    const char *kept_a, *kept_b;  /* scales */
    Dtype of_a;
    bool power_of_two;
    double most;
} Exactness;

static Value *factor(Graph *g, const char *name, bool is_matrix, int64_t n, int64_t k)
{
    const Dim dims[] = { { .size = 3 }, { .size = n }, { .size = k } };
    return graph_input(g, name, F64, is_matrix ? 2 : 3, is_matrix ? dims + 1 : dims);
}

/* ||rounded - exact|| / ||exact|| */
static double error_of(const Exactness *e, Value *(*leaf)(Graph *g, const char *operand))
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const Float8Format f[] = { { (int)e->of_a, e->power_of_two }, { F8_E4M3, e->power_of_two } };
    const char *operand[] = { e->a, e->b }, *kept[] = { e->kept_a, e->kept_b };
    Value *x[2], *scale[2], *rounded[2];
    for (int k = 0; k < 2; k++) {
        const char *dims = arena_printf(a, "%s->%s", operand[k], kept[k]);
        x[k] = leaf(g, operand[k]);
        scale[k] = float8_scale(g, dims, x[k], &f[k]);
        dims = arena_printf(a, "%s,%s->%s", operand[k], kept[k], operand[k]);
        rounded[k] = float8_quantize(g, dims, x[k], scale[k], &f[k]);
    }
    Value *exact = contract(g, e->dims, x[0], x[1]);
    const char *dims = arena_printf(a, "%s,%s,%s,%s->%s", e->a, e->b, e->kept_a, e->kept_b, e->c);
    Value *found = float8_contract(g, dims, rounded[0], rounded[1], scale[0], scale[1], F64, NULL);
    assert_no_error(graph_finish(g));
    OpRun *run = op_run_new(a, g, 0);
    op_run_nodes(run, 0, g->n_nodes);
    double off = 0, all = 0;
    for (int64_t i = 0; i < value_count(exact); i++) {
        const double y = op_get(&run->tensor[exact->id], i), z = op_get(&run->tensor[found->id], i);
        off += (z - y) * (z - y);
        all += y * y;
    }
    arena_free(a);
    return sqrt(off / all);
}

/* Tokens are 3 x 32, k is 64, n is 48. */
static Value *leaf_of(Graph *g, const char *operand)
{
    if (!strcmp(operand, "nk")) return factor(g, "w", true, 48, 64);
    return !strcmp(operand, "*k") ? factor(g, "x", false, 32, 64) : factor(g, "dy", false, 32, 48);
}

/* Numbers of E4M3 are rounded by 2.6 % on average, those of E5M2 by twice as much. */
TEST(products_of_eight_bits_are_as_near_as_their_formats)
{
    static const Exactness all[] = {
        { "*k,nk->*n", "*k", "nk", "*n", "", "", F8_E4M3, false, 0.04 },
        { "*n,nk->*k", "*n", "nk", "*k", "", "", F8_E5M2, false, 0.06 },
        { "*n,*k->nk", "*n", "*k", "nk", "", "", F8_E5M2, false, 0.06 },
        { "*k,nk->*n", "*k", "nk", "*n", "*", "n", F8_E4M3, true, 0.04 },
        { "*n,nk->*k", "*n", "nk", "*k", "*", "k", F8_E4M3, true, 0.04 },
        { "*n,*k->nk", "*n", "*k", "nk", "n", "k", F8_E4M3, true, 0.04 },
    };
    double off[2] = { 0 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const double e = error_of(&all[i], leaf_of);
        double *worst = &off[all[i].of_a == F8_E5M2];
        *worst = fmax(*worst, e);
        if (!(e <= all[i].most && e > 0.001))
            fail_msg("%s, %s: %g", all[i].dims, dtype_name(all[i].of_a), e);
    }
    test_note("at most %.1f %% of its norm off in E4M3, %.1f %% with one in E5M2", 100 * off[0],
              100 * off[1]);
}
