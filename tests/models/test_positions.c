/* test_positions.c - what a decoder adds to embeddings by their positions. */
#include "models/decoder_model.h"
#include "models/decoder_run.h"
#include "ops/op_run.h"
#include "test.h"
#include <math.h>
#include <string.h>

/* Of 8 features four turn from sine to cosine; the first token has row 2. */
TEST(fixed_positions_are_sines_then_cosines)
{
    enum { TOKENS = 5, WIDTH = 8, HALF = 4 };
    Arena *a = arena_new();
    const OpRun *run =
        decoder_run(a, DECODER_SETTINGS "sinusoidal_base: 81.0, unused_positions: 2", TOKENS);
    const Node *n = NULL;
    for (int64_t i = 0; i < run->graph->n_nodes && !n; i++)
        if (!strcmp(run->graph->node[i]->op->name, "add_positions")) n = run->graph->node[i];
    assert_true(n != NULL);
    for (int64_t t = 0; t < TOKENS; t++)
        for (int64_t i = 0; i < WIDTH; i++) {
            const double x = op_get(&run->tensor[n->in[0]->id], t * WIDTH + i),
                         y = op_get(&run->tensor[n->out[0]->id], t * WIDTH + i),
                         angle = (double)(t + 2) * pow(81, -(double)(i % HALF) / HALF);
            assert_close(y - x, i < HALF ? sin(angle) : cos(angle), 1e-6);
        }
    arena_free(a);
}

TEST(sines_come_in_pairs_with_cosines)
{
    Arena *a = arena_new();
    Model *m = NULL;
    assert_error_has(
        decoder_model(a,
                      "sample_key: ids, prediction_key: logits, vocab_size: 16, sequence_length: "
                      "32, n_embd: 9, n_layer: 1, n_head_q: 3, n_head_kv: 3, ffn_hidden: 12, "
                      "sinusoidal_base: 10000.0",
                      &m),
        "sinusoidal_base: there are as many sines as cosines; n_embd 9 must be even");
    arena_free(a);
}
