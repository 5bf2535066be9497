/* protobuf.h - reads the fields of a message in the wire format of Protocol Buffers. */
#ifndef TOKENIZER_FORMAT_PROTOBUF_H
#define TOKENIZER_FORMAT_PROTOBUF_H
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

/* Groups, which nobody writes any more, are refused. */
typedef enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 } WireType;

typedef struct ProtoField {
    uint32_t number;
    WireType type;
    uint64_t value; /* of numbers */
    Str bytes;      /* of WIRE_BYTES: a view of the message */
} ProtoField;

/* A message that is being read; `start` gives the offsets in errors. */
typedef struct ProtoReader {
    const char *start;
    Str rest;
} ProtoReader;

/* Reads the next field; *out has number 0 at the end. Errors name the byte. */
Error *proto_next(ProtoReader *r, ProtoField *out);
/* The field's value as a float; its wire type must be WIRE_FIXED32. */
float proto_float(const ProtoField *f);
/* Refuses a known field that has another wire type. */
Error *proto_expect(const ProtoReader *r, const ProtoField *f, WireType type);
#endif
