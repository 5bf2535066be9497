/* narrow.h - ids to tokens of two bytes. */
#ifndef DATA_NARROW_H
#define DATA_NARROW_H
#include <stdint.h>

/* What one instruction set has: writes the lower halves of n ids, and returns all ids or-ed, so
 * that the caller sees whether they fit. */
typedef struct Narrow {
    uint32_t (*to_two_bytes)(const uint32_t *id, int64_t n, void *out);
} Narrow;

extern const Narrow narrow_scalar, narrow_avx2, narrow_avx512;
#endif
