/* pieces.h - documents or lines of mapped files, in the order in which they will be written.
 *
 * The list lies in a temporary file beside the output (16 bytes a piece), so that memory need not
 * grow with the data. */
#ifndef DATA_PIECES_H
#define DATA_PIECES_H
#include "base/error.h"
#include "base/str.h"
#include "data/resumable.h"
#include <stdint.h>

typedef struct Pieces {
    Str *item;
    int64_t n;
} Pieces;

/* Room for n pieces; `beside` names the output. Valid as long as the arena. */
Error *pieces_new(Arena *a, const char *beside, int64_t n, Pieces *out);
/* The sum of their lengths. */
int64_t pieces_bytes(const Pieces *p);
/* As random.Random(seed).shuffle of Python, which ignores the seed's sign. */
void pieces_shuffle_python(Pieces *p, int64_t seed);
/* As numpy.random.default_rng(seed).shuffle of a list. */
void pieces_shuffle_numpy(Pieces *p, uint64_t seed);
/* Writes the pieces one after the other to the first stream, after what an earlier run wrote of
 * them; `what` names the work in the progress shown ("shuffling"). All cores copy, each with a
 * buffer of 1 MiB. Pieces of files that are not in memory are asked for ahead. */
Error *pieces_write(const Pieces *p, Resumable *to, const char *what);
#endif
