/* delta_cases.c - cases of linear attention: its convolutions, its gates, the gated delta rule,
 * factors of its heads, the selective scan, and the gated recurrence. */
#include "case_leaves.h"
#include "ops/causal_conv.h"
#include "ops/delta_gates.h"
#include "ops/elementwise.h"
#include "ops/fixed_decays.h"
#include "ops/gated_delta.h"
#include "ops/gated_recurrence.h"
#include "ops/row_gate.h"
#include "ops/scale_heads.h"
#include "ops/selective_scan.h"

/* b, s, c, width; above 0: numbers of documents lie below it */
static Value *build_causal_conv(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *documents = n[4] ? ids(g, "documents", n[4], 2, n) : NULL;
    return causal_conv(g, floats(g, "x", 3, n), floats(g, "weight", 2, n + 2), documents);
}

static Value *build_causal_conv_cached(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *tail = state(g, "tail", 4, (int64_t[]){ n[0], 1, n[3] - 1, n[2] });
    causal_conv_cached(g, tail, floats(g, "x", 3, n), floats(g, "weight", 2, n + 2));
    return NULL;
}

/* b, s, g, r; above 0: rates have no products of their own; above 0: so many decays of a head */
static Value *build_delta_gates(Graph *g, const OpCase *c, const int64_t *n)
{
    const int64_t heads = n[2] * n[3], rows = n[5] ? heads * n[5] : heads,
                  wide[] = { n[0], n[1], n[2], n[3], n[5] };
    Value *x = floats(g, "x", n[5] ? 5 : 4, wide), *y = n[4] ? NULL : floats(g, "y", 4, n);
    const DeltaGates made =
        delta_gates(g, x, y, floats(g, "speed", 1, &heads), floats(g, "bias", 1, &rows), c->attrs);
    return n[5] ? sigmoid_gate(g, made.decay, made.rate) : mul(g, made.decay, made.rate);
}

/* b, s, g, r, e */
static Value *build_fixed_decays(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    const DeltaGates made = fixed_decays(g, floats(g, "x", 5, n), 0.75);
    return mul(g, made.decay, made.rate);
}

/* b, s, h, e */
static Value *build_scale_heads(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    return scale_heads(g, floats(g, "x", 4, n), floats(g, "factor", 1, n + 2));
}

/* What the rule reads: b, s, g, r, d, e; above 0: numbers of documents lie below it; 1: a head has
 * d decays */
typedef struct Operands {
    Value *q, *k, *v, *decay, *rate;
} Operands;

static Operands operands(Graph *g, const int64_t *n)
{
    const int64_t keys[] = { n[0], n[1], n[2], n[4] }, values[] = { n[0], n[1], n[2], n[3], n[5] };
    return (Operands){ floats(g, "q", 4, keys), floats(g, "k", 4, keys), floats(g, "v", 5, values),
                       uniform(floats(g, "decay", n[7] ? 5 : 4, n), n[7] > 1 ? -30 : -0.5, 0),
                       uniform(floats(g, "rate", 4, n), 0, 1) };
}

static Value *build_gated_delta(Graph *g, const OpCase *c, const int64_t *n)
{
    const Operands x = operands(g, n);
    Value *documents = n[6] ? ids(g, "documents", n[6], 2, n) : NULL;
    return gated_delta(g, x.q, x.k, x.v, x.decay, x.rate, documents, c->attrs);
}

static Value *build_gated_delta_cached(Graph *g, const OpCase *c, const int64_t *n)
{
    const Operands x = operands(g, n);
    Value *kept = state(g, "state", 6, (int64_t[]){ n[0], 1, n[2], n[3], n[4], n[5] });
    gated_delta_cached(g, kept, x.q, x.k, x.v, x.decay, x.rate, c->attrs);
    return NULL;
}

/* b, s, c, n; above 0: numbers of documents lie below it */
static SelectiveScan scan_operands(Graph *g, const int64_t *n)
{
    const int64_t shared[] = { n[0], n[1], n[3] };
    return (SelectiveScan){ floats(g, "step", 3, n),      floats(g, "x", 3, n),
                            floats(g, "in", 3, shared),   floats(g, "out", 3, shared),
                            floats(g, "speed", 2, n + 2), floats(g, "bias", 1, n + 2),
                            floats(g, "skip", 1, n + 2) };
}

static Value *build_selective_scan(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    const SelectiveScan x = scan_operands(g, n);
    return selective_scan(g, &x, n[4] ? ids(g, "documents", n[4], 2, n) : NULL);
}

static Value *build_selective_scan_cached(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    const SelectiveScan x = scan_operands(g, n);
    selective_scan_cached(g, state(g, "state", 4, (int64_t[]){ n[0], 1, n[2], n[3] }), &x);
    return NULL;
}

/* b, s, c; above 0: numbers of documents lie below it; above 0: numbers fade almost not at all */
static GatedRecurrence recurrence_operands(Graph *g, const int64_t *n)
{
    return (
        GatedRecurrence){ floats(g, "x", 3, n), floats(g, "in", 3, n), floats(g, "fade", 3, n),
                          uniform(floats(g, "speed", 1, n + 2), n[4] ? -12 : -6, n[4] ? -9 : 2) };
}

static Value *build_gated_recurrence(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    const GatedRecurrence x = recurrence_operands(g, n);
    return gated_recurrence(g, &x, n[3] ? ids(g, "documents", n[3], 2, n) : NULL);
}

static Value *build_gated_recurrence_cached(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    const GatedRecurrence x = recurrence_operands(g, n);
    gated_recurrence_cached(g, state(g, "state", 3, (int64_t[]){ n[0], 1, n[2] }), &x);
    return NULL;
}

/* clang-format off */
#define TEXTS(...) (const int64_t[CASE_TEXTS]){ __VA_ARGS__ }
#define GATES(least_step, most_step) &(const DeltaGatesAttrs){ 2, least_step, most_step, 0 }
#define DELTA(scale, key_scale) &(const GatedDelta){ scale, key_scale, false }
#define ADDS &(const GatedDelta){ 0.7, 0.4, true }

const OpCase delta_cases[] = {
    { "causal_conv", build_causal_conv, .n = { 2, 6, 5, 3 }, .large = { 1, 1024, 1024, 4 } },
    { "causal_conv with documents", build_causal_conv, .n = { 2, 9, 4, 4, 2 } },
    { "causal_conv of one token", build_causal_conv, .n = { 1, 1, 3, 4 } },
    { "causal_conv, long", build_causal_conv, .n = { 2, 150, 37, 4, 2 } },
    { "causal_conv_cached", build_causal_conv_cached, .position = 3, .n = { 2, 2, 5, 4 } },
    { "causal_conv_cached, many tokens", build_causal_conv_cached, .position = 3, .n = { 2, 70, 20, 4 } },
    { "causal_conv_cached of a text that begins", build_causal_conv_cached, .n = { 1, 2, 5, 4 } },
    { "causal_conv_cached of texts of their own lengths", build_causal_conv_cached, .texts = TEXTS(6, 0, 3), .n = { 3, 1, 18, 3 } },
    { "delta_gates", build_delta_gates, .attrs = GATES(0, 0), .n = { 2, 4, 2, 3 }, .large = { 1, 1024, 16, 2 } },
    { "delta_gates, many tokens", build_delta_gates, .attrs = GATES(0, 0), .n = { 2, 150, 3, 7 } },
    { "delta_gates whose rates are steps", build_delta_gates, .attrs = GATES(0, 0), .n = { 2, 4, 2, 3, 1 }, .large = { 1, 1024, 1, 32, 1 } },
    { "delta_gates with bounds of steps", build_delta_gates, .attrs = GATES(0.5, 1.0), .n = { 2, 50, 2, 3, 1 } },
    { "delta_gates by rows", build_delta_gates, .attrs = GATES(0, 0), .n = { 2, 4, 2, 3, 0, 5 }, .large = { 1, 1024, 16, 2, 0, 128 } },
    { "delta_gates by rows, many tokens", build_delta_gates, .attrs = GATES(0, 0), .n = { 2, 150, 3, 7, 0, 3 } },
    { "delta_gates with a bound of decays", build_delta_gates, .attrs = &(const DeltaGatesAttrs){ 2, .bound = 5 }, .n = { 2, 150, 3, 7 } },
    { "delta_gates by rows, with a bound of decays", build_delta_gates, .attrs = &(const DeltaGatesAttrs){ 1, .bound = 3 }, .n = { 2, 50, 2, 3, 0, 4 } },
    { "delta_gates by rows, with bounds of steps", build_delta_gates, .attrs = GATES(0.5, 1.0), .n = { 2, 50, 2, 3, 0, 4 } },
    { "fixed_decays", build_fixed_decays, .n = { 2, 4, 3, 2, 2 }, .large = { 1, 1024, 64, 1, 128 } },
    { "gated_delta", build_gated_delta, .attrs = DELTA(0.7, 0.4), .n = { 2, 4, 2, 2, 3, 4 }, .large = { 1, 1024, 8, 2, 128, 128 } },
    { "gated_delta with documents", build_gated_delta, .attrs = DELTA(1, 0.5), .n = { 2, 7, 1, 2, 3, 2, 2 } },
    { "gated_delta, long", build_gated_delta, .attrs = DELTA(0.3, 0.2), .n = { 1, 150, 2, 2, 16, 32 } },
    { "gated_delta, odd sizes", build_gated_delta, .attrs = DELTA(0.3, 0.2), .n = { 2, 131, 1, 3, 19, 13 } },
    { "gated_delta with documents, long", build_gated_delta, .attrs = DELTA(0.3, 0.2), .n = { 2, 130, 1, 1, 16, 40, 2 } },
    { "gated_delta of two chunks", build_gated_delta, .attrs = DELTA(0.3, 0.2), .n = { 1, 128, 1, 1, 16, 16 } },
    { "gated_delta that adds", build_gated_delta, .attrs = ADDS, .n = { 2, 4, 2, 2, 3, 4 }, .large = { 1, 1024, 1, 32, 128, 64 } },
    { "gated_delta that adds, with documents", build_gated_delta, .attrs = ADDS, .n = { 2, 7, 1, 2, 3, 2, 2 } },
    { "gated_delta that adds, long", build_gated_delta, .attrs = ADDS, .n = { 2, 150, 1, 3, 19, 13, 2 } },
    { "gated_delta that adds, of two chunks", build_gated_delta, .attrs = ADDS, .n = { 1, 128, 1, 1, 16, 16 } },
    { "gated_delta by rows", build_gated_delta, .attrs = DELTA(0.7, 0.4), .n = { 2, 4, 2, 2, 3, 4, 0, 1 }, .large = { 1, 1024, 8, 2, 128, 128, 0, 1 } },
    { "gated_delta by rows, with documents", build_gated_delta, .attrs = DELTA(1, 0.5), .n = { 2, 7, 1, 2, 3, 2, 2, 1 } },
    { "gated_delta by rows, long", build_gated_delta, .attrs = DELTA(0.3, 0.2), .n = { 1, 150, 2, 2, 16, 32, 0, 1 } },
    { "gated_delta by rows, odd sizes", build_gated_delta, .attrs = DELTA(0.3, 0.2), .n = { 2, 131, 1, 3, 19, 13, 2, 1 } },
    { "gated_delta by rows, of two chunks", build_gated_delta, .attrs = DELTA(0.3, 0.2), .n = { 1, 128, 1, 1, 16, 16, 0, 1 } },
    { "gated_delta by rows that fade at once", build_gated_delta, .attrs = DELTA(0.3, 0.2), .n = { 1, 150, 1, 2, 16, 16, 0, 2 } },
    { "gated_delta by rows that adds", build_gated_delta, .attrs = ADDS, .n = { 2, 150, 1, 3, 19, 13, 2, 1 } },
    { "gated_delta_cached by rows", build_gated_delta_cached, .attrs = DELTA(0.7, 0.4), .position = 3, .n = { 2, 4, 2, 2, 3, 4, 0, 1 } },
    { "gated_delta_cached by rows, many tokens", build_gated_delta_cached, .attrs = DELTA(0.3, 0.2), .position = 3, .n = { 1, 70, 2, 1, 16, 20, 0, 1 } },
    { "gated_delta_cached by rows, of a text that begins", build_gated_delta_cached, .attrs = DELTA(0.7, 0.4), .n = { 1, 2, 1, 2, 3, 4, 0, 1 } },
    { "gated_delta_cached by rows, of texts of their own lengths", build_gated_delta_cached, .attrs = DELTA(0.7, 0.3), .texts = TEXTS(6, 0, 3), .n = { 3, 1, 2, 2, 20, 16, 0, 1 } },
    { "gated_delta_cached that adds", build_gated_delta_cached, .attrs = ADDS, .position = 3, .n = { 2, 4, 2, 2, 3, 4 } },
    { "gated_delta_cached that adds, many tokens", build_gated_delta_cached, .attrs = ADDS, .position = 3, .n = { 1, 70, 2, 1, 16, 20 } },
    { "gated_delta_cached that adds, of texts of their own lengths", build_gated_delta_cached, .attrs = ADDS, .texts = TEXTS(6, 0, 3), .n = { 3, 1, 2, 2, 20, 16 } },
    { "gated_delta_cached", build_gated_delta_cached, .attrs = DELTA(0.7, 0.4), .position = 3, .n = { 2, 4, 2, 2, 3, 4 } },
    { "gated_delta_cached, many tokens", build_gated_delta_cached, .attrs = DELTA(0.3, 0.2), .position = 3, .n = { 1, 70, 2, 1, 16, 20 } },
    { "gated_delta_cached of a text that begins", build_gated_delta_cached, .attrs = DELTA(0.7, 0.4), .n = { 1, 2, 1, 2, 3, 4 } },
    { "gated_delta_cached of texts of their own lengths", build_gated_delta_cached, .attrs = DELTA(0.7, 0.3), .texts = TEXTS(6, 0, 3), .n = { 3, 1, 2, 2, 20, 16 } },
    { "scale_heads", build_scale_heads, .n = { 2, 3, 4, 5 }, .large = { 1, 1024, 32, 64 } },
    { "scale_heads, many tokens", build_scale_heads, .n = { 2, 70, 3, 37 } },
    { "scale_heads of features", build_scale_heads, .n = { 2, 150, 37, 1 }, .large = { 1, 1024, 2048, 1 } },
    { "selective_scan", build_selective_scan, .n = { 2, 4, 3, 2 }, .large = { 1, 1024, 2048, 16 } },
    { "selective_scan with documents", build_selective_scan, .n = { 2, 7, 2, 4, 2 } },
    { "selective_scan, long", build_selective_scan, .n = { 2, 70, 20, 16 } },
    { "selective_scan, odd sizes, with documents", build_selective_scan, .n = { 2, 53, 77, 5, 3 } },
    { "selective_scan of two chunks", build_selective_scan, .n = { 1, 32, 64, 18 } },
    { "selective_scan of wide states", build_selective_scan, .n = { 1, 35, 9, 100, 2 } },
    { "selective_scan of one token", build_selective_scan, .n = { 1, 1, 5, 3 } },
    { "selective_scan_cached", build_selective_scan_cached, .position = 3, .n = { 2, 2, 5, 4 } },
    { "selective_scan_cached, many tokens", build_selective_scan_cached, .position = 3, .n = { 2, 40, 20, 17 } },
    { "selective_scan_cached of a text that begins", build_selective_scan_cached, .n = { 1, 2, 5, 4 } },
    { "selective_scan_cached of texts of their own lengths", build_selective_scan_cached, .texts = TEXTS(6, 0, 3), .n = { 3, 1, 18, 16 } },
    { "gated_recurrence", build_gated_recurrence, .n = { 2, 4, 3 }, .large = { 1, 1024, 2560 } },
    { "gated_recurrence with documents", build_gated_recurrence, .n = { 2, 7, 3, 2 } },
    { "gated_recurrence, long", build_gated_recurrence, .n = { 2, 150, 37 } },
    { "gated_recurrence with documents, long", build_gated_recurrence, .n = { 3, 131, 70, 2 } },
    { "gated_recurrence that hardly fades", build_gated_recurrence, .n = { 1, 64, 33, 0, 1 } },
    { "gated_recurrence of one token", build_gated_recurrence, .n = { 1, 1, 5 } },
    { "gated_recurrence_cached", build_gated_recurrence_cached, .position = 3, .n = { 2, 2, 5 } },
    { "gated_recurrence_cached, many tokens", build_gated_recurrence_cached, .position = 3, .n = { 2, 70, 41 } },
    { "gated_recurrence_cached of a text that begins", build_gated_recurrence_cached, .n = { 1, 2, 5 } },
    { "gated_recurrence_cached of texts of their own lengths", build_gated_recurrence_cached, .texts = TEXTS(6, 0, 3), .n = { 3, 1, 18 } },
    { 0 },
};
/* clang-format on */
