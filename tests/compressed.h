/* compressed.h - compressed bytes for tests. */
#ifndef TESTS_COMPRESSED_H
#define TESTS_COMPRESSED_H
#include "base/decompress.h"

/* One member or frame with a checksum; owned by the arena. */
Str compressed(Arena *a, Compression kind, Str plain);
#endif
