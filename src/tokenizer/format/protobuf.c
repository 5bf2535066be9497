/* protobuf.c - tags, variable-length integers and lengths, each checked against the end. */
#include "tokenizer/format/protobuf.h"
#include <string.h>

static Error *broken(const ProtoReader *r, const char *what)
{
    return error_new("byte %zu: %s", (size_t)(r->rest.ptr - r->start), what);
}

static void skip(ProtoReader *r, size_t n)
{
    r->rest.ptr += n;
    r->rest.len -= n;
}

static Error *read_varint(ProtoReader *r, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < r->rest.len && i < 10; i++) {
        uint8_t byte = (uint8_t)r->rest.ptr[i];
        *out |= (uint64_t)(byte & 0x7F) << 7 * i;
        if (byte < 0x80) {
            skip(r, i + 1);
            return NULL;
        }
    }
    return broken(r, r->rest.len < 10 ? "a number is cut off" : "a number is too long");
}

static Error *read_fixed(ProtoReader *r, size_t n, uint64_t *out)
{
    if (r->rest.len < n) return broken(r, "a number is cut off");
    *out = 0;
    memcpy(out, r->rest.ptr, n);
    skip(r, n);
    return NULL;
}

static Error *read_bytes(ProtoReader *r, Str *out)
{
    uint64_t n;
    TRY(read_varint(r, &n));
    if (n > r->rest.len) return broken(r, "a field reaches beyond the end");
    *out = (Str){ r->rest.ptr, (size_t)n };
    skip(r, (size_t)n);
    return NULL;
}

Error *proto_next(ProtoReader *r, ProtoField *out)
{
    *out = (ProtoField){ 0 };
    if (!r->rest.len) return NULL;
    uint64_t tag;
    ProtoReader at = *r;
    TRY(read_varint(r, &tag));
    if (tag >> 3 == 0 || tag >> 32) return broken(&at, "no field of a message");
    out->number = (uint32_t)(tag >> 3);
    out->type = (WireType)(tag & 7);
    switch (out->type) {
    case WIRE_VARINT:
        return read_varint(r, &out->value);
    case WIRE_FIXED64:
        return read_fixed(r, 8, &out->value);
    case WIRE_FIXED32:
        return read_fixed(r, 4, &out->value);
    case WIRE_BYTES:
        return read_bytes(r, &out->bytes);
    }
    return broken(&at, "a field of unknown type");
}

float proto_float(const ProtoField *f)
{
    uint32_t bits = (uint32_t)f->value;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

Error *proto_expect(const ProtoReader *r, const ProtoField *f, WireType type)
{
    if (f->type == type) return NULL;
    return error_new("byte %zu: field %u has wire type %d, expected %d",
                     (size_t)(r->rest.ptr - r->start), f->number, (int)f->type, (int)type);
}
