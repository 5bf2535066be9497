/* wire.h - reads protobuf messages field by field, for tests of what writes them. */
#ifndef TESTS_MONITOR_WIRE_H
#define TESTS_MONITOR_WIRE_H
#include "base/str.h"
#include <stdint.h>

typedef struct WireField {
    int number;
    uint64_t value; /* of integers, and the bits of numbers of 4 and 8 bytes */
    Str bytes;      /* of texts and messages */
} WireField;

/* The next field of a message, of which *rest is what remains; false at its end. Fails the test
 * where the message is damaged. */
bool wire_next(Str *rest, WireField *out);
/* The first field of this number, which must be there. */
WireField wire_field(Str message, int number);
#endif
