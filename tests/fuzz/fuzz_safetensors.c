/* fuzz_safetensors.c - whatever the bytes: an error, or tensors whose numbers all lie inside the
 * file. */
#include "checkpoint/safetensors.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    const uint8_t *bytes = arena_copy(a, data, size); /* aligned, as a mapping is */
    Safetensors *f;
    Error *e = safetensors_parse(a, "fuzz", (Str){ (const char *)bytes, size }, &f);
    if (!e) {
        unsigned sum = 0;
        for (int64_t i = 0; i < f->n; i++) {
            const Tensor *t = &f->tensor[i].tensor;
            CHECK(safetensors_find(f, f->tensor[i].name) == t);
            for (size_t k = 0; k < tensor_bytes(t); k++) sum += ((const uint8_t *)t->data)[k];
        }
        volatile unsigned used = sum;
        (void)used;
    }
    error_free(e);
    arena_free(a);
    return 0;
}
