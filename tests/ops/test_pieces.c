/* test_pieces.c - transfers of products in pieces go on while a rank multiplies, and end on errors.
 */
#include "comm/rank_threads.h"
#include "noted_comm.h"
#include "op_run.h"
#include "ops/contract.h"
#include "ops/contract_pieces.h"
#include "test.h"
#include <string.h>

enum { RANKS = 3, ROWS = 2, WIDTH = 4 };

/* Which product fails, and how many were made; 0: none. */
static _Thread_local int failing, n_products;

static int multiply_noted(const Launch *l)
{
    noted_add('m');
    memset(l->out[0].data, 0, tensor_bytes(&l->out[0]));
    return ++n_products == failing ? KERNEL_OVERFLOW : KERNEL_OK;
}

static const PieceKernel noted = { &op_contract, multiply_noted, NULL };

typedef struct PieceCase {
    bool is_gather;
    int failing;
    const char *did;
    int64_t batch; /* 0: rows have no dimension in front of them */
} PieceCase;

static Tensor rows(Arena *a, int64_t batch, int64_t n, int64_t width, const Part *part)
{
    const int64_t size[] = { batch, n, width };
    Tensor t = op_tensor(a, F32, batch ? 3 : 2, batch ? size : size + 1);
    t.part[batch ? 1 : 0] = part;
    return t;
}

static Error *note_order(Comm *comm, void *arg)
{
    const PieceCase *c = arg;
    Arena *a = arena_new();
    const Part part = { .n_parts = RANKS, .index = comm->rank, .whole = (int64_t)RANKS * ROWS };
    const Tensor share = rows(a, c->batch, ROWS, WIDTH, &part),
                 whole = rows(a, c->batch, part.whole, WIDTH, NULL);
    const Tensor in[] = { c->is_gather ? share : whole, rows(a, 0, WIDTH, WIDTH, NULL) };
    Tensor out = c->is_gather ? whole : share;
    const DimSpec *dims;
    const Shape shape[] = { { 2, { part.whole, WIDTH } }, { 2, { WIDTH, WIDTH } } },
                in_batch[] = { { 3, { c->batch, part.whole, WIDTH } }, { 2, { WIDTH, WIDTH } } };
    if (c->batch)
        assert_null(dims_parse(a, "eab,cb->eac", 2, in_batch, &dims));
    else
        assert_null(dims_parse(a, "ab,cb->ac", 2, shape, &dims));
    const Pieces attrs = { .dim = c->batch ? 1 : 0, .wire = (int)BF16 };
    Launch l = { .op = c->is_gather ? &op_gather_contract : &op_contract_scatter,
                 .attrs = &attrs,
                 .dims = dims,
                 .in = in,
                 .n_in = 2,
                 .out = &out,
                 .n_out = 1,
                 .comm = comm,
                 .block = -1 };
    NotedComm mine;
    noted_begin(comm, &mine);
    failing = c->failing;
    n_products = 0;
    l.scratch = arena_alloc(a, contract_pieces_scratch(&l, &noted, 1));
    const int status = c->is_gather ? gather_contract(&l, &noted) : contract_scatter(&l, &noted);
    assert_int_equal(status, c->failing ? KERNEL_OVERFLOW : KERNEL_OK);
    assert_string_equal(mine.did, c->did);
    noted_end(comm);
    arena_free(a);
    return NULL;
}

/* Own rows first while those of the others come; pieces for the others first, the own one last. */
TEST(pieces_travel_while_a_rank_multiplies)
{
    PieceCase gather = { true, 0, "ssmfmfm", 0 }, scatter = { false, 0, "msmsmff", 0 };
    on_ranks(RANKS, note_order, &gather, NULL);
    on_ranks(RANKS, note_order, &scatter, NULL);
}

/* What travels begins and ends with a half of an even batch; own rows are multiplied at once. */
TEST(pieces_of_even_batches_travel_in_halves)
{
    PieceCase gather = { true, 0, "ssssmfmfmfmfm", 4 }, scatter = { false, 0, "msmsmsmsmffff", 2 };
    on_ranks(RANKS, note_order, &gather, NULL);
    on_ranks(RANKS, note_order, &scatter, NULL);
    PieceCase odd = { true, 0, "ssmfmfm", 3 };
    on_ranks(RANKS, note_order, &odd, NULL);
}

TEST(pieces_under_way_are_waited_for_though_a_product_failed)
{
    PieceCase gather = { true, 1, "ssmff", 0 }, scatter = { false, 3, "msmsmff", 0 };
    on_ranks(RANKS, note_order, &gather, NULL);
    on_ranks(RANKS, note_order, &scatter, NULL);
}
