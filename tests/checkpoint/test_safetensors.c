/* test_safetensors.c - what the writer writes the reader reads; broken headers are refused by name.
 */
#include "checkpoint/safetensors.h"
#include "test.h"
#include <string.h>
#include <unistd.h>

/* A file with this header and `n_data` bytes of numbers. */
static Str file_of(Arena *a, const char *header, size_t n_data)
{
    size_t len = strlen(header);
    char *bytes = arena_alloc(a, 8 + len + n_data);
    for (int i = 0; i < 8; i++) bytes[i] = (char)(len >> 8 * i);
    memcpy(bytes + 8, header, len);
    return (Str){ bytes, 8 + len + n_data };
}

static void assert_refused(const char *header, size_t n_data, const char *why)
{
    Arena *a = arena_new();
    Safetensors *f;
    Error *e = safetensors_parse(a, "some/file", file_of(a, header, n_data), &f);
    if (!e) fail_msg("accepted: %s", header);
    assert_contains(error_text(e), "some/file");
    assert_error_has(e, why);
    arena_free(a);
}

TEST(safetensors_broken_headers_are_refused_by_name)
{
    assert_refused("[1]", 0, "does not begin with");
    assert_refused("{\"a\":1", 0, "bad header");
    assert_refused("{\"a\":1}", 0, "tensor \"a\"");
    assert_refused("{\"a\":{\"shape\":[],\"data_offsets\":[0,1]}}", 1, "\"dtype\" is missing");
    assert_refused("{\"a\":{\"dtype\":\"F7\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
                   "unknown dtype \"F7\"");
    assert_refused("{\"a\":{\"dtype\":\"f32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4,
                   "unknown dtype \"f32\"");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "\"shape\" is missing");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1.5],\"data_offsets\":[0,1]}}", 1,
                   "shape[0]");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[2,-1],\"data_offsets\":[0,1]}}", 1,
                   "shape[1]");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
                   "7 dimensions");
    assert_refused(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
        "too large");
    assert_refused(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}}", 0,
        "too large");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "\"data_offsets\" is missing");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 1,
                   "\"data_offsets\" is missing");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", 1,
                   "is no range");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", 1,
                   "is no range");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "need 8");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                   "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                   2, "duplicate");
    assert_refused("{\"__metadata__\":{\"a\":1}}", 0, "__metadata__");
}

TEST(safetensors_of_exponents_are_read_as_bytes)
{
    Arena *a = arena_new();
    Safetensors *f;
    const char *header = "{\"a\":{\"dtype\":\"F8_E8M0\",\"shape\":[2,1],\"data_offsets\":[0,2]}}";
    assert_no_error(safetensors_parse(a, "some/file", file_of(a, header, 2), &f));
    assert_true(safetensors_find(f, "a")->dtype == U8);
    arena_free(a);
}

TEST(safetensors_must_tile_the_file)
{
    const char *two = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                      "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[%d,%d]}}";
    char header[200];
    int len = snprintf(header, sizeof header, two, 4, 6);
    Arena *a = arena_new();
    Safetensors *f;
    assert_no_error(safetensors_parse(a, "x", file_of(a, header, 6), &f));
    assert_int_equal(f->n, 2);
    char where[100];
    snprintf(where, sizeof where, "tensor \"b\" ends at byte %d", 8 + len + 6);
    assert_refused(header, 5, where);
    assert_refused(header, 7, "1 bytes too many");
    snprintf(header, sizeof header, two, 3, 5);
    snprintf(where, sizeof where, "tensor \"b\" at byte %d overlaps tensor \"a\"", 8 + len + 3);
    assert_refused(header, 5, where);
    snprintf(header, sizeof header, two, 5, 7);
    assert_refused(header, 7, "1 unused bytes");
    arena_free(a);
}

TEST(safetensors_header_length_is_checked)
{
    Arena *a = arena_new();
    Safetensors *f;
    assert_error_has(safetensors_parse(a, "x", (Str){ "1234567", 7 }, &f), "too few");
    Str bytes = file_of(a, "{}", 0);
    assert_no_error(safetensors_parse(a, "x", bytes, &f));
    assert_int_equal(f->n, 0);
    ((char *)bytes.ptr)[0] = 3;
    assert_error_has(safetensors_parse(a, "x", bytes, &f), "claims 3 bytes");
    ((char *)bytes.ptr)[7] = (char)0xff;
    assert_error_has(safetensors_parse(a, "x", bytes, &f), "claims");
    arena_free(a);
}

/* A header of odd length, as old writers made it, leaves the numbers at odd addresses. */
TEST(safetensors_unaligned_numbers_are_read)
{
    Arena *a = arena_new();
    for (int pad = 0; pad < 8; pad++) {
        char header[100];
        snprintf(header, sizeof header,
                 "{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]}}%.*s", pad,
                 "        ");
        Str bytes = file_of(a, header, 16);
        double x[2] = { 1.5, -2.25 };
        memcpy((char *)bytes.ptr + bytes.len - 16, x, 16);
        Safetensors *f;
        assert_no_error(safetensors_parse(a, "x", bytes, &f));
        const Tensor *t = safetensors_find(f, "a");
        assert_int_equal((uintptr_t)t->data % 8, 0);
        assert_memory_equal(t->data, x, 16);
    }
    arena_free(a);
}

TEST(safetensors_of_every_dtype_come_back)
{
    Arena *a = arena_new();
    NamedTensor t[N_DTYPES + 2];
    for (int i = 0; i < N_DTYPES; i++) {
        Dtype d;
        assert_true(safetensors_dtype_of_name(safetensors_dtype_name((Dtype)i), &d) &&
                    d == (Dtype)i);
        t[i] = (NamedTensor){ arena_printf(a, "t \"%s\" \xc3\xa9", dtype_name(d)),
                              { .dtype = d, .n_dims = 2, .size = { 3, i } } };
        t[i].tensor.data = arena_alloc(a, 1000);
        for (size_t k = 0; k < tensor_bytes(&t[i].tensor); k++)
            ((uint8_t *)t[i].tensor.data)[k] = (uint8_t)(k + 7 * i);
    }
    float scalar = 0.5f;
    t[N_DTYPES] = (NamedTensor){ "scalar", { .data = &scalar, .dtype = F32 } };
    t[N_DTYPES + 1] = (NamedTensor){ "empty", { .dtype = I64, .n_dims = 3, .size = { 5, 0, 2 } } };
    const char *path = path_join(a, test_folder(), "all.safetensors");
    assert_no_error(safetensors_write(path, t, N_DTYPES + 2));
    Safetensors *f;
    assert_no_error(safetensors_open(a, path, &f));
    assert_int_equal(f->n, N_DTYPES + 2);
    for (int i = 0; i < N_DTYPES + 2; i++) {
        const Tensor *got = safetensors_find(f, t[i].name), *put = &t[i].tensor;
        assert_non_null(got);
        assert_int_equal(got->dtype, put->dtype);
        assert_int_equal(got->n_dims, put->n_dims);
        assert_memory_equal(got->size, put->size, sizeof put->size);
        if (tensor_bytes(put)) assert_memory_equal(got->data, put->data, tensor_bytes(put));
    }
    assert_null(safetensors_find(f, "other"));
    arena_free(a);
}

TEST(safetensors_pieces_come_in_any_order)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "x.safetensors");
    NamedTensor plan[2] = { { "a", { .dtype = U8, .n_dims = 1, .size = { 4 } } },
                            { "b", { .dtype = I16, .n_dims = 1, .size = { 3 } } } };
    Map *metadata = map_new(a);
    map_set(metadata, str_of("format"), "pt");
    SafetensorsWriter *w;
    assert_no_error(safetensors_create(a, path, plan, 2, metadata, &w));
    assert_int_equal(safetensors_header(w).len % 8, 0);
    assert_int_equal(safetensors_offset(w, 1),
                     safetensors_header(w).len); /* wider elements come first */
    assert_int_equal(safetensors_offset(w, 0), safetensors_header(w).len + 6);
    assert_no_error(safetensors_put(w, 0, "wx", 2));
    assert_no_error(safetensors_put(w, 1, "ABCD", 4));
    assert_no_error(safetensors_put(w, 0, "yz", 2));
    assert_false(file_exists(path));
    assert_no_error(safetensors_put(w, 1, "EF", 2));
    assert_no_error(safetensors_commit(w));
    safetensors_abandon(w);
    Safetensors *f;
    assert_no_error(safetensors_open(a, path, &f));
    assert_memory_equal(safetensors_find(f, "a")->data, "wxyz", 4);
    assert_memory_equal(safetensors_find(f, "b")->data, "ABCDEF", 6);
    assert_string_equal(f->tensor[0].name, "b");
    assert_string_equal(map_get(f->metadata, str_of("format")), "pt");
    arena_free(a);
}

TEST(safetensors_given_up_leave_nothing)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "x.safetensors");
    NamedTensor plan = { "a", { .dtype = U8, .n_dims = 1, .size = { 4 } } };
    SafetensorsWriter *w;
    assert_no_error(safetensors_create(a, path, &plan, 1, NULL, &w));
    safetensors_abandon(w);
    assert_int_equal(rmdir(test_folder()), 0); /* empty */
    assert_error_has(safetensors_create(a, path, &plan, 1, NULL, &w), "cannot create");
    NamedTensor twice[2] = { plan, plan };
    assert_error_has(safetensors_create(a, path, twice, 2, NULL, &w),
                     "two tensors are called \"a\"");
    twice[1].name = "\xff";
    assert_error_has(safetensors_create(a, path, twice, 2, NULL, &w), "not UTF-8");
    twice[1].name = "__metadata__";
    assert_error_has(safetensors_create(a, path, twice, 2, NULL, &w), "__metadata__");
    arena_free(a);
}

TEST(safetensors_of_the_original_are_read)
{
    Arena *a = arena_new();
    Safetensors *f;
    assert_no_error(
        safetensors_open(a, shared_path(a, "data/goldens/dcp/dp1/state.safetensors"), &f));
    const Tensor *t = safetensors_find(f, "app.model.transformer.wte.weight");
    assert_non_null(t);
    assert_int_equal(t->dtype, F32);
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->size[0], 128);
    assert_int_equal(t->size[1], 128);
    assert_close(
        ((const float *)safetensors_find(f, "app.optimizer.state.transformer.wte.weight.step")
             ->data)[0],
        3, 0);
    arena_free(a);
}
