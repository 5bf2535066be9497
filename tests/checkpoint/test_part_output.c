/* test_part_output.c - files of any length, past the page cache and through it, and saves whose
 * state has changed before they are written. */
#include "base/rng.h"
#include "base/thread.h"
#include "checkpoint/part_output.h"
#include "checkpoint/saving.h"
#include "checkpoint/staging.h"
#include "sample_state.h"
#include "test.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MEGABYTE = 1 << 20 };

static char *some_bytes(Arena *a, size_t n)
{
    char *bytes = arena_alloc(a, n + 8);
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t now = rng_bits(7, i);
        memcpy(bytes + i, &now, 8);
    }
    return bytes;
}

/* Whether files there can pass the page cache by. */
static bool knows_direct(Arena *a, const char *folder)
{
    const char *path = path_join(a, folder, "probe");
    const int fd = open(path, O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0666);
    if (fd >= 0) close(fd);
    unlink(path);
    return fd >= 0;
}

static void assert_written(const char *folder, const char *bytes, size_t n, size_t piece)
{
    Arena *a = arena_new();
    const char *path = path_join(a, folder, "part");
    NewFile f;
    PartOutput o;
    Str back;
    assert_no_error(file_create(path, &f));
    part_output_reserve(a, (int64_t)n, &o);
    part_output_open(&o, &f);
    if (knows_direct(a, folder)) assert_int_equal(o.is_direct, n >= MEGABYTE - 1);
    for (size_t at = 0; at < n; at += piece)
        assert_no_error(part_output_put(&o, bytes + at, n - at < piece ? n - at : piece));
    assert_no_error(part_output_end(&o));
    assert_no_error(file_commit(&f));
    assert_no_error(file_read(a, path, &back));
    assert_int_equal(back.len, n);
    assert_memory_equal(back.ptr, bytes, n);
    unlink(path);
    arena_free(a);
}

static const size_t lengths[] = { 0,
                                  1,
                                  4095,
                                  4096,
                                  4097,
                                  MEGABYTE,
                                  MEGABYTE + 1,
                                  8 * MEGABYTE,
                                  8 * MEGABYTE + 4097,
                                  17 * MEGABYTE - 1 };

TEST(part_files_of_any_length_are_written_past_the_page_cache_or_through_it)
{
    Arena *a = arena_new();
    const char *bytes = some_bytes(a, 17 * MEGABYTE);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_written(test_folder(), bytes, lengths[i], 3 * MEGABYTE + 5);
        if (access("/dev/shm", W_OK) == 0) assert_written("/dev/shm", bytes, lengths[i], 1 << 16);
    }
    arena_free(a);
}

/* As by a file system that asks for more than blocks. */
TEST(part_files_that_the_disk_does_not_take_past_the_page_cache_go_through_it)
{
    Arena *a = arena_new();
    const size_t n = 2 * MEGABYTE + 7;
    const char *path = path_join(a, test_folder(), "part"), *bytes = some_bytes(a, n);
    NewFile f;
    PartOutput o;
    Str back;
    assert_no_error(file_create(path, &f));
    part_output_reserve(a, (int64_t)n + MEGABYTE, &o);
    o.memory++;
    o.room--;
    part_output_open(&o, &f);
    assert_false(o.is_direct);
    const int fd = fileno(f.stream);
    o.is_direct = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_DIRECT) == 0;
    assert_no_error(part_output_put(&o, bytes, n));
    assert_no_error(part_output_end(&o));
    assert_no_error(file_commit(&f));
    assert_no_error(file_read(a, path, &back));
    assert_int_equal(back.len, n);
    assert_memory_equal(back.ptr, bytes, n);
    arena_free(a);
}

/* ---- saves that are planned, and written later ---- */

enum { ROWS = 700, COLUMNS = 600, N = ROWS * COLUMNS };

/* A whole tensor, and the right half of the columns of another one's, whose left half follows. */
static CheckpointContent content(Arena *a, float **numbers)
{
    StateTensor *t = NEW_N(a, StateTensor, 3);
    for (int i = 0; i < 3; i++) {
        const int64_t columns = i ? COLUMNS / 2 : COLUMNS;
        numbers[i] = arena_alloc(a, sizeof(float) * ROWS * (size_t)columns);
        for (int64_t k = 0; k < ROWS * columns; k++) numbers[i][k] = (float)(k * 3 + i);
        t[i] = (StateTensor){
            .name = i ? "app.model.split" : "app.model.whole",
            .whole = { ROWS, COLUMNS },
            .part = { .dtype = F32, .n_dims = 2, .size = { ROWS, columns }, .data = numbers[i] }
        };
        if (!i) continue;
        Part *p = NEW(a, Part);
        *p = (Part){ .whole = COLUMNS, .n_parts = 2, .index = 2 - i };
        t[i].part.part[1] = p;
    }
    return (CheckpointContent){ .state = t, .n = 3, .progress = "{}" };
}

static void assert_saved(const char *path)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    float *want[3], *got[3];
    const CheckpointContent c = content(a, want), back = content(a, got);
    for (int i = 0; i < 3; i++) memset(got[i], 0, tensor_bytes(&back.state[i].part));
    assert_no_error(checkpoint_open(a, path, &r));
    assert_no_error(checkpoint_verify(r));
    assert_no_error(checkpoint_load(r, back.state, back.n));
    for (int i = 0; i < 3; i++)
        assert_memory_equal(got[i], want[i], tensor_bytes(&c.state[i].part));
    arena_free(a);
}

TEST(a_save_that_is_staged_has_the_state_as_it_was_when_it_was_planned)
{
    Staging staging = { 0 };
    Pool *pool = pool_new(2);
    for (int format = 0; format < 2; format++) {
        Arena *a = arena_new();
        float *numbers[3];
        CheckpointContent c = content(a, numbers);
        const CheckpointStrategy strategy = { .every = 1, .keep = 1 };
        const CheckpointExecution execution = { .checkpoint_path = test_folder(),
                                                .experiment_id = format ? "native" : "dcp",
                                                .format = format };
        const CheckpointTotals totals = { 1, 8, 50, 400 };
        CheckpointSaving *saving = checkpoint_saving_new(a, &strategy, &execution);
        PlannedSave *planned;
        c.staging = &staging;
        c.pool = pool;
        assert_no_error(checkpoint_saving_plan(a, saving, &totals, &c, &planned));
        assert_true(staging.used >= sizeof(float) * 2 * N);
        for (int i = 0; i < 3; i++) memset(numbers[i], 0xff, tensor_bytes(&c.state[i].part));
        assert_no_error(checkpoint_saving_write(planned));
        assert_saved(saving->kept[0]);
        arena_free(a);
    }
    pool_free(pool);
    staging_free(&staging);
}

/* Its pair of files shares the memory. */
TEST(a_save_that_is_staged_may_have_two_files)
{
    Staging staging = { 0 };
    Arena *a = arena_new();
    CheckpointContent c = sample_content(a, 5);
    const CheckpointStrategy strategy = { .every = 1, .keep = 1 };
    const CheckpointExecution execution = { .checkpoint_path = test_folder(),
                                            .experiment_id = "pair",
                                            .is_fsdp1 = true };
    const CheckpointTotals totals = { 5, 8, 50, 400 };
    CheckpointSaving *saving = checkpoint_saving_new(a, &strategy, &execution);
    PlannedSave *planned;
    c.staging = &staging;
    assert_no_error(checkpoint_saving_plan(a, saving, &totals, &c, &planned));
    for (int64_t i = 0; i < c.n; i++)
        memset(c.state[i].part.data, 0xff, tensor_bytes(&c.state[i].part));
    assert_no_error(checkpoint_saving_write(planned));
    int seed = 0;
    assert_no_error(sample_load(saving->kept[0], &seed));
    assert_int_equal(seed, 5);
    arena_free(a);
    staging_free(&staging);
}
