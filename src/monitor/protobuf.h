/* protobuf.h - writing messages of Protocol Buffers: fields one after the other into a Text. */
#ifndef MONITOR_PROTOBUF_H
#define MONITOR_PROTOBUF_H
#include "base/str.h"

void protobuf_varint(Text *t, uint64_t x);
void protobuf_int(Text *t, int field, int64_t x);
void protobuf_double(Text *t, int field, double x);
void protobuf_float(Text *t, int field, float x);
void protobuf_bytes(Text *t, int field, const void *bytes, size_t len);
void protobuf_string(Text *t, int field, const char *s);
/* A message that is finished, as a field of another one. */
void protobuf_message(Text *t, int field, const Text *message);
#endif
