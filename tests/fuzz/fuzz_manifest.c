/* fuzz_manifest.c - whatever a manifest says: an error, or boxes that tile their tensors inside
 * their files. */
#include "checkpoint/manifest.h"
#include "fuzz.h"
#include <string.h>

/* What was accepted prints and parses back to the same text. */
static void check_round_trip(Arena *a, const Manifest *m)
{
    Text once = { 0 }, twice = { 0 };
    Manifest *again;
    manifest_print(m, &once);
    Error *e = manifest_parse(a, "fuzz", (Str){ once.ptr, once.len }, &again);
    CHECK(e == NULL);
    manifest_print(again, &twice);
    CHECK(once.len == twice.len && !memcmp(once.ptr, twice.ptr, once.len));
    text_free(&once);
    text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    Manifest *m;
    error_free(
        manifest_parse(a, "fuzz", (Str){ (const char *)data, size }, &m)); /* the checksum itself */
    Text sealed = { 0 };
    text_add(&sealed, data, size);
    manifest_seal(&sealed);
    Error *e = manifest_parse(a, "fuzz", (Str){ sealed.ptr, sealed.len }, &m);
    if (!e) check_round_trip(a, m);
    error_free(e);
    text_free(&sealed);
    arena_free(a);
    return 0;
}
