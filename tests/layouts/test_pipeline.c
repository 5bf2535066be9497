/* test_pipeline.c - the ranks of a pipeline equal one rank, by every schedule. */
#include "exec/schedules/schedule_def.h"
#include "layout.h"
#include "test.h"

static double difference(const LayoutCase *l)
{
    Arena *a = arena_new();
    LayoutCase c = *l;
    if (!c.data_parallel.blocks_per_unit) c.data_parallel.blocks_per_unit = 1;
    LayoutResult one = layout_run_alone(a, &c), many = layout_run(a, &c);
    double d = layout_difference(&one, &many);
    assert_true(many.bytes[0] < one.bytes[0]); /* each rank has only parameters of its own stages */
    arena_free(a);
    return d;
}

static void equals_one_rank(LayoutCase l, double most)
{
    double d = difference(&l);
    if (!(d <= most)) fail_msg("the ranks are %.3g away from one rank; allowed is %.3g", d, most);
}

/* Not one bit is another. */
static void every_schedule(LayoutCase l)
{
    for (int i = 0; schedule_def_at(i); i++) {
        const ScheduleDef *d = schedule_def_at(i);
        l.schedule = d->name;
        l.per_rank = d->per_rank ? d->per_rank : 2;
        l.layers = 4;
        l.accumulation = 5;
        double away = difference(&l);
        if (away != 0) fail_msg("%s is %.3g away from one rank", d->name, away);
    }
}

TEST(two_ranks_of_a_pipeline_have_the_bits_of_one_by_every_schedule)
{
    every_schedule((LayoutCase){ .size[MESH_PP] = 2, .llama_like = true, .compute = F32 });
}

TEST(so_have_they_in_bf16_with_recomputation_and_clipping)
{
    every_schedule(
        (LayoutCase){ .size[MESH_PP] = 2, .compute = BF16, .recompute_every = 2, .max_norm = 0.1 });
}

TEST(four_ranks_of_a_pipeline_have_the_bits_of_one)
{
    LayoutCase l = { .size[MESH_PP] = 4,
                     .layers = 6,
                     .accumulation = 9,
                     .schedule = "ZBVZeroBubble",
                     .per_rank = 2,
                     .compute = F32 };
    assert_true(difference(&l) == 0);
    l.schedule = "1f1b";
    l.per_rank = 1;
    assert_true(difference(&l) == 0);
}

TEST(an_embedding_tied_over_stages_gets_the_gradients_of_both_ends)
{
    LayoutCase l = { .size[MESH_PP] = 2,
                     .tied = true,
                     .llama_like = true,
                     .accumulation = 3,
                     .max_norm = 0.1,
                     .compute = F64 };
    equals_one_rank(l, 1e-11);
    l.size[MESH_PP] = 3;
    l.schedule = "Interleaved1F1B";
    l.per_rank = 2;
    l.layers = 5;
    equals_one_rank(l, 1e-11);
}

TEST(pipelines_of_sharded_and_copied_models_equal_one_rank)
{
    LayoutCase l = { .size[MESH_PP] = 2,
                     .size[MESH_DP_SHARD] = 2,
                     .llama_like = true,
                     .accumulation = 3,
                     .compute = F64 };
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++) {
        l.data_parallel.stage = (ZeroStage)stage;
        l.tied = stage % 2;
        l.schedule = stage % 2 ? "InterleavedZeroBubble" : "ZBVZeroBubble";
        l.per_rank = 2;
        l.layers = 4;
        equals_one_rank(l, 1e-11);
    }
}
