/* merge_adapters.c - W + alpha / rank B A, summed in double. */
#include "train/merge_adapters.h"
#include "models/adapter_names.h"
#include "passes/average.h"

static const Stored *find(Arena *a, const ParamStore *s, const char *weight, const char *which)
{
    const char *name = adapter_name(a, weight, which);
    const Stored *x = store_find(s, name);
    if (!x) x = store_find(s, arena_printf(a, AVERAGE "%s", name));
    return x && x->kind == VALUE_PARAM ? x : NULL;
}

static Error *merge(ParamStore *s, const Stored *weight, const Stored *first, const Stored *second,
                    double factor, Arena *scratch)
{
    Tensor w, a, b;
    TRY(store_view(s, &weight->tensor, true, scratch, &w));
    TRY(store_view(s, &first->tensor, true, scratch, &a));
    TRY(store_view(s, &second->tensor, true, scratch, &b));
    const int64_t rows = w.size[0], columns = w.size[1], rank = a.size[0];
    CHECK(a.size[1] == columns && b.size[0] == rows && b.size[1] == rank);
    double *row = NEW_N(scratch, double, columns);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) row[j] = 0;
        for (int64_t k = 0; k < rank; k++) {
            const double x = factor * dtype_get(b.dtype, b.data, i * rank + k);
            for (int64_t j = 0; j < columns; j++)
                row[j] += x * dtype_get(a.dtype, a.data, k * columns + j);
        }
        for (int64_t j = 0; j < columns; j++) {
            const int64_t at = i * columns + j;
            dtype_set(w.dtype, w.data, at, dtype_get(w.dtype, w.data, at) + row[j]);
        }
    }
    return store_put(s, &weight->tensor, &w);
}

Error *adapters_merge(ParamStore *s, const Adapters *by)
{
    Arena *a = arena_new();
    Error *e = NULL;
    for (int64_t i = 0; !e && i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (x->kind != VALUE_PARAM || parameter_is_adapter(x->name)) continue;
        const Stored *first = find(a, s, x->name, ADAPTER_A),
                     *second = find(a, s, x->name, ADAPTER_B);
        if (first && second) e = merge(s, x, first, second, by->alpha / (double)by->rank, a);
        arena_clear(a);
    }
    arena_free(a);
    store_changed(s);
    return e;
}
