/* test_part_output.c - files of any length, past the page cache and through it. */
#include "base/rng.h"
#include "checkpoint/part_output.h"
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
