/* test_convert_memory.c - conversion of a checkpoint that is larger than the memory it may take.
 *
 * RLIMIT_DATA bounds what a process has for itself, without mapped files. Sanitizers need more than
 * any such limit: with them only the conversions are tried. */
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "test.h"
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_LIMITED = 0 };
#else
enum { IS_LIMITED = 1 };
#endif
enum { TENSOR = 4 << 20, N_TENSORS = 20, LIMIT = 32 << 20 };

/* All tensors have the same numbers. */
static void save(Arena *a, const char *path)
{
    StateTensor state[N_TENSORS];
    float *x = arena_alloc(a, TENSOR);
    for (int i = 0; i < TENSOR / 4; i++) x[i] = (float)i;
    for (int i = 0; i < N_TENSORS; i++)
        state[i] = (StateTensor){
            .name = arena_printf(a, "app.model.x%d", i),
            .whole = { TENSOR / 4 },
            .part = { .data = x, .dtype = F32, .n_dims = 1, .size = { TENSOR / 4 } }
        };
    assert_no_error(checkpoint_save(path, state, N_TENSORS, "{}"));
}

static void convert(Arena *a, const char *source, const char *target, const char *to)
{
    Str said;
    const char *limit =
        IS_LIMITED ? arena_printf(a, "ulimit -s 1024 && ulimit -d %d &&", LIMIT >> 10) : "";
    const int status = system(arena_printf(
        a, "cd %s && %s env MODALITIES_THREADS=2 %s checkpoint convert %s %s --to %s > said 2>&1",
        test_folder(), limit, path_absolute(a, program_path()), source, target, to));
    assert_no_error(file_read(a, path_join(a, test_folder(), "said"), &said));
    if (status) fail_msg("%s to %s: status %d: %s", source, to, status, said.ptr);
}

TEST(a_checkpoint_larger_than_memory_is_converted)
{
    static const char *const chain[][2] = { { "x.bin", "torch" },
                                            { "dcp", "dcp" },
                                            { "x.safetensors", "safetensors" },
                                            { "again", "native" } };
    Arena *a = arena_new();
    const char *source = "native";
    save(a, path_join(a, test_folder(), source));
    for (int i = 0; i < 4; i++) {
        convert(a, source, chain[i][0], chain[i][1]);
        source = chain[i][0];
    }
    assert_int_equal(system(arena_printf(a, "cd %s && %s checkpoint diff native again > said 2>&1",
                                         test_folder(), path_absolute(a, program_path()))),
                     0);
    arena_free(a);
}
