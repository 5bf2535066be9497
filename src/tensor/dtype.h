/* dtype.h - number formats: sizes, names and conversions. */
#ifndef TENSOR_DTYPE_H
#define TENSOR_DTYPE_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum Dtype {
    F64,
    F32,
    BF16,
    F16,
    F8_E4M3,
    F8_E5M2,
    I64,
    I32,
    I16,
    I8,
    U16,
    U8,
    BOOL,
    N_DTYPES
} Dtype;

/* Bytes of one element. */
size_t dtype_size(Dtype t);
/* "f32", "bf16", "i64" ... */
const char *dtype_name(Dtype t);
/* All names in the order of Dtype, ending with NULL. */
extern const char *const dtype_choices[];
/* t if it is F64, else F32: for sums and losses. */
Dtype dtype_for_sums(Dtype t);
/* Finds a name such as "f32"; false when there is none. */
bool dtype_of_name(const char *name, Dtype *out);
bool dtype_is_float(Dtype t);

typedef uint16_t bf16;

static inline float bf16_to_float(bf16 b)
{
    uint32_t bits = (uint32_t)b << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Rounds to nearest even; a NaN stays a (quiet) NaN. */
static inline bf16 bf16_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isnan(f)) return (bf16)(bits >> 16 | 0x40);
    return (bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float f16_to_float(uint16_t h);
/* Rounds to nearest even; what is too large becomes infinite, a NaN stays one. */
uint16_t f16_of_float(float f);

/* Element i of an array of any dtype as a double, and back (rounding to nearest even; integers and
 * bools truncate). */
double dtype_get(Dtype t, const void *data, int64_t i);
void dtype_set(Dtype t, void *data, int64_t i, double x);
/* Converts n elements between any two dtypes; through float32 or better. */
void dtype_convert(Dtype to, void *out, Dtype from, const void *in, int64_t n);
#endif
