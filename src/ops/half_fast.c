/* half_fast.c - casts between F32 and F16. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

/* How many elements one instruction converts; 0: there is none. */
#if defined(__AVX512F__)
enum { AT_ONCE = 16 };
INLINE void widen(float *out, const uint16_t *in)
{
    _mm512_storeu_ps(out, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)in)));
}
INLINE void narrow(uint16_t *out, const float *in)
{
    const __m512 x = _mm512_loadu_ps(in);
    _mm256_storeu_si256((__m256i *)out, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__F16C__)
enum { AT_ONCE = 8 };
INLINE void widen(float *out, const uint16_t *in)
{
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)in)));
}
INLINE void narrow(uint16_t *out, const float *in)
{
    const __m256 x = _mm256_loadu_ps(in);
    _mm_storeu_si128((__m128i *)out, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#else
enum { AT_ONCE = 0 };
INLINE void widen(float *out, const uint16_t *in)
{
    *out = f16_to_float(*in);
}
INLINE void narrow(uint16_t *out, const float *in)
{
    *out = f16_of_float(*in);
}
#endif

static void widen_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const uint16_t *in = l->in[0].data;
    float *out = l->out[0].data;
    const Range r = chunk(tensor_count(&l->out[0]), CHUNK, i);
    int64_t k = r.from;
    if (launch_adds(l, 0)) {
        for (; k < r.to; k++) out[k] += f16_to_float(in[k]);
        return;
    }
    for (; AT_ONCE && k + AT_ONCE <= r.to; k += AT_ONCE) widen(out + k, in + k);
    for (; k < r.to; k++) out[k] = f16_to_float(in[k]);
}

static void narrow_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const float *in = l->in[0].data;
    uint16_t *out = l->out[0].data;
    const Range r = chunk(tensor_count(&l->out[0]), CHUNK, i);
    int64_t k = r.from;
    if (launch_adds(l, 0)) {
        for (; k < r.to; k++) out[k] = f16_of_float(f16_to_float(out[k]) + in[k]);
        return;
    }
    for (; AT_ONCE && k + AT_ONCE <= r.to; k += AT_ONCE) narrow(out + k, in + k);
    for (; k < r.to; k++) out[k] = f16_of_float(in[k]);
}

static int run_widen(const Launch *l)
{
    pool_run(l->stream->pool, chunk_count(tensor_count(&l->out[0]), CHUNK), widen_task, (void *)l);
    return KERNEL_OK;
}

static int run_narrow(const Launch *l)
{
    pool_run(l->stream->pool, chunk_count(tensor_count(&l->out[0]), CHUNK), narrow_task, (void *)l);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "cast", "cpu", "f16>f32", LEVEL, run_widen, NULL, NULL },
    { "cast", "cpu", "f32>f16", LEVEL, run_narrow, NULL, NULL },
    { 0 },
};
