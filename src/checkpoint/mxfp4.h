/* mxfp4.h - numbers of four bits in blocks of 32 that share a power of two (OCP Microscaling). */
#ifndef CHECKPOINT_MXFP4_H
#define CHECKPOINT_MXFP4_H
#include "tensor/dtype.h"

/* What the 16 codes stand for. */
extern const float mxfp4_numbers[16];

enum { MXFP4_BLOCK = 32, MXFP4_BYTES = MXFP4_BLOCK / 2 };

/* Numbers [first, first + n) of a row whose blocks and scales (exponents + 127) begin there. */
void mxfp4_read(const uint8_t *blocks, const uint8_t *scales, int64_t first, int64_t n, bf16 *out);
#endif
