/* test_mesh.c - degrees of parallelism and places of ranks. */
#include "comm/mesh.h"
#include "components.h"
#include "config/builder.h"
#include "test.h"
#include <stdlib.h>

static Error *mesh_from(Arena *a, const char *config, Mesh **out)
{
    Yaml *root;
    Registry *r;
    unsetenv("RANK");
    TRY(yaml_parse(
        a,
        str_of(arena_printf(a, "m: {component_key: device_mesh, variant_key: default, config: %s}",
                            config)),
        "x.yaml", &root));
    TRY(components_registry(a, &r));
    return builder_get(builder_new(a, r, root, NULL), "m", "device_mesh", (void **)out);
}

TEST(one_data_parallel_degree_is_what_the_others_leave)
{
    Arena *a = arena_new();
    Mesh *m;
    assert_no_error(mesh_from(
        a, "{world_size: 8, data_parallel_shard_degree: -1, tensor_parallel_degree: 2}", &m));
    assert_int_equal(m->size[MESH_DP_SHARD], 4);
    assert_int_equal(m->size[MESH_TP], 2);
    assert_true(mesh_has(m, MESH_DP_SHARD) && mesh_has(m, MESH_TP) && !mesh_has(m, MESH_PP));
    assert_no_error(mesh_from(
        a,
        "{world_size: 24, data_parallel_replicate_degree: -1, data_parallel_shard_degree: 3, "
        "pipeline_parallel_degree: 4}",
        &m));
    assert_int_equal(m->size[MESH_DP_REPLICATE], 2);
    arena_free(a);
}

TEST(ranks_that_share_experts_are_taken_out_of_those_that_share_parameters)
{
    Arena *a = arena_new();
    Mesh *m;
    assert_no_error(mesh_from(a,
                              "{world_size: 16, data_parallel_shard_degree: -1, "
                              "tensor_parallel_degree: 2, expert_parallel_degree: 4}",
                              &m));
    assert_int_equal(m->size[MESH_DP_SHARD], 2);
    assert_int_equal(m->size[MESH_EP], 4);
    assert_int_equal(mesh_degree(m, MESH_DP_SHARD), 8);
    assert_int_equal(mesh_dp_degree(m), 8);
    for (int64_t rank = 0; rank < 16; rank++) assert_int_equal(mesh_dp_place(m, rank), rank / 2);
    assert_error_has(
        mesh_from(a,
                  "{world_size: 8, data_parallel_shard_degree: 8, "
                  "expert_parallel_degree: 3}",
                  &m),
        "expert_parallel_degree is 3, but the 8 ranks of dp_shard, among which experts "
        "are divided, do not divide by it");
    arena_free(a);
}

TEST(ranks_lie_in_the_mesh_with_tensor_parallelism_innermost)
{
    Arena *a = arena_new();
    Mesh *m;
    assert_no_error(mesh_from(
        a,
        "{world_size: 16, data_parallel_replicate_degree: 2, data_parallel_shard_degree: 2, "
        "tensor_parallel_degree: 2, pipeline_parallel_degree: 2}",
        &m));
    static const MeshAxis axis[] = { MESH_PP, MESH_DP_REPLICATE, MESH_DP_SHARD, MESH_TP };
    for (int64_t rank = 0; rank < 16; rank++)
        for (int i = 0; i < 4; i++)
            assert_int_equal(mesh_coordinate(m, axis[i], rank), rank >> (3 - i) & 1);
    assert_int_equal(mesh_coordinate(m, MESH_CP, 7), 0);
    arena_free(a);
}

TEST(degrees_that_do_not_fit_are_refused)
{
    static const char *const row[][2] = {
        { "{world_size: 8, data_parallel_shard_degree: 3}",
          "multiply to 3, but the world size is 8" },
        { "{world_size: 8, data_parallel_shard_degree: 0}", "the degree of dp_shard is 0" },
        { "{world_size: 8, data_parallel_shard_degree: -1, data_parallel_replicate_degree: -1}",
          "only one of" },
        { "{world_size: 2, data_parallel_shard_degree: -1, tensor_parallel_degree: 4}",
          "nothing is left for dp_shard" },
        { "{world_size: 2, data_parallel_shard_degree: 2, enable_loss_parallel: true}",
          "tensor_parallel_degree above 1" },
        { "{world_size: 2, data_parallel_shard_degree: 2, tensor_parallel_degree: 0}",
          "0; allowed: an integer, at least 1" },
        { "{world_size: 2, data_parallel_shard_degree: -2}",
          "-2; allowed: an integer, at least -1" },
        { "{world_size: 4, data_parallel_shard_degree: 4000000000000000000, "
          "tensor_parallel_degree: 4000000000000000000}",
          "world size is 4" },
    };
    Arena *a = arena_new();
    Mesh *m;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_error_has(mesh_from(a, row[i][0], &m), row[i][1]);
    arena_free(a);
}

TEST(loss_parallelism_is_for_ranks_that_divide_the_vocabulary)
{
    Arena *a = arena_new();
    Mesh *m;
    assert_no_error(mesh_from(a,
                              "{world_size: 2, data_parallel_shard_degree: 1, "
                              "tensor_parallel_degree: 2, enable_loss_parallel: true}",
                              &m));
    assert_no_error(mesh_from(
        a, "{world_size: 2, data_parallel_shard_degree: 2, enable_loss_parallel: false}", &m));
    arena_free(a);
}
