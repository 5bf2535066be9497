/* test_transfers.c - how often units are gathered and reduced, how many are whole at a time, what a
 * rank keeps, and transfers beside the computation. */
#include "graph/op.h"
#include "layout.h"
#include "models/decoder.h"
#include "test.h"
#include <string.h>

typedef struct Transfers {
    int gathered[N_PHASES], reduced[N_PHASES], summed[N_PHASES], cleared;
    int whole, most_whole; /* units of which results are alive */
    int behind;            /* nodes of the computation that wait for an earlier reduction */
    int64_t in_buckets;    /* elements that reduce_bucket sums */
} Transfers;

static int64_t last_use(const Graph *g, const Node *gathering)
{
    int64_t last = -1;
    for (int64_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i]->n_in; k++) {
            int64_t at;
            const Value *v = value_storage(g->node[i]->in[k], &at);
            if (v->from == gathering) last = i;
        }
    return last;
}

static bool is_named(const Node *n, const char *op)
{
    return !strcmp(n->op->name, op);
}

/* Units that are whole while node `at` runs, of those that are gathered for a microbatch. */
static int count_whole(const Graph *g, int64_t at)
{
    int n = 0;
    for (int64_t i = 0; i <= at; i++)
        n += is_named(g->node[i], "gather_unit") && g->node[i]->phase != PREPARE &&
             last_use(g, g->node[i]) >= at;
    return n;
}

static void count(const Graph *g, void *to)
{
    Transfers *t = to;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        t->gathered[n->phase] += is_named(n, "gather_unit");
        t->reduced[n->phase] += is_named(n, "reduce_unit");
        t->summed[n->phase] += is_named(n, "reduce_bucket");
        t->cleared += is_named(n, "clear_unit");
        t->behind += n->after != NULL;
        for (int k = 0; is_named(n, "reduce_bucket") && n->phase == BACKWARD_LAST && k < n->n_in;
             k++)
            t->in_buckets += value_count(n->in[k]);
        if (is_named(n, "gather_unit")) assert_int_equal(n->stream, STREAM_GATHER);
        if (is_named(n, "reduce_unit")) assert_int_equal(n->stream, STREAM_REDUCE);
        if (n->phase >= FORWARD && n->phase <= BACKWARD_WEIGHT && count_whole(g, i) > t->most_whole)
            t->most_whole = count_whole(g, i);
    }
}

static Transfers transfers_of(LayoutCase l, LayoutResult *result, Arena *a)
{
    Transfers t = { 0 };
    l.inspect = count;
    l.inspect_to = &t;
    if (!l.data_parallel.blocks_per_unit) l.data_parallel.blocks_per_unit = 1;
    l.compute = F32;
    *result = layout_run(a, &l);
    return t;
}

enum { LAYERS = 4, UNITS = LAYERS + 2 /* what stands before the blocks and after them */ };

static Transfers transfers(LayoutCase l)
{
    Arena *a = arena_new();
    LayoutResult r;
    l.layers = LAYERS;
    Transfers t = transfers_of(l, &r, a);
    arena_free(a);
    return t;
}

TEST(each_unit_is_gathered_and_reduced_once_per_pass_and_microbatch)
{
    LayoutCase l = { .size[MESH_DP_SHARD] = 2, .data_parallel.stage = ZERO_PARAMETERS };
    Transfers t = transfers(l);
    assert_int_equal(t.gathered[PREPARE], 0);
    assert_int_equal(t.gathered[FORWARD], UNITS);
    assert_int_equal(t.gathered[BACKWARD_INPUT] + t.gathered[BACKWARD_WEIGHT], LAYERS);
    assert_int_equal(t.reduced[BACKWARD_WEIGHT], UNITS);
    assert_int_equal(t.summed[BACKWARD_LAST], 0);
    l.data_parallel.blocks_per_unit = 2;
    t = transfers(l);
    assert_int_equal(t.gathered[FORWARD], LAYERS / 2 + 2);
    assert_int_equal(t.gathered[BACKWARD_INPUT] + t.gathered[BACKWARD_WEIGHT], LAYERS / 2);
    assert_int_equal(t.reduced[BACKWARD_WEIGHT], LAYERS / 2 + 2);
}

TEST(parameters_that_stay_whole_are_gathered_once_per_step)
{
    LayoutCase l = { .size[MESH_DP_SHARD] = 2, .data_parallel.stage = ZERO_GRADIENTS };
    Transfers t = transfers(l);
    assert_int_equal(t.gathered[PREPARE], LAYERS + 1);
    assert_int_equal(t.gathered[FORWARD] + t.gathered[BACKWARD_INPUT], 0);
    assert_int_equal(t.reduced[BACKWARD_WEIGHT], UNITS);
    l.data_parallel.stage = ZERO_STATES;
    t = transfers(l);
    assert_int_equal(t.gathered[PREPARE], LAYERS + 1);
    assert_int_equal(t.reduced[BACKWARD_WEIGHT], 0);
    assert_int_equal(t.reduced[BACKWARD_LAST], 1); /* a small model is one bucket */
    assert_int_equal(t.cleared, 1);
}

/* Of activations: how often ranks that share matrices gather them, and add them up. */
typedef struct Shared {
    int gathered, added;
} Shared;

static void count_shared(const Graph *g, void *to)
{
    Shared *s = to;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        s->gathered += g->node[i]->phase == FORWARD && is_named(g->node[i], "all_gather");
        s->added += g->node[i]->phase == FORWARD && is_named(g->node[i], "reduce_scatter");
    }
}

/* Where attention and feed-forward layers stand side by side behind one norm, what they read is
 * gathered once, and what they give is added up once. */
TEST(layers_side_by_side_share_their_transfers)
{
    Arena *a = arena_new();
    const Norm n = { .type = NORM_RMS, .width = 16, .eps = 1e-5, .has_weight = true };
    Decoder d = { .name = "decoder",
                  .block_class = "DecoderBlock",
                  .sample_key = "input_ids",
                  .prediction_key = "logits",
                  .vocab_size = 16,
                  .sequence_length = 32,
                  .n_layer = LAYERS,
                  .width = 16,
                  .n_head_q = 4,
                  .n_head_kv = 4,
                  .head_width = 4,
                  .hidden = 16,
                  .is_gated = true,
                  .attention_norm = &n,
                  .ffn_norm = &n,
                  .head_norm = &n,
                  .layer = NEW_N(a, DecoderLayer, LAYERS) };
    Shared serial = { 0 }, beside = { 0 };
    LayoutCase l = { .size[MESH_TP] = 2,
                     .sharding = { .tensor = true, .sequence = true },
                     .decoder = &d,
                     .vocabulary = 16,
                     .compute = F32,
                     .inspect = count_shared,
                     .inspect_to = &serial };
    layout_run(a, &l);
    d.residual = RESIDUAL_ONE_NORM;
    d.ffn_norm = NULL;
    l.inspect_to = &beside;
    layout_run(a, &l);
    assert_int_equal(serial.gathered - beside.gathered, LAYERS);
    assert_int_equal(serial.added - beside.added, LAYERS);
    arena_free(a);
}

TEST(copies_of_a_model_sum_their_gradients_in_buckets)
{
    LayoutCase l = { .size[MESH_DP_REPLICATE] = 2 };
    Transfers one = transfers(l);
    assert_int_equal(one.summed[BACKWARD_LAST], 1);
    l.data_parallel.bucket_bytes = 4000;
    Transfers more = transfers(l);
    assert_true(more.summed[BACKWARD_LAST] > LAYERS);
    assert_true(one.in_buckets == more.in_buckets && one.in_buckets > 0);
    l.data_parallel.stage = ZERO_STATES; /* nothing to share: the same */
    assert_int_equal(transfers(l).summed[BACKWARD_LAST], more.summed[BACKWARD_LAST]);
}

TEST(copies_of_a_sharded_model_sum_their_rows_once_per_step)
{
    Transfers t = transfers((LayoutCase){ .size[MESH_DP_REPLICATE] = 2,
                                          .size[MESH_DP_SHARD] = 2,
                                          .accumulation = 2,
                                          .data_parallel.stage = ZERO_PARAMETERS });
    assert_int_equal(t.reduced[BACKWARD_WEIGHT], UNITS);
    assert_int_equal(t.summed[BACKWARD_LAST], UNITS);
}

TEST(at_most_two_units_are_whole_at_a_time)
{
    LayoutCase l = { .size[MESH_DP_SHARD] = 2, .data_parallel.stage = ZERO_PARAMETERS };
    Transfers t = transfers(l);
    assert_int_equal(t.most_whole, 2);
    assert_true(t.behind >= LAYERS - 1);
    l.recompute_every = 1;
    assert_int_equal(transfers(l).most_whole, 2);
}

/* The number of the gathering of PREPARE that brings a parameter, itself or a copy; -1: none. */
static int gathering_of(const Graph *g, const Value *param)
{
    int n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *x = g->node[i];
        if (!is_named(x, "gather_unit") || x->phase != PREPARE) continue;
        for (int k = 0; k < x->n_in; k++) {
            const Value *v = x->in[k];
            while (v->from) v = v->from->in[0];
            if (v == param) return n;
        }
        n++;
    }
    return -1;
}

/* By number of the gathering: the update that each waits for. */
static void note_updates(const Graph *g, void *to)
{
    int64_t *last = to;
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *x = g->node[i];
        if (x->phase != UPDATE) continue;
        n++;
        for (int k = 0; k < x->n_out; k++)
            if (x->out[k]->kind == VALUE_PARAM && gathering_of(g, x->out[k]) >= 0)
                last[gathering_of(g, x->out[k])] = n;
    }
}

static void check_updates(ZeroStage stage, Dtype compute)
{
    int64_t last[LAYERS + 1] = { 0 };
    Arena *a = arena_new();
    layout_run(a, &(LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                 .data_parallel = { .stage = stage, .blocks_per_unit = 1 },
                                 .layers = LAYERS,
                                 .max_norm = 1,
                                 .compute = compute,
                                 .inspect = note_updates,
                                 .inspect_to = last });
    arena_free(a);
    assert_true(last[0] > 0);
    for (int i = 1; i <= LAYERS; i++) assert_true(last[i] > last[i - 1]);
}

TEST(parameters_are_updated_in_the_order_in_which_the_next_step_gathers_them)
{
    check_updates(ZERO_STATES, F32);
    check_updates(ZERO_GRADIENTS, F32);
    check_updates(ZERO_GRADIENTS, BF16);
}

/* Rows are divided, the last ranks' padded; master weights, gradients and two moments. */
static void check_bytes(int ranks)
{
    Arena *a = arena_new();
    LayoutResult r;
    transfers_of(
        (LayoutCase){ .size[MESH_DP_SHARD] = ranks, .data_parallel.stage = ZERO_PARAMETERS }, &r,
        a);
    int64_t part = 0;
    for (int64_t i = 0; i < r.n_params; i++) {
        int64_t rows = r.param[i].rows, width = r.param[i].n / rows;
        part += (rows + ranks - 1) / ranks * width * (int64_t)sizeof(float);
    }
    assert_int_equal(r.bytes[0], part);
    assert_int_equal(r.bytes[1], part);
    assert_int_equal(r.bytes[2], 2 * part);
    arena_free(a);
}

TEST(a_rank_keeps_its_rows_of_parameters_gradients_and_states)
{
    check_bytes(2);
    check_bytes(3);
    check_bytes(4);
}

/* What a rank needs while it computes does not grow with the number of blocks, but for what is kept
 * for the backward pass. */
TEST(whole_parameters_and_gradients_do_not_add_up_over_blocks)
{
    Arena *a = arena_new();
    LayoutResult one, some, many;
    LayoutCase l = { .batch = 1, .sequence = 2, .recompute_every = 1 };
    l.data_parallel.stage = ZERO_PARAMETERS;
    l.size[MESH_DP_SHARD] = 2;
    l.layers = 1;
    transfers_of(l, &one, a);
    l.layers = 4;
    transfers_of(l, &some, a);
    l.layers = 8;
    transfers_of(l, &many, a);
    int64_t block = (some.bytes[0] - one.bytes[0]) * 2 / 3; /* of whole parameters */
    if (many.bytes[3] - some.bytes[3] >= block)
        fail_msg("%lld more bytes for 4 more blocks of %lld bytes",
                 (long long)(many.bytes[3] - some.bytes[3]), (long long)block);
    arena_free(a);
}

static void stages_equal_one_rank(void)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++)
        layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                             .size[MESH_DP_REPLICATE] = stage == 1 ? 2 : 1,
                                             .accumulation = 2,
                                             .data_parallel = { .stage = (ZeroStage)stage,
                                                                .blocks_per_unit = 1,
                                                                .bucket_bytes = 4000 },
                                             .compute = F64 },
                               1e-11);
}

TEST(transfers_beside_the_computation_change_nothing)
{
    stages_equal_one_rank();
}
FENCED(transfers_beside_the_computation_change_nothing)

TEST(small_and_large_parameters_of_a_unit_travel_alike)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++)
        layout_equals_one_rank(
            (LayoutCase){ .size[MESH_DP_SHARD] = 3,
                          .width = 144,
                          .data_parallel = { .stage = (ZeroStage)stage, .blocks_per_unit = 1 },
                          .layers = 1,
                          .compute = F64 },
            1e-11);
}
