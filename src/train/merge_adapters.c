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

typedef struct Merging {
    Tensor weight, a, b;
    double factor, *row;
    int64_t rows, columns, rank;
} Merging;

/* Matrix `at` of a stack. */
static void merge_one(const Merging *m, int64_t at)
{
    const int64_t w = at * m->rows * m->columns, a = at * m->rank * m->columns,
                  b = at * m->rows * m->rank;
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->columns; j++) m->row[j] = 0;
        for (int64_t k = 0; k < m->rank; k++) {
            const double x = m->factor * dtype_get(m->b.dtype, m->b.data, b + i * m->rank + k);
            for (int64_t j = 0; j < m->columns; j++)
                m->row[j] += x * dtype_get(m->a.dtype, m->a.data, a + k * m->columns + j);
        }
        for (int64_t j = 0; j < m->columns; j++) {
            const int64_t to = w + i * m->columns + j;
            const double x = dtype_get(m->weight.dtype, m->weight.data, to);
            dtype_set(m->weight.dtype, m->weight.data, to, x + m->row[j]);
        }
    }
}

static Error *merge(ParamStore *s, const Stored *weight, const Stored *first, const Stored *second,
                    double factor, Arena *scratch)
{
    Merging m = { .factor = factor };
    TRY(store_numbers(s, weight, true, scratch, &m.weight));
    TRY(store_numbers(s, first, true, scratch, &m.a));
    TRY(store_numbers(s, second, true, scratch, &m.b));
    const int n = m.weight.n_dims;
    const int64_t stack = n == 3 ? m.weight.size[0] : 1;
    m.rows = m.weight.size[n - 2];
    m.columns = m.weight.size[n - 1];
    m.rank = m.a.size[n - 2];
    CHECK(tensor_count(&m.a) == stack * m.rank * m.columns);
    CHECK(tensor_count(&m.b) == stack * m.rows * m.rank);
    m.row = NEW_N(scratch, double, m.columns);
    for (int64_t i = 0; i < stack; i++) merge_one(&m, i);
    return store_put_numbers(s, weight, &m.weight);
}

Error *adapters_merge(ParamStore *s, const Adapters *by)
{
    Arena *a = arena_new();
    Error *e = store_before_change(s);
    for (int64_t i = 0; !e && i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (x->kind != VALUE_PARAM || !parameter_has_adapters(x->name)) continue;
        const Stored *first = find(a, s, x->name, ADAPTER_A),
                     *second = find(a, s, x->name, ADAPTER_B);
        if (first && second) e = merge(s, x, first, second, by->alpha / (double)by->rank, a);
        arena_clear(a);
    }
    arena_free(a);
    store_changed(s);
    return e;
}
