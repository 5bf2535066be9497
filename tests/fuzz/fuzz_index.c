/* fuzz_index.c - any bytes as an index: an error, or entries that are written and read back equal.
 */
#include "data/index.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

static void check_round_trip(Arena *a, const IndexEntry *entry, int64_t n)
{
    char *bytes;
    size_t len;
    FILE *f = open_memstream(&bytes, &len);
    IndexWriter w;
    index_begin(&w, f);
    for (int64_t i = 0; i < n; i++) index_add(&w, entry[i].offset, entry[i].length);
    index_end(&w);
    fclose(f);
    IndexReader *r;
    Error *e = index_open(a, (Str){ bytes, len }, "fuzz", 0, &r);
    CHECK(e == NULL && index_count(r) == n);
    CHECK(!memcmp(index_read_all(a, r), entry, sizeof *entry * (size_t)n));
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    IndexReader *r;
    Error *e = index_open(a, (Str){ (const char *)data, size }, "fuzz", 0, &r);
    if (!e) {
        int64_t n = index_count(r);
        check_round_trip(a, index_read_all(a, r), n);
    }
    error_free(e);
    arena_free(a);
    return 0;
}
