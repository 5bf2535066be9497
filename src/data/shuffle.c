/* shuffle.c - shuffles whole files. */
#include "data/shuffle.h"
#include <sys/random.h>

int64_t random_seed(void)
{
    uint32_t seed;
    CHECK(getrandom(&seed, sizeof seed, 0) == sizeof seed);
    return seed;
}

static Error *shuffle(Arena *a, PieceFiles *files, const char *target, int64_t seed,
                      ShuffleSummary *out)
{
    Pieces p;
    TRY(pieces_new(a, target, piece_file_count(files, 0), &p));
    TRY(piece_file_get(files, 0, 0, p.n, p.item, &p.n));
    pieces_shuffle_python(&p, seed);
    *out = (ShuffleSummary){ p.n, pieces_bytes(&p) };
    const char *order = arena_printf(a, "seed: %lld\n", (long long)seed);
    return piece_files_write(files, target, order, &p, "shuffling");
}

Error *shuffle_file(PieceFormat format, const char *source, const char *target, int64_t seed,
                    BadLines *bad, ShuffleSummary *out)
{
    Arena *a = arena_new();
    PieceFiles *files;
    Error *e = piece_files_open(a, format, &source, 1, bad, &files);
    if (!e) e = shuffle(a, files, target, seed, out);
    arena_free(a);
    return e;
}
