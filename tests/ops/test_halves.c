/* test_halves.c - f32 numbers in two halves: exact, and the same in all kernels. */
#include "base/thread.h"
#include "halves_check.h"
#include "ops/all_ops.h"
#include "tensor/halves.h"
#include "test.h"
#include <math.h>
#include <string.h>

TEST(every_number_is_its_two_halves)
{
    for (int64_t i = 0; i < HALVES_ALL; i++) {
        const float x = halves_number(i);
        const uint16_t high = high_half_of(x);
        const float back = float_of_halves(high, low_half_of(x));
        if (isnan(x))
            assert_true(isnan(bf16_to_float(high)) && isnan(back));
        else if (memcmp(&back, &x, sizeof x))
            fail_msg("%a comes back as %a", x, back);
    }
}

/* It differs from rounding to even where the number lies in the middle of two, and nowhere else. */
TEST(the_high_half_is_the_nearest_number_and_of_two_the_larger)
{
    int n_other = 0;
    for (int64_t i = 0; i < HALVES_ALL; i++) {
        const float x = halves_number(i);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (isnan(x) || high_half_of(x) == bf16_of_float(x)) continue;
        n_other++;
        assert_int_equal(bits & 0xffff, 0x8000);
        assert_true(fabsf(bf16_to_float(high_half_of(x))) > fabsf(x));
    }
    assert_int_equal(n_other, 0x7f80); /* every second one that is finite */
}

static int run_alone(const KernelRunner *self, const KernelDef *row, Launch *l, int way)
{
    Pool *pool = pool_new(2);
    Stream stream = { .pool = pool };
    (void)self, (void)way;
    l->stream = &stream;
    const int status = row->run(l);
    pool_free(pool);
    return status;
}

TEST(kernels_are_exact_with_parameters_in_halves)
{
    const KernelRunner alone = { .n_ways = 1, .run = run_alone };
    for (CpuLevel level = CPU_SCALAR; level <= cpu_level_available(); level++)
        if (level != CPU_AVX512_PAIRS && level != CPU_AMX)
            halves_assert_exact(all_cpu_kernels, level, &alone);
}
