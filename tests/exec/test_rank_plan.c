/* test_rank_plan.c - what a program needs, known before it runs. */
#include "../passes/tiny_model.h"
#include "exec/rank_plan.h"
#include "monitor/mfu.h"
#include "passes/all_passes.h"
#include "passes/recompute.h"
#include "test.h"

enum { TOKENS = 12, SEQUENCE = 6 };

static double needed(const PassUse *use)
{
    const Gpt2Settings s = tiny_settings(false);
    Arena *a = arena_new();
    PassList list = { .arena = a };
    if (use) passes_add(&list, use->pass, use->settings);
    TinyRun t = tiny_run_make(&(TinyChoice){ .settings = &s, .passes = &list, .training = true });
    const double flops = program_needed_flops(t.program);
    tiny_run_free(&t);
    arena_free(a);
    return flops;
}

/* As the formula has it, whatever is fused or computed again. */
TEST(flops_that_a_microbatch_needs_are_those_of_its_matrices_and_the_causal_half_of_attention)
{
    static const Recompute every_block = { .every = 1 };
    const Gpt2Settings s = tiny_settings(false);
    const int64_t of_layer = s.n_embd * (4 * s.n_embd + 2 * s.ffn_hidden);
    const int64_t multiplied = s.n_layer * of_layer + s.vocab_size * s.n_embd;
    const double all = TOKENS * flops_per_token_matmul(multiplied, s.n_layer, SEQUENCE, s.n_embd);
    assert_close(needed(NULL), all, 0.5);
    assert_close(needed(&(PassUse){ pass_find("fuse"), NULL }), all, 0.5);
    assert_close(needed(&(PassUse){ pass_find("recompute"), &every_block }), all, 0.5);
}
