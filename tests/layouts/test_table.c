/* test_table.c - a table of products of layouts on 2 to 16 ranks: each equals one rank in every
 * format of numbers. */
#include "layout.h"
#include "test.h"
#include <stdlib.h>

enum {
    SP = 1 << 0,         /* tokens between products are split over tp, too */
    LLAMA = 1 << 1,      /* see tiny_settings */
    TIED = 1 << 2,       /* embedding and head share their weight */
    AC = 1 << 3,         /* every block is computed again */
    AC2 = 1 << 4,        /* every second one */
    CLIP = 1 << 5,       /* gradients are clipped */
    GLOBAL = 1 << 6,     /* mean over the tokens of the step */
    MOE = 1 << 7,        /* all layers but the first have experts */
    GATHER = 1 << 8,     /* cp by gathering keys, else in a ring */
    ULYSSES = 1 << 9,    /* cp by exchanging heads */
    UNBALANCED = 1 << 10 /* cp without zig-zag */
};

typedef struct Row {
    int pp, replicate, shard, ep, cp, tp; /* 0: 1 */
    int zero;                             /* stage */
    int accumulation;
    const char *schedule; /* NULL: 1F1B */
    int per_rank;
    unsigned flags;
    bool often; /* in every run of the tests; else where LAYOUTS is set */
} Row;

/* clang-format off */
static const Row rows[] = {
    /* data parallel */
    { .replicate = 2, .flags = CLIP, .often = true },
    { .replicate = 4, .accumulation = 2, .flags = LLAMA | TIED | AC2 },
    { .replicate = 8, .flags = GLOBAL | LLAMA },
    { .shard = 2, .zero = 3, .accumulation = 2, .flags = LLAMA | AC | GLOBAL | CLIP, .often = true },
    { .shard = 4, .zero = 3, .flags = TIED | CLIP },
    { .shard = 8, .zero = 3, .accumulation = 3, .flags = LLAMA | AC2 },
    { .shard = 4, .zero = 2, .accumulation = 3, .flags = LLAMA | GLOBAL },
    { .shard = 4, .zero = 1, .accumulation = 2, .flags = TIED | AC },
    { .shard = 2, .zero = 0, .accumulation = 4, .flags = CLIP },
    { .replicate = 2, .shard = 2, .zero = 3, .accumulation = 2, .flags = LLAMA | AC | CLIP, .often = true },
    { .replicate = 2, .shard = 4, .zero = 2, .flags = TIED | GLOBAL },
    { .replicate = 4, .shard = 2, .zero = 1, .accumulation = 2, .flags = LLAMA },
    /* tensor and sequence parallel */
    { .tp = 2, .flags = LLAMA | CLIP | GLOBAL },
    { .tp = 2, .flags = SP | LLAMA | AC | CLIP, .often = true },
    { .tp = 4, .accumulation = 2, .flags = LLAMA | TIED },
    { .tp = 4, .flags = SP | TIED | AC2 },
    { .shard = 2, .tp = 2, .zero = 3, .accumulation = 2, .flags = SP | LLAMA | AC | CLIP, .often = true },
    { .replicate = 2, .tp = 2, .accumulation = 2, .flags = SP | TIED | GLOBAL },
    { .shard = 2, .tp = 4, .zero = 3, .flags = SP | LLAMA | TIED },
    { .shard = 4, .tp = 2, .zero = 2, .flags = AC | GLOBAL | CLIP },
    { .shard = 2, .tp = 2, .zero = 1, .accumulation = 3, .flags = LLAMA },
    { .replicate = 2, .shard = 2, .tp = 2, .zero = 3, .flags = SP | LLAMA | AC | CLIP },
    /* context parallel */
    { .cp = 2, .flags = LLAMA | CLIP | GLOBAL },
    { .cp = 2, .flags = GATHER | TIED | AC },
    { .cp = 2, .flags = ULYSSES | LLAMA | AC2, .often = true },
    { .cp = 4, .accumulation = 2, .flags = LLAMA | AC },
    { .cp = 4, .flags = GATHER | UNBALANCED | LLAMA },
    { .cp = 4, .flags = ULYSSES | TIED | GLOBAL },
    { .cp = 8, .flags = UNBALANCED | AC },
    { .shard = 2, .cp = 2, .zero = 3, .accumulation = 2, .flags = LLAMA | AC | CLIP | GLOBAL, .often = true },
    { .replicate = 2, .cp = 2, .flags = GATHER | TIED },
    { .shard = 2, .cp = 4, .zero = 2, .flags = LLAMA | GATHER },
    { .cp = 2, .tp = 2, .flags = SP | LLAMA | AC | CLIP, .often = true },
    { .cp = 2, .tp = 2, .accumulation = 2, .flags = ULYSSES | TIED | GLOBAL },
    { .cp = 2, .tp = 4, .flags = SP | GATHER | AC2 },
    { .cp = 4, .tp = 2, .flags = LLAMA | TIED | SP },
    { .shard = 2, .cp = 2, .tp = 2, .zero = 3, .accumulation = 2, .flags = SP | LLAMA | AC | CLIP | GLOBAL, .often = true },
    { .replicate = 2, .cp = 2, .tp = 2, .flags = GATHER | TIED | AC2 },
    { .shard = 2, .cp = 2, .tp = 2, .zero = 2, .flags = ULYSSES | SP },
    /* pipelines */
    { .pp = 2, .accumulation = 4, .schedule = "GPipe", .flags = LLAMA | CLIP },
    { .pp = 2, .accumulation = 4, .flags = TIED | AC | GLOBAL },
    { .pp = 4, .accumulation = 5, .flags = LLAMA | AC2 },
    { .pp = 2, .accumulation = 3, .schedule = "Interleaved1F1B", .per_rank = 2, .flags = LLAMA | TIED | CLIP },
    { .pp = 2, .accumulation = 3, .schedule = "LoopedBFS", .per_rank = 2, .flags = GLOBAL },
    { .pp = 2, .accumulation = 4, .schedule = "InterleavedZeroBubble", .per_rank = 2, .flags = LLAMA | AC },
    { .pp = 4, .accumulation = 7, .schedule = "ZBVZeroBubble", .per_rank = 2, .flags = TIED | LLAMA },
    { .pp = 2, .accumulation = 5, .schedule = "DualPipeV", .per_rank = 2, .flags = CLIP },
    { .pp = 8, .accumulation = 8, .flags = LLAMA | GLOBAL },
    { .pp = 2, .replicate = 2, .accumulation = 4, .flags = LLAMA | CLIP | GLOBAL },
    { .pp = 2, .shard = 2, .accumulation = 4, .zero = 3, .flags = LLAMA | AC | CLIP, .often = true },
    { .pp = 2, .shard = 4, .accumulation = 2, .zero = 2, .schedule = "LoopedBFS", .per_rank = 2, .flags = TIED },
    { .pp = 4, .shard = 2, .accumulation = 4, .zero = 1, .flags = LLAMA | TIED | CLIP },
    { .pp = 2, .tp = 2, .accumulation = 4, .flags = SP | LLAMA | AC },
    { .pp = 2, .tp = 4, .accumulation = 2, .schedule = "ZBVZeroBubble", .per_rank = 2, .flags = TIED | GLOBAL },
    { .pp = 2, .cp = 2, .accumulation = 4, .schedule = "Interleaved1F1B", .per_rank = 2, .flags = LLAMA | CLIP },
    { .pp = 2, .cp = 2, .tp = 2, .accumulation = 3, .flags = SP | LLAMA | AC | GLOBAL },
    { .pp = 2, .shard = 2, .tp = 2, .accumulation = 4, .zero = 3, .flags = SP | LLAMA | AC2 | CLIP, .often = true },
    { .pp = 2, .shard = 2, .cp = 2, .accumulation = 4, .zero = 3, .schedule = "DualPipeV", .per_rank = 2, .flags = TIED | GATHER },
    { .pp = 2, .replicate = 2, .shard = 2, .accumulation = 3, .zero = 3, .schedule = "InterleavedZeroBubble", .per_rank = 2, .flags = LLAMA },
    { .pp = 2, .replicate = 2, .tp = 2, .accumulation = 2, .schedule = "GPipe", .flags = SP | TIED | CLIP | GLOBAL },
    /* experts */
    { .ep = 2, .accumulation = 2, .flags = MOE | LLAMA | CLIP, .often = true },
    { .ep = 4, .zero = 3, .flags = MOE | LLAMA | AC },
    { .shard = 2, .ep = 2, .zero = 3, .accumulation = 2, .flags = MOE | LLAMA | GLOBAL },
    { .replicate = 2, .ep = 2, .zero = 2, .flags = MOE | TIED },
    { .ep = 2, .tp = 2, .zero = 3, .flags = MOE | SP | LLAMA | CLIP },
    { .ep = 2, .cp = 2, .zero = 2, .flags = MOE | LLAMA },
    { .pp = 2, .ep = 2, .accumulation = 4, .flags = MOE | LLAMA | AC },
    { .pp = 2, .ep = 2, .tp = 2, .accumulation = 2, .zero = 3, .flags = MOE | SP | LLAMA | CLIP },
    { .pp = 2, .shard = 2, .ep = 2, .tp = 2, .accumulation = 2, .zero = 3, .flags = MOE | SP | LLAMA, .often = true },
};
/* clang-format on */
enum { N_ROWS = sizeof rows / sizeof *rows };

static ContextMethod method_of(unsigned flags)
{
    return flags & GATHER ? CONTEXT_GATHER : flags & ULYSSES ? CONTEXT_ULYSSES : CONTEXT_RING;
}

/* Two heads of keys and values, and where all tokens change places with heads, 16. */
static LayoutCase case_of(const Row *r)
{
    static const Moe four = { .n_experts = 4,
                              .top_k = 2,
                              .hidden = 6,
                              .normalize = true,
                              .aux_loss = 0.02,
                              .z_loss = 0.01,
                              .activation = ACTIVATE_SILU };
    LayoutCase l = {
        .size = { [MESH_PP] = r->pp,
                  [MESH_DP_REPLICATE] = r->replicate,
                  [MESH_DP_SHARD] = r->shard,
                  [MESH_EP] = r->ep,
                  [MESH_CP] = r->cp,
                  [MESH_TP] = r->tp },
        .data_parallel = { .stage = (ZeroStage)r->zero, .blocks_per_unit = 1, .reduce_dtype = F32 },
        .sharding = { .tensor = true,
                      .sequence = r->flags & SP,
                      .context = true,
                      .layout = r->flags & UNBALANCED ? CONTIGUOUS : ZIGZAG,
                      .method = method_of(r->flags) },
        .llama_like = r->flags & LLAMA,
        .tied = r->flags & TIED,
        .recompute_every = r->flags & AC    ? 1
                           : r->flags & AC2 ? 2
                                            : 0,
        .accumulation = r->accumulation,
        .sequence = 16,
        .max_norm = r->flags & CLIP ? 0.1 : 0,
        .global_tokens = r->flags & GLOBAL,
        .schedule = r->schedule,
        .per_rank = r->per_rank,
        .moe = r->flags & MOE ? &four : NULL,
    };
    const int stages = (r->pp ? r->pp : 1) * (r->per_rank ? r->per_rank : 1);
    if (stages > 3) l.layers = stages;
    return l;
}

typedef struct Tally {
    int rows, same_bits, may_be_same;
    double worst[4]; /* f64, f32; bf16 and f16 beside one rank */
} Tally;

static void keep_worst(double *worst, double d)
{
    if (!(d <= *worst)) *worst = d;
}

/* Its ranks divide no sum within a microbatch. */
static bool divides_microbatches_only(const Row *r)
{
    return r->tp < 2 && r->cp < 2 && r->ep < 2;
}

static void check_row(const Row *r, Tally *t)
{
    enum { N_DTYPES_OF_ROWS = 4 };
    static const Dtype dtype[N_DTYPES_OF_ROWS] = { F64, F32, BF16, F16 };
    static const double most[N_DTYPES_OF_ROWS] = { 1e-11, 2e-5, 2, 2 };
    Arena *a = arena_new();
    LayoutCase l = case_of(r);
    LayoutResult exact = { 0 };
    for (int i = 0; i < N_DTYPES_OF_ROWS; i++) {
        l.compute = dtype[i];
        LayoutResult one = layout_run_alone(a, &l), many = layout_run(a, &l);
        double d = layout_difference(&one, &many);
        if (dtype[i] == F64) exact = one;
        if (dtype[i] == BF16 || dtype[i] == F16)
            d = layout_gradient_difference(&exact, &many) /
                layout_gradient_difference(&exact, &one);
        if (dtype[i] == F32 && divides_microbatches_only(r)) {
            t->may_be_same++;
            t->same_bits += layout_same_bits(&one, &many);
        }
        if (!(d <= most[i]))
            fail_msg("row %d, %s: the ranks are %.3g away from one rank; allowed is %.3g",
                     (int)(r - rows), dtype_name(dtype[i]), d, most[i]);
        keep_worst(&t->worst[i], d);
    }
    t->rows++;
    arena_free(a);
}

static void check_rows(bool all)
{
    Tally t = { 0 };
    for (int i = 0; i < N_ROWS; i++)
        if (all || rows[i].often) check_row(&rows[i], &t);
    test_note("%d products; at most %.1e away in f64, %.1e in f32, %.2f times one rank's distance "
              "in bf16, %.2f in f16; %d of %d without tp, cp and ep have the same bits",
              t.rows, t.worst[0], t.worst[1], t.worst[2], t.worst[3], t.same_bits, t.may_be_same);
}

TEST(products_of_layouts_equal_one_rank_in_every_format)
{
    check_rows(getenv("LAYOUTS") != NULL);
}
FENCED(products_of_layouts_equal_one_rank_in_every_format)
