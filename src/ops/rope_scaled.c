/* rope_scaled.c - frequencies of rotary positions for longer texts: divided throughout (linear), by
 * a base that grows with the text (dynamic NTK), or low ones more than high ones (Llama 3; YaRN,
 * Peng et al. 2023). Steps are rounded to float as in transformers, so that tables agree. */
#include "ops/rope_scaled.h"
#include "ops/rope.h"

static const OpDef op_rope_scaled_table;

const char *const rope_scaling_choices[] = { "none", "linear", "dynamic", "llama3", "yarn", NULL };

typedef struct Attrs {
    RopeScaling scaling;
    bool rounded;
    int dtype;
} Attrs;

/* clang-format off */
static const Field attrs[] = {
    FIELD_FLOAT(Attrs, scaling.base, NULL, 0, 0, "frequency j is base^(-2j/d) before it is scaled"),
    FIELD_CHOICE(Attrs, scaling.kind, NULL, rope_scaling_choices, "which recipe"),
    FIELD_FLOAT(Attrs, scaling.factor, NULL, 0, 0, "how much longer texts are"),
    FIELD_INT(Attrs, scaling.original, NULL, 0, 0, "length of texts before"),
    FIELD_FLOAT(Attrs, scaling.low_freq, NULL, 0, 0, "llama3: below so many rotations divided by the factor"),
    FIELD_FLOAT(Attrs, scaling.high_freq, NULL, 0, 0, "llama3: above so many rotations kept"),
    FIELD_FLOAT(Attrs, scaling.beta_fast, NULL, 0, 0, "yarn: above so many rotations kept"),
    FIELD_FLOAT(Attrs, scaling.beta_slow, NULL, 0, 0, "yarn: below so many rotations divided by the factor"),
    FIELD_FLOAT(Attrs, scaling.attention, NULL, 0, 0, "multiplies cosines and sines"),
    FIELD_BOOL(Attrs, scaling.truncate, NULL, "yarn: bounds are rounded to whole features"),
    FIELD_BOOL(Attrs, rounded, NULL, "frequencies are rounded to bf16"),
    FIELD_CHOICE(Attrs, dtype, NULL, dtype_choices, "of the result"),
    { 0 },
};
/* clang-format on */

double rope_yarn_attention(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

static float llama3(const RopeScaling *s, float f)
{
    const double original = (double)s->original;
    const float wave = 1 / f * (float)(2 * M_PI);
    const bool is_long = wave > (float)(original / s->low_freq),
               is_short = wave < (float)(original / s->high_freq);
    float scaled = is_long ? f / (float)s->factor : f;
    if (is_long || is_short) return scaled;
    float smooth = 1 / wave * (float)original - (float)s->low_freq;
    smooth /= (float)(s->high_freq - s->low_freq);
    return (1 - smooth) * scaled / (float)s->factor + smooth * scaled;
}

/* The feature that makes so many rotations within the original length. */
static double feature_of(const RopeScaling *s, double rotations, int64_t d)
{
    double per_turn = (double)s->original / (rotations * 2 * M_PI);
    return (double)d * log(per_turn) / (2 * log(s->base));
}

static float yarn(const RopeScaling *s, int64_t j, int64_t d)
{
    double low = feature_of(s, s->beta_fast, d), high = feature_of(s, s->beta_slow, d);
    if (s->truncate) low = floor(low), high = ceil(high);
    if (low < 0) low = 0;
    if (high > (double)d - 1) high = (double)d - 1;
    if (low == high) high += 0.001;
    float ramp = ((float)j - (float)low) / (float)(high - low);
    ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    const float power = (float)pow(s->base, (float)(2 * j) / (float)d);
    const float kept = 1 - ramp, divided = 1 / ((float)s->factor * power);
    return divided * (1 - kept) + 1 / power * kept;
}

static double dynamic_base(const RopeScaling *s, int64_t n_positions, int64_t d)
{
    if (n_positions <= s->original) return s->base;
    double longer = s->factor * (double)n_positions / (double)s->original - (s->factor - 1);
    return s->base * pow(longer, (double)d / ((double)d - 2));
}

float rope_scaled_frequency(const RopeScaling *s, int64_t n_positions, int64_t j, int64_t d)
{
    switch (s->kind) {
    case ROPE_LINEAR:
        return rope_frequency(s->base, j, d) / (float)s->factor;
    case ROPE_DYNAMIC:
        return rope_frequency(dynamic_base(s, n_positions, d), j, d);
    case ROPE_LLAMA3:
        return llama3(s, rope_frequency(s->base, j, d));
    case ROPE_YARN:
        return yarn(s, j, d);
    default:
        return rope_frequency(s->base, j, d);
    }
}

Value *rope_scaled_table(Graph *g, Dtype t, int64_t n_positions, int64_t d, const RopeScaling *s,
                         bool rounded)
{
    const Attrs a = { .scaling = *s, .rounded = rounded, .dtype = (int)t };
    const char *sizes =
        arena_printf(g->arena, "t=%lld d=%lld", (long long)n_positions, (long long)d);
    if (d % 2) graph_fail(g, error_new("rope: the head size %lld is not even", (long long)d));
    const Phase phase = g->phase;
    const int block = g->block;
    g->phase = PREPARE;
    g->block = -1;
    const char *dims = op_rope_scaled_table.dims;
    Value *table = graph_add_dims(g, &op_rope_scaled_table, dims, sizes, &a, 0, NULL)->out[0];
    g->phase = phase;
    g->block = block;
    return table;
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = (Dtype)((const Attrs *)n->attrs)->dtype;
}

static int reference(const Launch *l)
{
    const Attrs *a = l->attrs;
    const int64_t n = l->out[0].size[0], d = l->out[0].size[1], half = d / 2;
    double *y = l->out[0].data;
    for (int64_t j = 0; j < half; j++) {
        float f = rope_scaled_frequency(&a->scaling, n, j, d);
        if (a->rounded) f = bf16_to_float(bf16_of_float(f));
        for (int64_t p = 0; p < n; p++) {
            y[p * d + j] = a->scaling.attention * cos((double)p * f);
            y[p * d + j + half] = a->scaling.attention * sin((double)p * f);
        }
    }
    return KERNEL_OK;
}

static const OpDef op_rope_scaled_table = {
    .name = "rope_scaled_table",
    .doc = "cosines and sines of rotary positions for longer texts",
    .dims = "->t!d!",
    .attrs = attrs,
    .attrs_size = sizeof(Attrs),
    .dtypes = dtypes,
    .reference = reference,
};

const OpDef *const rope_scaled_ops[] = { &op_rope_scaled_table, NULL };
