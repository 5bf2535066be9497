/* rope_scaled.c - the op that makes tables of rotary positions for longer texts. */
#include "ops/rope_scaled.h"
#include "ops/rope.h"

static const OpDef op_rope_scaled_table;

const char *const rope_scaling_choices[] = { "none", "linear",   "dynamic", "llama3",
                                             "yarn", "longrope", NULL };

/* clang-format off */
static const Field attrs[] = {
    FIELD_FLOAT(RopeScaledTable, scaling.base, NULL, 0, 0, "frequency j is base^(-2j/d) before it is scaled"),
    FIELD_CHOICE(RopeScaledTable, scaling.kind, NULL, rope_scaling_choices, "which recipe"),
    FIELD_FLOAT(RopeScaledTable, scaling.factor, NULL, 0, 0, "how much longer texts are"),
    FIELD_INT(RopeScaledTable, scaling.original, NULL, 0, 0, "length of texts before"),
    FIELD_FLOAT(RopeScaledTable, scaling.low_freq, NULL, 0, 0, "llama3: below so many rotations divided by the factor"),
    FIELD_FLOAT(RopeScaledTable, scaling.high_freq, NULL, 0, 0, "llama3: above so many rotations kept"),
    FIELD_FLOAT(RopeScaledTable, scaling.beta_fast, NULL, 0, 0, "yarn: above so many rotations kept"),
    FIELD_FLOAT(RopeScaledTable, scaling.beta_slow, NULL, 0, 0, "yarn: below so many rotations divided by the factor"),
    FIELD_FLOAT(RopeScaledTable, scaling.attention, NULL, 0, 0, "multiplies cosines and sines of what turns"),
    FIELD_BOOL(RopeScaledTable, scaling.truncate, NULL, "yarn: bounds are rounded to whole features"),
    FIELD_FLOATS(RopeScaledTable, scaling.short_factors, NULL, 0, 0, "longrope: of short texts"),
    FIELD_FLOATS(RopeScaledTable, scaling.long_factors, NULL, 0, 0, "longrope: of long texts"),
    FIELD_FLOAT(RopeScaledTable, scaling.growth, NULL, 0, 0, "of queries, with the logarithm of the position over original"),
    FIELD_INT(RopeScaledTable, scaling.growth_offset, NULL, 0, 0, "added to that position"),
    FIELD_BOOL(RopeScaledTable, scaling.still, NULL, "nothing turns"),
    FIELD_INT(RopeScaledTable, scaling.width, NULL, 0, 0, "so many features of a head turn; 0: all"),
    FIELD_BOOL(RopeScaledTable, scaling.proportional, NULL, "by the frequencies of the whole head"),
    FIELD_BOOL(RopeScaledTable, rounded, NULL, "frequencies are rounded to bf16"),
    FIELD_CHOICE(RopeScaledTable, dtype, NULL, dtype_choices, "of the result"),
    { 0 },
};
/* clang-format on */

Value *rope_scaled_table(Graph *g, Dtype t, int64_t n_positions, int64_t d, const RopeScaling *s,
                         bool rounded)
{
    const RopeScaledTable a = { .scaling = *s, .rounded = rounded, .dtype = (int)t };
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
    out[0] = (Dtype)((const RopeScaledTable *)n->attrs)->dtype;
}

static int reference(const Launch *l)
{
    const RopeScaledTable *a = l->attrs;
    const int64_t n = l->out[0].size[0], d = l->out[0].size[1], half = d / 2;
    double *y = l->out[0].data;
    for (int64_t j = 0; j < half; j++) {
        float f = rope_scaled_frequency(&a->scaling, n, j, d);
        if (a->rounded) f = bf16_to_float(bf16_of_float(f));
        const double factor = f == 0 ? 1 : a->scaling.attention;
        for (int64_t p = 0; p < n; p++) {
            const double all = factor * rope_growth(a->scaling.growth, a->scaling.original,
                                                    p + a->scaling.growth_offset);
            y[p * d + j] = all * cos((double)p * f);
            y[p * d + j + half] = all * sin((double)p * f);
        }
    }
    return KERNEL_OK;
}

static const OpDef op_rope_scaled_table = {
    .name = "rope_scaled_table",
    .doc = "cosines and sines of rotary positions for longer texts",
    .dims = "->t!d!",
    .attrs = attrs,
    .attrs_size = sizeof(RopeScaledTable),
    .dtypes = dtypes,
    .reference = reference,
};

const OpDef *const rope_scaled_ops[] = { &op_rope_scaled_table, NULL };
