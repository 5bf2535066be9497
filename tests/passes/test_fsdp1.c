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
    check_names("FP_16", "FULL_SHARD", F16,
                (DataParallel){ .stage = ZERO_PARAMETERS, .reduce_dtype = F16 });
}

static void check_place(bool is_hybrid, int64_t ranks, int64_t local, int64_t copies, int64_t share)
{
    const DataParallel d = { .is_hybrid = is_hybrid };
    const Rank rank = { .world_size = ranks, .local_world_size = local };
    Mesh m = { .world_size = ranks, .size = { 1, 1, 1, 1, 1, 1 } };
    m.size[MESH_DP_SHARD] = ranks;
    data_parallel_place(&d, &rank, &m);
    assert_int_equal(m.size[MESH_DP_REPLICATE], copies);
    assert_int_equal(m.size[MESH_DP_SHARD], share);
}

TEST(hybrid_sharding_without_a_mesh_shares_within_machines)
{
    check_place(true, 8, 4, 2, 4);
    check_place(true, 4, 4, 1, 4);
    check_place(false, 8, 4, 1, 8);
    check_place(true, 6, 4, 1, 6); /* machines with different numbers of ranks */
    check_place(true, 8, 0, 1, 8); /* nobody told it */
}

TEST(hybrid_sharding_over_machines_of_different_sizes_shares_over_all)
{
    const DataParallel d = { .is_hybrid = true };
    const Rank rank = { .world_size = 6, .local_world_size = 2, .is_uneven = true };
    Mesh m = mesh_of_rank(&rank);
    data_parallel_place(&d, &rank, &m);
    assert_int_equal(m.size[MESH_DP_REPLICATE], 1);
    assert_int_equal(m.size[MESH_DP_SHARD], 6);
}
