/* test_node_record.c - a node that was written to a file does there what it did in the run. */
#include "ops/adam.h"
#include "ops/reference.h"
#include "test.h"
#include "watch/node_record.h"
#include <stdlib.h>
#include <string.h>

enum { N_IN = 5, N_OUT = 4, SIZE = 3 };

/* Adam reads its settings, the rate of its group and the number of updates. */
TEST(a_recorded_node_runs_again_with_its_settings_and_rates)
{
    static double in[N_IN][SIZE] = { { 1, 2, 3 },
                                     { 0.5, -1, 2 },
                                     { 0.1, 0.2, 0.3 },
                                     { 4, 5, 6 },
                                     { 0.5 } },
                  out[N_OUT][SIZE];
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const Dim dim = { .size = SIZE };
    Value *v[N_IN];
    Tensor from[N_IN], to[N_OUT];
    for (int i = 0; i < N_IN; i++) {
        const int n_dims = i < N_OUT; /* the factor has none */
        v[i] = graph_input(g, arena_printf(a, "x%d", i), F64, n_dims, &dim);
        from[i] = (Tensor){ .dtype = F64, .data = in[i], .n_dims = n_dims, .size = { SIZE } };
    }
    for (int k = 0; k < N_OUT; k++)
        to[k] = (Tensor){ .dtype = F64, .data = out[k], .n_dims = 1, .size = { SIZE } };
    const AdamSettings settings = {
        .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1, .group = 1, .decoupled = true
    };
    adam(g, v[0], v[1], v[2], v[3], v[4], &settings);
    const Node *n = g->node[g->n_nodes - 1];
    const RunTime now = { .step = 7, .updates = 7, .rate[1].lr = 0.25 };
    Launch l = { .op = n->op,
                 .attrs = n->attrs,
                 .dims = n->dims,
                 .in = from,
                 .out = to,
                 .n_in = N_IN,
                 .n_out = N_OUT,
                 .now = &now,
                 .scratch = arena_alloc(a, 4096) };
    Device *d = cpu_device_new(1);
    assert_true(reference_scratch(n->op, &l) <= 4096);
    assert_int_equal(reference_run(n->op, &l), 0);
    assert_true(out[0][0] < 0.97); /* the rate is felt */
    const char *path = path_join(a, test_folder(), "node.safetensors");
    const NodeRun run = { .graph = g, .node = n, .launch = &l, .now = &now, .device = d };
    assert_no_error(node_record_write(a, &run, path));
    char *said = NULL;
    size_t bytes;
    FILE *f = open_memstream(&said, &bytes);
    assert_no_error(node_record_replay(a, path, f));
    fclose(f);
    const char *at = said;
    for (int k = 0; k < N_OUT; k++, at++) {
        at = strstr(at, "against what was recorded: ");
        assert_non_null(at);
        assert_memory_equal(at, "against what was recorded: at most 0 apart; 0 finite in one only",
                            64);
    }
    free(said);
    d->free(d);
    arena_free(a);
}
