/* md5.c - MD5 as RFC 1321 states it. */
#include "base/md5.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void digest_block(uint32_t state[4], const unsigned char *block)
{
    static const int shift[] = { 7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21 };
    static uint32_t sine[64]; /* by round */
    for (int i = 0; i < 64 && !sine[63]; i++) {
        sine[i] = (uint32_t)(int64_t)(fabs(sin(i + 1.0)) * 4294967296.0);
    }
    uint32_t word[16], a = state[0], b = state[1], c = state[2], d = state[3];
    memcpy(word, block, sizeof word);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t f = i < 16   ? (b & c) | (~b & d)
                     : i < 32 ? (d & b) | (~d & c)
                     : i < 48 ? b ^ c ^ d
                              : c ^ (b | ~d);
        uint32_t k = i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i;
        uint32_t sum = a + f + word[k % 16] + sine[i];
        int s = shift[i / 16 * 4 + i % 4];
        a = d;
        d = c;
        c = b;
        b += sum << s | sum >> (32 - s);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_add(Md5 *m, const void *bytes, size_t len)
{
    static const uint32_t start[4] = { 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476 };
    if (!m->n) memcpy(m->state, start, sizeof start);
    for (const unsigned char *p = bytes, *end = p + len; p < end; p++) {
        m->block[m->n++ % 64] = *p;
        if (m->n % 64 == 0) digest_block(m->state, m->block);
    }
}

void md5_finish(Md5 *m, char hex[33])
{
    uint64_t bits = m->n * 8;
    md5_add(m, "\x80", 1);
    while (m->n % 64 != 56) md5_add(m, "", 1);
    md5_add(m, &bits, 8);
    for (int i = 0; i < 16; i++) sprintf(hex + 2 * i, "%02x", ((const unsigned char *)m->state)[i]);
}
