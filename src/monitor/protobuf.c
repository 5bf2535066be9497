/* protobuf.c - the wire format of Protocol Buffers.
 * https://protobuf.dev/programming-guides/encoding
 */
#include "monitor/protobuf.h"
#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

void protobuf_varint(Text *t, uint64_t x)
{
    for (; x >= 0x80; x >>= 7) text_putc(t, (char)(x | 0x80));
    text_putc(t, (char)x);
}

static void tag(Text *t, int field, int type)
{
    protobuf_varint(t, (uint64_t)field << 3 | (uint64_t)type);
}

void protobuf_int(Text *t, int field, int64_t x)
{
    tag(t, field, VARINT);
    protobuf_varint(t, (uint64_t)x);
}

void protobuf_double(Text *t, int field, double x)
{
    tag(t, field, FIXED64);
    text_add(t, &x, sizeof x); /* little-endian, as all machines that this runs on */
}

void protobuf_float(Text *t, int field, float x)
{
    tag(t, field, FIXED32);
    text_add(t, &x, sizeof x);
}

void protobuf_bytes(Text *t, int field, const void *bytes, size_t len)
{
    tag(t, field, LENGTH);
    protobuf_varint(t, len);
    if (len) text_add(t, bytes, len);
}

void protobuf_string(Text *t, int field, const char *s)
{
    protobuf_bytes(t, field, s, strlen(s));
}

void protobuf_message(Text *t, int field, const Text *message)
{
    protobuf_bytes(t, field, message->ptr, message->len);
}
