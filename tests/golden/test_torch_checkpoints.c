/* test_torch_checkpoints.c - checkpoints that torch wrote, read without Python: every number and
 * every value. */
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "golden.h"
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#define DCP "data/goldens/dcp/"

static const char *const cases[] = { "dp1", "dp2", "fsdp1", "mini", NULL };

GOLDEN_CASES(dcp_cases)
{
    for (int i = 0; cases[i]; i++) golden_add(to, "dcp/%s", cases[i]);
}

/* The bytes of all tensors, whole and in part. */
static void assert_tensors(Arena *a, CheckpointReader *r, const char *state)
{
    Safetensors *f;
    assert_no_error(safetensors_open(a, shared_path(a, state), &f));
    assert_int_equal(r->n_entries, f->n);
    for (int64_t i = 0; i < f->n; i++) {
        const Tensor *t = &f->tensor[i].tensor;
        int64_t at = checkpoint_find(r, f->tensor[i].name);
        assert_true(at >= 0);
        assert_int_equal(r->entry[at].dtype, t->dtype);
        assert_int_equal(r->entry[at].n_dims, t->n_dims);
        Box whole = box_whole(t->n_dims, t->size);
        char *got = arena_alloc(a, tensor_bytes(t));
        assert_no_error(r->get(r, at, &whole, got));
        assert_memory_equal(got, t->data, tensor_bytes(t));
        if (t->n_dims < 1 || t->size[0] < 3) continue;
        whole.start[0] = 1; /* a part of it, over the parts it was saved in */
        whole.size[0] -= 2;
        size_t row = tensor_bytes(t) / (size_t)t->size[0];
        assert_no_error(r->get(r, at, &whole, got));
        assert_memory_equal(got, (const char *)t->data + row, row * (size_t)whole.size[0]);
    }
    assert_no_error(checkpoint_verify(r));
}

static bool same_value(const json_t *x, const json_t *y)
{
    if (!json_is_object(x) && !json_is_array(x)) return json_equal(x, y);
    if (json_is_object(x))
        return json_is_object(y) && json_object_size(x) == 1 &&
               same_value(json_object_get(x, "tuple"), json_object_get(y, "tuple"));
    bool is_same = json_is_array(y) && json_array_size(x) == json_array_size(y);
    for (size_t i = 0; is_same && i < json_array_size(x); i++)
        is_same = same_value(json_array_get(x, i), json_array_get(y, i));
    return is_same;
}

/* All other values. */
static void assert_objects(Arena *a, CheckpointReader *r, const char *state)
{
    json_t *want = json_load_file(shared_path(a, state), 0, NULL);
    const CheckpointObject *object = NULL;
    int64_t n = 0;
    assert_non_null(want);
    assert_no_error(r->objects(r, &object, &n));
    assert_int_equal(n, json_object_size(want));
    for (int64_t i = 0; i < n; i++) {
        Text json = { 0 };
        assert_no_error(pickle_json(object[i].value, &json));
        json_t *got = json_loads(json.ptr, JSON_DECODE_ANY, NULL);
        if (!same_value(json_object_get(want, object[i].name), got))
            fail_msg("%s is %s", object[i].name, json.ptr);
        assert_string_equal(object_name(a, object[i].path), object[i].name);
        json_decref(got);
        text_free(&json);
    }
    json_decref(want);
}

static void check_dcp(const char *name, const char *folder, const char *state, bool has_objects)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    const char *path = shared_path(a, arena_printf(a, DCP "%s/%s", name, folder));
    assert_no_error(checkpoint_open(a, path, &r));
    assert_string_equal(r->format, "dcp");
    assert_tensors(a, r, arena_printf(a, DCP "%s/state.safetensors", state));
    if (has_objects) assert_objects(a, r, arena_printf(a, DCP "%s/state.json", name));
    arena_free(a);
}

TEST(torch_checkpoint_of_one_rank_is_read)
{
    check_dcp("dp1", "eid_dp1-seen_steps_3-seen_tokens_96-target_steps_6-target_tokens_192", "dp1",
              true);
}

TEST(torch_checkpoint_of_two_ranks_is_read)
{
    check_dcp("dp2", "eid_dp2-seen_steps_3-seen_tokens_96-target_steps_6-target_tokens_192", "dp1",
              true);
}

TEST(the_smallest_torch_checkpoint_is_read)
{
    check_dcp("mini", "mini", "mini", false);
}

/* The pair of files has what the DCP folder of the same training has, but for the scheduler. */
TEST(pair_of_torch_files_is_read)
{
    Arena *a = arena_new();
    const char *folder = shared_path(a, DCP), *home = path_absolute(a, ".");
    CheckpointReader *r;
    assert_int_equal(chdir(folder), 0); /* the paths in the file are relative */
    assert_no_error(checkpoint_open(a, "fsdp1/last_checkpoint_info.json", &r));
    assert_string_equal(r->format, "torch");
    assert_int_equal(chdir(home), 0);
    assert_tensors(a, r, DCP "dp1/state.safetensors");
    json_t *want = json_load_file(shared_path(a, DCP "dp1/state.json"), 0, NULL);
    const CheckpointObject *object;
    int64_t n;
    assert_no_error(r->objects(r, &object, &n));
    assert_true(n > 0);
    for (int64_t i = 0; i < n; i++) assert_true(json_object_get(want, object[i].name) != NULL);
    json_decref(want);
    arena_free(a);
}

static void copy(Arena *a, const char *from, const char *to, int64_t flip)
{
    Str bytes;
    assert_no_error(file_read(a, from, &bytes));
    if (flip >= 0) ((char *)bytes.ptr)[flip] ^= 1;
    assert_no_error(file_write(to, bytes.ptr, bytes.len));
}

/* In the 24 bytes of the tensor, and in the pickles that describe it. */
TEST(a_flipped_bit_in_a_torch_checkpoint_is_found)
{
    Arena *a = arena_new();
    const char *from = shared_path(a, DCP "mini/mini/__0_0.distcp"),
               *to = path_join(a, test_folder(), "__0_0.distcp");
    CheckpointReader *r;
    copy(a, shared_path(a, DCP "mini/mini/.metadata"), path_join(a, test_folder(), ".metadata"),
         -1);
    copy(a, from, to, -1);
    assert_no_error(checkpoint_open(a, test_folder(), &r));
    assert_no_error(checkpoint_verify(r));
    Str file;
    Safetensors *state;
    assert_no_error(file_read(a, from, &file));
    assert_no_error(safetensors_open(a, shared_path(a, DCP "mini/state.safetensors"), &state));
    const char *numbers = memmem(file.ptr, file.len, state->tensor->tensor.data, 24);
    const char *pickle = memmem(file.ptr, file.len, "_rebuild_tensor_v2", 18);
    assert_true(numbers && pickle);
    const int64_t places[] = { numbers - file.ptr, numbers - file.ptr + 23, pickle - file.ptr, 64 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        copy(a, from, to, places[i]);
        assert_no_error(checkpoint_open(a, test_folder(), &r));
        Error *e = checkpoint_verify(r);
        assert_non_null(e);
        assert_contains(error_text(e), "__0_0.distcp");
        assert_error_has(e, "checksum");
    }
    assert_no_error(file_write(to, file.ptr, file.len - 30));
    assert_no_error(checkpoint_open(a, test_folder(), &r));
    assert_error_has(checkpoint_verify(r), "cut short");
    assert_int_equal(unlink(to), 0);
    assert_no_error(checkpoint_open(a, test_folder(), &r));
    assert_error_has(checkpoint_verify(r), "__0_0.distcp");
    arena_free(a);
}
