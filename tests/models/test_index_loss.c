/* test_index_loss.c - the loss that trains indexers of sparse attention, against its formula, and
 * where it is: of the blocks that see what an indexer selects, while a model is trained. */
#include "models/decoder_model.h"
#include "models/loss.h"
#include "ops/op_run.h"
#include "ops/selected_attention.h"
#include "ops/softmax.h"
#include "passes/adapters.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { BATCH = 2, TOKENS = 7, MOST = 8 };

#define SPARSE                                                                                     \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 3, n_head_q: 2, n_head_kv: 2, head_width: 6, ffn_hidden: 12, rope: {base: "       \
    "100.0}, attention_scale: 60.0, latent: {key_rank: 5, query_rank: 3, rope_width: 2, "          \
    "value_width: 4}, "                                                                            \
    "sparse_attention: {heads: 3, width: 4, top_k: %d, index_loss: %g}%s"

/* A forward pass with its loss. */
typedef struct Pass {
    Arena *arena;
    Graph *g;
    OpRun *run;
} Pass;

static Pass pass_of(int top_k, double weight, const char *more, ForwardSettings f,
                    const Adapters *adapters)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    const Loss loss = loss_of_tokens("targets");
    f.batch = BATCH;
    f.sequence = TOKENS;
    assert_no_error(decoder_model(a, arena_printf(a, SPARSE, top_k, weight, more), &m));
    m->adapters = adapters;
    assert_no_error(m->forward(m, g, &f, &out));
    assert_no_error(loss.apply(&loss, g, &out, &f));
    OpRun *run = op_run_new(a, g, 0);
    op_run_nodes(run, 0, g->n_nodes);
    return (Pass){ a, g, run };
}

static double number(const Pass *p, const Value *v, int64_t i)
{
    return op_get(&p->run->tensor[v->id], i);
}

static double scalar(const Pass *p, const char *output)
{
    const Value *v = graph_find_output(p->g, output);
    assert_non_null(v);
    return number(p, v, 0);
}

/* The n-th node of an op; NULL: there are fewer. */
static const Node *node_of(const Graph *g, const char *op, int n)
{
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (!strcmp(g->node[i]->op->name, op) && n-- == 0) return g->node[i];
    return NULL;
}

/* The keys of a query's list. */
static int keys_of(const Pass *p, const Value *selected, int row, int *key)
{
    const int n = (int)selected->dim[2].size;
    int count = 0;
    for (; count < n && number(p, selected, row * n + count) >= 0; count++)
        key[count] = (int)number(p, selected, row * n + count);
    return count;
}

/* Adds what the heads of an attention make of the keys. */
static void add_shares(const Pass *p, const Node *n, int row, const int *key, int n_keys,
                       double *share)
{
    const Value *q = n->in[0], *k = n->in[1];
    const int heads = (int)q->dim[2].size, d = (int)q->dim[4].size;
    assert_int_equal(q->dim[3].size, 1);
    for (int h = 0; h < heads; h++) {
        double score[MOST] = { 0 };
        for (int j = 0; j < n_keys; j++) {
            const int at = (row / TOKENS * TOKENS + key[j]) * heads + h;
            for (int e = 0; e < d; e++)
                score[j] += ((const SelectedAttention *)n->attrs)->scale *
                            number(p, q, (row * heads + h) * d + e) * number(p, k, at * d + e);
        }
        const double all = log_sum_exp(score, n_keys);
        for (int j = 0; j < n_keys; j++) share[j] += exp(score[j] - all);
    }
}

/* Scores of an indexer of three heads of width 4. */
static void add_scores(const Pass *p, const Node *n, int row, const int *key, int n_keys,
                       double *score)
{
    for (int j = 0; j < n_keys; j++)
        for (int h = 0; h < 3; h++) {
            double dot = 0;
            for (int e = 0; e < 4; e++)
                dot += number(p, n->in[0], (row * 3 + h) * 4 + e) *
                       number(p, n->in[1], (row / TOKENS * TOKENS + key[j]) * 4 + e);
            score[j] += number(p, n->in[2], row * 3 + h) * fmax(dot, 0) / sqrt(3 * 4);
        }
}

/* Of the i-th indexer: the mean over the tokens. */
static double divergence(const Pass *p, int i)
{
    const Node *index = node_of(p->g, "select_keys", i), *attention;
    const Value *selected = index->out[0];
    double sum = 0;
    for (int row = 0; row < BATCH * TOKENS; row++) {
        int key[MOST], of_attention = 0;
        double share[MOST] = { 0 }, score[MOST] = { 0 }, all = 0;
        const int n = keys_of(p, selected, row, key);
        while ((attention = node_of(p->g, "selected_attention", of_attention++)))
            if (attention->in[3] == selected) add_shares(p, attention, row, key, n, share);
        add_scores(p, index, row, key, n, score);
        for (int j = 0; j < n; j++) all += share[j];
        for (int j = 0; j < n; j++)
            sum += share[j] / all * (log(share[j] / all) - score[j] + log_sum_exp(score, n));
    }
    return sum / (BATCH * TOKENS);
}

/* Of some tokens and of all, of documents, of blocks that share an indexer. */
TEST(indexers_learn_how_far_their_scores_are_from_what_attention_makes_of_the_tokens)
{
    static const struct {
        int top_k, n_indexers;
        bool documents;
        const char *more;
    } row[] = { { 3, 3, false, "" },
                { 9, 3, false, "" },
                { 4, 3, true, ", document_key: documents" },
                { 3, 1, false, ", layers: [{}, {count: 2, shared_index: true}]" },
                { 3, 2, false, ", layers: [{}, {shared_index: true}]" } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        const ForwardSettings f = { .training = true, .documents = row[k].documents };
        const Pass p = pass_of(row[k].top_k, 0.25, row[k].more, f, NULL);
        double sum = 0;
        for (int i = 0; i < row[k].n_indexers; i++) sum += divergence(&p, i);
        assert_null(node_of(p.g, "index_loss", row[k].n_indexers));
        if (!(sum > 0.01)) fail_msg("%g", sum);
        assert_close(scalar(&p, "index_loss"), sum / row[k].n_indexers, 1e-5);
        assert_close(scalar(&p, "loss"), scalar(&p, "loss_mean") + 0.25 * sum, 1e-5);
        arena_free(p.arena);
    }
}

static bool any_index_is_trained(const Graph *g)
{
    bool any = false;
    for (int64_t i = 0; i < g->n_values; i++)
        any |= strstr(g->value[i]->name, ".index_") && g->value[i]->kind == VALUE_PARAM &&
               !g->value[i]->is_frozen;
    return any;
}

/* Nor with adapters beside its weights. */
TEST(indexers_are_trained_where_the_model_is_and_their_loss_has_a_weight)
{
    static const Adapters adapters = { .rank = 1, .alpha = 1 };
    static const struct {
        double weight;
        ForwardSettings f;
        const Adapters *adapters;
        bool is_trained, has_loss;
    } row[] = { { 1, { .training = true }, NULL, true, true },
                { 1, { .training = false }, NULL, true, false },
                { 1, { .training = true, .inspect = true }, NULL, true, false },
                { 0, { .training = true }, NULL, false, false },
                { 1, { .training = true }, &adapters, false, false } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        const Pass p = pass_of(3, row[k].weight, "", row[k].f, row[k].adapters);
        assert_int_equal(any_index_is_trained(p.g), row[k].is_trained);
        assert_int_equal(graph_find_output(p.g, "index_loss") != NULL, row[k].has_loss);
        arena_free(p.arena);
    }
}
