/* test_decoder.c - what model.decoder's settings build, and which are refused. */
#include "graph/op.h"
#include "models/decoder_model.h"
#include "models/decoder_run.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/op_run.h"
#include "test.h"
#include <math.h>
#include <string.h>

/* Of the last node that scales: the hidden states of the head. */
TEST(logits_are_divided)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    assert_no_error(
        decoder_model(a, DECODER_SETTINGS "residual_scale: 0.5, logit_divisor: 8.0", &m));
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
    assert_string_equal(out.hidden->from->op->name, "scale");
    assert_close(((const Scale *)out.hidden->from->attrs)->factor, 0.125, 0);
    arena_free(a);
}

/* What the first block's product with this weight reads: behind how many additions that is. */
static const Value *read_by(const Graph *g, const char *weight)
{
    for (int64_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i]->n_in; k++)
            if (!strcmp(g->node[i]->in[k]->name, weight)) return g->node[i]->in[0];
    fail_msg("nothing reads %s", weight);
    return NULL;
}

TEST(gates_of_attention_have_a_product_of_their_own)
{
    static const struct {
        const char *gate;
        int64_t width;
    } row[] = { { "head", 2 }, { "feature", 8 } };
    Arena *a = arena_new();
    for (int i = 0; i < 2; i++) {
        Graph *g = graph_new(a);
        Model *m = NULL;
        ModelOutput out = { 0 };
        assert_no_error(decoder_model(
            a, arena_printf(a, DECODER_SETTINGS "attention_gate: %s", row[i].gate), &m));
        assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
        const Value *weight = graph_find(g, "transformer.h.0.attn.g_attn.weight");
        assert_int_equal(weight->dim[0].size, row[i].width);
        assert_ptr_equal(read_by(g, "transformer.h.0.attn.g_attn.weight"),
                         read_by(g, "transformer.h.0.attn.q_attn.weight"));
    }
    arena_free(a);
}

TEST(feed_forward_layers_read_the_stream_where_residual_says)
{
    static const char *const row[] = { "serial", "two_norms", "one_norm" };
    Arena *a = arena_new();
    for (int i = 0; i < 3; i++) {
        Graph *g = graph_new(a);
        Model *m = NULL;
        ModelOutput out = { 0 };
        assert_no_error(decoder_model(
            a, arena_printf(a, DECODER_SETTINGS "residual: %s, residual_scale: 0.5", row[i]), &m));
        assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
        const Value *q = read_by(g, "transformer.h.0.attn.q_attn.weight"),
                    *w = read_by(g, "transformer.h.0.mlp.W.weight"),
                    *next = read_by(g, "transformer.h.1.attn.q_attn.weight");
        assert_true((q == w) == (i == 2));
        const Value *stream = q->from->in[0], *after = next->from->in[0];
        assert_true((w->from->in[0] == stream) == (i > 0));
        /* x + scaled, of attention's and the other's sum, or of the latter alone */
        assert_string_equal(after->from->op->name, "add");
        assert_true((after->from->in[0] == stream) == (i > 0));
        assert_string_equal(after->from->in[1]->from->op->name, "scale");
        assert_string_equal(after->from->in[1]->from->in[0]->from->op->name,
                            i ? "add" : "contract");
    }
    arena_free(a);
}

/* Both add to what the norms in front of them give, which may be multiplied. */
TEST(layers_may_add_to_what_norms_give)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    assert_no_error(decoder_model(a,
                                  DECODER_SETTINGS "residual: normed, multipliers: "
                                                   "{attention_stream: 2.0, ffn_out: 0.5}",
                                  &m));
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
    const Value *q = read_by(g, "transformer.h.0.attn.q_attn.weight"),
                *w = read_by(g, "transformer.h.0.mlp.W.weight"),
                *next = read_by(g, "transformer.h.1.attn.q_attn.weight");
    const Node *attended = w->from->in[0]->from, *behind = next->from->in[0]->from;
    assert_string_equal(attended->op->name, "add");
    assert_string_equal(attended->in[0]->from->op->name, "scale");
    assert_ptr_equal(attended->in[0]->from->in[0], q);
    assert_string_equal(behind->op->name, "add");
    assert_ptr_equal(behind->in[0], w);
    assert_string_equal(behind->in[1]->from->op->name, "scale");
    arena_free(a);
}

/* Layers read the stream itself, and the norms are of it with what they gave. */
TEST(norms_may_be_of_the_sum)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    assert_no_error(
        decoder_model(a, DECODER_SETTINGS "residual: norm_of_sum, head_norm: false", &m));
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
    const Value *q = read_by(g, "transformer.h.0.attn.q_attn.weight"),
                *w = read_by(g, "transformer.h.0.mlp.W.weight"),
                *next = read_by(g, "transformer.h.1.attn.q_attn.weight");
    assert_string_equal(q->from->op->name, "embed");
    const Node *attended = w->from->in[0]->from, *fed = next->from->in[0]->from;
    assert_string_equal(w->from->op->name, "rms_norm");
    assert_string_equal(w->from->in[1]->name, "transformer.h.0.attention_norm.weight");
    assert_string_equal(attended->op->name, "add");
    assert_ptr_equal(attended->in[0], q);
    assert_string_equal(next->from->in[1]->name, "transformer.h.0.ffn_norm.weight");
    assert_string_equal(fed->op->name, "add");
    assert_ptr_equal(fed->in[0], w);
    assert_string_equal(out.hidden->from->in[1]->name, "transformer.h.3.ffn_norm.weight");
    assert_null(graph_find(g, "transformer.lm_head_norm.weight"));
    arena_free(a);
}

/* Products lie between a narrow table and the stream, and between that and what the head reads;
 * with blocks for later tokens they are the same for all. */
TEST(embeddings_may_be_narrower_than_the_stream)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    assert_no_error(decoder_model(a,
                                  DECODER_SETTINGS "embedding_width: 3, use_weight_tying: true, "
                                                   "multi_token: {depth: 1}",
                                  &m));
    assert_no_error(
        m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4, .training = true }, &out));
    const Value *table = graph_find(g, "transformer.wte.weight"),
                *in = graph_find(g, "transformer.embed_in.weight"),
                *narrow = graph_find(g, "transformer.embed_out.weight");
    assert_int_equal(table->dim[1].size, 3);
    assert_int_equal(in->dim[0].size, 8);
    assert_int_equal(in->dim[1].size, 3);
    assert_int_equal(narrow->dim[0].size, 3);
    assert_ptr_equal(out.head, table);
    assert_ptr_equal(out.hidden->from->in[1], narrow);
    assert_string_equal(out.hidden->from->in[0]->from->in[1]->name,
                        "transformer.lm_head_norm.weight");
    assert_ptr_equal(out.ahead[0]->from->in[1], narrow);
    arena_free(a);
}

/* Of what all blocks for later tokens give, too, by the same parameters. */
TEST(a_product_may_be_in_front_of_the_head)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    assert_no_error(decoder_model(a,
                                  DECODER_SETTINGS
                                  "head_transform: {activation: silu, bias: true}, "
                                  "layers: [{no_mixer_norm: true}, {count: 3}], "
                                  "multi_token: {depth: 1}",
                                  &m));
    assert_no_error(
        m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4, .training = true }, &out));
    const Value *read[] = { out.hidden, out.ahead[0] };
    static const char *const before[] = { "transformer.lm_head_norm.weight",
                                          "transformer.h.4.mtp.ahead_norm.weight" };
    for (int i = 0; i < 2; i++) {
        const Node *n = read[i]->from;
        assert_string_equal(n->in[1]->name, "transformer.head_transform_norm.weight");
        n = n->in[0]->from;
        assert_string_equal(n->op->name, "silu");
        n = n->in[0]->from;
        assert_string_equal(n->in[1]->name, "transformer.head_transform.bias");
        n = n->in[0]->from;
        assert_string_equal(n->in[1]->name, "transformer.head_transform.weight");
        assert_string_equal(n->in[0]->from->in[1]->name, before[i]);
    }
    assert_null(graph_find(g, "transformer.h.0.attention_norm.weight"));
    assert_non_null(graph_find(g, "transformer.h.0.ffn_norm.weight"));
    assert_non_null(graph_find(g, "transformer.h.1.attention_norm.weight"));
    arena_free(a);
}

/* Of a training: behind the embedding, and behind attention and feed-forward layers of whatever
 * kind; the original has none behind a gated one. */
TEST(dropout_is_behind_each_layer)
{
    static const struct {
        const char *settings;
        int nodes;
    } row[] = {
        { "dropout: 0.1", 1 + 2 * 4 },
        { "dropout: 0.1, gated: false", 1 + 2 * 4 },
        { "dropout: 0.1, embedding_dropout: 0.0", 2 * 4 },
        { "embedding_dropout: 0.1", 1 },
        { "dropout: 0.1, layers: [{sparse: true}], mixture: {n_experts: 2, top_k: 1, hidden: 4}",
          1 + 2 * 4 },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Graph *g = graph_new(a);
        Model *m = NULL;
        ModelOutput out = { 0 };
        int n = 0;
        assert_no_error(
            decoder_model(a, arena_printf(a, DECODER_SETTINGS "%s", row[i].settings), &m));
        const ForwardSettings f = { .batch = 1, .sequence = 4, .training = true };
        assert_no_error(m->forward(m, g, &f, &out));
        for (int64_t k = 0; k < g->n_nodes; k++) n += !strcmp(g->node[k]->op->name, "dropout");
        assert_int_equal(n, row[i].nodes);
    }
    arena_free(a);
}

static double scale_of_layer(const Model *m, int layer)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    ModelOutput out = { 0 };
    double scale = -1;
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (!strcmp(g->node[i]->op->name, "attention") && layer-- == 0)
            scale = ((const Attention *)g->node[i]->attrs)->scale;
    arena_free(a);
    return scale;
}

TEST(scores_are_divided_by_the_number_of_the_block)
{
    Arena *a = arena_new();
    Model *m = NULL;
    assert_no_error(
        decoder_model(a, DECODER_SETTINGS "attention_scale: 0.5, scale_by_layer: true", &m));
    assert_close(scale_of_layer(m, 0), 0.5, 0);
    assert_close(scale_of_layer(m, 3), 0.125, 0);
    assert_no_error(decoder_model(a, DECODER_SETTINGS "scale_by_layer: true", &m));
    assert_close(scale_of_layer(m, 1), 0.25, 1e-15); /* heads of width 4 */
    arena_free(a);
}

/* Behind its own weight, a feature of queries or keys of a head, or of values, which have none:
 * what its product gives, kept within the bound, over the root of the head's mean square. */
static double made_feature(OpRun *run, const Graph *g, const char *name, int64_t t, int64_t head,
                           int64_t i)
{
    enum { WIDTH = 8, HEAD = 4 };
    const char *prefix = "transformer.h.0.attn.";
    const Value *weight = graph_find(g, arena_printf(run->arena, "%s%s_attn.weight", prefix, name)),
                *norm = graph_find(g, arena_printf(run->arena, "%s%s_norm.weight", prefix, name));
    const Tensor *x = &run->tensor[read_by(g, weight->name)->id];
    double made[HEAD], squares = 0;
    for (int64_t j = 0; j < HEAD; j++) {
        made[j] = 0;
        for (int64_t k = 0; k < WIDTH; k++)
            made[j] += op_get(x, t * WIDTH + k) *
                       op_get(&run->tensor[weight->id], (head * HEAD + j) * WIDTH + k);
        made[j] = fmax(-0.5, fmin(0.5, made[j]));
        squares += made[j] * made[j];
    }
    if (!norm) return made[i];
    return made[i] / sqrt(squares / HEAD + 1e-6) * op_get(&run->tensor[norm->id], head * HEAD + i);
}

TEST(queries_keys_and_values_are_bounded_and_heads_have_norms_of_their_own)
{
    enum { TOKENS = 4, HEADS = 2, HEAD = 4 };
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    assert_no_error(decoder_model(
        a,
        "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, "
        "n_embd: 8, n_layer: 1, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, norm: {eps: 1e-6}, "
        "qk_norm: each_head, qkv_clip: 0.5",
        &m));
    const ForwardSettings f = { .batch = 1, .sequence = TOKENS };
    assert_no_error(m->forward(m, g, &f, &out));
    OpRun *run = op_run_new(a, g, 0);
    op_run_nodes(run, 0, g->n_nodes);
    const Node *n = NULL;
    for (int64_t i = 0; i < g->n_nodes && !n; i++)
        if (g->node[i]->op == &op_attention) n = g->node[i];
    static const char *const names[] = { "q", "k", "v" };
    for (int k = 0; k < 3; k++)
        for (int64_t t = 0; t < TOKENS; t++)
            for (int64_t h = 0; h < HEADS; h++)
                for (int64_t i = 0; i < HEAD; i++)
                    assert_close(op_get(&run->tensor[n->in[k]->id], (t * HEADS + h) * HEAD + i),
                                 made_feature(run, g, names[k], t, h, i), 1e-6);
    arena_free(a);
}

TEST(differential_attention_is_of_pairs_of_heads)
{
    static const char *const wrong[][2] = {
        { "n_head_q: 4, n_head_kv: 4, layers: [{}, {n_head_kv: 1}]",
          "layers.1: differential: heads of keys come in pairs; n_head_kv 1 must be even" },
        { "n_head_q: 4, n_head_kv: 4, latent: {key_rank: 4, rope_width: 2, value_width: 4}",
          "differential: heads of keys come in pairs; those of latent attention" },
        { "layers: [{no_mixer: true}]", "differential: no block of `layers` has attention" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Model *m = NULL;
        const char *settings = arena_printf(
            a,
            "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, "
            "n_embd: 16, n_layer: 2, ffn_hidden: 12, differential: {}, %s",
            wrong[i][0]);
        assert_error_has(decoder_model(a, settings, &m), wrong[i][1]);
    }
    arena_free(a);
}

TEST(decoders_that_cannot_be_are_refused_by_setting)
{
    static const char *const row[][2] = {
        { "head_width: 3, rope: {base: 10000.0}",
          "rope: rotary positions need an even head width" },
        { "layers: [{}, {rope: {kind: llama3, low_freq: 5.0}}]",
          "layers.1.rope: high_freq 4 must be above low_freq 5" },
        { "qk_norm: each_head, norm: {type: layer, bias: true}",
          "qk_norm: each_head has weights, and neither biases nor weights from 1" },
        { "qk_norm: each_head, norm: {from_one: true}", "qk_norm: each_head has weights" },
        { "qk_norm: each_head, norm: {weight: false}", "qk_norm: each_head has weights" },
        { "layers: [{sparse: true}]", "layers: a sparse block needs the settings `mixture`" },
        { "mixture: {n_experts: 2, top_k: 3, hidden: 4}, layers: [{sparse: true}]",
          "mixture: top_k 3 is above n_experts 2" },
        { "mixture: {n_experts: 2, zero_experts: 1, top_k: 4, hidden: 4}, layers: [{sparse: true}]",
          "mixture: top_k 4 is above n_experts 2 and zero_experts together" },
        { "layers: [{sparse: true}], mixture: {n_experts: 4, zero_experts: 2, top_k: 1, hidden: 4, "
          "n_groups: 2, top_groups: 1}",
          "mixture: experts without weights are in no group" },
        { "mixture: {n_experts: 2, top_k: 1, hidden: 4, score: hard}, layers: [{sparse: true}]",
          "score" },
        { "layers: [{}, {rope: {base: 5.0}, no_rope: true}]",
          "layers.1.rope: the blocks have no_rope" },
        { "layers: []", "layers" },
        { "layers: [{sparse: true}], mixture: {n_experts: 2, top_k: 1, hidden: 4, shared_gate: "
          "true}",
          "mixture: shared_gate needs shared_hidden" },
        { "rope: {kind: longrope, short_factors: [1.0, 1.0], long_factors: [1.0]}",
          "rope: long_factors are 1 numbers, but kind longrope takes 2" },
        { "rope: {kind: longrope, short_factors: [1.0, 0.0], long_factors: [1.0, 1.0]}",
          "rope: a factor is not above 0" },
        { "rope: {kind: linear, short_factors: [1.0, 1.0]}",
          "rope: short_factors are 2 numbers, but kind linear takes 0" },
        { "rope: {width: 3}", "rope: width 3 is odd, or above the head width 4" },
        { "layers: [{rope: {width: 6}}]", "layers.0.rope: width 6 is odd, or above" },
        { "latent: {key_rank: 4, rope_width: 2, value_width: 4}",
          "latent: each query head has a key head, so n_head_kv 1 must be n_head_q 2" },
        { "latent: {key_rank: 4, rope_width: 4, value_width: 4}",
          "latent: rope_width 4 and head_width 4 must be even numbers, head_width the larger" },
        { "latent: {key_rank: 4, rope_width: 3, value_width: 4}", "latent: rope_width 3" },
        { "latent: {key_rank: 4, rope_width: 2, value_width: 4, query_scale: 2.0}",
          "latent: query_scale: queries have no vector" },
        { "latent: {key_rank: 4, rope_width: 2, value_width: 4, query_joined: true}",
          "latent: query_joined: queries have no vector" },
        { "head_width: 5, latent: {key_rank: 4, rope_width: 2, value_width: 4}",
          "latent: rope_width 2 and head_width 5" },
        { "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 1, hidden: 4, n_groups: 3, "
          "top_groups: 1}",
          "mixture: groups must be of equal size" },
        { "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 1, hidden: 4, n_groups: 4, "
          "top_groups: 1, score: sigmoid}",
          "mixture: groups must be of equal size, of at least two experts" },
        { "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 1, hidden: 4, top_groups: 1}",
          "mixture: a token's experts must be chosen from at least one" },
        { "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 1, hidden: 4, n_groups: 2, "
          "top_groups: 3}",
          "mixture: a token's experts must be chosen from at least one" },
        { "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 3, hidden: 4, n_groups: 2, "
          "top_groups: 1}",
          "mixture: the groups that are chosen have fewer experts than a token" },
        { "layers: [{linear: true}, {}]",
          "layers: a linear block needs the settings `linear_attention`, `state_space`, "
          "`selective_scan` or `gated_recurrence`" },
        { "state_space: {heads: 2, head_width: 4, state_width: 4}",
          "state_space: no block of `layers` is linear" },
        { "selective_scan: {width: 4}", "selective_scan: no block of `layers` is linear" },
        { "layers: [{linear: true}, {}], state_space: {heads: 3, head_width: 4, state_width: 4}, "
          "selective_scan: {width: 4}",
          "selective_scan: linear blocks are of one kind; state_space must be null" },
        { "layers: [{linear: true}, {}], state_space: {heads: 3, head_width: 4, state_width: 4, "
          "n_groups: 2}",
          "state_space: n_groups 2 does not divide heads 3" },
        { "layers: [{linear: true}, {}], state_space: {heads: 2, head_width: 4, state_width: 4, "
          "least_step: 0.5, most_step: 0.25}",
          "state_space: most_step 0.25 is below least_step 0.5" },
        { "layers: [{linear: true}, {}], state_space: {heads: 2, head_width: 4, state_width: 4}, "
          "linear_attention: {key_heads: 1, value_heads: 2, key_width: 4, value_width: 4}",
          "state_space: linear blocks are of one kind; linear_attention must be null" },
        { "residual: two_norms, layers: [{linear: true}, {}], state_space: {heads: 2, head_width: "
          "4, "
          "state_width: 4, norm_in_front: true}",
          "state_space: norm_in_front needs residual: serial" },
        { "linear_attention: {key_heads: 1, value_heads: 2, key_width: 4, value_width: 4}",
          "linear_attention: no block of `layers` is linear" },
        { "layers: [{linear: true}, {}], linear_attention: {key_heads: 2, value_heads: 3, "
          "key_width: "
          "4, value_width: 4}",
          "linear_attention: key_heads 2 does not divide value_heads 3" },
        { "residual: two_norms, layers: [{linear: true}, {}], linear_attention: {key_heads: 1, "
          "value_heads: 1, key_width: 4, value_width: 4, norm_in_front: true}",
          "linear_attention: norm_in_front needs residual: serial" },
        { "layers: [{}, {linear: true, window: 4}]",
          "layers.1: a linear block has neither window nor rope" },
        { "layers: [{}, {no_mixer: true, no_ffn: true}]",
          "layers.1: no_mixer and no_ffn leave nothing of the block" },
        { "layers: [{no_ffn: true, sparse: true}], mixture: {n_experts: 4, top_k: 1, hidden: 4}",
          "layers.0: no_ffn leaves no place for the mixture of sparse" },
        { "layers: [{no_mixer: true, linear: true}, {}], state_space: {heads: 2, head_width: 4, "
          "state_width: 4}",
          "layers.0: no_mixer leaves no place for the layer of linear or conv" },
        { "layers: [{}, {conv: true}]", "layers: a conv block needs the settings `short_conv`" },
        { "short_conv: {}", "short_conv: no block of `layers` is conv" },
        { "layers: [{}, {conv: true, linear: true}], short_conv: {}",
          "layers.1: conv and linear are each in the place of attention" },
        { "layers: [{}, {conv: true, window: 4}], short_conv: {}",
          "layers.1: a conv block has no window, rope or no_rope" },
        { "layers: [{}, {conv: true, no_mixer: true}], short_conv: {}",
          "layers.1: no_mixer leaves no place for the layer of linear or conv" },
        { "layers: [{}, {conv: true}], short_conv: {width: 1}", "short_conv.width" },
        { "layers: [{no_mixer: true, window: 4}, {}]",
          "layers.0: no_mixer leaves nothing that has window, rope or no_rope" },
        { "layers: [{no_mixer: true, rope: {}}, {}]",
          "layers.0: no_mixer leaves nothing that has" },
        { "layers: [{no_mixer: true, no_rope: true}, {}]",
          "layers.0: no_mixer leaves nothing that has" },
        { "head_norm: false, multi_token: {}",
          "multi_token: its blocks have norms in front of the head; head_norm must be true" },
        { "residual: norm_of_sum, norm_in_front: false, norm_behind: true",
          "residual: norm_of_sum needs norm_in_front" },
        { "residual: two_norms, layers: [{}, {no_ffn: true}]",
          "layers.1: no_ffn needs residual: serial" },
        { "residual: one_norm, layers: [{no_mixer: true}, {}]",
          "layers.0: no_mixer needs residual: serial" },
        { "layers: [{side_by_side: true}]", "layers: a linear block needs the settings" },
        { "layers: [{side_by_side: true, linear: true}, {}], state_space: {heads: 2, head_width: "
          "4, state_width: 4}",
          "layers.0: side_by_side has attention; linear, conv and no_mixer have none" },
        { "layers: [{side_by_side: true}], state_space: {heads: 2, head_width: 4, state_width: 4, "
          "norm_in_front: true}",
          "layers.0: side_by_side has the norms of other blocks" },
        { "layers: [{side_by_side: true}], state_space: {heads: 2, head_width: 4, state_width: 4, "
          "norm: false, norm_first: true}",
          "state_space: norm_first needs norm" },
        { "multipliers: {linear_in: 2.0}",
          "multipliers: linear_in: no block has what it multiplies" },
        { "multipliers: {steps: 2.0}", "multipliers: steps: no block has what it multiplies" },
        { "gated: false, multipliers: {ffn_gate: 2.0}",
          "multipliers: ffn_gate: no block has what it multiplies" },
        { "activation: xielu", "activation: xielu is of layers without a gate" },
        { "gated: false, activation: xielu, layers: [{sparse: true}], mixture: {n_experts: 2, "
          "top_k: "
          "1, hidden: 4}",
          "it needs gated: false, and no mixture" },
        { "gated: false, activation: clamped_swiglu",
          "activation: clamped_swiglu is of gated layers" },
        { "gate_bound: 7.0, activation: gelu", "gate_bound: it is of gated layers" },
        { "gate_bound: 7.0, gated: false", "gate_bound: it is of gated layers" },
        { "residual: one_norm, norm_in_front: false, norm_behind: true",
          "residual: one_norm needs norm_in_front" },
        { "residual: normed, norm_in_front: false, norm_behind: true",
          "residual: normed needs norm_in_front" },
        { "residual: two_norms, multipliers: {ffn_stream: 2.0}",
          "multipliers: attention_stream, linear_stream and ffn_stream need residual: serial, "
          "normed or norm_of_sum" },
        { "multipliers: {linear_stream: 2.0}",
          "multipliers: linear_stream: no block has what it multiplies" },
        { "layers: [{side_by_side: true}], state_space: {heads: 2, head_width: 4, state_width: 4}, "
          "multipliers: {linear_stream: 2.0}",
          "multipliers: linear_stream: no block has what it multiplies" },
        { "layers: [{linear: true}, {}], linear_attention: {key_heads: 1, value_heads: 2, "
          "key_width: 4, value_width: 4, conv_width: 1}",
          "linear_attention: conv_width 1: a convolution sees at least 2 tokens" },
        { "layers: [{linear: true}, {}], linear_attention: {key_heads: 1, value_heads: 2, "
          "key_width: 4, value_width: 4, decay: fixed, decay_rank: 2}",
          "linear_attention: decay_rank: with decay: fixed there is no product" },
        { "layers: [{linear: true}, {}], linear_attention: {key_heads: 1, value_heads: 2, "
          "key_width: 4, value_width: 4, decay: fixed, decay_bound: 2.0}",
          "linear_attention: decay_bound: with decay: fixed they do not depend" },
        { "layers: [{linear: true}, {}], linear_attention: {key_heads: 1, value_heads: 2, "
          "key_width: 4, value_width: 4, decay: fixed, negative: true}",
          "linear_attention: negative: with decay: fixed nothing is corrected" },
        { "unused_positions: 2", "unused_positions: they are rows of learned_positions" },
        { "sinusoidal_base: 10000.0, learned_positions: true",
          "sinusoidal_base: positions are learned; learned_positions must be false" },
        { "linear: ternary, layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 6}",
          "linear: ternary is of blocks of attention and dense feed-forward layers; mixture must "
          "be left out" },
        { "linear: ternary, layers: [{conv: true}, {}], short_conv: {}",
          "short_conv must be left out" },
        { "norm_inside: true, layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: "
          "6}",
          "norm_inside: experts have no norms within" },
        { "layers: [{chunks: true}]", "layers.0: chunks needs a window" },
        { "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 6, by_logits: true}",
          "mixture: by_logits: the router has no biases; it needs balance_rate" },
        { "layers: [{no_sinks: true}]", "layers.0: no_sinks: the blocks have none anyway" },
        { "norm_in_front: false, norm_behind: true, layers: [{no_mixer_norm: true}, {}]",
          "layers.0: no_mixer_norm: the blocks have none anyway" },
        { "layers: [{}, {no_mixer: true, no_mixer_norm: true}]",
          "layers.1: no_mixer_norm: the blocks have none anyway" },
        { "head_transform: {activation: xielu}",
          "head_transform: activation xielu is of feed-forward layers alone" },
        { "head_transform: {activation: clamped_swiglu}",
          "head_transform: activation clamped_swiglu is of feed-forward layers alone" },
        { "layers: [{no_out_bias: true}]", "layers.0: no_out_bias: the blocks have none anyway" },
        { "out_bias: true, layers: [{no_mixer: true, no_out_bias: true}, {}]",
          "layers.0: no_out_bias: the blocks have none anyway" },
        { "differential: {}",
          "differential: heads of keys come in pairs; n_head_kv 1 must be even" },
        { "value_width: 6, layers: [{}, {head_width: 8}]",
          "layers.1: value_width of the model is beside heads of one width" },
        { "value_width: 6, layers: [{keys_as_values: true}]",
          "layers.0: value_width of the model is beside heads of one width" },
        { "layers: [{no_qk_norm: true}]", "layers.0: no_qk_norm: the blocks have no such norm" },
        { "qk_norm: head, layers: [{no_mixer: true, no_qk_norm: true}, {}]",
          "layers.0: no_qk_norm: the blocks have no such norm" },
        { "qk_norm: head, qk_norm_before_rope: false, layers: [{}, {rope: {growth: 0.1}}]",
          "layers.1: a norm behind rope takes its growth away" },
        { "qk_norm_weight: false", "qk_norm_weight: there is no weight anyway" },
        { "qk_norm: each_head, qk_norm_weight: false", "qk_norm: each_head has weights" },
        { "qk_norm: head, qk_norm_bias: false", "qk_norm_bias: there is no bias anyway" },
        { "layers: [{n_head_kv: 3}]", "layers.0: n_head_kv 3 does not divide n_head_q 2" },
        { "layers: [{no_mixer: true, head_width: 4}, {}]",
          "layers.0: head_width, n_head_q, n_head_kv and keys_as_values are of blocks with" },
        { "layers: [{n_head_q: 3, n_head_kv: 2}]",
          "layers.0: n_head_kv 2 does not divide n_head_q 3" },
        { "layers: [{linear: true, n_head_q: 4}, {}]",
          "layers.0: head_width, n_head_q, n_head_kv" },
        { "attention_gate_by: softplus", "attention_gate_by: there are no gates" },
        { "layers: [{shared_kv: true}, {}]",
          "layers.0: shared_kv: no block before block 0 has keys of its own and the same window" },
        { "layers: [{}, {window: 4, shared_kv: true}]",
          "layers.1: shared_kv: no block before block 1 has keys" },
        { "layers: [{}, {shared_kv: true, head_width: 2}]",
          "layers.1: shared_kv: head_width and n_head_kv must be those of layers.0" },
        { "layers: [{}, {shared_kv: true, keys_as_values: true}]",
          "layers.1: with shared_kv there is no product of keys" },
        { "layers: [{}, {no_mixer: true, shared_kv: true}]",
          "layers.1: shared_kv is of blocks with attention" },
        { "layers: [{}, {shared_kv: true}], multi_token: {}",
          "multi_token: its blocks are of the last kind, which has no keys" },
        { "layers: [{}, {no_ffn: true, ffn_hidden: 4}]",
          "layers.1: ffn_hidden: the blocks have no feed-forward layer" },
        { "alternating_updates: {streams: 3, active: 3}",
          "alternating_updates: active 3 must be below streams 3" },
        { "alternating_updates: {scale: true}",
          "alternating_updates: scale is of what the gates of per_layer_embedding read" },
        { "alternating_updates: {}, multi_token: {}", "multi_token: its blocks read one stream" },
        { "laurel_rank: 4, residual: one_norm", "laurel_rank: it needs residual: serial" },
        { "norm_gate_rank: 4, residual: one_norm", "norm_gate_rank: it needs residual: serial" },
        { "norm_gate_rank: 4, norm_in_front: false, norm_behind: true",
          "norm_gate_rank: it is of norms in front" },
        { "norm_gate_rank: 4, layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 1, hidden: "
          "4, beside_ffn: true}",
          "norm_gate_rank: a mixture that is beside_ffn reads another norm" },
        { "norm_gate_rank: 4, layers: [{sparse: true, shortcut: true}, {}], mixture: {n_experts: "
          "4, top_k: 1, hidden: 4}",
          "norm_gate_rank: in blocks with shortcut" },
        { "linear: ternary, norm_gate_rank: 4", "norm_gate_rank must be left out" },
        { "linear: ternary, laurel_rank: 4", "laurel_rank must be left out" },
        { "linear: ternary, alternating_updates: {}", "alternating_updates must be left out" },
        { "linear: ternary, hyper_connections: {}", "hyper_connections must be left out" },
        { "joint_attention: {}, qk_norm: head", "qk_norm must be left out" },
        { "joint_attention: {}, alibi: 8.0", "alibi must be left out" },
        { "joint_attention: {output_groups: 2}",
          "output_groups 2 and output_rank 0 need each other" },
        { "joint_attention: {output_groups: 3, output_rank: 4}",
          "output_groups 3 does not divide" },
        { "joint_attention: {}, layers: [{compress: 4, selects: true}]",
          "layers.0: selects needs sparse_attention" },
        { "joint_attention: {}, layers: [{overlaps: true}]",
          "layers.0: overlaps and selects need compress" },
        { "joint_attention: {}, layers: [{compress: 1}]",
          "compress 1: a window has at least 2 tokens" },
        { "joint_attention: {}, layers: [{window: 4, chunks: true, compress: 2}]",
          "layers.0: compress and chunks exclude each other" },
        { "joint_attention: {}, qk_norm_before_rope: false", "there is no norm of each head" },
        { "qk_norm: width, qk_norm_before_rope: false, rope: {}", "there is no norm of each head" },
        { "joint_attention: {query_rank: 4}, sparse_attention: {heads: 2, width: 4, top_k: 2, eps: "
          "1e-6}, layers: [{compress: 4, selects: true}]",
          "with joint_attention the indexer has norms of the model; eps must be null" },
        { "joint_attention: {query_rank: 4}, sparse_attention: {heads: 2, width: 6, top_k: 2}, "
          "rope: {width: 2, proportional: true}, layers: [{compress: 4, selects: true}]",
          "layers.0: selects: heads of the indexer turn as those of attention" },
        { "joint_attention: {}, layers: [{compress: 4}], document_key: documents",
          "windows do not end where documents do" },
        { "joint_attention: {}, rope: {growth: 0.1, original: 4}", "rope must be without growth" },
        { "joint_attention: {}, sparse_attention: {heads: 2, width: 4, top_k: 2}, "
          "layers: [{compress: 4, selects: true}]",
          "needs latent or joint_attention with a query_rank" },
        { "joint_attention: {query_rank: 4}, sparse_attention: {heads: 2, width: 4, "
          "top_k: 2}",
          "it is of blocks with selects" },
        { "joint_attention: {query_rank: 4}, sparse_attention: {heads: 2, width: 2, top_k: 2}, "
          "rope: {width: 4}, layers: [{compress: 4, selects: true}]",
          "layers.0: selects: width 2 of sparse_attention must be an even number, and at least 4" },
        { "joint_attention: {}, layers: [{shared_kv: true}]",
          "shared_kv is of blocks with attention, and not of a latent or joint one" },
        { "layers: [{compress: 4}]", "compress is of blocks with joint_attention" },
        { "layers: [{by_id: true}]", "layers.0: by_id is of sparse blocks" },
        { "layers: [{sparse: true, by_id: true}], mixture: {n_experts: 4, top_k: 2, hidden: 8, "
          "score: mixer, normalize: false}",
          "score of the mixture must not be mixer" },
        { "layers: [{sparse: true, by_id: true}], mixture: {n_experts: 4, top_k: 2, hidden: 8}, "
          "multi_token: {}",
          "whose experts are those of the id of one token" },
        { "layers: [{sparse: true}], gated: false, activation: gelu, mixture: {n_experts: 4, "
          "top_k: "
          "1, hidden: 4, experts_bound: 1.0}",
          "mixture: experts_bound: it is of gated experts" },
        { "hyper_connections: {}, residual: normed", "residual must be serial" },
        { "hyper_connections: {}, alternating_updates: {}",
          "alternating_updates must be left out" },
        { "hyper_connections: {}, laurel_rank: 4", "laurel_rank must be left out" },
        { "hyper_connections: {}, multi_token: {}", "multi_token must be left out" },
        { "hyper_connections: {}, per_layer_embedding: {width: 4}",
          "per_layer_embedding must be left out" },
        { "hyper_connections: {}, multipliers: {ffn_stream: 2.0}", "multipliers must be left out" },
        { "layers: [{no_ffn: true, sparsity: 0.5}, {}]",
          "layers.0: sparsity: it is of feed-forward layers beside a mixture" },
        { "gated: false, activation: xielu, per_layer_embedding: {width: 4}",
          "per_layer_embedding: its gates have no numbers that xielu learns" },
        { "layers: [{rope: {width: 6}, head_width: 4}]",
          "layers.0.rope: width 6 is odd, or above the head width 4" },
        { "rope: {width: 4}, layers: [{head_width: 2}, {}]",
          "layers.0.rope: width 4 is odd, or above the head width 2" },
        { "rope: {proportional: true}", "rope: proportional needs a width" },
        { "rope: {proportional: true, width: 2, kind: llama3}", "and kind none or linear" },
        { "layers: [{shortcut: true}, {}]", "layers.0: shortcut is of sparse blocks" },
        { "layers: [{sparse: true, shortcut: true}], mixture: {n_experts: 2, top_k: 1, hidden: 4}",
          "layers.0: shortcut needs a block behind, but the last block is of this kind" },
        { "residual: one_norm, layers: [{sparse: true, shortcut: true}, {}], mixture: {n_experts: "
          "2, top_k: 1, hidden: 4}",
          "layers.0: shortcut needs residual: serial" },
        { "layers: [{sparse: true, shortcut: true}, {}], mixture: {n_experts: 2, top_k: 1, hidden: "
          "4, beside_ffn: true}",
          "layers.0: shortcut and beside_ffn of the mixture exclude each other" },
        { "layers: [{sparse: true}], residual: two_norms, mixture: {n_experts: 2, top_k: 1, "
          "hidden: "
          "4, beside_ffn: true}",
          "mixture: beside_ffn needs residual: serial" },
        { "layers: [{sparse: true}], mixture: {n_experts: 2, top_k: 1, hidden: 4, router_norm: "
          "true}",
          "mixture: router_norm needs beside_ffn" },
        { "norm_behind: true, layers: [{sparse: true}], mixture: {n_experts: 2, top_k: 1, hidden: "
          "4, norm_behind: true}",
          "mixture: norm_behind: with norm_behind of the model all blocks have it" },
        { "layers: [{sparse: true}], mixture: {n_experts: 2, top_k: 1, hidden: 4, near: 0.1}",
          "mixture: near is of score: mixer" },
        { "layers: [{sparse: true}], mixture: {n_experts: 2, top_k: 1, hidden: 4, score: mixer}",
          "mixture: score mixer gives weights as they are" },
        { "layers: [{sparse: true}], mixture: {n_experts: 2, top_k: 1, hidden: 4, shared_factor: "
          "0.5}",
          "mixture: shared_factor needs shared_hidden" },
        { "rope: {still: true}", "rope: still needs growth" },
        { "rope: {growth_offset: 1}", "rope: growth_offset needs growth" },
        { "rope: {still: true, growth: 0.1, kind: linear, factor: 2.0}",
          "rope: where nothing turns kind is none and width 0" },
        { "alibi: 8.0, attention_cap: 5.0", "alibi: scores that fall with distance are not bent" },
        { "alibi_scale: 0.5", "alibi_scale: it is of the slopes of alibi, which is 0" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Model *m = NULL;
        assert_error_has(decoder_model(a, arena_printf(a, DECODER_SETTINGS "%s", row[i][0]), &m),
                         row[i][1]);
    }
    arena_free(a);
}

/* Sizes that blocks need, and those that none reads. */
TEST(sizes_are_given_where_blocks_have_them)
{
#define HEADLESS                                                                                   \
    "sample_key: ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: 8, "    \
    "n_layer: 2, "
#define SPACES                                                                                     \
    "layers: [{linear: true, no_ffn: true}], state_space: {heads: 2, head_width: 4, state_width: " \
    "4}"
    static const char *const row[][2] = {
        { "n_head_kv: 1, ffn_hidden: 12", "n_head_q: a block with attention needs it" },
        { "n_head_q: 1, ffn_hidden: 12", "n_head_kv: a block with attention needs it" },
        { "n_head_q: 1, n_head_kv: 1", "ffn_hidden: a block with a feed-forward layer needs it" },
        { "n_head_q: 1, n_head_kv: 1, ffn_hidden: 12, layers: [{no_ffn: true}]",
          "ffn_hidden: no block of `layers` has a feed-forward layer" },
        { "n_head_q: 1, " SPACES, "n_head_q: no block of `layers` has attention" },
        { "n_head_kv: 1, " SPACES, "n_head_kv: no block of `layers` has attention" },
        { "head_width: 4, " SPACES, "head_width: no block of `layers` has attention" },
        { "rope: {}, " SPACES, "rope: no block of `layers` has attention" },
        { "alibi: 8.0, " SPACES, "alibi: no block of `layers` has attention" },
        { "latent: {key_rank: 4, rope_width: 2, value_width: 4}, " SPACES,
          "latent: no block of `layers` has attention" },
        { "norm_gate_rank: 4, layers: [{no_mixer: true}], ffn_hidden: 12",
          "norm_gate_rank: no block of `layers` has a norm in front" },
        { "laurel_rank: 4, layers: [{no_mixer: true}], ffn_hidden: 12",
          "laurel_rank: no block of `layers` has attention" },
        { "n_head_q: 1, n_head_kv: 1, layers: [{no_mixer: true}], ffn_hidden: 12",
          "n_head_q: no block of `layers` has attention" },
    };
    Arena *a = arena_new();
    Model *m = NULL;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_error_has(decoder_model(a, arena_printf(a, HEADLESS "%s", row[i][0]), &m),
                         row[i][1]);
    assert_no_error(decoder_model(a, HEADLESS SPACES, &m));
    assert_no_error(decoder_model(
        a,
        HEADLESS
        "n_head_q: 1, n_head_kv: 1, layers: [{sparse: true}], mixture: {n_experts: 4, top_k: "
        "1, hidden: 4}",
        &m));
    arena_free(a);
}

/* The forward pass of a decoder with these settings beside those of all tests. */
static Graph *pass_of(Arena *a, const char *settings)
{
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    assert_no_error(decoder_model(a, arena_printf(a, DECODER_SETTINGS "%s", settings), &m));
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
    return g;
}

/* What the mixture of block 0 gives goes through the norm that it alone has, and to the last sum of
 * block 1, whose attention and feed-forward layer read the stream without it. */
TEST(a_mixture_with_a_shortcut_is_added_behind_the_next_block)
{
    Arena *a = arena_new();
    const Graph *g =
        pass_of(a, "layers: [{sparse: true, shortcut: true}, {count: 3}], mixture: {n_experts: 4, "
                   "top_k: 2, hidden: 6, norm_behind: true}");
    const Value *dense = graph_find(g, "transformer.h.0.mlp.W.weight"),
                *router = graph_find(g, "transformer.h.0.mlp.router.weight"),
                *weight = graph_find(g, "transformer.h.0.mixture_norm.weight"), *late = NULL;
    const Node *last = NULL, *reader = NULL;
    assert_true(dense && router && weight &&
                !graph_find(g, "transformer.h.0.ffn_post_norm.weight"));
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        if (n->n_in == 2 && n->in[1] == weight) late = n->out[0];
        if (n->n_in == 2 && n->in[1] == late) reader = n;
        if (n->block >= 0 && g->place[n->block].index == 1) last = n;
    }
    assert_non_null(late);
    assert_ptr_equal(reader, last);
    assert_string_equal(last->op->name, "add");
    arena_free(a);
}

TEST(a_norm_behind_mixtures_is_of_sparse_blocks_alone)
{
    Arena *a = arena_new();
    const Graph *g = pass_of(a, "layers: [{}, {sparse: true}], mixture: {n_experts: 4, top_k: 2, "
                                "hidden: 6, norm_behind: true}");
    assert_true(!graph_find(g, "transformer.h.0.ffn_post_norm.weight"));
    assert_true(graph_find(g, "transformer.h.1.ffn_post_norm.weight") != NULL);
    assert_true(!graph_find(g, "transformer.h.1.attention_post_norm.weight"));
    arena_free(a);
}

TEST(norms_within_layers_are_as_wide_as_what_their_last_products_read)
{
    Arena *a = arena_new();
    const Graph *g = pass_of(a, "norm_inside: true, head_width: 6, layers: [{}, {conv: true, "
                                "ffn_hidden: 20}], short_conv: {}");
    const Value *heads = graph_find(g, "transformer.h.0.heads_norm.weight");
    assert_int_equal(heads->dim[0].size, 2 * 6);
    assert_int_equal(graph_find(g, "transformer.h.0.hidden_norm.weight")->dim[0].size, 12);
    assert_int_equal(graph_find(g, "transformer.h.1.hidden_norm.weight")->dim[0].size, 20);
    assert_true(!graph_find(g, "transformer.h.1.heads_norm.weight"));
    assert_int_equal(heads->role, ROLE_NORM);
    g = pass_of(a, "norm_inside: true, head_width: 6, joint_attention: "
                   "{output_groups: 2, output_rank: 5}");
    assert_int_equal(graph_find(g, "transformer.h.0.heads_norm.weight")->dim[0].size, 2 * 5);
    arena_free(a);
}

/* Of the blocks of a model, those of attention, of a feed-forward layer, and of a mixture alone. */
TEST(a_block_of_one_layer_has_the_norms_of_that_layer)
{
    static const char *const parts[] = { "attention_norm", "attention_post_norm", "attn.q_attn",
                                         "ffn_norm",       "ffn_post_norm",       "mlp.W",
                                         "mlp.router" };
    static const char *const has[] = { "1110000", "0001110", "0001101", "1111110" };
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    assert_no_error(decoder_model(
        a,
        DECODER_SETTINGS "norm_behind: true, layers: [{no_ffn: true}, {no_mixer: true}, {no_mixer: "
                         "true, sparse: true}, {}], mixture: {n_experts: 4, top_k: 2, hidden: 6}",
        &m));
    assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 7; k++) {
            const char *name = arena_printf(a, "transformer.h.%d.%s.weight", i, parts[k]);
            if ((graph_find(g, name) != NULL) != (has[i][k] == '1'))
                fail_msg("%s: %s", name, has[i][k] == '1' ? "is missing" : "is there");
        }
    arena_free(a);
}

/* Norms of queries and keys, and another width that turns, beside latent attention. */
TEST(latent_attention_has_its_own_norms_and_what_turns)
{
    static const char *const row[][2] = {
        { "qk_norm: head", "latent: it has norms of its own; qk_norm must be none" },
        { "qk_norm: width", "latent: it has norms of its own; qk_norm must be none" },
        { "qkv_clip: 1.0", "latent: keys and values have no bound; qkv_clip must be 0" },
        { "rope: {width: 2}", "latent: its rope_width says what turns; width of rope must be 0" },
        { "layers: [{}, {rope: {width: 2}}]", "latent: its rope_width says what turns" },
        { "rope: {kind: longrope, short_factors: [1.0, 1.0], long_factors: [1.0, 1.0]}",
          "rope: short_factors are 2 numbers, but kind longrope takes 1" },
    };
    Arena *a = arena_new();
    Model *m = NULL;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_error_has(
            decoder_model(a,
                          arena_printf(a,
                                       "sample_key: ids, prediction_key: logits, vocab_size: 16, "
                                       "sequence_length: 32, n_embd: 8, n_layer: 4, n_head_q: 2, "
                                       "n_head_kv: 2, ffn_hidden: 12, latent: {key_rank: 4, "
                                       "rope_width: 2, value_width: 4}, %s",
                                       row[i][0]),
                          &m),
            row[i][1]);
    arena_free(a);
}

/* What says which tokens a token sees is beside nothing else that does, or that changes scores. */
TEST(sparse_attention_needs_a_vector_of_queries_and_plain_scores)
{
    static const char latent[] = "latent: {key_rank: 4, query_rank: 3, rope_width: 2, value_width: "
                                 "4}, sparse_attention: {heads: 2, width: 4, top_k: 3}",
                      without[] = "sparse_attention: {heads: 2, width: 4, top_k: 3}",
                      direct[] = "latent: {key_rank: 4, rope_width: 2, value_width: 4}, "
                                 "sparse_attention: {heads: 2, width: 4, top_k: 3}",
                      odd[] = "latent: {key_rank: 4, query_rank: 3, rope_width: 2, value_width: "
                              "4}, sparse_attention: {heads: 2, width: 5, top_k: 3}",
                      all[] = "latent: {key_rank: 4, query_rank: 3, rope_width: 2, value_width: 4}";
    static const char *const row[][3] = {
        { without, "seed: 1", "sparse_attention: its indexer reads the narrow vector of queries" },
        { direct, "seed: 1", "it needs latent or joint_attention with a query_rank" },
        { odd, "seed: 1", "sparse_attention: width 5 must be an even number, rope_width 2" },
        { latent, "attention_cap: 5.0", "plain scores; attention_cap must be left out" },
        { latent, "alibi: 8.0", "plain scores; alibi must be left out" },
        { latent, "layers: [{window: 4}]", "layers.0: window: with sparse_attention an indexer" },
        { latent, "layers: [{shared_index: true}, {}]",
          "layers.0: shared_index: no block before block 0 has an indexer" },
        { latent, "layers: [{}, {shared_index: true}], multi_token: {}",
          "multi_token: its blocks are of the last kind, which has no indexer" },
        { all, "layers: [{}, {shared_index: true}]",
          "layers.1: shared_index is of blocks with sparse_attention" },
    };
    Arena *a = arena_new();
    Model *m = NULL;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_error_has(
            decoder_model(a,
                          arena_printf(a,
                                       "sample_key: ids, prediction_key: logits, vocab_size: 16, "
                                       "sequence_length: 32, n_embd: 8, n_layer: 4, n_head_q: 2, "
                                       "n_head_kv: 2, ffn_hidden: 12, %s, %s",
                                       row[i][0], row[i][1]),
                          &m),
            row[i][2]);
    arena_free(a);
}

/* Heads are 4 wide: of queries and keys of an indexer, which are 6 wide, the first two pairs turn,
 * as those of a head do, whether or not `width` of rope says so. */
TEST(as_much_of_an_indexer_of_windows_turns_as_of_a_head)
{
    static const char *const rope[] = {
        "{base: 100.0}",
        "{base: 100.0, width: 4}",
        "{base: 100.0, kind: longrope, factor: 2.0, original: 2, short_factors: [1.0, 2.0], "
        "long_factors: [3.0, 4.0]}",
    };
    enum { HEAD = 4, INDEX = 6, TOKENS = 4 };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof rope / sizeof *rope; i++) {
        const OpRun *run = decoder_run(
            a,
            arena_printf(a,
                         DECODER_SETTINGS
                         "joint_attention: {query_rank: 4}, sparse_attention: {heads: 1, width: 6, "
                         "top_k: 2}, rope: %s, layers: [{window: 2, compress: 2, selects: true}]",
                         rope[i]),
            TOKENS);
        const Tensor *head = NULL, *index = NULL;
        for (int64_t k = 0; k < run->graph->n_nodes; k++) {
            const Node *n = run->graph->node[k];
            const Tensor *made = &run->tensor[n->out[0]->id];
            if (strncmp(n->op->name, "rope_", 5) || !strstr(n->op->name, "table")) continue;
            if (made->size[1] == HEAD) head = made;
            if (made->size[1] == INDEX) index = made;
        }
        assert_true(head && index);
        for (int64_t t = 0; t < TOKENS; t++) {
            for (int64_t part = 0; part < 2; part++)
                for (int64_t j = 0; j < HEAD / 2; j++)
                    assert_close(op_get(index, t * INDEX + part * INDEX / 2 + j),
                                 op_get(head, t * HEAD + part * HEAD / 2 + j), 1e-6);
            assert_close(op_get(index, t * INDEX + INDEX / 2 - 1), 1, 0);
            assert_close(op_get(index, t * INDEX + INDEX - 1), 0, 0);
        }
    }
    arena_free(a);
}

/* Biases of GLM 4.5's routers stay as they are. */
TEST(the_load_of_experts_is_counted_where_biases_follow_it)
{
    static const char *const rate[] = { "0.0", "0.1" };
    Arena *a = arena_new();
    for (int i = 0; i < 2; i++) {
        Graph *g = graph_new(a);
        Model *m = NULL;
        ModelOutput out = { 0 };
        int n = 0;
        assert_no_error(decoder_model(
            a,
            arena_printf(a,
                         DECODER_SETTINGS "layers: [{sparse: true}], mixture: {n_experts: 4, "
                                          "top_k: 2, hidden: 6, balance_rate: %s}",
                         rate[i]),
            &m));
        ((Moe *)decoder_of(m)->moe)->has_biases = true;
        const ForwardSettings f = { .batch = 1, .sequence = 4, .training = true };
        assert_no_error(m->forward(m, g, &f, &out));
        assert_non_null(graph_find(g, "transformer.h.0.mlp.router.balance"));
        for (int64_t k = 0; k < g->n_nodes; k++) n += !strcmp(g->node[k]->op->name, "moe_load");
        assert_int_equal(n, i ? 4 : 0);
    }
    arena_free(a);
}

static bool limits_experts(const Model *m, int64_t cache_length)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    ModelOutput out = { 0 };
    const ForwardSettings f = { .batch = 1, .sequence = 4, .cache_length = cache_length };
    bool found = false;
    assert_no_error(m->forward(m, g, &f, &out));
    for (int64_t i = 0; i < g->n_nodes; i++) found |= !strcmp(g->node[i]->op->name, "moe_limit");
    arena_free(a);
    return found;
}

/* Else a text would depend on how many of its tokens are read at a time. */
TEST(experts_take_all_tokens_where_a_text_is_continued)
{
    Arena *a = arena_new();
    Model *m = NULL;
    assert_no_error(decoder_model(a,
                                  DECODER_SETTINGS
                                  "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, "
                                  "hidden: 4, capacity: 0.5}",
                                  &m));
    assert_true(limits_experts(m, 0));
    assert_false(limits_experts(m, 16));
    arena_free(a);
}

/* Initializers go by them. */
TEST(matrices_of_experts_have_the_roles_of_a_layer)
{
    static const struct {
        const char *gated, *name;
        Role role;
    } row[] = { { "true", "experts.W.weight", ROLE_LINEAR },
                { "true", "experts.V.weight", ROLE_UP },
                { "true", "experts.W_2.weight", ROLE_RESIDUAL },
                { "true", "shared.W_2.weight", ROLE_RESIDUAL },
                { "false", "experts.c_fc.weight", ROLE_LINEAR },
                { "false", "experts.c_proj.weight", ROLE_RESIDUAL },
                { "false", "shared.c_fc.weight", ROLE_LINEAR } };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Graph *g = graph_new(a);
        Model *m = NULL;
        ModelOutput out = { 0 };
        assert_no_error(
            decoder_model(a,
                          arena_printf(a,
                                       DECODER_SETTINGS
                                       "layers: [{sparse: true}], gated: %s, mixture: {n_experts: "
                                       "4, top_k: 2, hidden: 4, shared_hidden: 4}",
                                       row[i].gated),
                          &m));
        assert_no_error(m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4 }, &out));
        for (int k = 0; k < 4; k++) {
            const Value *v =
                graph_find(g, arena_printf(a, "transformer.h.%d.mlp.%s", k, row[i].name));
            assert_non_null(v);
            assert_int_equal(v->role, row[i].role);
        }
    }
    arena_free(a);
}
