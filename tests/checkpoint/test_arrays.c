/* test_arrays.c - dataset.safetensors: which arrays its samples have. */
#include "checkpoint/safetensors.h"
#include "components.h"
#include "data/data.h"
#include "test.h"
#include <math.h>
#include <string.h>

static const double numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };

/* n rows of arrays of `size` numbers, 0 and up. */
static NamedTensor rows(Arena *a, const char *name, Dtype t, int64_t n, int64_t size)
{
    NamedTensor x = { name, { .dtype = t, .n_dims = size ? 2 : 1, .size = { n, size } } };
    x.tensor.data = arena_alloc(a, tensor_bytes(&x.tensor));
    for (int64_t i = 0; i < tensor_count(&x.tensor); i++)
        dtype_set(t, x.tensor.data, i, numbers[i]);
    return x;
}

static Error *open_arrays(Arena *a, const NamedTensor *x, int64_t n, const char *keys,
                          Dataset **out)
{
    const char *path = path_join(a, test_folder(), "x.safetensors"),
               *config = path_join(a, test_folder(), "x.yaml");
    const char *yaml = arena_printf(a,
                                    "d: {component_key: dataset, variant_key: safetensors, config: "
                                    "{raw_data_path: %s%s%s}}\n",
                                    path, keys ? ", sample_keys: " : "", keys ? keys : "");
    assert_no_error(safetensors_write(path, x, n));
    assert_no_error(file_write(config, yaml, strlen(yaml)));
    return component_from_file(a, config, (StringList){ 0 }, "d", "dataset", (void **)out);
}

TEST(samples_of_arrays_have_floats_and_ids_of_any_size)
{
    static const Dtype in[] = { F64, F32, BF16, F16, I64, I32, I16, I8, U16, U8, BOOL },
                       out[] = { F32, F32, F32, F32, I32, I32, I32, I32, U16, U8, I32 };
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        Arena *a = arena_new();
        Dataset *d;
        Sample s;
        const bool is_bit = in[i] == BOOL;
        const NamedTensor x[] = { rows(a, "images", in[i], is_bit ? 2 : 4, is_bit ? 1 : 3),
                                  rows(a, "labels", U8, is_bit ? 2 : 4, 0) };
        assert_no_error(open_arrays(a, x, 2, NULL, &d));
        assert_int_equal(d->count(d), is_bit ? 2 : 4);
        assert_no_error(d->get(d, d->count(d) - 1, a, &s));
        assert_int_equal(s.n, 2);
        const Tensor *image = sample_find(&s, "images"), *label = sample_find(&s, "labels");
        assert_int_equal(image->dtype, out[i]);
        assert_int_equal(image->n_dims, 1);
        assert_int_equal(image->size[0], is_bit ? 1 : 3);
        for (int k = 0; k < image->size[0]; k++)
            assert_true(dtype_get(image->dtype, image->data, k) == (is_bit ? 1 : 9 + k));
        assert_int_equal(label->n_dims, 0);
        assert_true(dtype_get(label->dtype, label->data, 0) == (double)(d->count(d) - 1));
        arena_free(a);
    }
}

TEST(keys_choose_among_the_arrays_of_a_file)
{
    Arena *a = arena_new();
    Dataset *d;
    Sample s;
    Text where = { 0 };
    const NamedTensor x[] = { rows(a, "images", F32, 4, 3), rows(a, "other", F32, 3, 1),
                              rows(a, "ids", I32, 4, 2) };
    assert_no_error(open_arrays(a, x, 3, "[ids, images]", &d));
    assert_no_error(d->get(d, 2, a, &s));
    assert_int_equal(s.n, 2);
    assert_string_equal(s.item[0].name, "ids");
    assert_true(dtype_get(I32, s.item[0].tensor.data, 1) == 5);
    d->describe(d, 2, &where);
    assert_contains(where.ptr, "x.safetensors: sample 2");
    text_free(&where);
    arena_free(a);
}

TEST(arrays_that_make_no_samples_are_refused_by_name)
{
    Arena *a = arena_new();
    Dataset *d;
    Sample s;
    NamedTensor x[MAX_ITEMS + 1];
    x[0] = rows(a, "images", F32, 4, 3);
    x[1] = rows(a, "short", F32, 3, 1);
    assert_error_has(open_arrays(a, x, 2, NULL, &d), "'images' has 4 samples, 'short' 3");
    assert_error_has(open_arrays(a, x, 2, "[images, none]", &d), "x.safetensors has no 'none'");
    assert_error_has(open_arrays(a, x, 0, NULL, &d), "has no arrays");
    x[1] = rows(a, "number", F32, 1, 1);
    x[1].tensor.n_dims = 0;
    assert_error_has(open_arrays(a, x, 2, NULL, &d), "'number' is one number, no array");
    for (int i = 0; i <= MAX_ITEMS; i++) x[i] = rows(a, arena_printf(a, "x%d", i), F32, 2, 1);
    assert_no_error(open_arrays(a, x, MAX_ITEMS, NULL, &d));
    assert_error_has(open_arrays(a, x, MAX_ITEMS + 1, NULL, &d), "more than 8 arrays");
    x[0] = rows(a, "ids", I64, 2, 2);
    dtype_set(I64, x[0].tensor.data, 1, 2147483647.0);
    dtype_set(I64, x[0].tensor.data, 3, 2147483648.0);
    assert_no_error(open_arrays(a, x, 1, NULL, &d));
    assert_no_error(d->get(d, 0, a, &s));
    assert_error_has(d->get(d, 1, a, &s), "'ids' of sample 1 has 2147483648, which is no id");
    arena_free(a);
}
