/* waiting_read.h - reads from where somebody may still type or write. */
#ifndef BASE_WAITING_READ_H
#define BASE_WAITING_READ_H
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* Up to `most` bytes; n is 0 at the end. Not `some`: nothing came within a tenth of a second, to be
 * called again. An error where a stop was requested; `name` is the input's. So a stop waits neither
 * for somebody who types nor for the writer of a pipe. */
Error *waiting_read(int fd, const char *name, void *to, size_t most, size_t *n, bool *some);
#endif
