/* test_job_plan.c - what the plans of the recipes say: each rank fits into 80 GB. */
#include "components.h"
#include "test.h"
#include "train/job_plan.h"
#include <string.h>

static void assert_fits(const char *name, int64_t ranks, double least, double most)
{
    Arena *a = arena_new();
    Registry *registry;
    JobPlan plan;
    const PlanSettings s = { .config_file_path =
                                 arena_printf(a, "configs/recipes/llama3_%s.yaml", name),
                             .experiments_root_path = "experiments",
                             .n_ranks = ranks,
                             .n_largest = 4,
                             .process = &rank_alone };
    assert_no_error(components_registry(a, &registry));
    assert_no_error(job_plan(a, registry, &s, &plan));
    double highest = 0;
    for (int64_t i = 0; i < plan.mesh.size[MESH_PP]; i++) {
        const double bytes = (double)rank_plan_bytes(&plan.stage[i].plan);
        if (bytes > highest) highest = bytes;
        assert_non_null(strchr(plan.stage[i].largest, '\n'));
    }
    printf("%s on %d ranks: %.1f GB\n", name, (int)ranks, highest * 1e-9);
    assert_in_range((int64_t)highest, (int64_t)(least * 1e9), (int64_t)(most * 1e9));
    arena_free(a);
}

/* The bounds are near what docs/parallelism.md says, and below 80. */
TEST(every_rank_of_the_recipes_fits_into_80_gb)
{
    assert_fits("8b", 8, 30, 36);
    assert_fits("8b", 128, 14, 18);
    assert_fits("70b", 256, 12, 16);
    assert_fits("405b", 512, 40, 48);
    assert_fits("405b_262144", 512, 65, 79);
}

/* Of 141 GB. */
TEST(llama_8b_fits_one_gpu_with_moments_in_bf16)
{
    assert_fits("8b_one_gpu", 1, 112, 135);
}

/* Order, size and counterpart of all transfers of 1,024 ranks, from a plan for each stage. */
TEST(all_transfers_of_1024_ranks_meet)
{
    static const char *const set[] = { "device_mesh.config.pipeline_parallel_degree=8",
                                       "device_mesh.config.context_parallel_degree=2",
                                       "settings.step_profile.gradient_accumulation_steps=16",
                                       "sharded_model.config.pipeline_schedule=1F1B" };
    Arena *a = arena_new();
    Registry *registry;
    JobPlan plan;
    const PlanSettings s = { .config_file_path = "configs/recipes/llama3_70b.yaml",
                             .experiments_root_path = "experiments",
                             .overrides = { (const char **)set, 4 },
                             .n_ranks = 1024,
                             .process = &rank_alone };
    assert_no_error(components_registry(a, &registry));
    assert_no_error(job_plan(a, registry, &s, &plan));
    assert_int_equal(plan.mesh.size[MESH_DP_SHARD], 8);
    assert_int_equal(plan.messages, 16 * 2 * 7); /* both ways at seven cuts */
    arena_free(a);
}
