/* algorithm_record.h - the algorithms of a run's products, in a file of the run: who goes on with
 * it computes as it did, whatever a library would choose now. */
#ifndef DEVICE_CUDA_ALGORITHM_RECORD_H
#define DEVICE_CUDA_ALGORITHM_RECORD_H
#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>

enum { ALGORITHM_KEY = 512 }; /* bytes of a key, with its end */

typedef struct AlgorithmRecord AlgorithmRecord;

/* Reads the file, which is made if it is not there. Lines that are not whole are left out. */
Error *algorithm_record_open(Arena *a, const char *path, AlgorithmRecord **out);
/* NULL: nothing. The rest is the arena's. */
void algorithm_record_close(AlgorithmRecord *r);
/* What the first line of this key has, if it has so many bytes. */
bool algorithm_record_find(const AlgorithmRecord *r, const char *key, void *out, size_t bytes);
/* Bytes as 2 * bytes digits and an end; and back, if there are so many. */
void algorithm_hex(const void *data, size_t bytes, char *out);
bool algorithm_bytes(const char *hex, void *out, size_t bytes);
/* Adds a line; where that is impossible, later runs choose anew. */
void algorithm_record_add(AlgorithmRecord *r, const char *key, const void *data, size_t bytes);
#endif
