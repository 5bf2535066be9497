/* wire.c - reads protobuf messages field by field. */
#include "monitor/wire.h"
#include "test.h"
#include <string.h>

static uint64_t varint(Str *rest)
{
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(rest->len > 0 && shift < 64);
        const unsigned char byte = (unsigned char)*rest->ptr;
        rest->ptr++, rest->len--;
        x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return x;
    }
}

static Str take(Str *rest, uint64_t n)
{
    assert_true(n <= rest->len);
    const Str taken = { rest->ptr, n };
    rest->ptr += n, rest->len -= n;
    return taken;
}

bool wire_next(Str *rest, WireField *out)
{
    enum { VARINT = 0, EIGHT = 1, BYTES = 2, FOUR = 5 };
    if (!rest->len) return false;
    const uint64_t tag = varint(rest);
    *out = (WireField){ .number = (int)(tag >> 3) };
    assert_true(out->number > 0);
    switch (tag & 7) {
    case VARINT:
        out->value = varint(rest);
        break;
    case EIGHT:
        memcpy(&out->value, take(rest, 8).ptr, 8);
        break;
    case FOUR:
        memcpy(&out->value, take(rest, 4).ptr, 4);
        break;
    case BYTES:
        out->bytes = take(rest, varint(rest));
        break;
    default:
        fail_msg("wire type %d", (int)(tag & 7));
    }
    return true;
}

WireField wire_field(Str message, int number)
{
    WireField f;
    while (wire_next(&message, &f))
        if (f.number == number) return f;
    fail_msg("no field %d", number);
    return f;
}
