/* test_part_output.c - files of any length, past the page cache and through it. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "checkpoint/part_output.h"
#include "test.h"
#include <fcntl.h>
#include <stdlib.h>
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

/* A file that takes bytes from anywhere: what is there when all was put. */
typedef struct Mixed {
    Arena *arena;
    const char *path, *bytes; /* aligned to blocks */
    NewFile file;
    PartOutput output;
    Text want;
} Mixed;

static void mixed_begin(Mixed *m, const char *folder, const char *bytes)
{
    *m = (Mixed){ .arena = arena_new(), .bytes = bytes };
    m->path = path_join(m->arena, folder, "part");
    assert_no_error(file_create(m->path, &m->file));
    part_output_reserve(m->arena, 64 * MEGABYTE, &m->output);
    part_output_open(&m->output, &m->file);
}

static void put_copied(Mixed *m, size_t from, size_t n)
{
    assert_no_error(part_output_put(&m->output, m->bytes + from, n));
    text_add(&m->want, m->bytes + from, n);
}

/* How many bytes were taken from where they lie. */
static size_t put_straight(Mixed *m, size_t from, size_t n)
{
    assert_no_error(part_output_straight(&m->output, m->bytes + from, &n));
    text_add(&m->want, m->bytes + from, n);
    return n;
}

static void mixed_end(Mixed *m)
{
    Str back;
    assert_no_error(part_output_end(&m->output));
    assert_false(part_output_holds(&m->output));
    assert_no_error(file_commit(&m->file));
    assert_no_error(file_read(m->arena, m->path, &back));
    assert_int_equal(back.len, m->want.len);
    assert_int_equal(m->output.at, m->want.len);
    assert_memory_equal(back.ptr, m->want.ptr, back.len);
    unlink(m->path);
    text_free(&m->want);
    arena_free(m->arena);
}

static char *aligned_bytes(Arena *a, size_t n)
{
    char *bytes = memory_untouched(n + PART_PAGE);
    arena_on_free(a, free, bytes);
    memcpy(bytes, some_bytes(a, n + PART_PAGE), n + PART_PAGE);
    return bytes;
}

TEST(bytes_are_taken_from_where_they_lie_if_both_places_allow_it)
{
    Arena *a = arena_new();
    const char *bytes = aligned_bytes(a, MEGABYTE);
    Mixed m;
    mixed_begin(&m, test_folder(), bytes);
    if (!m.output.is_direct || m.output.alignment > 512)
        test_note("this disk takes %zu bytes at a time or none", m.output.alignment);
    assert_int_equal(put_straight(&m, 0, PART_LARGE - 1), 0);
    assert_false(part_output_holds(&m.output));
    assert_int_equal(put_straight(&m, PART_PAGE, PART_LARGE), PART_LARGE);
    assert_true(part_output_holds(&m.output));
    put_copied(&m, 7, PART_PAGE);
    if (m.output.is_direct) {
        assert_int_equal(put_straight(&m, 1, PART_LARGE), 0);
        assert_int_equal(put_straight(&m, PART_PAGE, PART_LARGE + 1), PART_LARGE);
        put_copied(&m, 5, 1);
        assert_int_equal(put_straight(&m, PART_PAGE, PART_LARGE), 0);
    }
    put_copied(&m, 0, 77);
    mixed_end(&m);
    if (access("/dev/shm", W_OK) == 0) {
        mixed_begin(&m, "/dev/shm", bytes);
        put_copied(&m, 5, 1);
        const size_t n = put_straight(&m, 3, PART_LARGE + 1);
        assert_int_equal(n, m.output.is_direct ? 0 : PART_LARGE + 1);
        mixed_end(&m);
    }
    arena_free(a);
}

/* More of them than wait at a time, and more bytes; what is copied between them fills its memory,
 * too. */
TEST(bytes_from_many_places_come_in_their_order)
{
    Arena *a = arena_new();
    const char *bytes = aligned_bytes(a, 12 * MEGABYTE);
    Mixed m;
    uint64_t n_random = 0;
    mixed_begin(&m, test_folder(), bytes);
    size_t most = 0, n_straight = 0;
    for (int i = 0; i < 300; i++) {
        const size_t place = rng_bits(3, n_random++) % 2048 * 4096,
                     n = PART_LARGE + rng_bits(3, n_random++) % 20 * PART_PAGE;
        if (m.output.at % PART_PAGE)
            put_copied(&m, place, PART_PAGE - m.output.at % PART_PAGE);
        else if (i % 7 == 3)
            put_copied(&m, place, i % 35 == 3 ? 3 * MEGABYTE : 17);
        else
            n_straight += put_straight(&m, place, n) > 0;
        if (m.output.waits > most) most = m.output.waits;
        assert_true(m.output.n_waiting < PART_MOST_WAITING);
    }
    assert_true(most < 128 * MEGABYTE);
    assert_true(n_straight > 150);
    mixed_end(&m);
    mixed_begin(&m, test_folder(), bytes);
    while (m.output.at < 40 * MEGABYTE) assert_true(put_straight(&m, 0, 12 * MEGABYTE) > 0);
    mixed_end(&m);
    arena_free(a);
}

/* As many at once as the disk has shown to write in 0.03 s. */
TEST(a_quick_disk_gets_more_bytes_at_once)
{
    Arena *a = arena_new();
    const char *bytes = aligned_bytes(a, 8 * MEGABYTE);
    Mixed m;
    mixed_begin(&m, test_folder(), bytes);
    const double begin = clock_seconds();
    while (m.output.at < 8 * MEGABYTE)
        assert_true(put_straight(&m, 0, 8 * MEGABYTE - m.output.at) > 0);
    assert_false(part_output_holds(&m.output));
    const double most = 0.03 * 8 * MEGABYTE / (clock_seconds() - begin);
    assert_true((double)m.output.most >= (most < 128 * MEGABYTE ? most : 128 * MEGABYTE) - 1);
    assert_in_range(m.output.most, 2 * MEGABYTE, 128 * MEGABYTE);
    mixed_end(&m);
    arena_free(a);
}

/* As on a disk that wants other places than it told. */
TEST(bytes_that_the_disk_does_not_take_go_through_the_page_cache)
{
    Arena *a = arena_new();
    const char *bytes = aligned_bytes(a, MEGABYTE);
    Mixed m;
    mixed_begin(&m, test_folder(), bytes);
    if (m.output.is_direct) {
        m.output.alignment = 1;
        assert_int_equal(put_straight(&m, 1, PART_LARGE), PART_LARGE);
        put_copied(&m, 0, 100);
    }
    mixed_end(&m);
    arena_free(a);
}
