/* test_layouts.c - the same content in every layout: read back with and without the manifest, and
 * every byte covered by a checksum. */
#include "base/memory.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/dcp_metadata.h"
#include "checkpoint/folder_write.h"
#include "checkpoint/manifest.h"
#include "checkpoint/zip.h"
#include "sample_state.h"
#include "test.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    CheckpointLayout layout;
} layouts[] = { { "native", LAYOUT_NATIVE }, { "dcp", LAYOUT_DCP }, { "fsdp1", LAYOUT_FSDP1 } };
enum { N_LAYOUTS = 3 };

static const char *save(Arena *a, int i, int seed)
{
    const char *path = path_join(a, test_folder(), arena_printf(a, "%s/eid_x", layouts[i].name));
    CheckpointContent c = sample_content(a, seed);
    c.layout = layouts[i].layout;
    assert_no_error(checkpoint_write(path, &c));
    return path;
}

static void assert_objects(CheckpointReader *r)
{
    const CheckpointObject *object;
    int64_t n;
    Text json = { 0 };
    assert_no_error(r->objects(r, &object, &n));
    assert_int_equal(n, 3);
    for (int64_t i = 0; i < n; i++) {
        assert_no_error(pickle_json(object[i].value, &json));
        text_puts(&json, object[i].name);
    }
    assert_string_equal(json.ptr, "0.1app.optimizer.param_groups.transformer.wte.weight.lr"
                                  "{\"tuple\": [0.9, "
                                  "0.95]}app.optimizer.param_groups.transformer.wte.weight.betas"
                                  "nullapp.optimizer.param_groups.transformer.wte.weight.fused");
    text_free(&json);
}

TEST(every_layout_gives_back_tensors_objects_and_progress)
{
    for (int i = 0; i < N_LAYOUTS; i++) {
        Arena *a = arena_new();
        const char *path = save(a, i, 3 + i);
        int seed = 0;
        assert_no_error(sample_load(path, &seed));
        assert_int_equal(seed, 3 + i);
        CheckpointReader *r;
        assert_no_error(checkpoint_open(a, path, &r));
        assert_string_equal(r->format, layouts[i].name);
        assert_objects(r);
        assert_no_error(checkpoint_verify(r));
        arena_free(a);
    }
}

/* As torch reads it: by its own description alone. */
TEST(a_dcp_folder_without_our_manifest_gives_the_same)
{
    Arena *a = arena_new();
    const char *path = save(a, 1, 5);
    StateTensor want[N_SAMPLE_TENSORS], got[N_SAMPLE_TENSORS];
    CheckpointReader *r;
    assert_int_equal(unlink(path_join(a, path, MANIFEST_NAME)), 0);
    assert_no_error(checkpoint_open(a, path, &r));
    assert_string_equal(r->format, "dcp");
    sample_state(a, 5, want);
    sample_state(a, 6, got);
    assert_int_equal(r->n_entries, N_SAMPLE_TENSORS);
    assert_no_error(checkpoint_load(r, got, N_SAMPLE_TENSORS));
    for (int i = 0; i < N_SAMPLE_TENSORS; i++)
        assert_memory_equal(got[i].part.data, want[i].part.data, tensor_bytes(&want[i].part));
    assert_objects(r);
    assert_no_error(checkpoint_verify(r));
    arena_free(a);
}

/* What torch draws: here it follows from the content. */
static const char *id_of(Arena *a, const char *folder)
{
    Str text;
    assert_no_error(file_read(a, path_join(a, folder, ".metadata"), &text));
    for (size_t i = 0; i + 36 <= text.len; i++) {
        const char *at = text.ptr + i;
        if (at[8] == '-' && at[13] == '-' && at[18] == '-' && at[23] == '-')
            return arena_string_n(a, at, 36);
    }
    fail_msg("%s has no id", folder);
    return NULL;
}

TEST(the_id_of_a_dcp_folder_follows_from_its_content)
{
    enum { ONCE, AGAIN, SWAPPED, OTHER, N_IDS };
    Arena *a = arena_new();
    const char *id[N_IDS], *path = path_join(a, test_folder(), "x");
    for (int i = 0; i < N_IDS; i++) {
        CheckpointContent c = sample_content(a, i == OTHER ? 4 : 3);
        StateTensor *state = arena_copy(a, c.state, sizeof *state * (size_t)c.n);
        if (i == SWAPPED) { /* two of the same shape */
            state[0].part.data = c.state[2].part.data;
            state[2].part.data = c.state[0].part.data;
        }
        c.state = state;
        c.layout = LAYOUT_DCP;
        assert_no_error(checkpoint_write(path, &c));
        id[i] = id_of(a, path);
        assert_no_error(remove_tree(path));
    }
    assert_string_equal(id[AGAIN], id[ONCE]);
    assert_string_not_equal(id[OTHER], id[ONCE]);
    assert_string_not_equal(id[SWAPPED], id[ONCE]);
    arena_free(a);
}

TEST(the_two_files_of_fsdp1_alone_give_the_same)
{
    Arena *a = arena_new();
    const char *path = save(a, 2, 5),
               *info = path_join(a, test_folder(), "last_checkpoint_info.json");
    const char *paths = arena_printf(
        a, "{\"model_checkpoint_path\": \"%s\", \"optimizer_checkpoint_path\": \"%s\"}",
        fsdp1_file(a, path, "model"), fsdp1_file(a, path, "optimizer"));
    StateTensor want[N_SAMPLE_TENSORS], got[N_SAMPLE_TENSORS];
    CheckpointReader *r;
    assert_no_error(file_write(info, paths, strlen(paths)));
    assert_no_error(checkpoint_open(a, info, &r));
    assert_string_equal(r->format, "torch");
    sample_state(a, 5, want);
    sample_state(a, 6, got);
    assert_no_error(checkpoint_load(r, got, N_SAMPLE_TENSORS - 1)); /* the empty one has no box */
    for (int i = 0; i < N_SAMPLE_TENSORS - 1; i++)
        assert_memory_equal(got[i].part.data, want[i].part.data, tensor_bytes(&want[i].part));
    assert_objects(r);
    assert_no_error(checkpoint_verify(r));
    arena_free(a);
}

static Error *verify(Arena *a, const char *path)
{
    CheckpointReader *r;
    TRY(checkpoint_open(a, path, &r));
    return checkpoint_verify(r);
}

/* Bytes all over a file. */
static void flip_all(Arena *a, const char *path, const char *file)
{
    Str bytes;
    assert_no_error(file_read(a, file, &bytes));
    for (size_t at = 0; at < bytes.len; at++) {
        Arena *scratch = arena_new();
        ((char *)bytes.ptr)[at] ^= 0x10;
        assert_no_error(file_write_unsynced(file, bytes.ptr, bytes.len));
        Error *e = verify(scratch, path);
        if (!e) fail_msg("%s: byte %zu of %zu is covered by no checksum", file, at, bytes.len);
        error_free(e);
        ((char *)bytes.ptr)[at] ^= 0x10;
        arena_free(scratch);
        at += bytes.len / 100;
    }
    assert_no_error(file_write_unsynced(file, bytes.ptr, bytes.len));
    assert_no_error(verify(a, path));
}

TEST(bytes_of_every_layout_are_covered_by_checksums)
{
    static const char *const files[] = {
        "part_0.safetensors", "__0_0.distcp",           ".metadata",
        "../eid_x-model.bin", "../eid_x-optimizer.bin", "manifest.json"
    };
    int n = 0;
    for (int i = 0; i < N_LAYOUTS; i++) {
        Arena *a = arena_new();
        const char *path = save(a, i, 1);
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            const char *file = path_join(a, path, files[f]);
            if (!file_exists(file)) continue;
            flip_all(a, path, file);
            n++;
        }
        arena_free(a);
    }
    assert_int_equal(n, 8);
}

/* More than a block, so that a part of it can be verified alone. */
TEST(damage_in_one_block_leaves_the_others_readable)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "x");
    enum { ROWS = 3 * 256, COLUMNS = 1024 }; /* 3 MiB */
    float *numbers = NEW_N(a, float, ROWS *COLUMNS);
    for (int i = 0; i < ROWS * COLUMNS; i++) numbers[i] = (float)i;
    const StateTensor t = {
        .name = "x",
        .whole = { ROWS, COLUMNS },
        .part = { .data = numbers, .dtype = F32, .n_dims = 2, .size = { ROWS, COLUMNS } }
    };
    for (int i = 0; i < 2; i++) {
        const CheckpointContent c = {
            .layout = layouts[i].layout, .state = &t, .n = 1, .progress = "{}"
        };
        assert_no_error(checkpoint_write(path, &c));
        const char *part = path_join(a, path, i ? "__0_0.distcp" : "part_0.safetensors");
        Str file;
        assert_no_error(file_read(a, part, &file));
        char *at = memmem(file.ptr, file.len, &numbers[300 * COLUMNS], 4096);
        *at ^= 1; /* in the same block as row 301 */
        assert_no_error(file_write(part, file.ptr, file.len));
        CheckpointReader *r;
        Box rows = { .n_dims = 2, .size = { 256, COLUMNS } };
        float *got = NEW_N(a, float, 256 * COLUMNS);
        assert_no_error(checkpoint_open(a, path, &r));
        assert_no_error(r->get(r, 0, &rows, got));
        assert_memory_equal(got, numbers, sizeof *got * 256 * COLUMNS);
        rows.start[0] = 512;
        assert_no_error(r->get(r, 0, &rows, got));
        assert_memory_equal(got, numbers + 512 * COLUMNS, sizeof *got * 256 * COLUMNS);
        rows.start[0] = 301;
        assert_error_has(r->get(r, 0, &rows, got), "the file is damaged");
    }
    arena_free(a);
}

/* The members of two archives at the same place: equal, but for the pickles, in which torch keeps
 * references that nobody asks for, and its random ids. */
static void assert_same_members(Str x, Str y, size_t from, size_t to)
{
    Arena *a = arena_new();
    Zip want, got;
    assert_no_error(zip_read(a, "want", (Str){ x.ptr + from, to - from }, &want));
    assert_no_error(zip_read(a, "got", (Str){ y.ptr + from, to - from }, &got));
    assert_int_equal(got.n, want.n);
    for (int64_t i = 0; i < want.n; i++) {
        const ZipMember *m = &want.member[i], *n = &got.member[i];
        assert_true(str_equal(m->name, n->name));
        assert_no_error(zip_check(n));
        if (str_is(m->name, "data.pkl") || str_is(m->name, ".data/serialization_id")) continue;
        assert_true(str_equal(m->data, n->data));
        assert_int_equal(m->data.ptr - x.ptr, n->data.ptr - y.ptr);
    }
    arena_free(a);
}

TEST(dcp_is_written_as_torch_writes_it)
{
    Arena *a = arena_new();
    const char *golden = shared_path(a, "data/goldens/dcp/mini/mini"),
               *path = path_join(a, test_folder(), "mini");
    CheckpointReader *r;
    float numbers[6];
    StateTensor t = { .name = "app.model.w",
                      .whole = { 2, 3 },
                      .part = { .data = numbers, .dtype = F32, .n_dims = 2, .size = { 2, 3 } } };
    assert_no_error(checkpoint_open(a, golden, &r));
    assert_no_error(checkpoint_load(r, &t, 1));
    CheckpointContent c = { .layout = LAYOUT_DCP, .state = &t, .n = 1, .progress = "{}" };
    assert_no_error(r->objects(r, &c.object, &c.n_objects));
    assert_no_error(checkpoint_write(path, &c));
    Str want, got;
    assert_no_error(file_read(a, path_join(a, golden, "__0_0.distcp"), &want));
    assert_no_error(file_read(a, path_join(a, path, "__0_0.distcp"), &got));
    assert_int_equal(got.len, want.len);
    assert_same_members(want, got, 0, 1261); /* the entry of the object, then that of the tensor */
    assert_same_members(want, got, 1261, want.len);
    arena_free(a);
}

static Manifest *manifest_at(Arena *a, const char *folder)
{
    const char *path = path_join(a, folder, MANIFEST_NAME);
    Manifest *m = NULL;
    Str text;
    assert_no_error(file_read(a, path, &text));
    assert_no_error(manifest_parse(a, path, text, &m));
    return m;
}

/* As from a device: all into the same memory. */
typedef struct Fetching {
    const StateTensor *state;
    char *memory;
} Fetching;

static Error *fetch_into_one_place(void *context, int64_t i, const void **data)
{
    const Fetching *f = context;
    const Tensor *t = &f->state[i].part;
    *data = memcpy(f->memory, t->data, tensor_bytes(t));
    return NULL;
}

/* From there disks take numbers where they lie. Small ones do not pay for it, nor does anything in
 * files that hold one archive. */
TEST(large_tensors_begin_at_pages)
{
    static const struct {
        const char *name;
        int64_t rows;
        bool is_at_page;
    } tensors[] = { { "app.model.a", 3, false },
                    { "app.model.b", 1023, false },
                    { "app.model.c", 1024, true },
                    { "app.model.d", 4, false },
                    { "app.model.e", 4096, true } };
    enum { N = 5, WIDTH = 32 };
    for (int i = 0; i < N_LAYOUTS; i++) {
        Arena *a = arena_new();
        CheckpointContent c = sample_content(a, 1);
        StateTensor *t = NEW_N(a, StateTensor, N);
        for (int k = 0; k < N; k++) {
            float *x = NEW_N(a, float, tensors[k].rows *WIDTH);
            for (int64_t j = 0; j < tensors[k].rows * WIDTH; j++) x[j] = (float)(j + k);
            t[k] = (StateTensor){
                .name = tensors[k].name,
                .whole = { tensors[k].rows, WIDTH },
                .part = { .dtype = F32, .n_dims = 2, .size = { tensors[k].rows, WIDTH }, .data = x }
            };
        }
        c.state = t;
        c.n = N;
        c.n_objects = 0;
        c.layout = layouts[i].layout;
        Fetching fetching = { t, memory_untouched(1 << 20) };
        arena_on_free(a, free, fetching.memory);
        c.fetch = fetch_into_one_place;
        c.context = &fetching;
        const char *path = path_join(a, test_folder(), layouts[i].name);
        CheckpointReader *r;
        assert_no_error(checkpoint_write(path, &c));
        assert_no_error(checkpoint_open(a, path, &r));
        assert_no_error(checkpoint_verify(r));
        const Manifest *m = manifest_at(a, path);
        assert_int_equal(m->n_tensors, N);
        for (int k = 0; k < N && c.layout != LAYOUT_FSDP1; k++) {
            const ManifestBox *b = m->tensor[k].box;
            if (tensors[k].is_at_page) assert_int_equal(b->begin % 4096, 0);
        }
        if (c.layout == LAYOUT_DCP)
            assert_true(m->part[0].bytes < (1023 + 1024 + 4096 + 7) * 128 + 16384);
        arena_free(a);
    }
}
