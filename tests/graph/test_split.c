/* test_split.c - splits travel along letters, and what does not go together is named. */
#include "graph/op.h"
#include "graph/split.h"
#include "ops/accumulate.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/gradient_norm.h"
#include "ops/norm.h"
#include "ops/reshape.h"
#include "test.h"
#include <string.h>

typedef struct Job {
    Arena *arena;
    Mesh mesh;
    Graph *g;
} Job;

/* 2 of each kind: 32 ranks. */
static Job job_new(void)
{
    Job j = { .arena = arena_new(), .mesh = { .world_size = 32 } };
    for (int i = MESH_PP; i < MESH_N_AXES; i++) j.mesh.size[i] = 2;
    j.g = graph_new(j.arena);
    return j;
}

/* From here on what is built is split; `mesh` must stay. */
static void spread(Graph *g, const Mesh *mesh)
{
    g->mesh = mesh;
}

static Value *input(Graph *g, const char *name, int n_dims, const Dim *dims)
{
    return graph_input(g, name, F32, n_dims, dims);
}

enum { B = 4, S = 8, D = 6, N = 12 };

#define DP .mesh = { MESH_DP_REPLICATE, MESH_DP_SHARD }
#define TP .mesh = { MESH_TP }

static const Dim tokens[] = { { .size = B, .axis = "batch", DP }, { .size = S }, { .size = D } };

TEST(a_column_split_matrix_and_a_row_split_one_make_a_partial_sum)
{
    Job j = job_new();
    const Dim up[] = { { .size = N, .axis = "ff", TP }, { .size = D } },
              down[] = { { .size = D }, { .size = N, .axis = "ff", TP } };
    spread(j.g, &j.mesh);
    Value *x = input(j.g, "x", 3, tokens);
    Value *h = silu(j.g, contract(j.g, "*k,nk->*n", x, graph_param(j.g, "up", 2, up)));
    assert_int_equal(h->dim[2].mesh[0], MESH_TP);
    assert_int_equal(h->dim[0].mesh[1], MESH_DP_SHARD);
    assert_int_equal(h->partial, 0);
    Value *y = contract(j.g, "*k,nk->*n", h, graph_param(j.g, "down", 2, down));
    assert_int_equal(y->partial, 1u << MESH_TP);
    assert_int_equal(y->dim[2].mesh[0], 0);
    Value *more = contract(j.g, "*k,nk->*n", h, graph_find(j.g, "down"));
    assert_int_equal(add(j.g, y, more)->partial, 1u << MESH_TP);
    assert_int_equal(scale(j.g, y, 2)->partial, 1u << MESH_TP);
    graph_output(j.g, "y", y);
    assert_no_error(graph_finish(j.g));
    assert_no_error(graph_verify(j.g));
    arena_free(j.arena);
}

TEST(a_weight_s_gradient_is_a_partial_sum_over_the_data_ranks)
{
    Job j = job_new();
    const Dim slopes[] = { { .size = B, DP }, { .size = S }, { .size = N, TP } };
    const Dim of_w[] = { { .size = N, TP }, { .size = D } };
    spread(j.g, &j.mesh);
    Value *dy = input(j.g, "dy", 3, slopes), *w = graph_param(j.g, "w", 2, of_w);
    Value *dw = contract(j.g, "abn,abk->nk", dy, input(j.g, "x", 3, tokens));
    assert_int_equal(dw->partial, 1u << MESH_DP_REPLICATE | 1u << MESH_DP_SHARD);
    assert_int_equal(dw->dim[0].mesh[0], MESH_TP);
    accumulate(j.g, dw, graph_accumulator(j.g, w));
    assert_no_error(graph_finish(j.g));
    assert_no_error(graph_verify(j.g));
    dw->partial = 0;
    assert_error_has(graph_verify(j.g), "says that reductions 0 are outstanding");
    arena_free(j.arena);
}

/* What cannot be is told with the letter, the inputs and the axes. */
static void refused(Graph *g, const char *why)
{
    assert_error_has(graph_finish(g), why);
}

TEST(splits_that_do_not_go_together_are_named)
{
    Job j = job_new();
    const Dim by_tp[] = { { .size = B }, { .size = S }, { .size = D, TP } };
    const Dim weight[] = { { .size = N }, { .size = D } }, one[] = { { .size = D } };
    spread(j.g, &j.mesh);
    Value *x = input(j.g, "x", 3, by_tp);
    contract(j.g, "*k,nk->*n", x, graph_param(j.g, "w", 2, weight));
    refused(j.g,
            "contract: 'k' of \"*k,nk->*n\" is split over tp in input 0, but whole in input 1");
    rms_norm(j.g, x, graph_param(j.g, "norm", 1, one), NULL, 1e-5);
    refused(j.g, "'d' of \"*d!,d->*d\" must be whole, but is split over tp");
    arena_free(j.arena);
}

TEST(partial_sums_are_settled_before_what_is_not_linear)
{
    Job j = job_new();
    const Dim by_tp[] = { { .size = B }, { .size = S }, { .size = N, TP } };
    const Dim down[] = { { .size = D }, { .size = N, TP } },
              plain[] = { { .size = B }, { .size = S }, { .size = D } };
    spread(j.g, &j.mesh);
    Value *y =
        contract(j.g, "*k,nk->*n", input(j.g, "h", 3, by_tp), graph_param(j.g, "w", 2, down));
    silu(j.g, y);
    refused(j.g, "is a partial sum, which silu cannot take");
    add(j.g, y, input(j.g, "x", 3, plain));
    refused(j.g, "a partial sum is added to one over other ranks");
    mul(j.g, input(j.g, "x", 3, plain), y);
    refused(j.g, "input 1 (v");
    arena_free(j.arena);
}

TEST(a_composite_dimension_is_split_by_its_leading_letter)
{
    Job j = job_new();
    const Dim heads[] = { { .size = B }, { .size = S }, { .size = N, TP } };
    const Dim inner[] = {
        { .size = B }, { .size = S }, { .size = 4 }, { .size = 3, .is_padded = true, TP }
    };
    spread(j.g, &j.mesh);
    Value *x = reshape(j.g, "bs(gd)->bsgd", "d=3", input(j.g, "x", 3, heads));
    assert_int_equal(x->dim[2].mesh[0], MESH_TP);
    assert_int_equal(x->dim[3].mesh[0], 0);
    Value *back = reshape(j.g, "bsgd->bs(gd)", NULL, x);
    assert_int_equal(back->dim[2].mesh[0], MESH_TP);
    assert_no_error(graph_finish(j.g));
    reshape(j.g, "bsgd->bs(gd)", NULL, input(j.g, "y", 4, inner));
    refused(j.g, "'d' of \"bsgd->bs(gd)\" is split over tp, but does not lead its dimension");
    const Dim few[] = { { .size = B }, { .size = S }, { .size = 9, .axis = "heads", TP } };
    reshape(j.g, "bs(gd)->bsgd", "d=3", input(j.g, "z", 3, few));
    refused(j.g, "dimension 2 (heads) of 3 does not divide into 2 parts");
    arena_free(j.arena);
}

TEST(a_vocabulary_split_table_gives_partial_sums_and_norms_of_parts_their_shares)
{
    Job j = job_new();
    const Dim ids[] = { { .size = B, DP }, { .size = S } };
    const Dim table[] = { { .size = 16, .axis = "vocab", TP }, { .size = D } };
    spread(j.g, &j.mesh);
    Value *e = embed(j.g, graph_input(j.g, "ids", I32, 2, ids), graph_param(j.g, "wte", 2, table));
    assert_int_equal(e->partial, 1u << MESH_TP);
    Value *two = norm_partial(j.g, graph_find(j.g, "wte"), 2),
          *most = norm_partial(j.g, graph_find(j.g, "wte"), 0);
    assert_true(two->partial == 1u << MESH_TP && two->reduce == REDUCE_SUM);
    assert_true(most->partial == 1u << MESH_TP && most->reduce == REDUCE_MAX);
    scale(j.g, most, 2);
    refused(j.g, "is a partial maximum, which scale cannot take");
    arena_free(j.arena);
}

TEST(a_result_that_says_other_splits_than_its_inputs_is_found)
{
    Job j = job_new();
    spread(j.g, &j.mesh);
    Value *y = silu(j.g, input(j.g, "x", 3, tokens));
    assert_no_error(graph_verify(j.g));
    y->dim[0].mesh[1] = 0;
    assert_error_has(graph_verify(j.g), "dimension 0 is split otherwise than the inputs say");
    y->dim[0].mesh[1] = MESH_DP_REPLICATE;
    assert_error_has(graph_verify(j.g), "uses the mesh axis dp_replicate twice");
    arena_free(j.arena);
}

TEST(sizes_that_do_not_divide_are_refused_with_axis_size_and_degree)
{
    Job j = job_new();
    const Dim odd[] = { { .size = 7, .axis = "ff", TP } };
    Value v = { .name = "h", .n_dims = 1 };
    v.dim[0] = odd[0];
    assert_error_has(split_verify_value(&v, &j.mesh),
                     "h: dimension 0 (ff) of 7 does not divide into 2 parts");
    v.dim[0].is_padded = true;
    assert_no_error(split_verify_value(&v, &j.mesh));
    assert_int_equal(value_part(j.arena, &v, &j.mesh, 0).size[0], 4);
    v.dim[0].layout = ZIGZAG;
    assert_error_has(split_verify_value(&v, &j.mesh), "of 7 does not divide into 4 parts");
    arena_free(j.arena);
}

TEST(what_is_made_of_another_rank_s_part_is_that_rank_s_part)
{
    Job j = job_new();
    const Dim part[] = { { .size = S, .mesh = { MESH_CP }, .rotation = 1 }, { .size = D } },
              own[] = { { .size = S, .mesh = { MESH_CP } }, { .size = D } };
    spread(j.g, &j.mesh);
    Value *x = input(j.g, "x", 2, part);
    assert_int_equal(silu(j.g, x)->dim[0].rotation, 1);
    assert_no_error(graph_finish(j.g));
    add(j.g, x, input(j.g, "y", 2, own));
    refused(j.g, "is split over cp");
    arena_free(j.arena);
}

/* Of a value over all kinds of ranks, each element lies on as many ranks as do not split it. */
TEST(the_parts_of_all_ranks_are_the_whole)
{
    Job j = job_new();
    Value v = { .name = "x", .n_dims = 3, .dtype = BF16 };
    v.dim[0] = (Dim){ .size = B, DP };
    v.dim[1] = (Dim){ .size = S, .mesh = { MESH_CP, MESH_TP }, .layout = ZIGZAG };
    v.dim[2] = (Dim){ .size = D };
    for (int rotation = 0; rotation < 2; rotation++) {
        int held[B * S * D] = { 0 };
        v.dim[1].rotation = (uint8_t)rotation;
        for (int64_t rank = 0; rank < 32; rank++) {
            Tensor t = value_part(j.arena, &v, &j.mesh, rank);
            assert_int_equal(tensor_count(&t), B * S * D / 16);
            assert_int_equal(t.dtype, BF16);
            for (int64_t i = 0; i < tensor_count(&t); i++) held[global_element(&t, i)]++;
            int64_t cp = mesh_coordinate(&j.mesh, MESH_CP, rank),
                    tp = mesh_coordinate(&j.mesh, MESH_TP, rank);
            const int64_t chunk[2][2] = { { 0, 6 }, { 2, 4 } }; /* [cp][tp]: where it begins */
            assert_int_equal(global_index(&t, 1, 0), chunk[(cp + rotation) % 2][tp]);
        }
        for (int i = 0; i < B * S * D; i++) assert_int_equal(held[i], 2);
    }
    arena_free(j.arena);
}
