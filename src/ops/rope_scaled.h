/* rope_scaled.h - rotary tables for longer texts than a model was first trained with. */
#ifndef OPS_ROPE_SCALED_H
#define OPS_ROPE_SCALED_H
#include "graph/op.h"
#include <math.h>

typedef enum RopeScalingKind {
    ROPE_PLAIN,
    ROPE_LINEAR,
    ROPE_DYNAMIC,
    ROPE_LLAMA3,
    ROPE_YARN,
    ROPE_LONG
} RopeScalingKind;

/* How frequencies are changed; `original` is the length of text before. */
typedef struct RopeScaling {
    double base;
    int kind; /* RopeScalingKind */
    double factor;
    int64_t original;
    double low_freq, high_freq;  /* LLAMA3: rotations within `original` that bound the blend */
    double beta_fast, beta_slow; /* YARN: likewise */
    double attention;            /* cosines and sines of what turns are multiplied by it */
    bool truncate;               /* YARN: the bounds are rounded to whole features */
    FloatList short_factors, long_factors; /* LONG: divide each frequency, in texts of at most
                                              `original` tokens and in longer ones */
    double growth;         /* queries of position p are multiplied by 1 + growth log(1 + floor(p /
                              original)) */
    int64_t growth_offset; /* added to p there */
    bool still;            /* nothing turns: queries grow alone */
    int64_t width; /* the first width/2 pairs of a head turn, by the frequencies of such a head; 0:
                      all */
    bool proportional; /* by those of the head itself */
} RopeScaling;
extern const char *const rope_scaling_choices[];

/* The table of rope_table (ops/rope.h) by scaled frequencies. DYNAMIC scales by n_positions as soon
 * as it exceeds `original`, LONG takes long_factors. With `growth` it is one for queries alone. */
Value *rope_scaled_table(Graph *g, Dtype t, int64_t n_positions, int64_t d, const RopeScaling *s,
                         bool rounded);
/* Frequency j of d/2, rounded as the originals round; 0 of a pair that does not turn. */
float rope_scaled_frequency(const RopeScaling *s, int64_t n_positions, int64_t j, int64_t d);
/* LONG's multiplier of cosines and sines for a factor (Ding et al. 2024). */
double rope_long_attention(double factor, int64_t original);
/* YARN's multiplier of cosines and sines for a factor (Peng et al. 2023). */
double rope_yarn_attention(double factor, double mscale);

/* What a kernel multiplies cosines and sines by: those of what turns, and, by position, all. */
typedef struct RopeFactors {
    double attention, growth;
    int64_t original, offset;
} RopeFactors;

/* What queries of a position are multiplied by; on a GPU as well. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline double
    rope_growth(double growth, int64_t original, int64_t position)
{
    return growth == 0 ? 1 : 1 + growth * log(1 + (double)(position / original));
}

/* Attributes of "rope_scaled_table". */
typedef struct RopeScaledTable {
    RopeScaling scaling;
    bool rounded;
    int dtype;
} RopeScaledTable;
#endif
