/* test_store_fill.c - initial numbers do not depend on where a device keeps them. */
#include "exec/store.h"
#include "ops/rope_scaled.h"
#include "tensor/halves.h"
#include "test.h"

/* More than three slabs of numbers, less than one, and one in halves. */
enum { MANY = (12 << 20) + 4097, FEW = 1000, SOME = (4 << 20) + 33 };

static Value *param(Graph *g, const char *name, int64_t n, Init init)
{
    const Dim d = { .size = n };
    Value *v = graph_param(g, name, 1, &d);
    v->init = init;
    return v;
}

static ParamStore *filled(Arena *a, Device *d)
{
    Graph *g = graph_new(a);
    const Dim some = { .size = SOME };
    ParamStore *s = store_new(d);
    param(g, "many", MANY, (Init){ .kind = INIT_NORMAL, .mean = 1, .std = 0.5 });
    param(g, "few", FEW, (Init){ .kind = INIT_UNIFORM, .low = -1, .high = 2 });
    param(g, "ones", FEW, (Init){ .kind = INIT_ONES });
    param(g, "zeros", FEW, (Init){ .kind = INIT_ZEROS });
    Value *halves = param(g, "halves", SOME, (Init){ .kind = INIT_NORMAL, .std = 0.02 });
    halves->dtype = BF16;
    halves->low = graph_state(g, "low.halves", I16, 1, &some);
    halves->low->is_low = true;
    assert_no_error(store_add(s, g));
    assert_no_error(store_allocate(s));
    assert_no_error(store_initialize(s, 7));
    return s;
}

static const float *numbers(ParamStore *s, const char *name, Arena *a)
{
    Tensor t;
    assert_no_error(store_numbers(s, store_find(s, name), true, a, &t));
    return t.data;
}

TEST(initial_numbers_are_the_same_in_memory_of_a_device)
{
    static const struct {
        const char *name;
        int64_t n;
    } all[] = {
        { "many", MANY }, { "few", FEW }, { "ones", FEW }, { "zeros", FEW }, { "halves", SOME }
    };
    Arena *a = arena_new();
    Device *host = cpu_device_new(2), *apart = fenced_device_new(2);
    ParamStore *x = filled(a, host), *y = filled(a, apart);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_memory_equal(numbers(x, all[i].name, a), numbers(y, all[i].name, a),
                            (size_t)all[i].n * sizeof(float));
    const float *many = numbers(y, "many", a);
    double sum = 0;
    for (int64_t i = 0; i < MANY; i++) sum += many[i];
    assert_close(sum / MANY, 1, 1e-3);
    assert_true(many[MANY - 1] != many[0]);
    assert_true(numbers(y, "ones", a)[FEW - 1] == 1 && numbers(y, "zeros", a)[0] == 0);
    store_free(x);
    store_free(y);
    host->free(host);
    apart->free(apart);
    arena_free(a);
}

/* The same numbers, but for how frequencies are scaled, and by what. */
TEST(derived_values_are_told_apart_by_all_their_attributes)
{
    double few[] = { 1, 2 }, other[] = { 1, 3 };
    const RopeScaling of[] = {
        { .base = 100, .kind = ROPE_LINEAR, .factor = 2, .original = 8, .attention = 1 },
        { .base = 100, .kind = ROPE_DYNAMIC, .factor = 2, .original = 8, .attention = 1 },
        { .base = 100,
          .kind = ROPE_LONG,
          .original = 8,
          .short_factors = { few, 2 },
          .long_factors = { few, 2 } },
        { .base = 100,
          .kind = ROPE_LONG,
          .original = 8,
          .short_factors = { few, 2 },
          .long_factors = { other, 2 } },
        { .base = 100,
          .kind = ROPE_LONG,
          .original = 8,
          .short_factors = { other, 2 },
          .long_factors = { few, 2 } },
    };
    enum { N = sizeof of / sizeof *of };
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    const char *name[N];
    for (int i = 0; i < N; i++) {
        name[i] = store_derived_name(a, rope_scaled_table(g, F32, 4, 4, &of[i], false));
        for (int k = 0; k < i; k++) assert_string_not_equal(name[i], name[k]);
    }
    assert_string_equal(store_derived_name(a, rope_scaled_table(g, F32, 4, 4, &of[3], false)),
                        name[3]);
    arena_free(a);
}
