/* test_example.c - examples/read_checkpoint.py, which knows no more than docs/formats.md says. */
#include "end_to_end/training.h"
#include "sample_state.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static int shell(Arena *a, const char *command, const char *rest)
{
    return system(arena_printf(a, "%s %s > %s/said 2>&1", command, rest, test_folder()));
}

/* A Python with numpy: the user's, or else the system's. */
static const char *python(Arena *a)
{
    static const char *const names[] = { "python3", "/usr/bin/python3" };
    for (int i = 0; i < 2; i++)
        if (!shell(a, names[i], "-c 'import numpy'")) return names[i];
    test_skip("python3 has no numpy");
}

TEST(the_example_reads_checkpoints_and_finds_damage)
{
    Arena *a = arena_new();
    const char *example = arena_printf(a, "%s examples/read_checkpoint.py", python(a));
    static const char *const part[] = { "part_0.safetensors", "__0_0.distcp" };
    for (int i = 0; i < 2; i++) {
        const char *path = path_join(a, test_folder(), i ? "dcp" : "native");
        CheckpointContent c = sample_content(a, 3);
        c.layout = i ? LAYOUT_DCP : LAYOUT_NATIVE;
        assert_no_error(checkpoint_write(path, &c));
        assert_int_equal(shell(a, example, path), 0);
        Str said, file;
        assert_no_error(file_read(a, path_join(a, test_folder(), "said"), &said));
        assert_contains(said.ptr, "F32 [7, 5] app.model.transformer.wte.weight\n");
        const char *name = path_join(a, path, part[i]);
        assert_no_error(file_read(a, name, &file));
        char *at = memmem(file.ptr, file.len, c.state[0].part.data, 16);
        *at ^= 1;
        assert_no_error(file_write(name, file.ptr, file.len));
        assert_int_not_equal(shell(a, example, path), 0);
    }
    arena_free(a);
}

/* A tensor that each of the ranks wrote a part of. */
static void assert_same_numbers(Arena *a, const char *example, const char *folder)
{
    static const char name[] = "app.model.transformer.wte.weight";
    const char *out = path_join(a, test_folder(), "x.npy");
    CheckpointReader *r;
    Str npy;
    assert_no_error(checkpoint_open(a, folder, &r));
    const int64_t i = checkpoint_find(r, name);
    assert_in_range(i, 0, r->n_entries - 1);
    const Box whole = box_whole(r->entry[i].n_dims, r->entry[i].size);
    const size_t bytes = (size_t)box_count(&whole) * dtype_size(r->entry[i].dtype);
    void *want = arena_alloc(a, bytes);
    assert_no_error(r->get(r, i, &whole, want));
    assert_int_equal(shell(a, example, arena_printf(a, "%s %s %s", folder, name, out)), 0);
    assert_no_error(file_read(a, out, &npy));
    assert_true(npy.len > bytes); /* a header comes before the numbers */
    assert_memory_equal(npy.ptr + npy.len - bytes, want, bytes);
}

TEST(the_example_reads_what_several_ranks_wrote)
{
    static const char *const formats[] = { "dcp", "native" };
    Bench b = bench_new();
    const char *example = arena_printf(b.arena, "%s examples/read_checkpoint.py", python(b.arena));
    for (int i = 0; i < 2; i++) {
        const char *set = arena_printf(
            b.arena, "checkpoint_saving.config.checkpoint_saving_execution.config.format=%s",
            formats[i]);
        const char *const words[] = { "--ranks", "2", "--set", set, NULL };
        assert_ended_well(bench_run(&b, formats[i], NULL, words, NULL));
        const char *folder = bench_last_checkpoint(&b, formats[i], NULL);
        assert_true(
            file_exists(path_join(b.arena, folder, i ? "part_1.safetensors" : "__1_0.distcp")));
        assert_int_equal(shell(b.arena, example, folder), 0);
        assert_same_numbers(b.arena, example, folder);
    }
    arena_free(b.arena);
}
