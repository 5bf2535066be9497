/* test_program.c - nodes of the kinds that communication needs: views of a part of a buffer, nodes
 * without results, and nodes with more results than a word has bits. */
#include "comm/mesh.h"
#include "exec/program.h"
#include "exec/program_parts.h"
#include "graph/op.h"
#include "ops/elementwise.h"
#include "stored.h"
#include "test.h"
#include <string.h>

enum { WIDTH = 4, N_PARTS = 3, N_RESULTS = 100 };

typedef struct Place {
    int64_t first;
} Place;

static int64_t first_of(const Node *n)
{
    return ((const Place *)n->attrs)->first;
}

/* Keeps what it is given; nothing comes out of it. */
static double sent[N_PARTS][WIDTH];
static int n_sent;

static int send(const Launch *l)
{
    for (int i = 0; i < WIDTH; i++) sent[n_sent][i] = ((const double *)l->in[0].data)[i];
    n_sent++;
    return KERNEL_OK;
}

static int number(const Launch *l)
{
    for (int k = 0; k < l->n_out; k++)
        for (int i = 0; i < WIDTH; i++) ((double *)l->out[k].data)[i] = k + 1;
    return KERNEL_OK;
}

static RunTime told;

static int tell(const Launch *l)
{
    told = *l->now;
    return KERNEL_OK;
}

static const OpDef op_part = {
    .name = "part", .attrs_size = sizeof(Place), .offset = first_of, .flags = OP_VIEW
};
static const OpDef op_send = { .name = "send", .dims = "n", .reference = send };
static const OpDef op_tell = { .name = "tell", .dims = "n", .reference = tell };
static const OpDef op_number = { .name = "number", .reference = number, .flags = OP_ADDS };

typedef struct Run {
    Arena *arena;
    Device *device;
    ParamStore *store;
    Graph *graph;
    Program *program;
} Run;

static Run run_new(void)
{
    Run r = { .arena = arena_new() };
    assert_no_error(device_new(1, &r.device));
    r.store = store_new(r.device);
    r.graph = graph_new(r.arena);
    return r;
}

static void make(Run *r)
{
    graph_prune(r->graph);
    assert_no_error(graph_finish(r->graph));
    assert_no_error(graph_verify(r->graph));
    ProgramSettings s = { .device = r->device, .store = r->store, .name = "test" };
    assert_no_error(program_new(r->graph, &s, &r->program));
}

static void run_free(Run *r)
{
    program_free(r->program);
    store_free(r->store);
    r->device->free(r->device);
    arena_free(r->arena);
}

TEST(parts_of_a_buffer_are_sent_by_nodes_without_results)
{
    Run r = run_new();
    const Dim flat = { .size = N_PARTS * WIDTH };
    Value *x = graph_input(r.graph, "x", F32, 1, &flat);
    for (int i = N_PARTS - 1; i >= 0; i--) { /* of the rest, as views may be taken of views */
        Value *part = x;
        for (int k = 0; k <= i; k++) {
            const char *size = arena_printf(r.arena, "m=%d", (N_PARTS - k) * WIDTH);
            part = graph_add_dims(r.graph, &op_part, "n->m", k == i ? "m=4" : size,
                                  &(Place){ k ? WIDTH : 0 }, 1, &part)
                       ->out[0];
        }
        graph_add(r.graph, &op_send, NULL, 1, &part);
    }
    make(&r);
    float number_of[N_PARTS * WIDTH];
    for (int i = 0; i < N_PARTS * WIDTH; i++) number_of[i] = (float)i;
    n_sent = 0;
    assert_no_error(program_write(r.program, "x", 0, number_of));
    assert_no_error(program_run_phases(r.program, RUN_FORWARD, &(RunTime){ 0 }));
    assert_int_equal(n_sent, N_PARTS);
    for (int i = 0; i < N_PARTS; i++)
        for (int k = 0; k < WIDTH; k++) assert_true(sent[i][k] == (N_PARTS - 1 - i) * WIDTH + k);
    run_free(&r);
}
FENCED(parts_of_a_buffer_are_sent_by_nodes_without_results)

TEST(a_node_adds_to_a_hundred_gradients)
{
    Run r = run_new();
    const Dim d = { .size = WIDTH };
    Value *into[N_RESULTS], *x = graph_input(r.graph, "x", F32, 1, &d);
    const char *dims = "n->n";
    for (int i = 0; i < N_RESULTS; i++) {
        Value *p = graph_param(r.graph, arena_printf(r.arena, "p%d", i), 1, &d);
        into[i] = graph_accumulator(r.graph, p);
        if (i) dims = arena_printf(r.arena, "%s,n", dims);
    }
    graph_add_into(r.graph, &op_number, dims, NULL, NULL, 1, &x, N_RESULTS, into);
    make(&r);
    for (int i = 0; i < 2; i++)
        assert_no_error(program_run_phases(r.program, RUN_FORWARD, &(RunTime){ 0 }));
    for (int i = 0; i < N_RESULTS; i++) {
        const Stored *s = store_find(r.store, into[i]->name);
        const Tensor t = stored_view(r.arena, r.store, s);
        assert_true(((const float *)t.data)[WIDTH - 1] == 2 * (i + 1));
    }
    run_free(&r);
}
FENCED(a_node_adds_to_a_hundred_gradients)

/* Graphs of one store agree about what they share. */
static Error *share(Run *r, const char *name, Dtype t, int n_dims, const Dim *dim, const Mesh *mesh)
{
    Graph *g = graph_new(r->arena);
    g->mesh = mesh;
    graph_param(g, name, n_dims, dim)->dtype = t;
    return store_add(r->store, g);
}

TEST(programs_that_disagree_about_a_parameter_are_refused)
{
    Run r = run_new();
    const Mesh mesh = { .world_size = 2, .size = { 1, 1, 1, 1, 1, 1, 2 } };
    const Dim plain[] = { { .size = 4 }, { .size = 6 } },
              longer[] = { { .size = 4 }, { .size = 8 } },
              split[] = { { .size = 4 }, { .size = 12, .mesh = { MESH_TP } } };
    assert_no_error(share(&r, "p", F32, 2, plain, &mesh));
    assert_no_error(share(&r, "p", F32, 2, plain, &mesh));
    assert_error_has(share(&r, "p", F32, 2, longer, &mesh), "p is used with two shapes");
    assert_error_has(share(&r, "p", F32, 1, plain, &mesh), "p is used with two shapes");
    assert_error_has(share(&r, "p", BF16, 2, plain, &mesh), "p is used with two shapes");
    assert_error_has(share(&r, "p", F32, 2, split, &mesh), "p is used with two shapes");
    r.program = NULL;
    run_free(&r);
}

/* Each action runs the nodes of its stage, a step those of all; a column is a node that runs. */
TEST(memory_over_a_step_is_that_of_the_nodes_that_run)
{
    Run r = run_new();
    Schedule s = schedule_once(r.arena, 2);
    const Dim d = { .size = WIDTH };
    Value *x = graph_input(r.graph, "x", F64, 1, &d), *p = graph_param(r.graph, "p", 1, &d),
          *into = graph_accumulator(r.graph, p);
    graph_add(r.graph, &op_send, NULL, 1, &x)->phase = FORWARD;
    for (int i = 0; i < 3; i++) {
        Node *n = graph_add(r.graph, &op_send, NULL, 1, i < 2 ? &x : &into);
        n->phase = i < 2 ? FORWARD : REDUCE;
        n->stage = 1;
    }
    ProgramSettings settings = {
        .device = r.device, .store = r.store, .name = "test", .schedule = &s
    };
    assert_no_error(graph_finish(r.graph));
    assert_no_error(program_new(r.graph, &settings, &r.program));
    Text t = { 0 };
    program_memory_outline(r.program, &t);
    const char *end = strstr(t.ptr, "],\"at\"");
    int n = 0;
    for (const char *at = strstr(t.ptr, "\"columns\":[") + 11; at < end; at++) n += *at == '[';
    assert_int_equal(n, 4);
    text_free(&t);
    run_free(&r);
}

/* Even where that stream is the one that somebody waits for first. */
TEST(a_node_of_another_stream_begins_when_the_computation_has_come_to_it)
{
    Run r = run_new();
    const Dim d = { .size = WIDTH };
    const double x[WIDTH] = { 1, 2, 3, 4 };
    Value *y = scale(r.graph, graph_input(r.graph, "x", F64, 1, &d), 2);
    y->from->phase = FORWARD;
    Node *beside = graph_add(r.graph, &op_send, NULL, 1, &y);
    beside->phase = FORWARD;
    beside->stream = STREAM_GATHER;
    make(&r);
    n_sent = 0;
    assert_no_error(program_write(r.program, "x", 0, x));
    assert_no_error(
        program_run(r.program, &(Action){ .phases = RUN_FORWARD }, &(RunTime){ .step = 1 }));
    assert_no_error(r.device->synchronize(r.device, r.program->stream[STREAM_GATHER]));
    assert_int_equal(n_sent, 1);
    for (int i = 0; i < WIDTH; i++) assert_true(sent[0][i] == 2 * x[i]);
    assert_no_error(program_wait(r.program));
    run_free(&r);
}
FENCED(a_node_of_another_stream_begins_when_the_computation_has_come_to_it)

/* What comes with the last backward pass is of the microbatch that makes it. */
TEST(work_of_the_last_backward_pass_knows_its_step_and_microbatch)
{
    Run r = run_new();
    Schedule s = schedule_accumulate(r.arena, 2);
    Value *p = graph_param(r.graph, "p", 1, &(Dim){ .size = WIDTH }),
          *into = graph_accumulator(r.graph, p);
    graph_add(r.graph, &op_tell, NULL, 1, &into)->phase = BACKWARD_LAST;
    ProgramSettings settings = {
        .device = r.device, .store = r.store, .name = "test", .schedule = &s
    };
    assert_no_error(graph_finish(r.graph));
    assert_no_error(program_new(r.graph, &settings, &r.program));
    for (int step = 5; step < 7; step++) {
        told = (RunTime){ 0 };
        for (int64_t i = 0; i < s.n; i++)
            assert_no_error(program_run(r.program, &s.action[i], &(RunTime){ .step = step }));
        assert_no_error(program_wait(r.program));
        assert_int_equal(told.step, step);
        assert_int_equal(told.microbatch, 1);
    }
    run_free(&r);
}
FENCED(work_of_the_last_backward_pass_knows_its_step_and_microbatch)

TEST(work_of_a_stage_that_no_action_runs_is_refused)
{
    Run r = run_new();
    Schedule s = schedule_accumulate(r.arena, 2);
    Value *x = graph_input(r.graph, "x", F64, 1, &(Dim){ .size = WIDTH });
    graph_add(r.graph, &op_send, NULL, 1, &x)->stage = 1;
    ProgramSettings settings = {
        .device = r.device, .store = r.store, .name = "test", .schedule = &s
    };
    assert_error_has(program_new(r.graph, &settings, &r.program),
                     "the test program has work of pipeline stage 1 (forward), but its schedule "
                     "has none of that stage");
    r.program = NULL;
    run_free(&r);
}
