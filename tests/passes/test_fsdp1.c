/* test_fsdp1.c - the names of the older FSDP choose what is sharded and how gradients are sent. */
#include "passes/data_parallel.h"
#include "passes/fsdp1.h"
#include "test.h"
#include <string.h>

static int index_of(const char *const *names, const char *name)
{
    int i = 0;
    while (strcmp(names[i], name) != 0) assert_non_null(names[++i]);
    return i;
}

static void check_names(const char *precision, const char *strategy, Dtype compute,
                        DataParallel want)
{
    Arena *a = arena_new();
    Model m = { 0 };
    int p = index_of(fsdp1_precisions, precision);
    assert_no_error(fsdp1_check_precision(p));
    fsdp1_apply(a, &m, p, index_of(fsdp1_strategies, strategy));
    assert_int_equal(m.compute, compute);
    assert_int_equal(m.data_parallel->stage, want.stage);
    assert_int_equal(m.data_parallel->is_hybrid, want.is_hybrid);
    assert_int_equal(m.data_parallel->reduce_dtype, want.reduce_dtype);
    assert_int_equal(m.data_parallel->blocks_per_unit, 1);
    arena_free(a);
}

TEST(names_of_the_older_fsdp_choose_sharding_and_precision)
{
    check_names("BF_16", "FULL_SHARD", BF16,
                (DataParallel){ .stage = ZERO_PARAMETERS, .reduce_dtype = BF16 });
    check_names("MIXED_PRECISION_MEGATRON", "SHARD_GRAD_OP", BF16,
                (DataParallel){ .stage = ZERO_GRADIENTS, .reduce_dtype = F32 });
    check_names("BF_16_WORKING", "NO_SHARD", F32,
                (DataParallel){ .stage = ZERO_NONE, .reduce_dtype = BF16 });
    check_names("FP_32", "HYBRID_SHARD", F32,
                (DataParallel){ .stage = ZERO_PARAMETERS, .is_hybrid = true, .reduce_dtype = F32 });
    check_names("NO_MIXED_PRECISION", "_HYBRID_SHARD_ZERO2", F32,
                (DataParallel){ .stage = ZERO_GRADIENTS, .is_hybrid = true, .reduce_dtype = F32 });
    assert_error_has(fsdp1_check_precision(index_of(fsdp1_precisions, "FP_16")),
                     "FP_16 would need loss scaling");
}
