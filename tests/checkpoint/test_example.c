/* test_example.c - examples/read_checkpoint.py, which knows no more than docs/formats.md says. */
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
