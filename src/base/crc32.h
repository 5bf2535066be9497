/* crc32.h - CRC-32 as in zip, gzip and zlib, at the speed of memory. */
#ifndef BASE_CRC32_H
#define BASE_CRC32_H
#include <stddef.h>
#include <stdint.h>

/* That of all bytes so far, of which these are the next; 0 in the beginning. */
uint32_t crc32_add(uint32_t so_far, const void *bytes, size_t n);
#endif
