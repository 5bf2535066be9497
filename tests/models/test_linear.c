/* test_linear.c - linear attention and state spaces against their formulas, computed token by
 * token, and while a text is continued. */
#include "models/decoder_model.h"
#include "models/decoder_run.h"
#include "ops/fixed_decays.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum {
    TOKENS = 9,
    WIDTH = 8,
    KEYS = 2,
    REPEAT = 2,
    HEADS = KEYS * REPEAT,
    D = 3,
    E = 5,
    TAPS = 3,
    DECAY_RANK = 2,
    GATE_RANK = 4
};

#define MODEL                                                                                      \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 2, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, rope: {base: 100.0}, layers: "      \
    "[{linear: true}, {}], "
#define SMALL                                                                                      \
    MODEL "linear_attention: {key_heads: 2, value_heads: 4, key_width: 3, value_width: 5, "        \
          "conv_width: 3, negative: true}"
#define KIMI                                                                                       \
    MODEL "linear_attention: {key_heads: 2, value_heads: 4, key_width: 3, value_width: 5, "        \
          "conv_width: 3, decay: feature, decay_rank: 2, gate: sigmoid, gate_rank: 4}"
#define BOUNDED                                                                                    \
    MODEL "linear_attention: {key_heads: 2, value_heads: 4, key_width: 3, value_width: 5, "        \
          "conv_width: 3, decay: feature, decay_rank: 2, decay_bound: 5.0, gate: sigmoid, "        \
          "gate_rank: 4}"
#define SPACE                                                                                      \
    MODEL "state_space: {heads: 4, head_width: 5, state_width: 3, n_groups: 2, conv_width: 3, "    \
          "bias: true, most_step: 0.05, eps: 1e-6}"

#define FIXED                                                                                      \
    MODEL "linear_attention: {key_heads: 2, value_heads: 4, key_width: 3, value_width: 5, "        \
          "conv_width: 0, decay: fixed, norm: width, gate: sigmoid}"

/* What the first block's layer reads, as numbers. */
typedef struct Layer {
    const OpRun *run;
    const Value *x;
    bool is_kimi; /* rows fade by themselves, and narrow vectors give decays and gates */
    double bound; /* of decays; 0: there is none */
} Layer;

/* Row i of the product of token t with a weight. */
static double product(const Layer *l, const char *name, int64_t t, int64_t i)
{
    double sum = 0;
    const char *weight = arena_printf(l->run->arena, "linear_attn.%s.weight", name);
    for (int64_t k = 0; k < WIDTH; k++)
        sum += decoder_param(l->run, weight, i * WIDTH + k) *
               op_get(&l->run->tensor[l->x->id], t * WIDTH + k);
    return sum;
}

/* Row i of what a narrow vector of token t gives. */
static double ranked(const Layer *l, const char *name, int64_t rank, int64_t t, int64_t i)
{
    Arena *a = l->run->arena;
    double sum = 0;
    for (int64_t k = 0; k < rank; k++)
        sum +=
            decoder_param(l->run, arena_printf(a, "linear_attn.%s_up.weight", name), i * rank + k) *
            product(l, arena_printf(a, "%s_latent", name), t, k);
    return sum;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Row i of queries, keys or values of token t: weighted over the tokens up to it, then silu. */
static double convolved(const Layer *l, const char *name, int64_t t, int64_t i)
{
    double sum = 0;
    for (int64_t k = 0; k < TAPS && k <= t; k++)
        sum +=
            decoder_param(l->run, arena_printf(l->run->arena, "linear_attn.%s_conv.weight", name),
                          i * TAPS + TAPS - 1 - k) *
            product(l, arena_printf(l->run->arena, "%s_attn", name), t - k, i);
    return sum * sigmoid(sum);
}

static void unit_rows(const Layer *l, const char *name, int64_t t, int64_t head, double *to)
{
    double sum = 0;
    for (int64_t i = 0; i < D; i++) {
        to[i] = convolved(l, name, t, head * D + i);
        sum += to[i] * to[i];
    }
    for (int64_t i = 0; i < D; i++) to[i] /= sqrt(sum + 1e-6);
}

/* What token t leaves of row i of a head's matrix. */
static double kept(const Layer *l, int64_t t, int64_t h, int64_t i)
{
    const int64_t at = l->is_kimi ? h * D + i : h;
    const double made =
                     l->is_kimi ? ranked(l, "a", DECAY_RANK, t, at) : product(l, "a_attn", t, at),
                 x = made + decoder_param(l->run, "delta_gates.bias", at),
                 fast = exp(decoder_param(l->run, "delta_gates.speed", h));
    if (l->bound > 0) return exp(-l->bound * sigmoid(fast * x));
    return exp(-fast * log1p(exp(x)));
}

/* What feature i of all heads counts by. */
static double gated_by(const Layer *l, int64_t t, int64_t i)
{
    if (l->is_kimi) return sigmoid(ranked(l, "g", GATE_RANK, t, i));
    const double x = product(l, "g_attn", t, i);
    return x * sigmoid(x);
}

/* Of one head: its matrix behind token t, and what the token reads of it, normalized and gated. */
static void step(const Layer *l, int64_t t, int64_t h, double state[D][E], double o[E])
{
    double q[D], k[D], sum = 0;
    unit_rows(l, "q", t, h / REPEAT, q);
    unit_rows(l, "k", t, h / REPEAT, k);
    const double rate = (l->is_kimi ? 1 : 2) * sigmoid(product(l, "b_attn", t, h));
    for (int j = 0; j < E; j++) {
        double known = 0;
        for (int i = 0; i < D; i++) known += (state[i][j] *= kept(l, t, h, i)) * k[i];
        const double wrong = convolved(l, "v", t, h * E + j) - known;
        o[j] = 0;
        for (int i = 0; i < D; i++) {
            state[i][j] += rate * k[i] * wrong;
            o[j] += state[i][j] * q[i] / sqrt(D);
        }
        sum += o[j] * o[j];
    }
    for (int j = 0; j < E; j++)
        o[j] *= decoder_param(l->run, "delta_norm.weight", j) / sqrt(sum / E + 1e-6) *
                gated_by(l, t, h * E + j);
}

/* With the biases that state spaces have here. */
static double biased(const Layer *l, const char *name, int64_t t, int64_t i)
{
    return product(l, name, t, i) +
           decoder_param(l->run, arena_printf(l->run->arena, "linear_attn.%s.bias", name), i);
}

static double space_convolved(const Layer *l, const char *name, int64_t t, int64_t i)
{
    const char *module = arena_printf(l->run->arena, "linear_attn.%s_conv", name);
    double sum = decoder_param(l->run, arena_printf(l->run->arena, "%s.bias", module), i);
    for (int64_t k = 0; k < TAPS && k <= t; k++)
        sum += decoder_param(l->run, arena_printf(l->run->arena, "%s.weight", module),
                             i * TAPS + TAPS - 1 - k) *
               biased(l, arena_printf(l->run->arena, "%s_attn", name), t - k, i);
    return sum * sigmoid(sum);
}

/* Of one head: its matrix behind token t, and what it gives, gated. */
static void space_step(const Layer *l, int64_t t, int64_t h, double state[D][E], double o[E])
{
    const double softplus =
        log1p(exp(biased(l, "a_attn", t, h) + decoder_param(l->run, "delta_gates.bias", h)));
    const double step = fmin(softplus, 0.05),
                 keep = exp(-exp(decoder_param(l->run, "delta_gates.speed", h)) * step);
    for (int j = 0; j < E; j++) {
        const double x = space_convolved(l, "v", t, h * E + j),
                     gate = biased(l, "g_attn", t, h * E + j);
        o[j] = decoder_param(l->run, "delta_gates.skip", h) * x;
        for (int i = 0; i < D; i++) {
            const int64_t row = h / REPEAT * D + i;
            state[i][j] = keep * state[i][j] + step * space_convolved(l, "k", t, row) * x;
            o[j] += state[i][j] * space_convolved(l, "q", t, row);
        }
        o[j] *= gate * sigmoid(gate);
    }
}

static void check_formula(const char *settings, bool is_kimi, double bound)
{
    Arena *a = arena_new();
    const OpRun *run = decoder_run(a, settings, TOKENS);
    const Layer l = { run, decoder_read_by(run, "linear_attn.q_attn.weight"), is_kimi, bound };
    const Value *made = decoder_read_by(run, "linear_attn.c_proj.weight");
    for (int h = 0; h < HEADS; h++) {
        double state[D][E] = { { 0 } }, o[E];
        for (int t = 0; t < TOKENS; t++) {
            step(&l, t, h, state, o);
            for (int j = 0; j < E; j++)
                assert_close(op_get(&run->tensor[made->id], (t * HEADS + h) * E + j), o[j], 1e-6);
        }
    }
    arena_free(a);
}

TEST(linear_attention_equals_its_formula)
{
    check_formula(SMALL, false, 0);
}

TEST(linear_attention_whose_rows_fade_by_themselves_equals_its_formula)
{
    check_formula(KIMI, true, 0);
}

TEST(linear_attention_whose_decays_have_a_bound_equals_its_formula)
{
    check_formula(BOUNDED, true, 5);
}

/* Norms are of both heads of a group. */
TEST(state_spaces_equal_their_formula)
{
    Arena *a = arena_new();
    const OpRun *run = decoder_run(a, SPACE, TOKENS);
    const Layer l = { run, decoder_read_by(run, "linear_attn.q_attn.weight"), false, 0 };
    const Value *made = decoder_read_by(run, "linear_attn.c_proj.weight");
    for (int group = 0; group < KEYS; group++) {
        double state[REPEAT][D][E] = { 0 }, o[REPEAT * E];
        for (int t = 0; t < TOKENS; t++) {
            double sum = 0;
            for (int r = 0; r < REPEAT; r++)
                space_step(&l, t, group * REPEAT + r, state[r], o + r * E);
            for (int j = 0; j < REPEAT * E; j++) sum += o[j] * o[j];
            for (int j = 0; j < REPEAT * E; j++) {
                const int64_t i = group * REPEAT * E + j;
                assert_close(op_get(&run->tensor[made->id], t * HEADS * E + i),
                             o[j] / sqrt(sum / (REPEAT * E) + 1e-6) *
                                 decoder_param(run, "delta_norm.weight", i),
                             1e-6);
            }
        }
    }
    arena_free(a);
}

static double activated(const Layer *l, const char *name, int64_t t, int64_t i)
{
    const double x = product(l, name, t, i);
    return x * sigmoid(x);
}

/* The norm is of all heads. */
TEST(linear_attention_with_fixed_decays_equals_its_formula)
{
    Arena *a = arena_new();
    const OpRun *run = decoder_run(a, FIXED, TOKENS);
    const Layer l = { run, decoder_read_by(run, "linear_attn.q_attn.weight"), false, 0 };
    const Value *made = decoder_read_by(run, "linear_attn.c_proj.weight");
    double state[HEADS][D][E] = { 0 }, o[HEADS * E];
    for (int t = 0; t < TOKENS; t++) {
        double sum = 0;
        for (int i = 0; i < HEADS * E; i++) {
            const int h = i / E, j = i % E;
            const double keep = exp(-1.00001 * pow(2, -8.0 * (h + 1) / HEADS));
            o[i] = 0;
            for (int k = 0; k < D; k++) {
                const int64_t row = h / REPEAT * D + k;
                state[h][k][j] = keep * state[h][k][j] +
                                 activated(&l, "k_attn", t, row) * activated(&l, "v_attn", t, i);
                o[i] += state[h][k][j] * activated(&l, "q_attn", t, row);
            }
            sum += o[i] * o[i];
        }
        for (int i = 0; i < HEADS * E; i++)
            assert_close(op_get(&run->tensor[made->id], t * HEADS * E + i),
                         o[i] / sqrt(sum / (HEADS * E) + 1e-6) *
                             decoder_param(run, "delta_norm.weight", i) *
                             sigmoid(product(&l, "g_attn", t, i)),
                         1e-6);
    }
    arena_free(a);
}

/* Of n blocks the last fades by next to nothing. */
TEST(fixed_decays_are_smaller_in_higher_blocks)
{
    static const double expected[] = { 1.00001, 0.5 + 1e-5, 1e-5 };
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    int n = 0;
    assert_no_error(decoder_model(
        a,
        "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, "
        "n_embd: 8, n_layer: 3, ffn_hidden: 12, layers: [{linear: true}], linear_attention: "
        "{key_heads: 2, value_heads: 2, key_width: 4, value_width: 4, decay: fixed}, multi_token: "
        "{}",
        &m));
    assert_no_error(
        m->forward(m, g, &(ForwardSettings){ .batch = 1, .sequence = 4, .training = true }, &out));
    for (int i = 0; i < g->n_nodes; i++)
        if (!strcmp(g->node[i]->op->name, "fixed_decays")) {
            const FixedDecays *f = g->node[i]->attrs;
            assert_close(f->factor, expected[n < 3 ? n : 2], 1e-5);
            n++;
        }
    assert_int_equal(n, 4); /* that of the token after next as the last */
    arena_free(a);
}

/* As OLMo hybrids have them: behind attention, in front of linear attention. */
TEST(linear_blocks_may_have_norms_where_others_have_none)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    const ForwardSettings f = { .batch = 1, .sequence = TOKENS };
    assert_no_error(decoder_model(
        a,
        DECODER_SETTINGS "norm_in_front: false, norm_behind: true, layers: [{linear: true}, {}], "
                         "linear_attention: {key_heads: 1, value_heads: 1, key_width: 4, "
                         "value_width: 4, norm_in_front: true}",
        &m));
    assert_no_error(m->forward(m, g, &f, &out));
    for (int i = 0; i < 2; i++) {
        static const char *const name[] = { "attention_norm", "ffn_norm", "attention_post_norm",
                                            "ffn_post_norm" };
        for (int k = 0; k < 4; k++)
            assert_true((graph_find(g, arena_printf(a, "transformer.h.%d.%s.weight", i, name[k])) !=
                         NULL) == (i == k / 2));
    }
    arena_free(a);
}

static void check_continued(const char *settings)
{
    Arena *a = arena_new();
    Model *m = NULL;
    Program *next;
    assert_no_error(decoder_model(a, settings, &m));
    session_free(decoder_continues(m, TOKENS, (TOKENS - 1) / 2, &next));
    arena_free(a);
}

TEST(a_text_is_continued_with_the_matrices_of_linear_attention)
{
    check_continued(SMALL);
    check_continued(KIMI);
    check_continued(FIXED);
    check_continued(SPACE);
}

/* What adds up over a text is not rounded with each token. */
TEST(matrices_of_linear_attention_stay_f32)
{
    static const Dtype precision = BF16;
    Arena *a = arena_new();
    Model *m = NULL;
    Session *s;
    Program *p;
    assert_no_error(decoder_model(a, SMALL, &m));
    assert_no_error(
        session_new(&(SessionSettings){ .model = m, .precision = &precision, .n_threads = 1 }, &s));
    assert_no_error(session_generation_program(s, 1, 1, 32, &p));
    const Graph *g = program_graph(p);
    assert_int_equal(graph_find(g, "transformer.h.0.matrices")->dtype, F32);
    assert_int_equal(graph_find(g, "transformer.h.0.linear_attn.q_tail")->dtype, BF16);
    assert_int_equal(graph_find(g, "transformer.h.1.attn.k_cache")->dtype, BF16);
    session_free(s);
    arena_free(a);
}
