/* fuzz_dcp_metadata.c - whatever `.metadata` says: an error, or boxes that tile their tensors. */
#include "checkpoint/dcp_metadata.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    DcpMetadata *m;
    const Str bytes = { arena_copy(a, data, size), size };
    Error *e = dcp_metadata_parse(a, "fuzz", bytes, &m);
    for (int64_t i = 0; !e && i < m->n_objects; i++) {
        const DcpObject *o = &m->object[i];
        CHECK(o->part < m->tensors.n_parts && o->begin <= o->end);
    }
    error_free(e);
    arena_free(a);
    return 0;
}
