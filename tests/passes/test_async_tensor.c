/* test_async_tensor.c - which products become one node with a transfer over tp. */
#include "comm/mesh.h"
#include "graph/pass.h"
#include "ops/collective.h"
#include "ops/contract.h"
#include "passes/all_passes.h"
#include "test.h"
#include <string.h>

static const Mesh mesh = { .world_size = 2, .size = { 1, 1, 1, 1, 1, 1, 2 } };

/* The ops of a product of x [rows, width] whose sum over tp is scattered along the rows, after the
 * pass; `is_gathered`: x is brought together before. */
static const char *ops_of(Arena *a, bool is_gathered, bool is_read)
{
    Graph *g = graph_new(a);
    g->mesh = &mesh;
    const Dim rows[] = { { .size = 4, .mesh = { is_gathered ? MESH_TP : 0 } }, { .size = 6 } },
              weight[] = { { .size = 5 }, { .size = 6 } };
    Value *x = graph_input(g, "x", F32, 2, rows);
    if (is_gathered) x = all_gather(g, x, 0, 1u << MESH_TP);
    Value *y = contract(g, "*k,nk->*n", x, graph_param(g, "w", 2, weight));
    y->partial = 1u << MESH_TP;
    if (is_read) graph_output(g, "y", y);
    graph_output(g, "sum", reduce_scatter(g, y, 0, MESH_TP, F32));
    assert_no_error(graph_finish(g));
    assert_no_error(pass_find("async_tensor")->run(g, &mesh, NULL));
    const char *ops = "";
    for (int64_t i = 0; i < g->n_nodes; i++)
        ops = arena_printf(a, "%s%s ", ops, g->node[i]->op->name);
    return ops;
}

TEST(a_product_goes_with_one_transfer)
{
    Arena *a = arena_new();
    assert_string_equal(ops_of(a, false, false), "contract_scatter ");
    assert_string_equal(ops_of(a, false, true), "contract reduce_scatter "); /* others read it */
    assert_string_equal(ops_of(a, true, false), "gather_contract reduce_scatter ");
    arena_free(a);
}
