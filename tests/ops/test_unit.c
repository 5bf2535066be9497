/* test_unit.c - small tensors of a unit that travel in one message stay within its memory. */
#include "comm/rank_threads.h"
#include "op_run.h"
#include "ops/all_ops.h"
#include "test.h"
#include <string.h>

enum { RANKS = 4, GUARD = 1 << 16, N = 3, WIDTH = 128 };
static const int64_t n_rows[N] = { 100, 4, 152 }; /* together a full message in bf16 */

typedef struct UnitCase {
    const char *op;
    Dtype wire;
    bool in_is_whole, out_is_whole; /* else a rank has rows of its own */
} UnitCase;

/* What rank `r` has in a row; sums over ranks are exact in bf16, too. */
static double number_in(int64_t row, int r)
{
    return (double)(row % 16 + r);
}

static Tensor rows(Arena *a, Dtype t, bool is_whole, const Part *part)
{
    const int64_t size[] = { is_whole ? part->whole : part->whole / RANKS, WIDTH };
    Tensor x = op_tensor(a, t, 2, size);
    if (!is_whole) x.part[0] = part;
    memset(x.data, 0, tensor_bytes(&x));
    return x;
}

static double expected(const UnitCase *c, int64_t row)
{
    const double own = number_in(row, 0);
    return c->in_is_whole ? RANKS * own + 6 : own; /* a sum, or what one rank had */
}

static Error *run(Comm *comm, void *arg)
{
    const UnitCase *c = arg;
    Arena *a = arena_new();
    const OpDef *op = op_find(c->op);
    Tensor in[N], out[N];
    Part part[N];
    int64_t max = 0; /* attributes of all three */
    for (int k = 0; k < N; k++) {
        part[k] = (Part){ .whole = n_rows[k], .n_parts = RANKS, .index = comm->rank };
        in[k] = rows(a, c->wire, c->in_is_whole, &part[k]);
        out[k] = rows(a, c->out_is_whole ? c->wire : F32, c->out_is_whole, &part[k]);
        for (int64_t i = 0; i < tensor_count(&in[k]); i++)
            dtype_set(
                c->wire, in[k].data, i,
                number_in(global_index(&in[k], 0, i / WIDTH), c->in_is_whole ? comm->rank : 0));
    }
    Launch l = { .op = op,
                 .attrs = &max,
                 .in = in,
                 .n_in = N,
                 .out = out,
                 .n_out = N,
                 .comm = comm,
                 .block = -1 };
    const size_t bytes = op->scratch(&l);
    char *scratch = arena_alloc(a, bytes + GUARD);
    memset(scratch + bytes, 0x5a, GUARD);
    l.scratch = scratch;
    assert_int_equal(op->reference(&l), KERNEL_OK);
    for (size_t i = 0; i < GUARD; i++)
        if (scratch[bytes + i] != 0x5a)
            fail_msg("%s: rank %d writes after its scratch", c->op, comm->rank);
    for (int k = 0; k < N; k++)
        for (int64_t i = 0; i < tensor_count(&out[k]); i++)
            assert_close(op_get(&out[k], i), expected(c, global_index(&out[k], 0, i / WIDTH)), 0);
    arena_free(a);
    return NULL;
}

TEST(small_tensors_travel_together_within_their_scratch)
{
    static const UnitCase cases[] = { { "reduce_unit", BF16, true, false },
                                      { "reduce_unit", F32, true, false },
                                      { "gather_unit", BF16, false, true },
                                      { "gather_unit", F32, false, true },
                                      { "reduce_bucket", BF16, true, true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        on_ranks(RANKS, run, (void *)&cases[i], NULL);
}
