/* test_torch_files.c - what the original's FSDP1 makes of tensors and groups in files of
 * torch.save. */
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folder_write.h"
#include "checkpoint/pickle.h"
#include "checkpoint/zip.h"
#include "sample_state.h"
#include "test.h"
#include <string.h>

static const float numbers[] = { 1.5F, -2, 3, 0.25F, 5, 6 };

/* The arguments of what rebuilds a tensor of [2, 3]. */
static void put_arguments(PickleWriter *w)
{
    static const int64_t size[] = { 2, 3 }, stride[] = { 3, 1 };
    static const int64_t *const both[] = { size, stride };
    pickle_begin(w, PICKLE_TUPLE);
    pickle_begin(w, PICKLE_TUPLE);
    pickle_put_text(w, str_of("storage"));
    pickle_put_global(w, "torch FloatStorage");
    pickle_put_text(w, str_of("0"));
    pickle_put_text(w, str_of("cpu"));
    pickle_put_int(w, 6);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_persist(w);
    pickle_put_int(w, 0);
    for (int i = 0; i < 2; i++) {
        pickle_begin(w, PICKLE_TUPLE);
        pickle_put_int(w, both[i][0]);
        pickle_put_int(w, both[i][1]);
        pickle_finish(w, PICKLE_TUPLE);
    }
    pickle_put_bool(w, false);
    pickle_put_none(w);
    pickle_finish(w, PICKLE_TUPLE);
}

/* {"x": a tensor of this class with attributes, or without the last argument}. */
static const char *write_file(Arena *a, const char *class, bool is_whole)
{
    const char *path = path_join(a, test_folder(), "model.bin");
    PickleWriter *w = pickle_writer(a, 2);
    ZipWriter *z = zip_writer(a, "archive", 0);
    Text out = { 0 };
    const Str content = { (const char *)numbers, sizeof numbers };
    pickle_begin(w, PICKLE_DICT);
    pickle_put_text(w, str_of("x"));
    pickle_put_global(w, "torch._tensor _rebuild_from_type_v2");
    pickle_begin(w, PICKLE_TUPLE);
    pickle_put_global(w, "torch._utils _rebuild_tensor_v2");
    pickle_put_global(w, class);
    put_arguments(w);
    if (is_whole) {
        pickle_begin(w, PICKLE_DICT);
        pickle_put_text(w, str_of("_has_been_cloned"));
        pickle_put_bool(w, true);
        pickle_finish(w, PICKLE_DICT);
    }
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
    pickle_finish(w, PICKLE_DICT);
    zip_put(z, "data.pkl", pickle_end(w), 0, &out);
    zip_put(z, "byteorder", str_of("little"), 0, &out);
    zip_put(z, "data/0", content, 0, &out);
    zip_put(z, "version", str_of("3\n"), 0, &out);
    zip_end(z, 0, &out);
    assert_no_error(file_write(path, out.ptr, out.len));
    text_free(&out);
    return path;
}

TEST(a_tensor_with_attributes_is_read_without_them)
{
    static const char *const classes[] = { "torch Tensor", "torch.nn.parameter Parameter" };
    for (int i = 0; i < 2; i++) {
        Arena *a = arena_new();
        CheckpointReader *r;
        float got[6] = { 0 };
        assert_no_error(checkpoint_open(a, write_file(a, classes[i], true), &r));
        assert_int_equal(r->n_entries, 1);
        assert_string_equal(r->entry[0].name, "app.model.x");
        const Box whole = box_whole(2, r->entry[0].size);
        assert_no_error(r->get(r, 0, &whole, got));
        assert_memory_equal(got, numbers, sizeof got);
        arena_free(a);
    }
}

TEST(a_tensor_with_attributes_of_another_form_is_refused)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = checkpoint_open(a, write_file(a, "torch Tensor", false), &r);
    assert_error_has(e, "attributes of an unknown form");
    e = checkpoint_open(a, write_file(a, "os system", true), &r);
    assert_error_has(e, "no code is ever run: refused");
    arena_free(a);
}

/* ---- groups ---- */

static CheckpointObject setting(Arena *a, const char *param, const char *value)
{
    const char *const piece[] = { "app", "optimizer",
                                  arena_printf(a, "param_groups.%s.weight_decay", param) };
    Pickle *path = pickle_of_kind(a, PICKLE_TUPLE);
    for (int i = 0; i < 3; i++) pickle_append(a, path, pickle_of_text(a, piece[i]));
    CheckpointObject o = { .name = object_name(a, path), .path = path };
    assert_no_error(object_value_read(a, value, &o.value));
    return o;
}

/* Torch gives the settings and moments of the first group to the first group of its optimizer,
 * which is that of the weights that decay: in a model the embedding, which does not, comes first.
 */
TEST(groups_in_a_file_of_fsdp1_come_in_the_order_of_the_optimizer)
{
    Arena *a = arena_new();
    float x = 1;
    const char *path = path_join(a, test_folder(), "eid_x"), *file;
    const StateTensor state[] = {
        { .name = "app.model.wte", .part = { &x, F32 } },
        { .name = "app.model.attn", .part = { &x, F32 } },
        { .name = "app.model.head", .part = { &x, F32 } },
        { .name = "app.optimizer.state.wte.step", .part = { &x, F32 } },
        { .name = "app.optimizer.state.attn.step", .part = { &x, F32 } },
        { .name = "app.optimizer.state.head.step", .part = { &x, F32 } },
    };
    const CheckpointObject object[] = { setting(a, "attn", "0.1"), setting(a, "head", "0.1"),
                                        setting(a, "wte", "0.0") };
    const CheckpointContent c = { .layout = LAYOUT_FSDP1,
                                  .state = state,
                                  .n = 6,
                                  .object = object,
                                  .n_objects = 3,
                                  .progress = "{}" };
    assert_no_error(checkpoint_write(path, &c));
    file = fsdp1_file(a, path, "optimizer");
    CheckpointReader *r;
    const CheckpointObject *got;
    int64_t n;
    assert_no_error(checkpoint_open(a, file, &r));
    assert_no_error(r->objects(r, &got, &n));
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) assert_string_equal(got[i].name, object[i].name);
    arena_free(a);
}
