/* cpu_peak.c - measures the rates of multiply-adds and of memory.
 *
 * Rates are measured, never taken from a data sheet: clocks move with load and with the width of
 * vectors, and virtual machines share cores. Twelve independent chains hide the latency of one; the
 * empty assembly keeps the compiler from looking into them. */
#include "device/cpu_peak.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 50000, CHAINS = 12, REPEATS = 5, MAX_THREADS = 512 };

#if defined(__x86_64__)
#include "base/tile_shapes.h"
#include <immintrin.h>

__attribute__((target("avx2,fma"))) static double rate_avx2(void)
{
    __m256 a[CHAINS] = { { 0 } }, x = _mm256_set1_ps(0.5f);
    double start = clock_thread_seconds();
    for (int i = 0; i < ROUNDS; i++)
#pragma GCC unroll 12
        for (int j = 0; j < CHAINS; j++) {
            a[j] = _mm256_fmadd_ps(a[j], x, x);
            __asm__ volatile("" : "+x"(a[j]));
        }
    return 16.0 * CHAINS * ROUNDS / (clock_thread_seconds() - start);
}

__attribute__((target("avx512f"))) static double rate_avx512(void)
{
    __m512 a[CHAINS] = { { 0 } }, x = _mm512_set1_ps(0.5f);
    double start = clock_thread_seconds();
    for (int i = 0; i < ROUNDS; i++)
#pragma GCC unroll 12
        for (int j = 0; j < CHAINS; j++) {
            a[j] = _mm512_fmadd_ps(a[j], x, x);
            __asm__ volatile("" : "+v"(a[j]));
        }
    return 32.0 * CHAINS * ROUNDS / (clock_thread_seconds() - start);
}

__attribute__((target("avx512f,avx512bf16"))) static double rate_bf16_pairs(void)
{
    __m512 a[CHAINS] = { { 0 } };
    __m512bh x = (__m512bh)_mm512_set1_epi16(0x3F00); /* 0.5 */
    double start = clock_thread_seconds();
    for (int i = 0; i < ROUNDS; i++)
#pragma GCC unroll 12
        for (int j = 0; j < CHAINS; j++) {
            a[j] = _mm512_dpbf16_ps(a[j], x, x);
            __asm__ volatile("" : "+v"(a[j]));
        }
    return 64.0 * CHAINS * ROUNDS / (clock_thread_seconds() - start);
}

/* Four chains are what eight tiles leave room for, and hide the latency: see ops/gemm/amx.h.
 * Factors are numbers that change, from the nearest cache, which takes no time: zeros, or the same
 * ones again, would leave clocks a fifth higher than products can have. */
__attribute__((target("amx-tile,amx-bf16"))) static double rate_tiles(void)
{
    enum { TILE_FLOPS = 2 * 16 * 16 * 32, TILE_ROUNDS = ROUNDS / 16, TILE_BYTES = 1024, TILES = 4 };
    static const uint32_t sign_and_digits = 0x807F807F, half = 0x3F003F00;
    uint32_t numbers[TILES * TILE_BYTES / 4] __attribute__((aligned(64))), random = 1;
    for (int i = 0; i < TILES * TILE_BYTES / 4; i++) {
        random = random * 1664525u + 1013904223u;
        numbers[i] = ((random ^ random >> 16) & sign_and_digits) | half;
    }
    _tile_loadconfig(&whole_tiles);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    double start = clock_thread_seconds();
    for (int i = 0; i < TILE_ROUNDS; i++) {
        const char *a = (const char *)numbers + (i & 1) * TILE_BYTES, *b = a + 2 * TILE_BYTES;
        _tile_loadd(4, a, 64);
        _tile_loadd(5, b, 64);
        _tile_dpbf16ps(0, 4, 5);
        _tile_loadd(6, (const char *)numbers + (~i & 1) * TILE_BYTES, 64);
        _tile_dpbf16ps(1, 6, 5);
        _tile_loadd(7, (const char *)numbers + (2 + (~i & 1)) * TILE_BYTES, 64);
        _tile_dpbf16ps(2, 4, 7);
        _tile_dpbf16ps(3, 6, 7);
    }
    double seconds = clock_thread_seconds() - start;
    _tile_release();
    return 4.0 * TILE_FLOPS * TILE_ROUNDS / seconds;
}
#endif

/* Four floats at a time, multiplied and added: what every compiler makes of portable code. */
static double rate_scalar(void)
{
    typedef float Four __attribute__((vector_size(16)));
    Four a[CHAINS] = { { 0 } }, x = { 0.5f, 0.5f, 0.5f, 0.5f };
    double start = clock_thread_seconds();
    for (int i = 0; i < ROUNDS; i++)
#pragma GCC unroll 12
        for (int j = 0; j < CHAINS; j++) {
            a[j] = a[j] * x + x;
            __asm__ volatile("" : "+x"(a[j]));
        }
    return 8.0 * CHAINS * ROUNDS / (clock_thread_seconds() - start);
}

static double rate(Dtype t, CpuLevel level)
{
#if defined(__x86_64__)
    if (level == CPU_AMX && t == BF16) return rate_tiles();
    if (level == CPU_AVX512_PAIRS && t == BF16) return rate_bf16_pairs();
    if (level >= CPU_AVX512) return rate_avx512();
    if (level == CPU_AVX2) return rate_avx2();
#else
    (void)t, (void)level;
#endif
    return rate_scalar();
}

double cpu_core_flops(Dtype t, CpuLevel level)
{
    double best = 0;
    for (int r = 0; r < REPEATS; r++) {
        double now = rate(t, level);
        if (now > best) best = now;
    }
    return best;
}

typedef struct Measurement {
    Dtype t;
    CpuLevel level;
    double rate[MAX_THREADS];
} Measurement;

static void measure_thread(void *arg, int64_t i, int thread)
{
    (void)thread;
    Measurement *m = arg;
    m->rate[i] = cpu_core_flops(m->t, m->level);
}

double cpu_peak_flops(Device *d, Dtype t, CpuLevel level)
{
    Stream *s = NULL;
    Error *e = d->stream_new(d, false, &s);
    if (e) { /* no threads, no measurement */
        error_free(e);
        return 0;
    }
    Measurement m = { .t = t, .level = level };
    int n = pool_size(s->pool) < MAX_THREADS ? pool_size(s->pool) : MAX_THREADS;
    pool_run(s->pool, n, measure_thread, &m);
    d->stream_free(d, s);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += m.rate[i];
    return sum;
}

enum { COPIED_BYTES = 16 << 20 };

typedef struct Copies {
    char *from, *to; /* COPIED_BYTES for each thread */
} Copies;

static void copy_of_thread(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Copies *c = arg;
    memcpy(c->to + i * COPIED_BYTES, c->from + i * COPIED_BYTES, COPIED_BYTES);
}

static double copy_rate(Pool *pool, int n, const Copies *c)
{
    double best = 0;
    for (int r = 0; r <= REPEATS; r++) { /* the first touches the pages */
        double start = clock_seconds();
        pool_run(pool, n, copy_of_thread, (void *)c);
        double now = 2.0 * COPIED_BYTES * n / (clock_seconds() - start);
        if (r && now > best) best = now;
    }
    return best;
}

double cpu_peak_bytes(Device *d)
{
    Stream *s = NULL;
    Error *e = d->stream_new(d, false, &s);
    if (e) {
        error_free(e);
        return 0;
    }
    const int n = pool_size(s->pool) < MAX_THREADS ? pool_size(s->pool) : MAX_THREADS;
    const size_t bytes = (size_t)n * COPIED_BYTES;
    const Copies c = { malloc(bytes), malloc(bytes) };
    double rate = 0;
    if (c.from && c.to) {
        memset(c.from, 1, bytes);
        rate = copy_rate(s->pool, n, &c);
    }
    free(c.from);
    free(c.to);
    d->stream_free(d, s);
    return rate;
}
