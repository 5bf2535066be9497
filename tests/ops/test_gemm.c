/* test_gemm.c - matrix products of every orientation, size class and dtype against double sums. */
#include "base/rng.h"
#include "op_run.h"
#include "ops/kernels.h"
#include "ops/panels.h"
#include "test.h"
#include <math.h>
#include <string.h>

typedef struct Sizes {
    int64_t m, n, k;
} Sizes;

/* Odd, whole tiles, several passes over k, k split into pieces, few rows, rows of whole pages. */
static const Sizes all_sizes[] = {
    { 1, 1, 1 },      { 6, 64, 16 },    { 5, 63, 17 },   { 7, 65, 31 },    { 97, 131, 33 },
    { 4, 300, 257 },  { 3, 19, 1601 },  { 13, 70, 800 }, { 20, 18, 2309 }, { 401, 34, 40 },
    { 66, 820, 11 },  { 9, 5, 5000 },   { 16, 70, 200 }, { 47, 37, 271 },  { 48, 9, 1100 },
    { 49, 9, 1100 },  { 2, 131, 1026 }, { 50, 1600, 3 }, { 83, 90, 320 },  { 60, 70, 2048 },
    { 300, 400, 96 }, { 75, 100, 512 },
};

/* The first operand F32, the second BF16. */
enum { MIXED = N_DTYPES };

/* m, n and k in this order make the sizes of the operands. */
static const char *const all_dims[] = { "mk,nk->mn", "mk,kn->mn", "km,kn->mn",
                                        "km,nk->mn", "mk,nk->nm", "kn,km->mn" };

static Tensor operand(Arena *a, Dtype t, const char *letters, const Sizes *s, uint64_t seed)
{
    int64_t size[2];
    for (int d = 0; d < 2; d++)
        size[d] = letters[d] == 'm' ? s->m : letters[d] == 'n' ? s->n : s->k;
    Tensor made = op_tensor(a, t, 2, size);
    for (int64_t i = 0; i < tensor_count(&made); i++)
        dtype_set(t, made.data, i, 2 * rng_uniform(seed, (uint64_t)i) - 1);
    return made;
}

/* All numbers, those of one `first` letter side by side. */
static double *doubles(Arena *a, const Tensor *t, const char *letters, char first)
{
    const int64_t rows = t->size[0], columns = t->size[1];
    double *to = NEW_N(a, double, rows *columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[letters[0] == first ? i * columns + j : j * rows + i] = op_get(t, i * columns + j);
    return to;
}

static void check_sums(const char *dims, const Sizes *s, const Tensor *a, const Tensor *b,
                       const Tensor *before, const Tensor *c)
{
    Arena *arena = arena_new();
    const bool a_has_m = dims[0] == 'm' || dims[1] == 'm';
    const double *first = doubles(arena, a, dims, a_has_m ? 'm' : 'n'),
                 *second = doubles(arena, b, dims + 3, a_has_m ? 'n' : 'm'),
                 *x = a_has_m ? first : second, *y = a_has_m ? second : first,
                 *made = doubles(arena, c, dims + 7, 'm'),
                 *added = before ? doubles(arena, before, dims + 7, 'm') : NULL;
    double rounding = c->dtype == BF16 ? 0.004 : 1e-6;
    for (int64_t m = 0; m < s->m; m++)
        for (int64_t n = 0; n < s->n; n++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < s->k; k++) {
                double product = x[m * s->k + k] * y[n * s->k + k];
                sum += product;
                size += fabs(product);
            }
            if (added) sum += added[m * s->n + n];
            assert_close(made[m * s->n + n], sum, 1e-6 * (size + 1) + rounding * fabs(sum));
        }
    arena_free(arena);
}

/* Tiles are for bf16, and for f32 with many rows. */
static bool has_tiles(int in_type, const char *dims, const Sizes *s)
{
    const bool is_turned = dims[7] == 'n';
    const int64_t rows = is_turned ? s->n : s->m, columns = is_turned ? s->m : s->n;
    return in_type == BF16 || (in_type == F32 && rows > 48 && columns >= 16 && s->k >= 32);
}

static void check(CpuLevel level, const char *dims, const Sizes *s, int in_type, Dtype out_type,
                  bool add)
{
    Arena *arena = arena_new();
    Dtype first = in_type == MIXED ? F32 : (Dtype)in_type;
    Dtype second = in_type == MIXED ? BF16 : (Dtype)in_type;
    Tensor in[] = { operand(arena, first, dims, s, 3), operand(arena, second, dims + 3, s, 2) };
    Tensor before = operand(arena, out_type, dims + 7, s, 5), out = before, again = before;
    size_t bytes = tensor_bytes(&before);
    out.data = arena_copy(arena, before.data, bytes);
    again.data = arena_copy(arena, before.data, bytes);
    Shape shapes[] = { { 2, { in[0].size[0], in[0].size[1] } },
                       { 2, { in[1].size[0], in[1].size[1] } } };
    const DimSpec *spec;
    assert_no_error(dims_parse(arena, dims, 2, shapes, &spec));
    Launch l = { .dims = spec, .in = in, .out = &out, .n_in = 2, .n_out = 1, .add = &add };
    const KernelDef *k = kernel_find("contract", "cpu", level, &l);
    assert_non_null(k);
    assert_int_equal(k->level, op_product_level(level, has_tiles(in_type, dims, s)));
    op_kernel_run(k, l, 1);
    check_sums(dims, s, &in[0], &in[1], add ? &before : NULL, &out);
    l.out = &again;
    op_kernel_run(k, l, 3);
    assert_memory_equal(out.data, again.data, bytes);
    arena_free(arena);
}

/* That the mean difference from sums in double is within two roundings of f32. */
static void check_digits(const char *dims, const Sizes *s, const Tensor in[2], const Tensor *c)
{
    Arena *arena = arena_new();
    const bool a_has_m = dims[0] == 'm' || dims[1] == 'm';
    const double *first = doubles(arena, &in[0], dims, a_has_m ? 'm' : 'n'),
                 *second = doubles(arena, &in[1], dims + 3, a_has_m ? 'n' : 'm'),
                 *x = a_has_m ? first : second, *y = a_has_m ? second : first,
                 *made = doubles(arena, c, dims + 7, 'm');
    double difference = 0;
    for (int64_t m = 0; m < s->m; m++)
        for (int64_t n = 0; n < s->n; n++) {
            double sum = 0;
            for (int64_t k = 0; k < s->k; k++) sum += x[m * s->k + k] * y[n * s->k + k];
            difference += (made[m * s->n + n] / sum - 1) / (double)(s->m * s->n);
        }
    assert_close(difference, 0, 1.2e-7);
    arena_free(arena);
}

static void check_all(CpuLevel level)
{
    if (level > cpu_level_available()) test_skip("this CPU lacks the instructions");
    for (size_t i = 0; i < sizeof all_sizes / sizeof *all_sizes; i++)
        for (size_t d = 0; d < sizeof all_dims / sizeof *all_dims; d++) {
            check(level, all_dims[d], &all_sizes[i], BF16, BF16, false);
            check(level, all_dims[d], &all_sizes[i], BF16, F32, true);
            check(level, all_dims[d], &all_sizes[i], F32, F32, false);
            check(level, all_dims[d], &all_sizes[i], F32, F32, true);
            if (level == CPU_AMX && i > 0) continue; /* the rest is what AVX-512 does */
            check(level, all_dims[d], &all_sizes[i], MIXED, BF16, false);
        }
}

/* The rows of a product with few of them, and each of these rows multiplied alone. */
static void check_alone(CpuLevel level, const char *op, const void *attrs, const Tensor in[2],
                        Dtype out_type, const Sizes *all)
{
    Arena *arena = arena_new();
    Tensor together = operand(arena, out_type, "mn", all, 5), alone = together;
    alone.data = arena_alloc(arena, tensor_bytes(&together));
    const size_t row_in = tensor_bytes(&in[0]) / (size_t)all->m,
                 row_out = tensor_bytes(&together) / (size_t)all->m;
    const bool add = false;
    for (int64_t i = -1; i < all->m; i++) { /* first all rows */
        Tensor of[] = { in[0], in[1] }, out = i < 0 ? together : alone;
        if (i >= 0) {
            of[0].data = (char *)in[0].data + row_in * (size_t)i;
            out.data = (char *)alone.data + row_out * (size_t)i;
            of[0].size[0] = out.size[0] = 1;
        }
        const Shape shapes[] = { { 2, { of[0].size[0], all->k } }, { 2, { all->n, all->k } } };
        const DimSpec *spec;
        assert_no_error(dims_parse(arena, "mk,nk->mn", 2, shapes, &spec));
        const Launch l = {
            .attrs = attrs, .dims = spec, .in = of, .out = &out, .n_in = 2, .n_out = 1, .add = &add
        };
        op_kernel_run(kernel_find(op, "cpu", level, &l), l, 2);
    }
    assert_memory_equal(together.data, alone.data, tensor_bytes(&together));
    arena_free(arena);
}

static void check_contract(CpuLevel level, int in_type, Dtype out_type, const Sizes *s)
{
    Arena *arena = arena_new();
    const Dtype first = in_type == MIXED ? F32 : (Dtype)in_type,
                second = in_type == MIXED ? BF16 : (Dtype)in_type;
    const Tensor in[] = { operand(arena, first, "mk", s, 3), operand(arena, second, "nk", s, 2) };
    check_alone(level, "contract", NULL, in, out_type, s);
    arena_free(arena);
}

/* With any numbers as a weight in panels. */
static void check_panels(CpuLevel level, Dtype in_type, Dtype out_type, const Sizes *s)
{
    Arena *arena = arena_new();
    const Tensor in[] = { operand(arena, in_type, "mk", s, 3),
                          operand(arena, in_type, "nk", s, 2) };
    check_alone(level, "contract_panels", &(const Panels){ in_type == BF16 }, in, out_type, s);
    arena_free(arena);
}

static void check_rows_alone(CpuLevel level)
{
    static const Sizes sizes[] = {
        { 48, 21, 770 }, { 47, 150, 61 }, { 17, 13, 1700 }, { 40, 100, 576 }
    };
    if (level > cpu_level_available()) test_skip("this CPU lacks the instructions");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_contract(level, F32, F32, &sizes[i]);
        check_contract(level, BF16, BF16, &sizes[i]);
        check_contract(level, BF16, F32, &sizes[i]);
        check_contract(level, MIXED, F32, &sizes[i]);
    }
    static const Sizes panel_sizes[] = {
        { 48, 21, 770 }, { 17, 150, 62 }, { 5, 65, 1700 }, { 7, 40, 66 }
    };
    for (size_t i = 0; i < sizeof panel_sizes / sizeof *panel_sizes; i++) {
        check_panels(level, BF16, BF16, &panel_sizes[i]);
        check_panels(level, BF16, F32, &panel_sizes[i]);
        if (level != CPU_AMX) check_panels(level, F32, F32, &panel_sizes[i]);
    }
    /* Tiles of AMX are summed along k in one order, so prompts, too, have the bits of their tokens:
     * in blocks of rows, slices of k, passes that keep their sums, and panels that are read in
     * place or copied. */
    static const Sizes prompt_sizes[] = { { 49, 32, 64 },   { 291, 70, 1100 }, { 100, 96, 1600 },
                                          { 270, 40, 544 }, { 129, 33, 7000 }, { 270, 70, 3300 },
                                          { 258, 70, 3296 } };
    if (level == CPU_AMX)
        for (size_t i = 0; i < sizeof prompt_sizes / sizeof *prompt_sizes; i++) {
            check_panels(level, BF16, BF16, &prompt_sizes[i]);
            check_panels(level, BF16, F32, &prompt_sizes[i]);
        }
}

TEST(few_rows_have_the_bits_of_each_alone_portable)
{
    check_rows_alone(CPU_SCALAR);
}

TEST(few_rows_have_the_bits_of_each_alone_avx2)
{
    check_rows_alone(CPU_AVX2);
}

TEST(few_rows_have_the_bits_of_each_alone_avx512)
{
    check_rows_alone(CPU_AVX512);
}

TEST(few_rows_have_the_bits_of_each_alone_pairs)
{
    check_rows_alone(CPU_AVX512_PAIRS);
}

TEST(portable_products_equal_double_sums)
{
    check_all(CPU_SCALAR);
}

TEST(avx2_products_equal_double_sums)
{
    check_all(CPU_AVX2);
}

TEST(avx512_products_equal_double_sums)
{
    check_all(CPU_AVX512);
}

TEST(avx512_pairs_products_equal_double_sums)
{
    check_all(CPU_AVX512_PAIRS);
}

TEST(few_rows_have_the_bits_of_each_alone_amx)
{
    check_rows_alone(CPU_AMX);
}

TEST(amx_products_equal_double_sums)
{
    check_all(CPU_AMX);
}

/* Numbers of one sign hide nothing: each part of a factor that was left out would be seen. */
TEST(amx_products_of_f32_have_all_their_digits)
{
    if (CPU_AMX > cpu_level_available()) test_skip("this CPU lacks the instructions");
    const Sizes s = { 65, 49, 70 };
    for (size_t d = 0; d < sizeof all_dims / sizeof *all_dims; d++) {
        Arena *arena = arena_new();
        const char *dims = all_dims[d];
        Tensor in[] = { operand(arena, F32, dims, &s, 3), operand(arena, F32, dims + 3, &s, 2) },
               out = operand(arena, F32, dims + 7, &s, 5);
        for (int i = 0; i < 2; i++)
            for (int64_t j = 0; j < tensor_count(&in[i]); j++)
                dtype_set(F32, in[i].data, j, 1.5 + op_get(&in[i], j) / 2);
        const Shape shapes[] = { { 2, { in[0].size[0], in[0].size[1] } },
                                 { 2, { in[1].size[0], in[1].size[1] } } };
        const DimSpec *spec;
        assert_no_error(dims_parse(arena, dims, 2, shapes, &spec));
        const bool add = false;
        const Launch l = {
            .dims = spec, .in = in, .out = &out, .n_in = 2, .n_out = 1, .add = &add
        };
        const KernelDef *k = kernel_find("contract", "cpu", CPU_AMX, &l);
        assert_int_equal(k->level, CPU_AMX);
        op_kernel_run(k, l, 2);
        check_digits(dims, &s, in, &out);
        arena_free(arena);
    }
}

/* The root of the mean square of what a product of f32 differs by from sums in double. */
static double error_of(CpuLevel level, const Sizes *s)
{
    Arena *arena = arena_new();
    const Tensor in[] = { operand(arena, F32, "mk", s, 3), operand(arena, F32, "nk", s, 2) };
    Tensor out = operand(arena, F32, "mn", s, 5);
    const Shape shapes[] = { { 2, { s->m, s->k } }, { 2, { s->n, s->k } } };
    const DimSpec *spec;
    assert_no_error(dims_parse(arena, "mk,nk->mn", 2, shapes, &spec));
    const bool add = false;
    const Launch l = { .dims = spec, .in = in, .out = &out, .n_in = 2, .n_out = 1, .add = &add };
    const KernelDef *k = kernel_find("contract", "cpu", level, &l);
    assert_int_equal(k->level, level);
    op_kernel_run(k, l, 2);
    double sum = 0;
    for (int64_t m = 0; m < s->m; m++)
        for (int64_t n = 0; n < s->n; n++) {
            double exact = 0;
            for (int64_t i = 0; i < s->k; i++)
                exact += op_get(&in[0], m * s->k + i) * op_get(&in[1], n * s->k + i);
            const double difference = op_get(&out, m * s->n + n) - exact;
            sum += difference * difference / (double)(s->m * s->n);
        }
    arena_free(arena);
    return sqrt(sum);
}

TEST(amx_products_of_f32_have_less_error_than_those_of_vectors)
{
    static const Sizes sizes[] = { { 64, 64, 64 }, { 64, 64, 768 }, { 64, 64, 3072 } };
    if (CPU_AMX > cpu_level_available()) test_skip("this CPU lacks the instructions");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_true(error_of(CPU_AMX, &sizes[i]) < error_of(CPU_AVX512, &sizes[i]));
}
