/* rng.c - counter-based numbers, Mersenne Twister with torch's and Python's uses, NumPy's PCG64. */
#include "base/rng.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/rng_normal.h"
#include <math.h>
#include <string.h>

uint64_t rng_key(uint64_t seed, RngPurpose purpose, uint64_t step, uint64_t name)
{
    uint64_t key = rng_bits(seed, (uint64_t)purpose);
    key = rng_bits(key, step);
    return rng_bits(key, name);
}

static double to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

double rng_uniform(uint64_t key, uint64_t i)
{
    return to_unit(rng_bits(key, i));
}

double normal_cumulative(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double rng_normal(uint64_t key, uint64_t i)
{
    return normal_quantile(normal_share(key, i));
}

void rng_normals(uint64_t key, uint64_t from, int64_t n, double *to)
{
    RngNormals *some = rng_normal_scalar;
#if defined(__x86_64__)
    if (cpu_level_in_use() == CPU_AVX2) some = rng_normal_avx2;
    if (cpu_level_in_use() >= CPU_AVX512) some = rng_normal_avx512;
#endif
    for (int64_t at = 0; at < n; at += RNG_NORMALS)
        some(key, from + (uint64_t)at, n - at < RNG_NORMALS ? n - at : RNG_NORMALS, to + at);
}

double rng_normal_between(uint64_t key, uint64_t i, double from, double to)
{
    return normal_quantile(from + (to - from) * rng_uniform(key, i));
}

double rng_truncated_normal(uint64_t key, uint64_t i, double std, double low, double high)
{
    double from = normal_cumulative(low / std), to = normal_cumulative(high / std);
    double x = std * normal_quantile(from + (to - from) * rng_uniform(key, i));
    return x < low ? low : x > high ? high : x;
}

void mt19937_seed(Mt19937 *m, uint64_t seed)
{
    m->state[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < MT19937_SIZE; i++)
        m->state[i] = 1812433253u * (m->state[i - 1] ^ m->state[i - 1] >> 30) + i;
    m->at = MT19937_SIZE;
}

void mt19937_seed_python(Mt19937 *m, uint64_t seed)
{
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) }, n_key = key[1] ? 2 : 1;
    mt19937_seed(m, 19650218);
    uint32_t i = 1, j = 0, *s = m->state;
    for (int k = MT19937_SIZE; k; k--) {
        s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1664525u) + key[j] + j;
        if (++i == MT19937_SIZE) {
            s[0] = s[623];
            i = 1;
        }
        j = (j + 1) % n_key;
    }
    for (int k = 623; k; k--) {
        s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1566083941u) - i;
        if (++i == MT19937_SIZE) {
            s[0] = s[623];
            i = 1;
        }
    }
    s[0] = 0x80000000u;
}

static uint32_t twisted(uint32_t high, uint32_t low, uint32_t far)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return far ^ y >> 1 ^ (0x9908b0dfu & -(y & 1));
}

static void twist(uint32_t *s)
{
    for (int i = 0; i < 227; i++) s[i] = twisted(s[i], s[i + 1], s[i + 397]);
    for (int i = 227; i < 623; i++) s[i] = twisted(s[i], s[i + 1], s[i - 227]);
    s[623] = twisted(s[623], s[0], s[396]);
}

static uint32_t tempered(uint32_t y)
{
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

uint32_t mt19937_next(Mt19937 *m)
{
    if (m->at == MT19937_SIZE) {
        twist(m->state);
        m->at = 0;
    }
    return tempered(m->state[m->at++]);
}

static uint64_t next_64(Mt19937 *m)
{
    uint64_t high = mt19937_next(m);
    return high << 32 | mt19937_next(m);
}

uint64_t python_below(Mt19937 *m, uint64_t n)
{
    int k = 64 - __builtin_clzll(n);
    uint64_t r;
    do {
        if (k <= 32) {
            r = mt19937_next(m) >> (32 - k);
        } else {
            uint64_t low = mt19937_next(m);
            r = low | (uint64_t)(mt19937_next(m) >> (64 - k)) << 32;
        }
    } while (r >= n);
    return r;
}

double python_random(Mt19937 *m)
{
    uint32_t a = mt19937_next(m) >> 5, b = mt19937_next(m) >> 6;
    return (a * 67108864.0 + b) * 0x1p-53;
}

static void swap(int64_t *items, int64_t i, int64_t j)
{
    int64_t t = items[i];
    items[i] = items[j];
    items[j] = t;
}

void python_shuffle(Mt19937 *m, int64_t *items, int64_t n)
{
    for (int64_t i = n - 1; i >= 1; i--) swap(items, i, (int64_t)python_below(m, (uint64_t)i + 1));
}

/* Below this size torch.randperm swaps as shuffles do, with 32-bit draws: step i swaps the places i
 * and i + draw % (n - i). From it on it builds the order inside out, with 64-bit draws. */
static const int64_t WIDE_DRAWS = INT64_C(4294967295) / 20;

/* Entry i goes to a random one of the first i + 1 places; what was there moves to place i. */
static void inside_out(Mt19937 *m, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (int64_t)(next_64(m) % ((uint64_t)i + 1));
        out[i] = i;
        out[i] = out[at];
        out[at] = i;
    }
}

void torch_randperm(uint64_t seed, int64_t n, int64_t *out)
{
    Mt19937 m;
    mt19937_seed(&m, seed);
    if (n >= WIDE_DRAWS) {
        inside_out(&m, n, out);
        return;
    }
    for (int64_t i = 0; i < n; i++) out[i] = i;
    for (int64_t i = 0; i < n - 1; i++) {
        uint32_t left = (uint32_t)(n - i); /* a division of 32 bits is much faster */
        CHECK(left);
        swap(out, i, i + mt19937_next(&m) % left);
    }
}

/* Places are drawn a block ahead of their use, so that memory answers in the meantime. */
void torch_randperm32_wide(uint64_t seed, int64_t n, uint32_t *out)
{
    enum { AHEAD = 128 };
    Mt19937 m;
    uint32_t at[AHEAD];
    mt19937_seed(&m, seed);
    for (int64_t from = 0; from < n; from += AHEAD) {
        int64_t count = n - from < AHEAD ? n - from : AHEAD;
        for (int64_t k = 0; k < count; k++) {
            at[k] = (uint32_t)(next_64(&m) % ((uint64_t)(from + k) + 1));
            __builtin_prefetch(&out[at[k]], 1);
        }
        for (int64_t k = 0; k < count; k++) {
            out[from + k] = (uint32_t)(from + k);
            out[from + k] = out[at[k]];
            out[at[k]] = (uint32_t)(from + k);
        }
    }
}

/* The partners of the next steps, as many as the generator's state gives draws. Draws of 32 bits
 * are divided in double precision, which is exact for them and has vector instructions: a quotient
 * below 2^31, as n - i is at least 2, that is no integer is further from the next one than rounding
 * reaches. */
static void next_partners(Mt19937 *m, int64_t n, int64_t from, uint32_t *out)
{
    int32_t count = (int32_t)(n - 1 - from < MT19937_SIZE ? n - 1 - from : MT19937_SIZE);
    int32_t left = (int32_t)(n - from);
    twist(m->state);
    for (int32_t k = 0; k < count; k++) {
        uint32_t draw = tempered(m->state[k]), divisor = (uint32_t)(left - k);
        double x = (double)(int32_t)(draw ^ 0x80000000u) + 0x1p31;
        uint32_t quotient = (uint32_t)(int32_t)(x / (double)(int32_t)divisor);
        out[k] = (uint32_t)(from + k) + (draw - quotient * divisor);
    }
}

/* Partners are fetched AHEAD of their swaps, so that memory answers in the meantime. */
void torch_randperm32(uint64_t seed, int64_t n, uint32_t *out)
{
    enum { BLOCK = MT19937_SIZE, AHEAD = 32 };
    Mt19937 m;
    uint32_t partner[BLOCK + AHEAD] = { 0 }; /* of a block, and the first of the next */
    uint32_t next[BLOCK] = { 0 };
    if (n >= WIDE_DRAWS) {
        torch_randperm32_wide(seed, n, out);
        return;
    }
    mt19937_seed(&m, seed);
    for (int64_t i = 0; i < n; i++) out[i] = (uint32_t)i;
    if (n > 1) next_partners(&m, n, 0, next);
    for (int64_t from = 0; from < n - 1; from += BLOCK) {
        int64_t count = n - 1 - from < BLOCK ? n - 1 - from : BLOCK;
        memcpy(partner, next, sizeof next);
        if (from + BLOCK < n - 1) next_partners(&m, n, from + BLOCK, next);
        memcpy(partner + BLOCK, next, sizeof *next * AHEAD);
        for (int64_t k = 0; k < count; k++) {
            __builtin_prefetch(&out[partner[k + AHEAD]], 1);
            uint32_t kept = out[from + k];
            out[from + k] = out[partner[k]];
            out[partner[k]] = kept;
        }
    }
}

static uint32_t seed_hash(uint32_t v, uint32_t *hash)
{
    v ^= *hash;
    *hash *= 0x931e8875u;
    v *= *hash;
    return v ^ v >> 16;
}

/* NumPy's SeedSequence: hashes the seed into a pool of four words, then draws 8 words from it. */
static void seed_sequence(uint64_t seed, uint32_t out[8])
{
    uint32_t entropy[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) }, pool[4], hash = 0x43b0d7e5u;
    int n = entropy[1] ? 2 : 1;
    for (int i = 0; i < 4; i++) pool[i] = seed_hash(i < n ? entropy[i] : 0, &hash);
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++) {
            if (from == to) continue;
            uint32_t h = seed_hash(pool[from], &hash);
            uint32_t r = 0xca01f9ddu * pool[to] - 0x4973f715u * h;
            pool[to] = r ^ r >> 16;
        }
    hash = 0x8b51f9ddu;
    for (int i = 0; i < 8; i++) {
        uint32_t v = pool[i % 4] ^ hash;
        hash *= 0x58f38dedu;
        v *= hash;
        out[i] = v ^ v >> 16;
    }
}

static void pcg64_step(Pcg64 *p)
{
    const unsigned __int128 multiplier =
        (unsigned __int128)0x2360ed051fc65da4u << 64 | 0x4385df649fccf645u;
    p->state = p->state * multiplier + p->increment;
}

void pcg64_seed(Pcg64 *p, uint64_t seed)
{
    uint32_t w[8];
    seed_sequence(seed, w);
    uint64_t word[4];
    for (int i = 0; i < 4; i++) word[i] = w[2 * i] | (uint64_t)w[2 * i + 1] << 32;
    unsigned __int128 start = (unsigned __int128)word[0] << 64 | word[1];
    unsigned __int128 sequence = (unsigned __int128)word[2] << 64 | word[3];
    *p = (Pcg64){ .increment = sequence << 1 | 1 };
    pcg64_step(p);
    p->state += start;
    pcg64_step(p);
}

uint64_t pcg64_next(Pcg64 *p)
{
    pcg64_step(p);
    uint64_t x = (uint64_t)(p->state >> 64) ^ (uint64_t)p->state;
    unsigned r = (unsigned)(p->state >> 122);
    return x >> r | x << (-r & 63);
}

static uint32_t next_32(Pcg64 *p)
{
    if (p->has_kept) {
        p->has_kept = 0;
        return p->kept;
    }
    uint64_t x = pcg64_next(p);
    p->kept = (uint32_t)(x >> 32);
    p->has_kept = 1;
    return (uint32_t)x;
}

uint64_t numpy_below(Pcg64 *p, uint64_t n)
{
    if (n <= 1) return 0;
    uint64_t last = n - 1, mask = UINT64_MAX >> __builtin_clzll(last), j;
    do j = (last <= UINT32_MAX ? next_32(p) : pcg64_next(p)) & mask;
    while (j > last);
    return j;
}

void numpy_shuffle(Pcg64 *p, int64_t *items, int64_t n)
{
    for (int64_t i = n - 1; i >= 1; i--) swap(items, i, (int64_t)numpy_below(p, (uint64_t)i + 1));
}
