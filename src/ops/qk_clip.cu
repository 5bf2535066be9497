/* qk_clip.cu - largest logits of a step and the rows of weights that follow from them, on a GPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/qk_clip.h"
}

/* in: largest logits of a microbatch, those of the step so far; out: the latter. */
KERNEL(keep_largest_kernel, 256)
{
    for (int64_t i = thread_number(); i < c.in[0].count; i += all_threads()) {
        const float x = get(c.in[0], i), kept = c.now->microbatch ? get(c.in[1], i) : 0;
        put(c.out[0], i, x > kept ? x : kept);
    }
}

/* in: largest logits by head; out: factors by row. */
KERNEL(logit_factors_kernel, 256)
{
    const LogitClip &a = attrs_of<LogitClip>(c);
    const int64_t repeat = c.in[0].count / a.groups, rows = c.out[0].count / a.groups;
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const int64_t first = i / rows * repeat;
        double most = 0;
        for (int64_t r = 0; r < repeat; r++) most = fmax(most, get_double(c.in[0], first + r));
        put_double(c.out[0], i, most > a.threshold ? pow(a.threshold / most, a.exponent) : 1);
    }
}

/* in: a parameter, factors of its rows; out: the parameter. */
KERNEL(scale_param_rows_kernel, 256)
{
    if (is_left_out(c)) return;
    const int64_t n = c.in[1].count, width = n ? c.in[0].count / n : 1;
    for (int64_t i = thread_number(); i < c.in[0].count; i += all_threads())
        put(c.out[0], i, get(c.in[0], i) * get(c.in[1], i / width));
}
