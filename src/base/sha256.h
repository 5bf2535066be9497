/* sha256.h - the SHA-256 digest (FIPS 180-4). */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H
#include <stddef.h>
#include <stdint.h>

typedef struct Sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t block[64]; /* the last n_bytes % 64 bytes */
} Sha256;

void sha256_start(Sha256 *h);
void sha256_add(Sha256 *h, const void *bytes, size_t len);
void sha256_finish(Sha256 *h, uint8_t digest[32]);
/* The digest of bytes at hand as 64 lower-case hex digits and a NUL. */
void sha256_hex(const void *bytes, size_t len, char out[65]);
#endif
