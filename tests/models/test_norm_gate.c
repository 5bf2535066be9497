/* test_norm_gate.c - gates of what norms in front of layers give, against their formula. */
#include "models/decoder_run.h"
#include "test.h"
#include <math.h>

enum { TOKENS = 4, WIDTH = 8, RANK = 3 };

#define MODEL                                                                                      \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 1, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, rope: {base: 100.0}, "              \
    "norm_gate_rank: 3"

/* What `gates` make of the norm that they read, which is `read`. */
static void check(const OpRun *run, const char *gates, const char *by)
{
    Arena *a = run->arena;
    const char *down = arena_printf(a, "%s_down.weight", gates),
               *up = arena_printf(a, "%s_up.weight", gates);
    const Value *norm = decoder_read_by(run, down), *read = decoder_read_by(run, by);
    for (int t = 0; t < TOKENS; t++) {
        double h[RANK] = { 0 };
        for (int r = 0; r < RANK; r++) {
            for (int k = 0; k < WIDTH; k++)
                h[r] += decoder_param(run, down, r * WIDTH + k) *
                        op_get(&run->tensor[norm->id], t * WIDTH + k);
            h[r] /= 1 + exp(-h[r]);
        }
        for (int k = 0; k < WIDTH; k++) {
            double sum = 0;
            for (int r = 0; r < RANK; r++) sum += decoder_param(run, up, k * RANK + r) * h[r];
            assert_close(op_get(&run->tensor[read->id], t * WIDTH + k),
                         op_get(&run->tensor[norm->id], t * WIDTH + k) / (1 + exp(-sum)), 1e-6);
        }
    }
}

TEST(gates_of_norms_in_front_equal_their_formula)
{
    Arena *a = arena_new();
    check(decoder_run(a, MODEL, TOKENS), "mixer_gate", "attn.q_attn.weight");
    const OpRun *sparse = decoder_run(
        a, MODEL ", layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 12}",
        TOKENS);
    check(sparse, "mixer_gate", "attn.q_attn.weight");
    check(sparse, "mixture_gate", "mlp.router.weight");
    arena_free(a);
}

/* Dense feed-forward layers read their norms as they are. */
TEST(norms_of_dense_layers_have_no_gates)
{
    Arena *a = arena_new();
    const OpRun *run = decoder_run(a, MODEL, TOKENS);
    assert_null(graph_find(run->graph, "transformer.h.0.mixture_gate_down.weight"));
    assert_non_null(graph_find(run->graph, "transformer.h.0.mixer_gate_down.weight"));
    arena_free(a);
}
