/* fuzz_torch_file.c - whatever the bytes of a .bin or of an entry of DCP: an error, or tensors
 * whose numbers all lie inside it. */
#include "checkpoint/torch_read.h"
#include "fuzz.h"

static void read_all(Arena *a, CheckpointReader *r)
{
    for (int64_t i = 0; i < r->n_entries; i++) {
        const CheckpointEntry *t = &r->entry[i];
        const Box whole = box_whole(t->n_dims, t->size);
        int64_t bytes;
        CHECK(dense_bytes(t->dtype, t->n_dims, t->size, &bytes));
        error_free(r->get(r, i, &whole, arena_alloc(a, (size_t)bytes)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    int fd;
    const char *path = fuzz_file(a, data, size, &fd);
    CheckpointReader *r;
    Error *e = torch_open(a, &path, 1, &r);
    if (!e) read_all(a, r);
    error_free(e);
    arena_free(a);
    close(fd);
    return 0;
}
