/* test_products.c - products of layouts, chosen at random: each equals one rank, or is refused. */
#include "base/rng.h"
#include "exec/schedules/schedule_def.h"
#include "layout.h"
#include "passes/all_passes.h"
#include "passes/offload.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static int64_t pick(uint64_t seed, int64_t what, int64_t n)
{
    return (int64_t)(rng_uniform(rng_key(seed, RNG_INIT, 0, 7), (uint64_t)what) * (double)n);
}

/* At most 8 ranks. */
static void choose_mesh(LayoutCase *l, uint64_t seed)
{
    enum { N_AXES = MESH_N_AXES - MESH_PP };
    static const int64_t sizes[] = { 1, 2, 3, 4 };
    int64_t left = 8, first = pick(seed, 0, N_AXES);
    for (int i = 0; i < N_AXES; i++) {
        int64_t n = sizes[pick(seed, 1 + i, 4)];
        if (n > left) continue;
        l->size[MESH_PP + (first + i) % N_AXES] = n;
        left /= n;
    }
}

/* Stages that the model has parts for, and microbatches that the schedule can run. */
static void choose_pipeline(LayoutCase *l, uint64_t seed)
{
    int n_schedules = 0;
    while (schedule_def_at(n_schedules)) n_schedules++;
    const ScheduleDef *d = schedule_def_at((int)pick(seed, 22, n_schedules));
    const int64_t least = d->microbatches_per_rank * l->size[MESH_PP];
    l->schedule = d->name;
    l->per_rank = d->per_rank ? d->per_rank : 1 + (int)pick(seed, 23, 2);
    l->layers = (int)l->size[MESH_PP] * l->per_rank - 1 + (int)pick(seed, 24, 3);
    if (l->accumulation < least) l->accumulation = least;
}

/* One of three models has experts. */
static const Moe *choose_experts(uint64_t seed)
{
    static const Moe mixture[] = {
        { .n_experts = 4, .top_k = 2, .hidden = 6, .aux_loss = 0.1, .activation = ACTIVATE_SILU },
        { .n_experts = 12,
          .top_k = 3,
          .hidden = 5,
          .score = SCORE_SIGMOID,
          .normalize = true,
          .capacity = 1.1,
          .shared_hidden = 4,
          .z_loss = 0.1,
          .activation = ACTIVATE_GELU },
    };
    return pick(seed, 31, 3) ? NULL : &mixture[pick(seed, 32, 2)];
}

/* Half of them have the heads of the small model. */
static void choose_heads(LayoutCase *l, uint64_t seed)
{
    static const int heads[][2] = { { 2, 1 }, { 2, 2 }, { 3, 1 }, { 3, 3 }, { 6, 2 },
                                    { 6, 3 }, { 6, 6 }, { 8, 4 }, { 8, 2 } };
    if (pick(seed, 35, 2)) return;
    const int *h = heads[pick(seed, 36, (int64_t)(sizeof heads / sizeof *heads))];
    l->heads = h[0];
    l->kv_heads = h[1];
}

static void offload(Model *m)
{
    static const Offload all = { .every = 1 };
    passes_add(&m->passes, &pass_offload, &all);
}

static LayoutCase choose(uint64_t seed)
{
    LayoutCase l = { .compute = F64 };
    choose_mesh(&l, seed);
    l.llama_like = pick(seed, 10, 2);
    l.tied = pick(seed, 11, 2);
    l.recompute_every = pick(seed, 12, 3);
    l.accumulation = 1 + pick(seed, 13, 3);
    l.batch = 1 + pick(seed, 14, 2);
    l.sequence = 1 + pick(seed, 15, 16);
    l.max_norm = pick(seed, 16, 2) ? 0.1 : 0;
    l.data_parallel = (DataParallel){ .stage = (ZeroStage)pick(seed, 17, 4),
                                      .blocks_per_unit = 1 + pick(seed, 18, 3),
                                      .reduce_dtype = F32 };
    l.sharding = (Sharding){ .tensor = true,
                             .sequence = pick(seed, 19, 2),
                             .async = pick(seed, 19, 2) && pick(seed, 37, 2),
                             .context = true,
                             .layout = (Layout)pick(seed, 20, 2),
                             .method = (ContextMethod)pick(seed, 30, 3) };
    l.compute = pick(seed, 21, 3) ? F64 : F32;
    l.global_tokens = pick(seed, 33, 3) == 0;
    l.vocabulary = 7 + (int)pick(seed, 34, 12);
    choose_heads(&l, seed);
    l.moe = choose_experts(seed);
    if (pick(seed, 38, 3) == 0) l.edit = offload;
    if (l.size[MESH_PP] > 1) choose_pipeline(&l, seed);
    return l;
}

static void describe(const LayoutCase *l, uint64_t seed)
{
    print_error(
        "case %llu: pp %lld %s per rank %d layers %d dp_replicate %lld dp_shard %lld ep %lld "
        "cp %lld tp %lld, experts %lld, stage %d unit %lld, "
        "sequence parallel %d asynchronous %d, zig-zag %d, llama %d tied %d, recompute %lld, "
        "accumulation "
        "%lld, batch %lld sequence %lld, heads %d of %d, vocabulary %d, global tokens %d offloaded "
        "%d\n",
        (unsigned long long)seed, (long long)l->size[MESH_PP], l->schedule ? l->schedule : "",
        l->per_rank, l->layers, (long long)l->size[MESH_DP_REPLICATE],
        (long long)l->size[MESH_DP_SHARD], (long long)l->size[MESH_EP], (long long)l->size[MESH_CP],
        (long long)l->size[MESH_TP], (long long)(l->moe ? l->moe->n_experts : 0),
        l->data_parallel.stage, (long long)l->data_parallel.blocks_per_unit, l->sharding.sequence,
        l->sharding.async, l->sharding.layout, l->llama_like, l->tied,
        (long long)l->recompute_every, (long long)l->accumulation, (long long)l->batch,
        (long long)l->sequence, l->kv_heads, l->heads, l->vocabulary, l->global_tokens,
        l->edit != NULL);
}

/* Whether it ran; else it was refused by name. */
static bool check_case(uint64_t seed)
{
    Arena *a = arena_new();
    LayoutCase l = choose(seed);
    LayoutResult one, many;
    Error *e = layout_try(a, &l, &many);
    bool ran = !e;
    if (e && !strstr(error_text(e), "divide")) {
        describe(&l, seed);
        fail_msg("%s", error_text(e));
    }
    error_free(e);
    if (ran) {
        one = layout_run_alone(a, &l);
        double d = layout_difference(&one, &many), most = l.compute == F64 ? 1e-11 : 1e-4;
        if (!(d <= most)) {
            describe(&l, seed);
            fail_msg("the ranks are %.3g away from one rank; allowed is %.3g", d, most);
        }
    }
    arena_free(a);
    return ran;
}

TEST(layouts_chosen_at_random_equal_one_rank_or_are_refused)
{
    const char *wanted = getenv("LAYOUTS");
    int64_t n = wanted ? atoll(wanted) : test_share(50), n_ran = 0;
    for (int64_t i = 0; i < n; i++) n_ran += check_case((uint64_t)i);
    test_note("%lld of %lld ran, the others were refused by name", (long long)n_ran, (long long)n);
    assert_true(n_ran * 3 > n);
}
