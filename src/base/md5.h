/* md5.h - MD5 (RFC 1321), for names and checksums that others made with it. */
#ifndef BASE_MD5_H
#define BASE_MD5_H
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; the digest of all bytes added, as 32 hexadecimal digits. */
typedef struct Md5 {
    uint32_t state[4];
    unsigned char block[64];
    uint64_t n;
} Md5;

void md5_add(Md5 *m, const void *bytes, size_t len);
void md5_finish(Md5 *m, char hex[33]);
#endif
