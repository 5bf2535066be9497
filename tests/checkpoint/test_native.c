/* test_native.c - what is saved is loaded, in any split; whatever is damaged is named. */
#include "base/rng.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "sample_state.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder_for(Arena *a, const char *name)
{
    return path_join(a, test_folder(), name);
}

TEST(checkpoint_holds_the_same_bits)
{
    Arena *a = arena_new();
    const char *path = folder_for(a, "eid_x");
    int seed = 0;
    assert_no_error(sample_save(path, 3));
    assert_no_error(sample_load(path, &seed));
    assert_int_equal(seed, 3);
    assert_no_error(sample_save(path, 4)); /* the same name again: replaced */
    assert_no_error(sample_load(path, &seed));
    assert_int_equal(seed, 4);
    assert_false(file_exists(path_join(a, test_folder(), "eid_x.saving")));
    assert_false(file_exists(path_join(a, test_folder(), "eid_x.deleting")));
    arena_free(a);
}

TEST(checkpoint_part_file_is_plain_safetensors)
{
    Arena *a = arena_new();
    const char *path = folder_for(a, "x");
    assert_no_error(sample_save(path, 3));
    StateTensor want[N_SAMPLE_TENSORS];
    sample_state(a, 3, want);
    Safetensors *f;
    assert_no_error(safetensors_open(a, path_join(a, path, "part_0.safetensors"), &f));
    for (int i = 0; i < 5; i++)
        assert_memory_equal(safetensors_find(f, want[i].name)->data, want[i].part.data,
                            tensor_bytes(&want[i].part));
    assert_int_equal(f->n, 5); /* the empty one is in the manifest only */
    CheckpointReader *r;
    assert_no_error(checkpoint_open(a, f->path, &r));
    assert_string_equal(r->format, "safetensors");
    assert_true(checkpoint_find(r, want[0].name) >= 0);
    assert_no_error(checkpoint_load(r, want, 5));
    arena_free(a);
}

/* A part of x, which is `numbers` of size [n, m]; its own numbers come from the arena. */
static StateTensor part_of(Arena *a, const float *numbers, int64_t n, int64_t m, const Part *rows,
                           const Part *columns)
{
    StateTensor t = { .name = "x", .whole = { n, m } };
    t.part = (Tensor){ .dtype = F32, .n_dims = 2, .part = { rows, columns } };
    t.part.size[0] = rows ? rows->whole / rows->n_parts : n;
    t.part.size[1] = columns ? columns->whole / columns->n_parts : m;
    float *data = t.part.data = arena_alloc(a, tensor_bytes(&t.part));
    for (int64_t i = 0; i < t.part.size[0]; i++) {
        for (int64_t k = 0; k < t.part.size[1]; k++) {
            int64_t row = global_index(&t.part, 0, i), column = global_index(&t.part, 1, k);
            data[i * t.part.size[1] + k] =
                !numbers || row >= n || column >= m ? -1 : numbers[row * m + column];
        }
    }
    return t;
}

typedef struct Split {
    int n_rows, n_columns;
    int64_t padded_rows;
    Layout rows;
} Split;

static const Split splits[] = { { 1, 1, 14, CONTIGUOUS }, { 7, 1, 14, CONTIGUOUS },
                                { 1, 4, 14, CONTIGUOUS }, { 4, 2, 16, CONTIGUOUS },
                                { 2, 1, 16, ZIGZAG },     { 4, 4, 16, ZIGZAG } };

/* All parts of a split of x, one after the other. */
static int parts_of(Arena *a, const Split *s, const float *numbers, StateTensor *out)
{
    int n = 0;
    for (int i = 0; i < s->n_rows; i++) {
        for (int k = 0; k < s->n_columns; k++) {
            Part *rows = NEW(a, Part), *columns = NEW(a, Part);
            *rows = (Part){
                .whole = s->padded_rows, .n_parts = s->n_rows, .index = i, .layout = s->rows
            };
            *columns = (Part){ .whole = 8, .n_parts = s->n_columns, .index = k };
            out[n++] = part_of(a, numbers, 14, 8, rows, columns);
        }
    }
    return n;
}

TEST(checkpoint_of_any_split_loads_into_any_other)
{
    Arena *a = arena_new();
    const char *path = folder_for(a, "x");
    float numbers[14 * 8];
    for (int i = 0; i < 14 * 8; i++) numbers[i] = (float)i;
    int n_splits = sizeof splits / sizeof *splits;
    for (int i = 0; i < n_splits; i++) {
        StateTensor part[16];
        int n = parts_of(a, &splits[i], numbers, part);
        assert_no_error(checkpoint_save(path, part, n, "{}"));
        for (int k = 0; k < n_splits; k++) {
            StateTensor want[16], got[16];
            parts_of(a, &splits[k], numbers, want);
            int m = parts_of(a, &splits[k], NULL, got);
            CheckpointReader *r;
            assert_no_error(checkpoint_open(a, path, &r));
            assert_no_error(checkpoint_load(r, got, m));
            for (int p = 0; p < m; p++)
                assert_memory_equal(got[p].part.data, want[p].part.data,
                                    tensor_bytes(&want[p].part));
        }
    }
    arena_free(a);
}

TEST(checkpoint_loads_floats_into_other_floats)
{
    Arena *a = arena_new();
    float x[3] = { 1, 1.00390625f, -3.5f };
    bf16 y[3];
    StateTensor t = { .name = "x",
                      .whole = { 3 },
                      .part = { .data = x, .dtype = F32, .n_dims = 1, .size = { 3 } } };
    assert_no_error(checkpoint_save(folder_for(a, "x"), &t, 1, "{}"));
    CheckpointReader *r;
    assert_no_error(checkpoint_open(a, folder_for(a, "x"), &r));
    t.part.data = y;
    t.part.dtype = BF16;
    assert_no_error(checkpoint_load(r, &t, 1));
    for (int i = 0; i < 3; i++) assert_int_equal(y[i], bf16_of_float(x[i]));
    t.part.dtype = I16;
    assert_error_has(checkpoint_load(r, &t, 1), "x: f32 in the checkpoint, i16 here");
    arena_free(a);
}

TEST(checkpoint_that_does_not_fit_says_all_that_differs)
{
    Arena *a = arena_new();
    const char *path = folder_for(a, "x");
    assert_no_error(sample_save(path, 3));
    CheckpointReader *r;
    assert_no_error(checkpoint_open(a, path, &r));
    StateTensor t[3] = { { .name = "app.model.counts",
                           .whole = { 4 },
                           .part = { .dtype = I64, .n_dims = 1, .size = { 4 } } },
                         { .name = "other", .part = { .dtype = F32 } } };
    StateTensor sample[N_SAMPLE_TENSORS];
    sample_state(a, 5, sample);
    t[2] = sample[0];
    Error *e = checkpoint_load(r, t, 3);
    assert_non_null(e);
    assert_contains(error_text(e), path);
    assert_contains(error_text(e), "2 of 3 tensors");
    assert_contains(error_text(e), "app.model.counts: [3] in the checkpoint, [4] here");
    assert_error_has(e, "other: not in the checkpoint");
    StateTensor untouched[N_SAMPLE_TENSORS];
    sample_state(a, 5, untouched);
    assert_memory_equal(t[2].part.data, untouched[0].part.data, tensor_bytes(&t[2].part));
    arena_free(a);
}

TEST(checkpoint_with_a_missing_part_is_not_saved)
{
    Arena *a = arena_new();
    const char *path = folder_for(a, "x");
    float numbers[14 * 8] = { 0 };
    StateTensor part[16];
    int n = parts_of(a, &splits[1], numbers, part);
    assert_error_has(checkpoint_save(path, part, n - 1, "{}"),
                     "tensor \"x\": its boxes hold 96 of 112 elements");
    StateTensor twice[2] = { part[0], part[0] };
    assert_error_has(checkpoint_save(path, twice, 2, "{}"),
                     "two tensors are called \"x[0:2,0:8]\"");
    twice[1].whole[0] = 16;
    assert_error_has(checkpoint_save(path, twice, 2, "{}"), "two parts differ");
    assert_error_has(checkpoint_save(path, part, n, "[1]"), "progress is no JSON object");
    assert_error_has(checkpoint_save(path, part, n, "{"), "progress is no JSON");
    assert_int_equal(rmdir(test_folder()), 0); /* nothing was left */
    arena_free(a);
}

TEST(checkpoint_progress_comes_back)
{
    Arena *a = arena_new();
    const char *path = folder_for(a, "x");
    assert_no_error(checkpoint_save(
        path, NULL, 0, "{\"steps\": 12, \"lr\": [0.1, 1e-05],\n \"name\": \"\xc3\xa9\"}"));
    CheckpointReader *r;
    assert_no_error(checkpoint_open(a, path, &r));
    assert_string_equal(
        r->progress,
        "{\"steps\":12,\"lr\":[0.10000000000000001,1.0000000000000001e-5],\"name\":\"\xc3\xa9\"}");
    arena_free(a);
}

/* Opens and checks everything. */
static Error *verify_all(Arena *a, const char *path)
{
    CheckpointReader *r;
    TRY(checkpoint_open(a, path, &r));
    for (int64_t i = 0; i < r->n_entries; i++) TRY(r->verify(r, i));
    return NULL;
}

/* Flips one bit of a file in place. */
static void flip(const char *name, size_t at)
{
    FILE *f = fopen(name, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    int c = fgetc(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    fputc(c ^ 1 << at % 8, f);
    assert_int_equal(fclose(f), 0);
}

TEST(checkpoint_with_any_flipped_byte_is_refused)
{
    Arena *a = arena_new();
    const char *path = folder_for(a, "x"), *const file[2] = { "part_0.safetensors", MANIFEST_NAME };
    assert_no_error(sample_save(path, 3));
    for (int f = 0; f < 2; f++) {
        const char *name = path_join(a, path, file[f]);
        int64_t len = 0;
        assert_no_error(file_size(name, &len));
        for (size_t i = 0; i < (size_t)len; i++) {
            Arena *scratch = arena_new();
            flip(name, i);
            Error *e = verify_all(scratch, path);
            if (!e) fail_msg("%s: byte %zu flipped, and nobody noticed", name, i);
            assert_error_has(e, file[f]);
            int seed;
            assert_error_has(sample_load(path, &seed), file[f]); /* without verify, too */
            flip(name, i);
            arena_free(scratch);
        }
        assert_no_error(verify_all(a, path));
    }
    arena_free(a);
}

TEST(checkpoint_damage_names_file_and_tensor)
{
    Arena *a = arena_new();
    const char *path = folder_for(a, "x"), *name = path_join(a, path, "part_0.safetensors");
    assert_no_error(sample_save(path, 3));
    Str file;
    assert_no_error(file_read(a, name, &file));
    ((char *)file.ptr)[file.len - 1] ^= 1; /* the narrowest type lies last */
    assert_no_error(file_write(name, file.ptr, file.len));
    Error *e = verify_all(a, path);
    assert_non_null(e);
    assert_contains(error_text(e), name);
    assert_error_has(e, "tensor \"app.model.transformer.lm_head.weight\", bytes");
    assert_no_error(file_write(name, file.ptr, file.len - 1));
    assert_error_has(verify_all(a, path), "cut short");
    assert_int_equal(unlink(name), 0);
    assert_error_has(verify_all(a, path), name);
    arena_free(a);
}

static void assert_not_opened(Arena *a, const char *path, const char *why)
{
    CheckpointReader *r;
    Error *e = checkpoint_open(a, path, &r);
    assert_non_null(e);
    assert_contains(error_text(e), path);
    assert_error_has(e, why);
}

TEST(checkpoint_formats_are_told_apart)
{
    Arena *a = arena_new();
    const char *root = test_folder();
    assert_not_opened(a, path_join(a, root, "none"), "no such checkpoint");
    assert_no_error(make_directories(path_join(a, root, "empty")));
    assert_not_opened(a, path_join(a, root, "empty"), "there is no manifest.json");
    assert_no_error(make_directories(path_join(a, root, "hf")));
    assert_no_error(file_write(path_join(a, root, "hf/config.json"), "{}", 2));
    assert_not_opened(a, path_join(a, root, "hf"), "Hugging Face");
    assert_no_error(make_directories(path_join(a, root, "half")));
    assert_no_error(file_write(path_join(a, root, "half/__0_0.distcp"), "", 0));
    assert_not_opened(a, path_join(a, root, "half"), "unfinished");
    assert_no_error(file_write(path_join(a, root, "model.bin"), "", 0));
    assert_not_opened(a, path_join(a, root, "model.bin"), "torch.save");
    assert_no_error(file_write(path_join(a, root, "model.txt"), "", 0));
    assert_not_opened(a, path_join(a, root, "model.txt"), "readable are");
    arena_free(a);
}

TEST(last_checkpoint_info_stands_for_the_folder_that_it_names)
{
    Arena *a = arena_new();
    const char *info = folder_for(a, "last_checkpoint_info.json"), *path = folder_for(a, "eid_x");
    assert_no_error(sample_save(path, 3));
    static const char *const keys[] = { "checkpoint_folder_path", "model_checkpoint_path" };
    CheckpointReader *r;
    for (int i = 0; i < 2; i++) {
        const char *text = arena_printf(a, "{\"x\": 1, \"%s\": \"%s\"}", keys[i], path);
        assert_no_error(file_write(info, text, strlen(text)));
        assert_no_error(checkpoint_open(a, info, &r));
        assert_string_equal(r->path, path);
    }
    assert_no_error(file_write(info, "{}", 2));
    assert_not_opened(a, info, "there is no checkpoint_folder_path in it");
    assert_no_error(file_write(info, "{", 1));
    assert_not_opened(a, info, "no JSON");
    arena_free(a);
}

TEST(checkpoint_state_of_the_original_is_kept_exactly)
{
    Arena *a = arena_new();
    Safetensors *f;
    assert_no_error(
        safetensors_open(a, shared_path(a, "data/goldens/dcp/dp1/state.safetensors"), &f));
    StateTensor *state = NEW_N(a, StateTensor, f->n);
    for (int64_t i = 0; i < f->n; i++) {
        state[i] = (StateTensor){ .name = f->tensor[i].name, .part = f->tensor[i].tensor };
        memcpy(state[i].whole, state[i].part.size, sizeof state[i].whole);
    }
    const char *path = folder_for(a, "x");
    assert_no_error(checkpoint_save(path, state, f->n, "{}"));
    CheckpointReader *r;
    assert_no_error(checkpoint_open(a, path, &r));
    assert_int_equal(r->n_entries, f->n);
    for (int64_t i = 0; i < f->n; i++) {
        Box whole = box_whole(state[i].part.n_dims, state[i].whole);
        void *got = arena_alloc(a, tensor_bytes(&state[i].part));
        assert_no_error(r->get(r, checkpoint_find(r, state[i].name), &whole, got));
        assert_memory_equal(got, state[i].part.data, tensor_bytes(&state[i].part));
    }
    arena_free(a);
}

/* The first version had no layouts, no values beside tensors, and one checksum for each box. */
TEST(checkpoint_of_the_first_version_is_read)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "x"), *name = path_join(a, path, MANIFEST_NAME);
    Text first = { 0 };
    Str text;
    assert_no_error(sample_save(path, 3));
    assert_no_error(file_read(a, name, &text));
    const char *progress = strstr(text.ptr, "\"progress\": "),
               *objects = strstr(text.ptr, "\"objects\": "),
               *parts = strstr(text.ptr, "\"parts\": "), *seal = text.ptr + text.len - 21;
    text_puts(&first, "{\"format\": \"modalities checkpoint\", \"version\": 1, ");
    text_add(&first, progress, (size_t)(objects - progress));
    text_add(&first, parts, (size_t)(seal - parts));
    manifest_seal(&first);
    assert_no_error(file_write(name, first.ptr, first.len));
    int seed = 0;
    assert_no_error(sample_load(path, &seed));
    assert_int_equal(seed, 3);
    text_free(&first);
    arena_free(a);
}
