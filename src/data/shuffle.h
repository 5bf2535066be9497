/* shuffle.h - documents of a .pbin file, or lines of a text, in a random order; and chunks:
 * a share of each of several files, shuffled together.
 *
 * The orders are those of the original: of Python's random for whole files, of NumPy for chunks.
 * Memory does not grow with the files: lists of pieces lie on the disk of the output (16 bytes per
 * document or line). */
#ifndef DATA_SHUFFLE_H
#define DATA_SHUFFLE_H
#include "data/piece_files.h"

/* What was written. `bad`, here and below, is for lines that are too long; NULL: the first one is
 * an error. */
typedef struct ShuffleSummary {
    int64_t n_pieces, n_bytes; /* documents or lines; their tokens or text */
} ShuffleSummary;

Error *shuffle_file(PieceFormat format, const char *source, const char *target, int64_t seed,
                    BadLines *bad, ShuffleSummary *out);

/* Chunk `id` of `n_chunks`: of each source the documents or lines of chunk_range. */
typedef struct Chunk {
    const char *const *source;
    int64_t n_sources;
    int64_t id, n_chunks;
    uint64_t seed; /* of chunk_seed, or any */
    BadLines *bad;
} Chunk;

Error *chunk_files(PieceFormat format, const Chunk *c, const char *target, ShuffleSummary *out);
/* The share [*from, *to) of chunk id in n items: sizes differ by one at most, the first n mod
 * n_chunks chunks are the larger ones. */
void chunk_range(int64_t n, int64_t n_chunks, int64_t id, int64_t *from, int64_t *to);
/* The sum of the SHA-256 digests of both numbers, in decimal, modulo 2^32 - 1. */
uint64_t chunk_seed(int64_t global_seed, int64_t id);
/* A seed for whoever gave none, from the system's random numbers; below 2^32. */
int64_t random_seed(void);
#endif
