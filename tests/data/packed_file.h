/* packed_file.h - small .pbin files for tests. */
#ifndef TESTS_DATA_PACKED_FILE_H
#define TESTS_DATA_PACKED_FILE_H
#include "base/arena.h"

/* A file `name` in the test's folder whose documents of these lengths hold the tokens first, first
 * + 1,
 * ... */
const char *packed_file(Arena *a, const char *name, int token_bytes, uint32_t first,
                        const int64_t *length, int64_t n);
#endif
