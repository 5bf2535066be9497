/* test_recurrent.c - gated recurrences against their formula, computed token by token, and while a
 * text is continued. */
#include "models/decoder_model.h"
#include "models/decoder_run.h"
#include "test.h"
#include <math.h>

enum { TOKENS = 9, INNER = 6, GROUPS = 2, GROUP = INNER / GROUPS, TAPS = 3 };

#define MODEL(activation)                                                                          \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 2, n_head_q: 2, n_head_kv: 2, ffn_hidden: 12, rope: {base: 100.0}, "              \
    "activation: " activation                                                                      \
    ", layers: [{linear: true}, {window: 3}], gated_recurrence: {width: 6, n_groups: "             \
    "2, conv_width: 3}"

/* What the first block's layer reads. */
typedef struct Layer {
    const OpRun *run;
    const Value *x;
} Layer;

static double learned(const Layer *l, const char *name, int64_t i)
{
    return decoder_param(l->run, name, i);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
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
    return sum;
}

/* Feature i of a gate, of the features x of its group. */
static double opened(const Layer *l, const char *name, const double *x, int64_t i)
{
    Arena *a = l->run->arena;
    const int64_t group = i / GROUP;
    double sum = learned(l, arena_printf(a, "linear_attn.%s_gate.bias", name), i);
    for (int64_t k = 0; k < GROUP; k++)
        sum += learned(l, arena_printf(a, "linear_attn.%s_gate.weight", name),
                       (group * GROUP + k) * GROUP + i % GROUP) *
               x[group * GROUP + k];
    return sigmoid(sum);
}

/* Of token t: the numbers behind it. */
static void take_step(const Layer *l, int64_t t, double h[INNER])
{
    double x[INNER];
    for (int64_t c = 0; c < INNER; c++) x[c] = convolved(l, t, c);
    for (int64_t c = 0; c < INNER; c++) {
        const double speed = log1p(exp(learned(l, "delta_gates.speed", c))),
                     keep = t ? exp(-8 * opened(l, "fade", x, c) * speed) : 0;
        h[c] = keep * h[c] + sqrt(1 - keep * keep) * opened(l, "in", x, c) * x[c];
    }
}

TEST(gated_recurrences_equal_their_formula)
{
    static const char *const settings[] = { MODEL("silu"), MODEL("relu") };
    for (int i = 0; i < 2; i++) {
        Arena *a = arena_new();
        const OpRun *run = decoder_run(a, settings[i], TOKENS);
        const Layer l = { run, decoder_read_by(run, "linear_attn.v_attn.weight") };
        const Value *made = decoder_read_by(run, "linear_attn.c_proj.weight");
        double h[INNER] = { 0 };
        for (int64_t t = 0; t < TOKENS; t++) {
            take_step(&l, t, h);
            for (int64_t c = 0; c < INNER; c++) {
                const double g = entered(&l, "g", t, c), open = i ? fmax(g, 0) : g * sigmoid(g);
                assert_close(op_get(&run->tensor[made->id], t * INNER + c), open * h[c], 1e-6);
            }
        }
        arena_free(a);
    }
}

TEST(gated_recurrences_begin_as_those_of_the_paper)
{
    Arena *a = arena_new();
    const OpRun *run = decoder_run(a, MODEL("silu"), TOKENS);
    const Layer l = { run, NULL };
    for (int64_t c = 0; c < INNER; c++) {
        const double left = exp(-log1p(exp(learned(&l, "delta_gates.speed", c))));
        assert_true(left > 0.8999 && left < 0.9991);
    }
    arena_free(a);
}

TEST(a_text_is_continued_with_the_numbers_of_gated_recurrences)
{
    static const char *const settings[] = { MODEL("silu"), MODEL("gelu_tanh") };
    for (int i = 0; i < 2; i++) {
        Arena *a = arena_new();
        Model *m = NULL;
        Program *next;
        assert_no_error(decoder_model(a, settings[i], &m));
        session_free(decoder_continues(m, TOKENS, (TOKENS - 1) / 2, &next));
        arena_free(a);
    }
}

TEST(gated_recurrences_that_cannot_be_are_refused)
{
    static const struct {
        const char *more, *part;
    } row[] = {
        { "gated_recurrence: {width: 6}", "gated_recurrence: no block of `layers` is linear" },
        { "layers: [{linear: true}, {}], gated_recurrence: {width: 6, n_groups: 4}",
          "gated_recurrence: n_groups 4 does not divide width 6" },
        { "layers: [{linear: true}, {}], gated_recurrence: {width: 6}, selective_scan: {width: 6}",
          "gated_recurrence: linear blocks are of one kind; selective_scan must be null" },
        { "layers: [{linear: true}, {}], gated_recurrence: {width: 6}, gated: false, activation: "
          "xielu",
          "gated_recurrence: what its features count by has no numbers that xielu learns" },
        { "layers: [{linear: true}, {}], gated_recurrence: {width: 6}, linear: ternary",
          "gated_recurrence must be left out" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Model *m = NULL;
        Error *e = decoder_model(a, arena_printf(a, "%s%s", DECODER_SETTINGS, row[i].more), &m);
        assert_contains(e ? error_text(e) : "nothing", row[i].part);
        error_free(e);
    }
    arena_free(a);
}
