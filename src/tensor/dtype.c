/* dtype.c - one table of number formats, and element-wise conversion. */
#include "tensor/dtype.h"
#include "base/error.h"

static const struct {
    size_t size;
    bool is_float;
} table[N_DTYPES] = {
    [F64] = { 8, true },     [F32] = { 4, true },     [BF16] = { 2, true }, [F16] = { 2, true },
    [F8_E4M3] = { 1, true }, [F8_E5M2] = { 1, true }, [I64] = { 8, false }, [I32] = { 4, false },
    [I16] = { 2, false },    [I8] = { 1, false },     [U16] = { 2, false }, [U8] = { 1, false },
    [BOOL] = { 1, false },
};

const char *const dtype_choices[N_DTYPES + 1] = {
    [F64] = "f64",         [F32] = "f32", [BF16] = "bf16", [F16] = "f16", [F8_E4M3] = "f8_e4m3",
    [F8_E5M2] = "f8_e5m2", [I64] = "i64", [I32] = "i32",   [I16] = "i16", [I8] = "i8",
    [U16] = "u16",         [U8] = "u8",   [BOOL] = "bool",
};

size_t dtype_size(Dtype t)
{
    return table[t].size;
}
const char *dtype_name(Dtype t)
{
    return dtype_choices[t];
}
bool dtype_is_float(Dtype t)
{
    return table[t].is_float;
}

Dtype dtype_for_sums(Dtype t)
{
    return t == F64 ? F64 : F32;
}

bool dtype_of_name(const char *name, Dtype *out)
{
    for (int t = 0; t < N_DTYPES; t++) {
        if (strcmp(name, dtype_choices[t])) continue;
        *out = (Dtype)t;
        return true;
    }
    return false;
}

/* A small binary float: sign, exponent and mantissa bits; `has_inf` as in IEEE. */
static double small_to_double(unsigned bits, int n_exponent, int n_mantissa, bool has_inf)
{
    int bias = (1 << (n_exponent - 1)) - 1, top = (1 << n_exponent) - 1;
    int exponent = (int)(bits >> n_mantissa) & top, mantissa = (int)bits & ((1 << n_mantissa) - 1);
    double sign = bits >> (n_exponent + n_mantissa) & 1 ? -1 : 1;
    if (has_inf && exponent == top) return mantissa ? NAN : sign * INFINITY;
    if (!has_inf && exponent == top && mantissa == (1 << n_mantissa) - 1) return NAN;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - n_mantissa);
    return sign * ldexp((1 << n_mantissa) + mantissa, exponent - bias - n_mantissa);
}

static unsigned small_of_double(double x, int n_exponent, int n_mantissa, bool has_inf)
{
    int bias = (1 << (n_exponent - 1)) - 1, top = (1 << n_exponent) - 1,
        shift = n_exponent + n_mantissa;
    unsigned sign = signbit(x) ? 1u << shift : 0, all = (1u << shift) - 1;
    unsigned infinity = has_inf ? (unsigned)top << n_mantissa : all; /* without infinities: NaN */
    if (isnan(x)) return sign | (has_inf ? infinity | 1u << (n_mantissa - 1) : all);
    x = fabs(x);
    if (isinf(x)) return sign | infinity;
    if (x == 0) return sign;
    int e;
    frexp(x, &e);
    e = e - 1 < 1 - bias ? 1 - bias : e - 1; /* exponent of the unit, subnormals included */
    double units = nearbyint(ldexp(x, n_mantissa - e)); /* ties to even */
    double value = ldexp(units, e - n_mantissa);
    if (units == 0) return sign;
    frexp(value, &e);
    e -= 1;
    unsigned bits;
    if (e < 1 - bias)
        bits = (unsigned)units;
    else
        bits = (unsigned)(e + bias) << n_mantissa |
               ((unsigned)ldexp(value, n_mantissa - e) & ((1u << n_mantissa) - 1));
    return sign | (bits >= infinity ? infinity : bits);
}

static float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* The exponent moves from 5 bits to 8, where 15 becomes 127; numbers below the smallest normal one
 * are made by a subtraction. */
float f16_to_float(uint16_t h)
{
    const uint32_t exponent = 0x1fu << 23, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t bits = (uint32_t)(h & 0x7fff) << 13, own = bits & exponent;
    bits += (127 - 15) << 23;
    if (own == exponent) bits += (128 - 16) << 23;
    if (own == 0) {
        const float smallest = float_of_bits(113u << 23);
        bits = bits_of_float(float_of_bits(bits + (1 << 23)) - smallest);
    }
    return float_of_bits(bits | sign);
}

uint16_t f16_of_float(float f)
{
    const uint32_t infinity = 255u << 23, too_large = (127u + 16) << 23, normal = 113u << 23;
    const uint32_t half = ((127u - 15) + (23 - 10) + 1) << 23; /* shifts small numbers into place */
    uint32_t bits = bits_of_float(f), sign = bits & 0x80000000, h;
    bits ^= sign;
    if (bits >= too_large)
        h = bits > infinity ? 0x7e00 : 0x7c00;
    else if (bits < normal)
        h = bits_of_float(float_of_bits(bits) + float_of_bits(half)) - half;
    else
        h = (bits - ((127u - 15) << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
    return (uint16_t)(h | sign >> 16);
}

double dtype_get(Dtype t, const void *data, int64_t i)
{
    switch (t) {
    case F64:
        return ((const double *)data)[i];
    case F32:
        return ((const float *)data)[i];
    case BF16:
        return bf16_to_float(((const bf16 *)data)[i]);
    case F16:
        return f16_to_float(((const uint16_t *)data)[i]);
    case F8_E4M3:
        return small_to_double(((const uint8_t *)data)[i], 4, 3, false);
    case F8_E5M2:
        return small_to_double(((const uint8_t *)data)[i], 5, 2, true);
    case I64:
        return (double)((const int64_t *)data)[i];
    case I32:
        return ((const int32_t *)data)[i];
    case I16:
        return ((const int16_t *)data)[i];
    case I8:
        return ((const int8_t *)data)[i];
    case U16:
        return ((const uint16_t *)data)[i];
    case U8:
        return ((const uint8_t *)data)[i];
    case BOOL:
        return ((const uint8_t *)data)[i] != 0;
    default:
        CHECK(!"dtype");
    }
}

void dtype_set(Dtype t, void *data, int64_t i, double x)
{
    switch (t) {
    case F64:
        ((double *)data)[i] = x;
        break;
    case F32:
        ((float *)data)[i] = (float)x;
        break;
    case BF16:
        ((bf16 *)data)[i] = bf16_of_float((float)x);
        break;
    case F16:
        ((uint16_t *)data)[i] = (uint16_t)small_of_double(x, 5, 10, true);
        break;
    case F8_E4M3:
        ((uint8_t *)data)[i] = (uint8_t)small_of_double(x, 4, 3, false);
        break;
    case F8_E5M2:
        ((uint8_t *)data)[i] = (uint8_t)small_of_double(x, 5, 2, true);
        break;
    case I64:
        ((int64_t *)data)[i] = (int64_t)x;
        break;
    case I32:
        ((int32_t *)data)[i] = (int32_t)x;
        break;
    case I16:
        ((int16_t *)data)[i] = (int16_t)x;
        break;
    case I8:
        ((int8_t *)data)[i] = (int8_t)x;
        break;
    case U16:
        ((uint16_t *)data)[i] = (uint16_t)x;
        break;
    case U8:
        ((uint8_t *)data)[i] = (uint8_t)x;
        break;
    case BOOL:
        ((uint8_t *)data)[i] = x != 0;
        break;
    default:
        CHECK(!"dtype");
    }
}

void dtype_convert(Dtype to, void *out, Dtype from, const void *in, int64_t n)
{
    if (to == from) {
        memmove(out, in, dtype_size(to) * (size_t)n);
    } else if (to == F32 && from == BF16) {
        for (int64_t i = 0; i < n; i++) ((float *)out)[i] = bf16_to_float(((const bf16 *)in)[i]);
    } else if (to == BF16 && from == F32) {
        for (int64_t i = 0; i < n; i++) ((bf16 *)out)[i] = bf16_of_float(((const float *)in)[i]);
    } else if (to == F32 && from == F16) {
        for (int64_t i = 0; i < n; i++) ((float *)out)[i] = f16_to_float(((const uint16_t *)in)[i]);
    } else if (to == F16 && from == F32) {
        for (int64_t i = 0; i < n; i++) ((uint16_t *)out)[i] = f16_of_float(((const float *)in)[i]);
    } else {
        for (int64_t i = 0; i < n; i++) dtype_set(to, out, i, dtype_get(from, in, i));
    }
}
