/* test_unit.c - small tensors of a unit that travel in one message stay within its memory. */
#include "comm/rank_threads.h"
#include "op_run.h"
#include "ops/all_ops.h"
#include "test.h"
#include <string.h>

enum { RANKS = 4, GUARD = 1 << 16, N = 3 };
static const int64_t n_rows[N] = { 100, 4, 152 }; /* of 128: together a full message in bf16 */

/* Gradients of each rank travel in `wire` and are added to parts in f32. */
static Error *reduce(Comm *c, void *arg)
{
    const Dtype wire = *(const Dtype *)arg;
    Arena *a = arena_new();
    const OpDef *op = op_find("reduce_unit");
    Tensor in[N], out[N];
    Part part[N];
    for (int k = 0; k < N; k++) {
        const int64_t whole[] = { n_rows[k], 128 }, own[] = { n_rows[k] / RANKS, 128 };
        part[k] = (Part){ .whole = n_rows[k], .n_parts = RANKS, .index = c->rank };
        in[k] = op_tensor(a, wire, 2, whole);
        out[k] = op_tensor(a, F32, 2, own);
        out[k].part[0] = &part[k];
        memset(out[k].data, 0, tensor_bytes(&out[k]));
        for (int64_t i = 0; i < tensor_count(&in[k]); i++)
            dtype_set(wire, in[k].data, i,
                      (double)(i / 128 % 16 + c->rank)); /* their sums are exact, too */
    }
    Launch l = { .op = op, .in = in, .n_in = N, .out = out, .n_out = N, .comm = c, .block = -1 };
    const size_t bytes = op->scratch(&l);
    char *scratch = arena_alloc(a, bytes + GUARD);
    memset(scratch + bytes, 0x5a, GUARD);
    l.scratch = scratch;
    assert_int_equal(op->reference(&l), KERNEL_OK);
    for (int64_t i = 0; i < GUARD; i++)
        if (scratch[bytes + (size_t)i] != 0x5a)
            fail_msg("rank %d writes after its scratch", c->rank);
    for (int k = 0; k < N; k++)
        for (int64_t i = 0; i < tensor_count(&out[k]); i++) {
            const double row = (double)((c->rank * n_rows[k] / RANKS + i / 128) % 16);
            assert_close(((const float *)out[k].data)[i], RANKS * row + 6, 0);
        }
    arena_free(a);
    return NULL;
}

TEST(small_gradients_travel_together_within_their_scratch)
{
    static const Dtype wires[] = { BF16, F32 };
    for (int i = 0; i < 2; i++) on_ranks(RANKS, reduce, (void *)&wires[i], NULL);
}
