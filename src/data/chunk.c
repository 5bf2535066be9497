/* chunk.c - a share of each of several files, shuffled together. */
#include "base/sha256.h"
#include "data/shuffle.h"
#include <stdio.h>
#include <string.h>

void chunk_range(int64_t n, int64_t n_chunks, int64_t id, int64_t *from, int64_t *to)
{
    int64_t size = n / n_chunks, n_larger = n % n_chunks;
    *from = size * id + (id < n_larger ? id : n_larger);
    *to = *from + size + (id < n_larger);
}

/* The digest of a number's decimal digits, as a 256-bit number modulo m. */
static uint64_t digest_modulo(int64_t number, uint64_t m)
{
    char digits[24];
    uint8_t digest[32];
    Sha256 h;
    sha256_start(&h);
    sha256_add(&h, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number));
    sha256_finish(&h, digest);
    uint64_t rest = 0;
    for (int i = 0; i < 32; i++) rest = (rest << 8 | digest[i]) % m;
    return rest;
}

uint64_t chunk_seed(int64_t global_seed, int64_t id)
{
    const uint64_t m = UINT32_MAX;
    return (digest_modulo(global_seed, m) + digest_modulo(id, m)) % m;
}

static Error *collect(Arena *a, const Chunk *c, PieceFiles *files, const char *target, Pieces *out)
{
    int64_t n = 0, from, to;
    for (int64_t i = 0; i < c->n_sources; i++) {
        chunk_range(piece_file_count(files, i), c->n_chunks, c->id, &from, &to);
        n += to - from;
    }
    if (!n)
        return error_new("Chunk %lld is empty: %lld chunks of %lld files leave no document for it",
                         (long long)c->id, (long long)c->n_chunks, (long long)c->n_sources);
    TRY(pieces_new(a, target, n, out));
    out->n = 0;
    for (int64_t i = 0; i < c->n_sources; i++, out->n += n) {
        chunk_range(piece_file_count(files, i), c->n_chunks, c->id, &from, &to);
        TRY(piece_file_get(files, i, from, to, out->item + out->n, &n));
    }
    return NULL;
}

static Error *check(const Chunk *c)
{
    if (c->n_chunks < 1) return error_new("Number of chunks must be greater than 0.");
    if (c->id < 0 || c->id >= c->n_chunks)
        return error_new("Chunk ID must be less than the number of chunks. (chunk %lld of %lld; "
                         "the first one is 0)",
                         (long long)c->id, (long long)c->n_chunks);
    return NULL;
}

static Error *write_chunk(Arena *a, const Chunk *c, PieceFormat format, const char *target,
                          ShuffleSummary *out)
{
    PieceFiles *files;
    Pieces p;
    TRY(check(c));
    TRY(piece_files_open(a, format, c->source, c->n_sources, c->bad, &files));
    TRY(collect(a, c, files, target, &p));
    pieces_shuffle_numpy(&p, c->seed);
    *out = (ShuffleSummary){ p.n, pieces_bytes(&p) };
    const char *order = arena_printf(a, "chunk: %lld of %lld\nseed: %llu\n", (long long)c->id,
                                     (long long)c->n_chunks, (unsigned long long)c->seed);
    return piece_files_write(files, target, order, &p, "writing the chunk");
}

Error *chunk_files(PieceFormat format, const Chunk *c, const char *target, ShuffleSummary *out)
{
    Arena *a = arena_new();
    Error *e = write_chunk(a, c, format, target, out);
    arena_free(a);
    return e;
}
