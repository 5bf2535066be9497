/* fuzz.h - what every fuzz target needs. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H
#include "base/arena.h"
#include "base/error.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Called by libFuzzer with one input; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file in memory with this content, for readers that want a path. Close `*fd` when done. */
static inline const char *fuzz_file(Arena *a, const uint8_t *data, size_t size, int *fd)
{
    *fd = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(*fd >= 0);
    CHECK(write(*fd, data, size) == (ssize_t)size);
    return arena_printf(a, "/proc/self/fd/%d", *fd);
}
#endif
