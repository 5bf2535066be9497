/* store_numbers.c - parameters in f32 for the host, whether they lie so or in two halves. */
#include "exec/store.h"
#include "tensor/halves.h"
#include <string.h>

Error *store_numbers(ParamStore *s, const Stored *x, bool read, Arena *a, Tensor *out)
{
    const Tensor both = stored_numbers(x);
    if (!x->low || !read) return store_view(s, &both, read, a, out);
    Tensor there;
    TRY(store_view(s, &both, true, a, &there));
    const int64_t n = tensor_count(&there);
    const uint16_t *high = there.data;
    *out = both;
    out->data = arena_alloc(a, tensor_bytes(out));
    halves_join(n, high, (const int16_t *)(high + n), out->data);
    return NULL;
}

/* In place: the numbers take as many bytes as their halves. */
static void split(const Tensor *numbers)
{
    enum { SOME = 1024 };
    float some[SOME];
    const int64_t n = tensor_count(numbers);
    Arena *a = arena_new();
    uint16_t *high = numbers->data;
    int16_t *low = arena_alloc(a, (size_t)n * sizeof *low);
    for (int64_t at = 0, now; at < n; at += now) {
        now = n - at < SOME ? n - at : SOME;
        memcpy(some, (const char *)numbers->data + at * (int64_t)sizeof *some,
               (size_t)now * sizeof *some);
        halves_split(now, some, high + at, low + at);
    }
    memcpy(high + n, low, (size_t)n * sizeof *low);
    arena_free(a);
}

Error *store_put_numbers(ParamStore *s, const Stored *x, const Tensor *numbers)
{
    const Tensor both = stored_numbers(x);
    if (x->low) split(numbers);
    return store_put(s, &both, numbers);
}
