/* test_commands.c - `checkpoint inspect` and `checkpoint verify` as a user runs them. */
#include "checkpoint/checkpoint.h"
#include "sample_state.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* The output, errors included, of `checkpoint VERB PATH`; *status is the exit status. */
static const char *run(Arena *a, const char *verb, const char *path, int *status)
{
    FILE *f =
        popen(arena_printf(a, "'%s' checkpoint %s '%s' 2>&1", program_path(), verb, path), "r");
    assert_non_null(f);
    char *out = arena_alloc(a, 1 << 16);
    out[fread(out, 1, (1 << 16) - 1, f)] = 0;
    *status = WEXITSTATUS(pclose(f));
    return out;
}

TEST(checkpoint_inspect_lists_tensors_and_progress)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "x");
    int status;
    assert_no_error(sample_save(path, 3));
    const char *said = run(a, "inspect", path, &status);
    assert_int_equal(status, 0);
    assert_contains(said, "format    native\n");
    assert_contains(said, "tensors   6, ");
    assert_contains(said, "\"seed\": 3");
    assert_contains(
        said,
        "\nbf16      [2, 3, 4]                   48 B  app.model.transformer.lm_head.weight\n");
    assert_contains(said, "\nf32       []                           4 B  "
                          "app.optimizer.state.transformer.wte.weight.step\n");
    arena_free(a);
}

TEST(checkpoint_verify_names_every_damaged_tensor)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "x"),
               *part = path_join(a, path, "part_0.safetensors");
    int status;
    assert_no_error(sample_save(path, 3));
    assert_contains(run(a, "verify", path, &status), "all 6 tensors are as they were written");
    assert_int_equal(status, 0);
    Str file;
    assert_no_error(file_read(a, part, &file));
    ((char *)file.ptr)[file.len - 1] ^= 1;
    ((char *)file.ptr)[file.len - 50] ^= 1;
    assert_no_error(file_write(part, file.ptr, file.len));
    const char *said = run(a, "verify", path, &status);
    assert_int_equal(status, 1);
    assert_contains(said, "2 of 6 tensors are damaged");
    assert_contains(said, "tensor \"app.model.transformer.lm_head.weight\"");
    assert_contains(said, "tensor \"app.optimizer.state.transformer.wte.weight.step\"");
    assert_contains(run(a, "verify", part, &status), "a plain safetensors file holds no checksums");
    assert_int_equal(status, 1);
    assert_contains(run(a, "inspect", path_join(a, path, "none"), &status),
                    "none: no such checkpoint");
    assert_int_equal(status, 1);
    arena_free(a);
}
