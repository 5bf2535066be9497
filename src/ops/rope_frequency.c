/* rope_frequency.c - frequencies of rotary positions, also for longer texts: divided throughout
 * (linear), by a base that grows with the text (dynamic NTK), or low ones more than high ones
 * (Llama 3; YaRN, Peng et al. 2023), or each by its own number (LongRoPE, Ding et al. 2024). Steps
 * are rounded to float as in transformers, so that tables agree. */
#include "ops/rope.h"
#include "ops/rope_scaled.h"

/* Each step is rounded to float as the original's are, so that tables agree to the last bit. */
float rope_frequency(double base, int64_t j, int64_t d)
{
    float power = (float)pow(base, (float)(2 * j) / (float)d);
    return 1 / power;
}

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

double rope_long_attention(double factor, int64_t original)
{
    return factor <= 1 ? 1 : sqrt(1 + log(factor) / log((double)original));
}

static float longrope(const RopeScaling *s, int64_t n_positions, int64_t j, int64_t d)
{
    const FloatList *f = n_positions > s->original ? &s->long_factors : &s->short_factors;
    const float power = (float)pow(s->base, (float)(2 * j) / (float)d);
    return 1 / ((float)f->item[j] * power);
}

static double dynamic_base(const RopeScaling *s, int64_t n_positions, int64_t d)
{
    if (n_positions <= s->original) return s->base;
    double longer = s->factor * (double)n_positions / (double)s->original - (s->factor - 1);
    return s->base * pow(longer, (double)d / ((double)d - 2));
}

float rope_scaled_frequency(const RopeScaling *s, int64_t n_positions, int64_t j, int64_t d)
{
    if (s->still || (s->width && 2 * j >= s->width)) return 0;
    if (s->width && !s->proportional) d = s->width;
    switch (s->kind) {
    case ROPE_LINEAR:
        return rope_frequency(s->base, j, d) / (float)s->factor;
    case ROPE_DYNAMIC:
        return rope_frequency(dynamic_base(s, n_positions, d), j, d);
    case ROPE_LLAMA3:
        return llama3(s, rope_frequency(s->base, j, d));
    case ROPE_YARN:
        return yarn(s, j, d);
    case ROPE_LONG:
        return longrope(s, n_positions, j, d);
    default:
        return rope_frequency(s->base, j, d);
    }
}
