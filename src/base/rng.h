/* rng.h - random numbers: counter-based ones for this program, and the generators of torch, NumPy
 * and Python where an order must equal the original's.
 *
 * Mersenne Twister: Matsumoto and Nishimura 1998. PCG64: O'Neill 2014. Counter mixing: splitmix64
 * (Steele, Lea, Flood 2014). */
#ifndef BASE_RNG_H
#define BASE_RNG_H
#include <stdint.h>

/* What a random number is for; the same (seed, purpose, step, element) always gives the same
 * number, whatever the number of ranks or threads. */
typedef enum { RNG_INIT, RNG_DROPOUT, RNG_SAMPLE, RNG_DATA } RngPurpose;

/* The key of one stream; `name` tells streams of one purpose apart (a parameter, a layer). */
uint64_t rng_key(uint64_t seed, RngPurpose purpose, uint64_t step, uint64_t name);
/* 64 random bits of element i; inline, since kernels make one number per element. */
#ifdef __CUDACC__
#define RNG_ANYWHERE __host__ __device__ /* kernels of GPUs make them, too */
#else
#define RNG_ANYWHERE
#endif
RNG_ANYWHERE static inline uint64_t rng_bits(uint64_t key, uint64_t i)
{
    uint64_t z = key + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
/* Uniform in [0, 1) with 53 bits; standard normal, by inversion. */
double rng_uniform(uint64_t key, uint64_t i);
double rng_normal(uint64_t key, uint64_t i);
/* The same normal numbers of n elements in a row. */
void rng_normals(uint64_t key, uint64_t from, int64_t n, double *to);
enum { RNG_NORMALS = 512 }; /* at a time */
/* The part of a standard normal that lies below x; and a draw from it between two such shares. */
double normal_cumulative(double x);
double rng_normal_between(uint64_t key, uint64_t i, double from, double to);
/* Normal(0, std) cut at [low, high] (absolute bounds), by inversion. */
double rng_truncated_normal(uint64_t key, uint64_t i, double std, double low, double high);

enum { MT19937_SIZE = 624 };

typedef struct Mt19937 {
    uint32_t state[MT19937_SIZE];
    int at;
} Mt19937;

/* torch's seeding: seed mod 2^32. */
void mt19937_seed(Mt19937 *m, uint64_t seed);
/* Python's random.Random(seed) for an int seed (sign ignored). */
void mt19937_seed_python(Mt19937 *m, uint64_t seed);
uint32_t mt19937_next(Mt19937 *m);
/* Python: randrange(n), random(), shuffle. */
uint64_t python_below(Mt19937 *m, uint64_t n);
double python_random(Mt19937 *m);
void python_shuffle(Mt19937 *m, int64_t *items, int64_t n);
/* torch.randperm(n) with a fresh CPU generator of this seed, into out[n]. */
void torch_randperm(uint64_t seed, int64_t n, int64_t *out);
/* The same numbers in half the memory, for n < 2^32. */
void torch_randperm32(uint64_t seed, int64_t n, uint32_t *out);
/* Its part for n of 2^32 / 20 and more, which is another algorithm; gives some permutation for any
 * n. */
void torch_randperm32_wide(uint64_t seed, int64_t n, uint32_t *out);

typedef struct Pcg64 {
    unsigned __int128 state, increment;
    uint32_t kept;
    int has_kept;
} Pcg64;

/* numpy.random.default_rng(seed). */
void pcg64_seed(Pcg64 *p, uint64_t seed);
uint64_t pcg64_next(Pcg64 *p);
/* A number of [0, n) as Generator.shuffle draws it; shuffle on a Python list. */
uint64_t numpy_below(Pcg64 *p, uint64_t n);
void numpy_shuffle(Pcg64 *p, int64_t *items, int64_t n);
#endif
