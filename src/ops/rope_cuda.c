/* rope_cuda.c - starts the kernels of rope.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/rope.h"
#include "ops/rope_scaled.h"
#include <string.h>

enum { MOST_FREQUENCIES = 1024 };

static bool serves_table(const Launch *l)
{
    return l->out[0].size[1] / 2 <= MOST_FREQUENCIES;
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * (size_t)(l->out[0].size[1] / 2);
}

/* The frequencies are the CPU's, to the bit. */
static int make_table(const Launch *l, const float *frequency, RopeFactors factors)
{
    const int64_t half = l->out[0].size[1] / 2;
    const int status = cuda_upload(l, l->scratch, frequency, sizeof *frequency * (size_t)half);
    Call c = cuda_call(l);
    memcpy(c.attrs, &factors, sizeof factors);
    if (status) return status;
    return cuda_start(l, "rope_table_kernel", &c, cuda_blocks(l, l->out[0].size[0] * half, 256),
                      256, 0);
}

static float rounded(float f, bool is_rounded)
{
    return is_rounded ? bf16_to_float(bf16_of_float(f)) : f;
}

static int run_table(const Launch *l)
{
    const RopeTable *a = l->attrs;
    float frequency[MOST_FREQUENCIES];
    for (int64_t j = 0, d = l->out[0].size[1]; j < d / 2; j++)
        frequency[j] = rounded(rope_frequency(a->base, j, d), a->rounded);
    return make_table(l, frequency, (RopeFactors){ 1, 0, 1, 0 });
}

static int run_scaled_table(const Launch *l)
{
    const RopeScaledTable *a = l->attrs;
    float frequency[MOST_FREQUENCIES];
    const int64_t n = l->out[0].size[0];
    for (int64_t j = 0, d = l->out[0].size[1]; j < d / 2; j++)
        frequency[j] = rounded(rope_scaled_frequency(&a->scaling, n, j, d), a->rounded);
    const RopeScaling *s = &a->scaling;
    return make_table(l, frequency,
                      (RopeFactors){ s->attention, s->growth, s->original, s->growth_offset });
}

static int run_rope(const Launch *l)
{
    enum { PAIRS = 8 }; /* of a thread, of some heads */
    const Tensor *x = &l->in[0];
    const int64_t at_once = x->dtype == F32 || l->out[0].dtype == F32 ? 2 : 4;
    const int64_t heads = tensor_volume(x, 2, x->n_dims - 1), half = l->in[1].size[1] / 2;
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(Rope));
    c.number[0] = x->size[0] * x->size[1];
    c.number[1] = heads;
    const int64_t n =
        c.number[0] * ((heads + at_once - 1) / at_once) * ((half + PAIRS - 1) / PAIRS);
    return cuda_start(l, "rope_kernel", &c, cuda_blocks(l, n, 256), 256, 0);
}

static int run_windows(const Launch *l)
{
    return cuda_run(l, "rope_windows_kernel", sizeof(RopeWindows),
                    cuda_blocks(l, tensor_count(&l->in[0]) / 2, 256), 256);
}

const KernelDef rope_cuda[] = {
    { "rope_windows", "cuda", "any any>any", CPU_SCALAR, run_windows, NULL, cuda_floats_fit },
    { "rope_table", "cuda", ">any", CPU_SCALAR, run_table, scratch, serves_table },
    { "rope_scaled_table", "cuda", ">any", CPU_SCALAR, run_scaled_table, scratch, serves_table },
    { "rope", "cuda", "any any>any", CPU_SCALAR, run_rope, NULL, cuda_floats_fit },
    /* the mixes of trainings, which the tests of a row of any dtypes need not have */
    { "rope", "cuda", "f32 f32>bf16", CPU_SCALAR, run_rope, NULL, NULL },
    { "rope", "cuda", "bf16 f32>f32", CPU_SCALAR, run_rope, NULL, NULL },
    { 0 },
};
