/* test_multi_token.c - tokens after the next one, predicted while a model is trained. */
#include "models/decoder_model.h"
#include "models/loss.h"
#include "ops/op_run.h"
#include "ops/softmax.h"
#include "tensor/target.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { BATCH = 2, TOKENS = 5, WIDTH = 8, IDS = 16 };

/* A forward pass with its loss. */
typedef struct Pass {
    Arena *arena;
    Graph *g;
    OpRun *run;
} Pass;

static Pass pass_of(const char *more, bool training)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    const Loss loss = loss_of_tokens("targets");
    const ForwardSettings f = { .batch = BATCH, .sequence = TOKENS, .training = training };
    assert_no_error(decoder_model(a, arena_printf(a, DECODER_SETTINGS "%s", more), &m));
    assert_no_error(m->forward(m, g, &f, &out));
    assert_no_error(loss.apply(&loss, g, &out, &f));
    OpRun *run = op_run_new(a, g, 0);
    op_run_nodes(run, 0, g->n_nodes);
    return (Pass){ a, g, run };
}

static const Tensor *numbers(const Pass *p, const Value *v)
{
    return &p->run->tensor[v->id];
}

static double scalar(const Pass *p, const char *output)
{
    const Value *v = graph_find_output(p->g, output);
    assert_non_null(v);
    return op_get(numbers(p, v), 0);
}

static const Node *reader(const Graph *g, const char *param)
{
    for (int64_t i = 0; i < g->n_nodes; i++)
        for (int k = 1; k < g->node[i]->n_in; k++)
            if (!strcmp(g->node[i]->in[k]->name, param)) return g->node[i];
    fail_msg("nothing reads %s", param);
    return NULL;
}

/* Of what a norm in front of the head gives: the mean over tokens whose target lies `later` tokens
 * further on in the sequence. */
static double cross_entropy_of(const Pass *p, const Value *hidden, int later)
{
    const Tensor *x = numbers(p, hidden),
                 *head = numbers(p, graph_find(p->g, "transformer.lm_head.weight")),
                 *target = numbers(p, graph_find(p->g, "targets"));
    double sum = 0;
    int n = 0;
    for (int i = 0; i < BATCH * TOKENS; i++) {
        double logit[IDS] = { 0 };
        if (i % TOKENS + later >= TOKENS) continue;
        const int want = (int)op_get(target, i + later);
        if (want == IGNORED_TARGET) continue;
        for (int v = 0; v < IDS; v++)
            for (int k = 0; k < WIDTH; k++)
                logit[v] += op_get(x, i * WIDTH + k) * op_get(head, v * WIDTH + k);
        sum += log_sum_exp(logit, IDS) - logit[want];
        n++;
    }
    assert_true(n > 0);
    return sum / n;
}

TEST(losses_of_later_tokens_are_added_by_their_weight)
{
    Pass p = pass_of("multi_token: {depth: 2, weight: 0.6}", true);
    const double next = scalar(&p, "loss_mean"), first = scalar(&p, "loss_ahead.0"),
                 second = scalar(&p, "loss_ahead.1");
    const Value *h = reader(p.g, "transformer.lm_head_norm.weight")->out[0],
                *a = reader(p.g, "transformer.h.4.mtp.ahead_norm.weight")->out[0],
                *b = reader(p.g, "transformer.h.5.mtp.ahead_norm.weight")->out[0];
    assert_close(next, cross_entropy_of(&p, h, 0), 1e-5);
    assert_close(first, cross_entropy_of(&p, a, 1), 1e-5);
    assert_close(second, cross_entropy_of(&p, b, 2), 1e-5);
    assert_close(scalar(&p, "loss"), next + 0.3 * (first + second), 1e-5);
    arena_free(p.arena);
}

/* The first further block reads the stream behind the last one and the embedding of the next token,
 * the second the stream of the first and the token after that. */
TEST(blocks_of_later_tokens_read_the_stream_and_the_embedding_of_one_token_more)
{
    Pass p = pass_of("embedding_scale: 2.0, multi_token: {depth: 2}", true);
    const Tensor *table = numbers(&p, graph_find(p.g, "transformer.wte.weight")),
                 *ids = numbers(&p, graph_find(p.g, "input_ids"));
    const Value *stream = reader(p.g, "transformer.lm_head_norm.weight")->in[0];
    for (int depth = 1; depth <= 2; depth++) {
        const char *block = arena_printf(p.arena, "transformer.h.%d.mtp.", 3 + depth);
        const Node *of_stream = reader(p.g, arena_printf(p.arena, "%sstream_norm.weight", block)),
                   *of_token = reader(p.g, arena_printf(p.arena, "%stoken_norm.weight", block));
        assert_ptr_equal(of_stream->in[0], stream);
        const Tensor *x = numbers(&p, of_token->in[0]);
        for (int i = 0; i < BATCH * TOKENS; i++) {
            const bool is_over = i % TOKENS + depth >= TOKENS;
            const int64_t id = is_over ? 0 : (int64_t)op_get(ids, i + depth);
            for (int k = 0; k < WIDTH; k++)
                assert_close(op_get(x, i * WIDTH + k), 2 * op_get(table, id * WIDTH + k), 1e-6);
        }
        stream = reader(p.g, arena_printf(p.arena, "%sahead_norm.weight", block))->in[0];
    }
    arena_free(p.arena);
}

/* Its parameters are those of the norm in front of the head, or of the block before. */
TEST(blocks_of_later_tokens_may_read_the_stream_behind_the_norm_of_the_head)
{
    Pass p = pass_of("logit_divisor: 2.0, multi_token: {depth: 2, behind_norm: true}", true);
    static const char *const norm[] = { "transformer.lm_head_norm.weight",
                                        "transformer.h.4.mtp.ahead_norm.weight" };
    for (int i = 0; i < 2; i++) {
        const Node *reads =
            reader(p.g, arena_printf(p.arena, "transformer.h.%d.mtp.stream_norm.weight", 4 + i));
        const Node *before = reads->in[0]->from;
        assert_string_equal(before->in[1]->name, norm[i]);
        assert_int_equal(before->block, reads->block);
        const Tensor *x = numbers(&p, reads->in[0]),
                     *head = numbers(&p, reader(p.g, norm[i])->out[0]);
        for (int k = 0; k < BATCH * TOKENS * WIDTH; k++)
            assert_close(op_get(x, k), op_get(head, k), 1e-6);
    }
    arena_free(p.arena);
}

TEST(blocks_of_later_tokens_are_like_the_last_block)
{
    Pass p = pass_of(
        "layers: [{count: 3}, {sparse: true}], mixture: {n_experts: 2, top_k: 1, hidden: 6}, "
        "multi_token: {depth: 3}",
        true);
    for (int i = 0; i < 7; i++) {
        const char *router = arena_printf(p.arena, "transformer.h.%d.mlp.router.weight", i);
        assert_int_equal(graph_find(p.g, router) != NULL, i >= 3);
    }
    arena_free(p.arena);
}

TEST(later_tokens_are_predicted_in_training_alone)
{
    Pass p = pass_of("multi_token: {depth: 1}", false);
    assert_null(graph_find(p.g, "transformer.h.4.mtp.stream.weight"));
    assert_null(graph_find_output(p.g, "loss_ahead.0"));
    assert_int_equal(p.g->n_left_out, 1);
    assert_string_equal(p.g->left_out[0], "transformer.h.4.");
    arena_free(p.arena);
}

/* As a penalty it is multiplied with the number of tokens where the loss is a sum. */
TEST(losses_of_later_tokens_join_those_of_experts)
{
    static const char mixture[] =
        "layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 6, aux_loss: 0.1}";
    Pass p = pass_of(mixture, true), q = pass_of("multi_token: {weight: 0.5}", true);
    Pass both = pass_of(arena_printf(p.arena, "%s, multi_token: {weight: 0.5}", mixture), true);
    assert_close(scalar(&q, "loss"), scalar(&q, "loss_mean") + 0.5 * scalar(&q, "loss_ahead.0"),
                 1e-5);
    assert_true(scalar(&both, "loss") >
                scalar(&both, "loss_mean") + 0.5 * scalar(&both, "loss_ahead.0") + 1e-3);
    arena_free(p.arena);
    arena_free(q.arena);
    arena_free(both.arena);
}
