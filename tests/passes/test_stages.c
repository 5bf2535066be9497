/* test_stages.c - models cut into pipeline stages: what goes where, and that a graph of stages
 * gives the bits of plain accumulation in the order of every schedule. */
#include "comm/mesh.h"
#include "exec/pipeline_schedule.h"
#include "exec/schedules/schedule_def.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/positions.h"
#include "passes/all_passes.h"
#include "passes/pipeline.h"
#include "passes/precision.h"
#include "passes/recompute.h"
#include "passes/stages.h"
#include "passes/tiny_model.h"
#include "test.h"
#include <string.h>

enum { MOST = 16 };

static void check_weights(const char *stages, int n_stages, int layers, int input, int output)
{
    int64_t weight[MOST] = { 0 };
    int stage_of[MOST], n = layers + 2;
    for (int i = 0; i < n; i++) weight[i] = i == 0 ? input : i == n - 1 ? output : 1;
    assert_no_error(stages_by_weight(weight, n, n_stages, stage_of));
    for (int i = 0; i < n; i++) assert_int_equal(stage_of[i], stages[i] - '0');
}

TEST(blocks_fill_stages_in_order_as_in_the_original)
{
    check_weights("0011", 2, 2, 1, 1);
    check_weights("00011122", 3, 6, 1, 2);
    check_weights("001112", 3, 4, 2, 3);
    check_weights("0112233", 4, 5, 2, 1);
}

TEST(weights_that_fill_no_stages_are_refused)
{
    const int64_t heavy[] = { 1, 1, 1, 5 }, light[] = { 1, 1, 1, 1, 1 };
    int stage_of[MOST];
    assert_error_has(stages_by_weight(heavy, 4, 4, stage_of),
                     "part 3 of the model counts for 5 blocks, but each of 4 pipeline stages takes "
                     "2; allowed are fewer stages or a smaller weight");
    assert_error_has(stages_by_weight(light, 5, 4, stage_of),
                     "5 parts of the model that count for 5 blocks fill 3 pipeline stages of 2, so "
                     "that 1 of 4 would be empty");
}

/* The part of the head, which costs as much as some blocks, or nothing where nobody asks. */
static int blocks_of_first_stage(Arena *a, const Stages *s, bool with_head)
{
    const Gpt2Settings settings = tiny_settings(false);
    Gpt2Settings large = settings;
    large.vocab_size = 3000;
    Graph *g = graph_new(a);
    Model *m = gpt2_new(a, &large);
    ModelOutput out = { 0 };
    StageParts parts;
    int n = 0;
    assert_no_error(
        m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4, .training = true }, &out));
    if (with_head) graph_output(g, "logits", model_logits(g, &out));
    assert_no_error(stages_find(g, s, &parts));
    for (int i = 0; i < parts.n; i++) n += parts.stage_of[i] == 0;
    return n;
}

/* Blocks that only training has are the last ones; what follows them stays where it is. */
TEST(a_graph_with_fewer_blocks_is_cut_as_the_first)
{
    Arena *a = arena_new();
    int room[MOST];
    StagesKept kept = { .room = MOST, .stage_of = room };
    const Stages s = { .n = 3, .by_cost = true, .kept = &kept };
    StageParts whole, fewer;
    for (int i = 0; i < 2; i++) {
        Gpt2Settings settings = tiny_settings(false);
        settings.n_layer = i ? 3 : 5;
        Graph *g = graph_new(a);
        ModelOutput out = { 0 };
        Model *m = gpt2_new(a, &settings);
        assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
        graph_output(g, "logits", model_logits(g, &out));
        assert_no_error(stages_find(g, &s, i ? &fewer : &whole));
    }
    assert_int_equal(whole.n, 7);
    assert_int_equal(fewer.n, 5);
    for (int i = 0; i < 4; i++) assert_int_equal(fewer.stage_of[i], whole.stage_of[i]);
    assert_int_equal(fewer.stage_of[4], whole.stage_of[6]);
    assert_true(whole.stage_of[4] < whole.stage_of[6]);
    arena_free(a);
}

TEST(all_graphs_of_a_model_are_cut_as_the_first)
{
    Arena *a = arena_new();
    int room[MOST];
    StagesKept kept = { .room = MOST, .stage_of = room };
    Stages s = { .n = 2, .by_cost = true };
    const int with = blocks_of_first_stage(a, &s, true),
              without = blocks_of_first_stage(a, &s, false);
    assert_true(with != without);
    s.kept = &kept;
    assert_int_equal(blocks_of_first_stage(a, &s, true), with);
    assert_int_equal(blocks_of_first_stage(a, &s, false), with);
    arena_free(a);
}

/* Against all ways to cut. */
static double cheapest(const double *cost, int n, int n_stages)
{
    double sum = 0, best = INFINITY;
    for (int i = 0; i < n; i++) {
        sum += cost[i];
        if (n_stages == 1) continue;
        double rest =
            n - i - 1 >= n_stages - 1 ? cheapest(cost + i + 1, n - i - 1, n_stages - 1) : INFINITY;
        double most = sum > rest ? sum : rest;
        if (most < best) best = most;
    }
    return n_stages == 1 ? sum : best;
}

TEST(stages_by_cost_make_the_slowest_as_fast_as_can_be)
{
    uint64_t seed = 5;
    for (int k = 0; k < 200; k++) {
        double cost[10], held[10] = { 0 };
        int stage_of[10], n = 2 + k % 9, n_stages = 1 + k % n;
        for (int i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            cost[i] = (double)(seed >> 60);
        }
        assert_no_error(stages_by_cost(cost, n, n_stages, stage_of));
        for (int i = 0; i < n; i++) {
            assert_true(stage_of[i] == (i ? stage_of[i - 1] : 0) ||
                        (i && stage_of[i] == stage_of[i - 1] + 1));
            held[stage_of[i]] += cost[i];
        }
        assert_int_equal(stage_of[n - 1], n_stages - 1);
        double most = 0;
        for (int s = 0; s < n_stages; s++) most = held[s] > most ? held[s] : most;
        assert_true(most == cheapest(cost, n, n_stages));
    }
    const double one = 1;
    int stage;
    assert_error_has(stages_by_cost(&one, 1, 2, &stage), "2 pipeline stages, but the model has");
}

/* ---- a model ---- */

static Schedule merged(Arena *a, const char *name, int ranks, int per_rank, int64_t n)
{
    PipelineSchedule *p;
    Schedule s;
    const PipelineShape shape = { ranks, per_rank, n };
    assert_no_error(pipeline_schedule_new(a, name, &shape, &p));
    assert_no_error(pipeline_merge(a, p, &s));
    return s;
}

typedef struct Case {
    Gpt2Settings settings;
    PassList passes;
} Case;

/* Dropout, six blocks; bf16, recomputation and fusion as they come. */
static Case case_new(Arena *a, bool llama_like, bool more)
{
    static const Recompute every_other = { .every = 2 };
    static const Precision in_bf16 = { .compute = BF16 };
    Case c = { .settings = tiny_settings(llama_like), .passes = { .arena = a } };
    c.settings.n_layer = 6;
    c.settings.dropout = 0.25;
    if (more) passes_add(&c.passes, pass_find("precision"), &in_bf16);
    if (more) passes_add(&c.passes, &pass_recompute, &every_other);
    passes_add(&c.passes, pass_find("fuse"), NULL);
    return c;
}

static TinyRun run_case(Case *c, int n_stages, const Schedule *s, double *loss)
{
    Stages stages = { .n = n_stages, .input = 1, .output = 1 };
    PassList list = { .arena = c->passes.arena };
    for (int64_t i = 0; i < c->passes.n; i++)
        passes_add(&list, c->passes.use[i].pass, c->passes.use[i].settings);
    passes_add(&list, &pass_stages, &stages);
    TinyRun t = tiny_run_make(&(TinyChoice){
        .settings = &c->settings, .passes = &list, .training = true, .schedule = s });
    assert_no_error(store_clear_gradients(t.store));
    for (int64_t i = 0; i < s->n; i++) {
        const Action *x = &s->action[i];
        if (x->phases & RUN_STEP) break;
        if (x->phases & RUN_FORWARD && x->stage == 0) tiny_feed(&t, x->microbatch);
        assert_no_error(program_run(t.program, x, &t.now));
    }
    assert_no_error(program_wait(t.program));
    for (int64_t m = 0; m < schedule_microbatches(s); m++)
        loss[m] = program_scalar(t.program, "loss", m);
    return t;
}

enum { MICROBATCHES = 6 };

/* Whether each stage has nodes of a phase, and no other has. */
static bool has_stages(const Graph *g, Phase phase, int n_stages)
{
    bool found[MOST] = { false };
    int n = 0;
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (g->node[i]->phase == phase) found[g->node[i]->stage] = true;
    for (int s = 0; s < MOST; s++) n += found[s];
    return n == n_stages && found[n_stages - 1];
}

static void check_schedules(bool llama_like, bool more)
{
    Arena *a = arena_new();
    Case c = case_new(a, llama_like, more);
    double plain_loss[MICROBATCHES], loss[MICROBATCHES];
    Schedule accumulate = schedule_accumulate(a, MICROBATCHES);
    TinyRun plain = run_case(&c, 1, &accumulate, plain_loss);
    for (int i = 0; schedule_def_at(i); i++) {
        const ScheduleDef *d = schedule_def_at(i);
        int per_rank = d->per_rank == 1 ? 1 : 2, ranks = per_rank == 1 ? 3 : 2;
        int n_stages = ranks * per_rank;
        Schedule s = merged(a, d->name, ranks, per_rank, MICROBATCHES);
        TinyRun t = run_case(&c, n_stages, &s, loss);
        assert_true(has_stages(t.graph, FORWARD, n_stages));
        assert_true(has_stages(t.graph, BACKWARD_INPUT, n_stages));
        for (int m = 0; m < MICROBATCHES; m++) assert_true(loss[m] == plain_loss[m]);
        if (tiny_gradient_difference(&plain, &t) != 0) fail_msg("%s", d->name);
        tiny_run_free(&t);
    }
    tiny_run_free(&plain);
    arena_free(a);
}

TEST(stages_in_the_order_of_every_schedule_give_the_bits_of_accumulation)
{
    check_schedules(true, false);
}

TEST(so_do_they_in_bf16_with_recomputation)
{
    check_schedules(false, true);
}

/* Two blocks that read positions, which follow from the documents alone. */
TEST(what_depends_on_inputs_alone_is_computed_on_each_stage_that_needs_it)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const Dim table[] = { { .size = 7 }, { .size = 3 } },
              tokens[] = { { .size = 2 }, { .size = 5 } };
    Value *position = document_positions(g, graph_input(g, "documents", I32, 2, tokens), 0);
    Value *x = embed(g, graph_input(g, "ids", I32, 2, tokens), graph_param(g, "wte", 2, table));
    for (int i = 0; i < 2; i++) {
        graph_enter(g, "h", i);
        x = add(g, x, embed(g, position, graph_param(g, "table", 2, table)));
        graph_leave(g);
    }
    graph_output(g, "x", x);
    graph_output(g, "position", position);
    const Stages four = { .n = 4, .input = 1, .output = 1 };
    x = silu(g, x);
    graph_output(g, "y", x);
    PassList list = { .arena = a };
    passes_add(&list, &pass_stages, &four);
    assert_no_error(passes_run(g, NULL, &list, NULL));
    int n_positions[4] = { 0 };
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (!strcmp(g->node[i]->op->name, "document_positions")) n_positions[g->node[i]->stage]++;
    const int expected[] = { 0, 1, 1, 1 }; /* the last one for the output */
    for (int s = 0; s < 4; s++) assert_int_equal(n_positions[s], expected[s]);
    assert_int_equal(graph_find_output(g, "y")->from->stage, 3);
    arena_free(a);
}

TEST(a_model_of_two_stacks_is_no_pipeline)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const Dim tokens[] = { { .size = 2 }, { .size = 5 } };
    Value *x = graph_param(g, "x", 2, tokens);
    for (int i = 0; i < 2; i++) {
        graph_enter(g, i ? "image" : "text", 0);
        x = silu(g, x);
        graph_leave(g);
    }
    graph_output(g, "x", x);
    const Stages two = { .n = 2, .input = 1, .output = 1 };
    PassList list = { .arena = a };
    passes_add(&list, &pass_stages, &two);
    assert_error_has(passes_run(g, NULL, &list, NULL),
                     "a pipeline needs a model of one stack of blocks; this one has image beside "
                     "text");
    arena_free(a);
}

/* A set of ranks is the bits of a word. */
TEST(a_pipeline_has_at_most_64_ranks)
{
    Arena *a = arena_new();
    const int rank_of[] = { 0 };
    const PipelineCut cut = { rank_of };
    Mesh mesh = { .size[MESH_PP] = 64, .world_size = 64 };
    for (int i = 0; i < MESH_N_AXES; i++)
        if (i != MESH_PP) mesh.size[i] = 1;
    assert_no_error(pass_pipeline.run(graph_new(a), &mesh, &cut));
    mesh.size[MESH_PP] = mesh.world_size = 65;
    assert_error_has(pass_pipeline.run(graph_new(a), &mesh, &cut),
                     "a pipeline of 65 ranks; allowed are up to 64");
    arena_free(a);
}
