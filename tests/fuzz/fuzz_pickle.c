/* fuzz_pickle.c - whatever the bytes: an error, or a value of plain values and listed names. */
#include "checkpoint/pickle.h"
#include "fuzz.h"

static const char *const allowed[] = { "torch Size", "collections OrderedDict",
                                       "torch._utils _rebuild_tensor_v2", NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    const Str bytes = { arena_copy(a, data, size), size };
    const Pickle *p;
    Text json = { 0 };
    Error *e = pickle_read(a, "fuzz", bytes, allowed, &p);
    if (!e) error_free(pickle_json(p, &json));
    error_free(e);
    text_free(&json);
    arena_free(a);
    return 0;
}
