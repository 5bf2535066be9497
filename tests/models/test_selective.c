/* test_selective.c - selective state spaces against their formula, computed token by token, and
 * while a text is continued. */
#include "models/decoder_model.h"
#include "models/decoder_run.h"
#include "test.h"
#include <math.h>

enum { TOKENS = 9, INNER = 10, N = 3, RANK = 2, TAPS = 3 };

#define MODEL(more)                                                                                \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 2, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, rope: {base: 100.0}, layers: "      \
    "[{linear: true}, {}], selective_scan: {width: 10, state_width: 3, step_rank: 2, conv_width: " \
    "3, bias: true, eps: 1e-5" more "}"

/* What the first block's layer reads, as numbers. */
typedef struct Layer {
    const OpRun *run;
    const Value *x;
    bool has_norms, has_weights;
} Layer;

static double learned(const Layer *l, const char *name, int64_t i)
{
    return decoder_param(l->run, name, i);
}

static double silu_of(double x)
{
    return x / (1 + exp(-x));
}

/* Row i of one of the products of token t, "v" or "g", with its bias. */
static double entered(const Layer *l, const char *name, int64_t t, int64_t i)
{
    return decoder_product(l->run, arena_printf(l->run->arena, "linear_attn.%s_attn", name), l->x,
                           t, i);
}

static double convolved(const Layer *l, int64_t t, int64_t i)
{
    double sum = learned(l, "linear_attn.v_conv.bias", i);
    for (int64_t k = 0; k < TAPS && k <= t; k++)
        sum += learned(l, "linear_attn.v_conv.weight", i * TAPS + TAPS - 1 - k) *
               entered(l, "v", t - k, i);
    return silu_of(sum);
}

/* Rows [from, from + n) of x_proj, behind their norm. */
static void part(const Layer *l, const char *name, const double *x, int64_t from, int64_t n,
                 double *to)
{
    double squares = 0;
    const char *weight = arena_printf(l->run->arena, "delta_norm.%s.weight", name);
    for (int64_t i = 0; i < n; i++) {
        to[i] = 0;
        for (int64_t c = 0; c < INNER; c++)
            to[i] += learned(l, "linear_attn.x_proj.weight", (from + i) * INNER + c) * x[c];
        squares += to[i] * to[i];
    }
    for (int64_t i = 0; i < n && l->has_norms; i++)
        to[i] *= (l->has_weights ? learned(l, weight, i) : 1) / sqrt(squares / (double)n + 1e-5);
}

/* Of token t: the states behind it, and what features give, gated. */
static void take_step(const Layer *l, int64_t t, double state[INNER][N], double y[INNER])
{
    double x[INNER], step[RANK], in[N], out[N];
    for (int64_t c = 0; c < INNER; c++) x[c] = convolved(l, t, c);
    part(l, "step", x, 0, RANK, step);
    part(l, "in", x, RANK, N, in);
    part(l, "out", x, RANK + N, N, out);
    for (int64_t c = 0; c < INNER; c++) {
        double dt = learned(l, "delta_gates.bias", c);
        for (int64_t i = 0; i < RANK; i++)
            dt += learned(l, "linear_attn.step_proj.weight", c * RANK + i) * step[i];
        dt = log1p(exp(dt));
        y[c] = learned(l, "delta_gates.skip", c) * x[c];
        for (int64_t j = 0; j < N; j++) {
            const double fade = exp(learned(l, "delta_gates.speed", c * N + j));
            state[c][j] = exp(-fade * dt) * state[c][j] + dt * x[c] * in[j];
            y[c] += out[j] * state[c][j];
        }
        y[c] *= silu_of(entered(l, "g", t, c));
    }
}

static void check_formula(const char *settings, bool has_norms, bool has_weights)
{
    Arena *a = arena_new();
    const OpRun *run = decoder_run(a, settings, TOKENS);
    const Layer l = { run, decoder_read_by(run, "linear_attn.v_attn.weight"), has_norms,
                      has_weights };
    const Value *made = decoder_read_by(run, "linear_attn.c_proj.weight");
    double state[INNER][N] = { { 0 } }, y[INNER];
    for (int64_t t = 0; t < TOKENS; t++) {
        take_step(&l, t, state, y);
        for (int64_t c = 0; c < INNER; c++)
            assert_close(op_get(&run->tensor[made->id], t * INNER + c), y[c], 1e-6);
    }
    arena_free(a);
}

TEST(selective_state_spaces_equal_their_formula)
{
    check_formula(MODEL(""), false, false);
    check_formula(MODEL(", norms: plain"), true, false);
    check_formula(MODEL(", norms: weight"), true, true);
}

/* The numbers of a state fade with speeds 1, 2, 3; the rank follows from the width. */
TEST(selective_state_spaces_begin_as_those_of_the_paper)
{
    Arena *a = arena_new();
    Model *m = NULL;
    Session *s;
    Program *p;
    assert_no_error(decoder_model(
        a,
        "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, "
        "n_embd: 40, n_layer: 1, layers: [{linear: true, no_ffn: true}], selective_scan: {width: "
        "6, state_width: 5}",
        &m));
    assert_no_error(session_new(&(SessionSettings){ .model = m, .n_threads = 1 }, &s));
    assert_no_error(session_generation_program(s, 1, 1, 32, &p));
    assert_no_error(store_initialize(session_store(s), 1));
    const Graph *g = program_graph(p);
    const Value *speed = graph_find(g, "transformer.h.0.delta_gates.speed");
    assert_int_equal(speed->init.kind, INIT_LOG_COUNT);
    assert_int_equal(speed->init.columns, 5);
    assert_int_equal(graph_find(g, "transformer.h.0.linear_attn.step_proj.weight")->dim[1].size, 3);
    Stored *kept = store_find(session_store(s), "transformer.h.0.delta_gates.speed");
    const Tensor t = stored_numbers(kept);
    for (int64_t i = 0; i < 6 * 5; i++) assert_close(op_get(&t, i), log((double)(i % 5 + 1)), 1e-6);
    session_free(s);
    arena_free(a);
}

TEST(a_text_is_continued_with_the_states_of_selective_scans)
{
    static const char *const settings[] = { MODEL(""), MODEL(", norms: weight") };
    for (int i = 0; i < 2; i++) {
        Arena *a = arena_new();
        Model *m = NULL;
        Program *next;
        assert_no_error(decoder_model(a, settings[i], &m));
        session_free(decoder_continues(m, TOKENS, (TOKENS - 1) / 2, &next));
        arena_free(a);
    }
}
