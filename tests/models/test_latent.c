/* test_latent.c - latent attention, and of tokens that an indexer selects, against their formulas,
 * computed head by head, and while a text is continued. */
#include "models/decoder_model.h"
#include "models/decoder_run.h"
#include "passes/adapters.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { TOKENS = 5, WIDTH = 8, HEADS = 2, HEAD = 6, TURNING = 2, OWN = HEAD - TURNING, MOST = 8 };

/* What the first block's attention reads and has, as numbers. */
typedef struct Layer {
    const OpRun *run;
    const Value *x, *o;
    int64_t key_rank, query_rank, value_width;
    double key_scale, query_scale;
    bool is_joined; /* queries, and gates of what heads give, are products of both vectors */
    int64_t top_k;  /* of an indexer of INDEX_HEADS; 0: there is none */
} Layer;

enum { INDEX_HEADS = 3, INDEX = 6 };

static double param(const Layer *l, const char *name, int64_t i)
{
    return decoder_param(l->run, arena_printf(l->run->arena, "attn.%s.weight", name), i);
}

static void product(const Layer *l, const char *name, const double *x, int64_t n, double *y,
                    int64_t m)
{
    for (int64_t i = 0; i < m; i++) {
        y[i] = 0;
        for (int64_t k = 0; k < n; k++) y[i] += param(l, name, i * n + k) * x[k];
    }
}

static void rms(const Layer *l, const char *name, double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    for (int64_t i = 0; i < n; i++) x[i] *= param(l, name, i) / sqrt(sum / (double)n + 1e-6);
}

/* By as many radians as there are tokens before: of the two features the base does not matter. */
static void turn(double *a, double *b, int64_t position)
{
    const double c = cos((double)position), s = sin((double)position), first = *a;
    *a = first * c - *b * s;
    *b = *b * c + first * s;
}

static void read_token(const Layer *l, int64_t token, double x[WIDTH])
{
    for (int i = 0; i < WIDTH; i++) x[i] = op_get(&l->run->tensor[l->x->id], token * WIDTH + i);
}

/* What queries of a token are products of, and how many numbers. */
static int64_t query_vector(const Layer *l, const double x[WIDTH], double vector[2 * MOST])
{
    const int64_t n = l->query_rank;
    product(l, "q_latent", x, WIDTH, vector, n);
    memcpy(vector + n, vector, sizeof *vector * (size_t)n);
    rms(l, "q_latent_norm", vector, n);
    for (int64_t i = 0; i < n; i++) vector[i] *= l->query_scale;
    return l->is_joined ? 2 * n : n;
}

/* What feature i of all heads of a token counts by. */
static double gated_by(const Layer *l, int64_t token, int64_t i)
{
    double x[WIDTH], vector[2 * MOST], sum = 0;
    if (!l->is_joined) return 1;
    read_token(l, token, x);
    const int64_t n = query_vector(l, x, vector);
    for (int64_t k = 0; k < n; k++) sum += param(l, "g_attn", i * n + k) * vector[k];
    return 1 / (1 + exp(-sum));
}

/* Of a token: queries and keys by head, each the turning feature and two that do not, twice. */
static void heads_of(const Layer *l, int64_t token, double q[HEADS][HEAD], double k[HEADS][HEAD],
                     double v[HEADS][MOST])
{
    double x[WIDTH], latent[2 * MOST], shared[TURNING], own[HEADS * OWN];
    read_token(l, token, x);
    if (l->query_rank) {
        const int64_t n = query_vector(l, x, latent);
        product(l, "q_up", latent, n, q[0], HEADS * HEAD);
    } else {
        product(l, "q_attn", x, WIDTH, q[0], HEADS * HEAD);
    }
    product(l, "kv_latent", x, WIDTH, latent, l->key_rank);
    rms(l, "kv_latent_norm", latent, l->key_rank);
    for (int64_t i = 0; i < l->key_rank; i++) latent[i] *= l->key_scale;
    product(l, "k_rope", x, WIDTH, shared, TURNING);
    product(l, "k_attn", latent, l->key_rank, own, HEADS * OWN);
    turn(&shared[0], &shared[1], token);
    double values[HEADS * MOST];
    product(l, "v_attn", latent, l->key_rank, values, HEADS * l->value_width);
    for (int h = 0; h < HEADS; h++) {
        turn(&q[h][0], &q[h][HEAD / 2], token);
        for (int half = 0; half < 2; half++) {
            k[h][half * HEAD / 2] = shared[half];
            for (int j = 0; j < OWN / 2; j++)
                k[h][half * HEAD / 2 + 1 + j] = own[h * OWN + half * OWN / 2 + j];
        }
        for (int64_t j = 0; j < l->value_width; j++) v[h][j] = values[h * l->value_width + j];
    }
}

/* Of queries and keys of an indexer the first two features turn. */
static double index_score(const Layer *l, int64_t query, int64_t key)
{
    double x[WIDTH], y[WIDTH], vector[MOST], q[INDEX_HEADS * INDEX], k[INDEX], w[INDEX_HEADS];
    double mean = 0, square = 0, score = 0;
    for (int i = 0; i < WIDTH; i++) {
        x[i] = op_get(&l->run->tensor[l->x->id], query * WIDTH + i);
        y[i] = op_get(&l->run->tensor[l->x->id], key * WIDTH + i);
    }
    product(l, "q_latent", x, WIDTH, vector, l->query_rank);
    rms(l, "q_latent_norm", vector, l->query_rank);
    product(l, "index_q", vector, l->query_rank, q, INDEX_HEADS * INDEX);
    product(l, "index_weights", x, WIDTH, w, INDEX_HEADS);
    product(l, "index_k", y, WIDTH, k, INDEX);
    for (int i = 0; i < INDEX; i++) mean += k[i] / INDEX;
    for (int i = 0; i < INDEX; i++) square += (k[i] - mean) * (k[i] - mean) / INDEX;
    for (int i = 0; i < INDEX; i++)
        k[i] = (k[i] - mean) / sqrt(square + 1e-6) * param(l, "index_norm", i) +
               decoder_param(l->run, "attn.index_norm.bias", i);
    turn(&k[0], &k[1], key);
    for (int h = 0; h < INDEX_HEADS; h++) {
        double dot = 0;
        turn(&q[h * INDEX], &q[h * INDEX + 1], query);
        for (int i = 0; i < INDEX; i++) dot += q[h * INDEX + i] * k[i];
        score += w[h] * (dot > 0 ? dot : 0);
    }
    return score;
}

/* Whether fewer than top_k of the earlier tokens score higher. */
static bool sees(const Layer *l, int64_t query, int64_t key)
{
    int64_t higher = 0;
    if (!l->top_k) return true;
    const double own = index_score(l, query, key);
    for (int64_t u = 0; u <= query; u++) {
        const double other = index_score(l, query, u);
        higher += other > own || (other == own && u < key);
    }
    return higher < l->top_k;
}

static void check_attention(const Layer *l)
{
    double q[TOKENS][HEADS][HEAD], k[TOKENS][HEADS][HEAD], v[TOKENS][HEADS][MOST];
    for (int t = 0; t < TOKENS; t++) heads_of(l, t, q[t], k[t], v[t]);
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < HEADS; h++) {
            double sum = 0, o[MOST] = { 0 };
            for (int s = 0; s <= t; s++) {
                double dot = 0;
                if (!sees(l, t, s)) continue;
                for (int j = 0; j < HEAD; j++) dot += q[t][h][j] * k[s][h][j];
                const double p = exp(dot / sqrt(HEAD));
                sum += p;
                for (int64_t j = 0; j < l->value_width; j++) o[j] += p * v[s][h][j];
            }
            for (int64_t j = 0; j < l->value_width; j++)
                assert_close(
                    op_get(&l->run->tensor[l->o->id], (t * HEADS + h) * l->value_width + j),
                    o[j] / sum * gated_by(l, t, h * l->value_width + j), 1e-5);
        }
}

static void check_settings(Layer l, const char *more)
{
    Arena *a = arena_new();
    const char *settings =
        arena_printf(a,
                     "sample_key: input_ids, prediction_key: logits, vocab_size: 16, "
                     "sequence_length: 32, n_embd: 8, n_layer: 1, n_head_q: 2, n_head_kv: 2, "
                     "head_width: 6, ffn_hidden: 12, rope: {base: 100.0}, latent: {key_rank: "
                     "%lld, query_rank: %lld, rope_width: 2, value_width: %lld, key_scale: %.17g, "
                     "query_scale: %.17g, query_joined: %s}%s",
                     (long long)l.key_rank, (long long)l.query_rank, (long long)l.value_width,
                     l.key_scale, l.query_scale, l.is_joined ? "true" : "false", more);
    l.run = decoder_run(a, settings, TOKENS);
    l.x = decoder_read_by(l.run, "attn.kv_latent.weight");
    l.o = decoder_read_by(l.run, "attn.c_proj.weight");
    check_attention(&l);
    arena_free(a);
}

/* With values narrower than keys, as wide, and wider. */
TEST(latent_attention_equals_its_formula)
{
    static const Layer row[] = {
        { .key_rank = 5, .query_rank = 3, .value_width = 3, .key_scale = 1.5, .query_scale = 0.5 },
        { .key_rank = 7,
          .query_rank = 0,
          .value_width = HEAD,
          .key_scale = 0.75,
          .query_scale = 1 },
        { .key_rank = 4, .query_rank = 6, .value_width = 8, .key_scale = 1, .query_scale = 1 }
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) check_settings(row[i], "");
}

/* As A.X-K2 has them. */
TEST(queries_and_gates_of_both_vectors_equal_their_formula)
{
    check_settings((Layer){ .key_rank = 5,
                            .query_rank = 3,
                            .value_width = 3,
                            .key_scale = 1.5,
                            .query_scale = 0.5,
                            .is_joined = true },
                   ", attention_gate: feature");
}

TEST(attention_to_tokens_that_an_indexer_selects_equals_its_formula)
{
    check_settings((Layer){ .key_rank = 5,
                            .query_rank = 3,
                            .value_width = 3,
                            .key_scale = 1.5,
                            .query_scale = 0.5,
                            .top_k = 2 },
                   ", sparse_attention: {heads: 3, width: 6, top_k: 2}");
    check_settings((Layer){ .key_rank = 4,
                            .query_rank = 6,
                            .value_width = 8,
                            .key_scale = 1,
                            .query_scale = 1,
                            .top_k = 9 },
                   ", sparse_attention: {heads: 3, width: 6, top_k: 9}");
}

#define SMALL                                                                                      \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 2, n_head_q: 2, n_head_kv: 2, head_width: 6, ffn_hidden: 12, rope: {base: "       \
    "100.0}, latent: {key_rank: 5, query_rank: 3, rope_width: 2, value_width: 4, key_scale: 1.5, " \
    "query_scale: 0.5}"

static void check_continued(const Adapters *adapters)
{
    Arena *a = arena_new();
    Model *m = NULL;
    Program *next;
    assert_no_error(decoder_model(a, SMALL, &m));
    m->adapters = adapters;
    Session *s = decoder_continues(m, TOKENS, TOKENS - 1, &next);
    const bool keeps_vectors = graph_find(program_graph(next), "transformer.h.1.attn.latent_cache");
    assert_true(keeps_vectors == !adapters);
    session_free(s);
    arena_free(a);
}

TEST(a_text_is_continued_with_the_narrow_vectors_alone)
{
    check_continued(NULL);
    check_continued(&(Adapters){ .rank = 1, .alpha = 1 });
}

/* Of blocks that have an indexer, and with adapters, which keep keys and values of all heads. */
TEST(a_text_is_continued_with_the_keys_of_indexers)
{
    const Adapters adapters = { .rank = 1, .alpha = 1 };
    for (int i = 0; i < 2; i++) {
        Arena *a = arena_new();
        Model *m = NULL;
        Program *next;
        assert_no_error(decoder_model(a,
                                      SMALL ", sparse_attention: {heads: 3, width: 4, top_k: 3}, "
                                            "layers: [{}, {shared_index: true}]",
                                      &m));
        m->adapters = i ? &adapters : NULL;
        Session *s = decoder_continues(m, TOKENS + 3, 3, &next);
        assert_non_null(graph_find(program_graph(next), "transformer.h.0.attn.index_cache"));
        assert_null(graph_find(program_graph(next), "transformer.h.1.attn.index_cache"));
        session_free(s);
        arena_free(a);
    }
}

/* Not with each token. */
TEST(weights_of_heads_are_rounded_with_all_others)
{
    static const Dtype precision = BF16;
    Arena *a = arena_new();
    Model *m = NULL;
    Session *s;
    Program *p;
    int n = 0;
    assert_no_error(decoder_model(a, SMALL, &m));
    assert_no_error(
        session_new(&(SessionSettings){ .model = m, .precision = &precision, .n_threads = 1 }, &s));
    assert_no_error(session_generation_program(s, 1, 1, 32, &p));
    const Graph *g = program_graph(p);
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *x = g->node[i];
        if (strcmp(x->dims->text, "bshn,hnk->bshk") != 0) continue;
        const Value *copy = x->in[1]->from->in[0];
        assert_true(copy->dtype == BF16 && copy->from->phase == PREPARE);
        assert_contains(copy->from->in[0]->name, "attn.k_attn.weight");
        n++;
    }
    assert_int_equal(n, 2);
    session_free(s);
    arena_free(a);
}
